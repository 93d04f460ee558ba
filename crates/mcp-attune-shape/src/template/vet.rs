//! Checks of a template that minijinja does not make, and the number of steps that it may take.
//!
//! All of them work on the tags of the template, and run when it is compiled.

use super::error::{TemplateCompileError, TemplateCompileReason};
use super::filters;
use super::lex::{self, LocatedToken, TemplateToken};
use mcp_attune::suggestion::nearest;

/// How many steps a rendering may take; a step is about the smallest thing that a template does.
const MAX_STEPS: u64 = 500_000;
/// How many steps of a rendering are short work.
pub(super) const SHORT_STEPS: u64 = 5_000;
/// How many bytes of its own text a template may repeat into variables, about.
const MAX_REPEATED_BYTES: usize = 64 << 20;
/// Returns how many steps a rendering of a template may take.
///
/// That is [`MAX_STEPS`], unless the template captures text in variables, by `macro`, `call`, `filter`, a
/// `set` block or a recursive loop. What is captured does not pass the bounded output. Of that, values are
/// counted where they are printed, and the template's own text is not; so the longer its longest text is, the
/// fewer steps there are, but never fewer than 5000.
pub(super) fn step_limit(tags: &lex::LexedTemplate<'_>) -> u64 {
    let keeps = tags.all.iter().filter(|tag| tag.statement).any(|tag| {
        let has = |wanted: TemplateToken<'_>| tag.words.iter().any(|word| word.token == wanted);
        match tag.words.first().map(|word| word.token) {
            Some(TemplateToken::Name("macro" | "call" | "filter")) => true,
            Some(TemplateToken::Name("set")) => !has(TemplateToken::Sign("=")),
            Some(TemplateToken::Name("for")) => has(TemplateToken::Name("recursive")),
            _ => false,
        }
    });
    if !keeps {
        return MAX_STEPS;
    }
    let fewer = MAX_REPEATED_BYTES / tags.longest_text.max(1);
    u64::try_from(fewer).unwrap_or(MAX_STEPS).clamp(5_000, MAX_STEPS)
}

/// Refuses statements that refer to other files (`include`, `extends`, `import`, `from`), and `block`, which
/// makes sense only with them.
pub(super) fn reject_other_files(
    source: &str,
    tags: &lex::LexedTemplate<'_>,
) -> Result<(), TemplateCompileError> {
    for tag in tags.all.iter().filter(|tag| tag.statement) {
        if let Some(LocatedToken {
            token: TemplateToken::Name(name @ ("include" | "extends" | "import" | "from" | "block")),
            at,
        }) = tag.words.first()
        {
            return Err(TemplateCompileError::at(
                source,
                *at,
                TemplateCompileReason::OtherFile((*name).to_owned()),
            ));
        }
    }
    Ok(())
}

/// Refuses filters, tests and functions that do not exist, with the name that was probably meant. minijinja
/// would find out only when a caller waits.
///
/// Functions are `range`, the macros of the template, and `loop` and `caller`, which minijinja defines inside
/// of loops and macros.
pub(super) fn reject_unknown_names(
    source: &str,
    tags: &lex::LexedTemplate<'_>,
) -> Result<(), TemplateCompileError> {
    let mut functions = vec!["range", "loop", "caller"];
    for tag in &tags.all {
        if let [
            LocatedToken { token: TemplateToken::Name("macro"), .. },
            LocatedToken { token: TemplateToken::Name(name), .. },
            ..,
        ] = tag.words.as_slice()
        {
            functions.push(name);
        }
    }
    for tag in &tags.all {
        for (index, word) in tag.words.iter().enumerate() {
            let TemplateToken::Name(name) = word.token else { continue };
            let before = |back: usize| {
                index.checked_sub(back).and_then(|index| tag.words.get(index)).map(|word| word.token)
            };
            let after = tag.words.get(index + 1).map(|word| word.token);
            let owned = || name.to_owned();
            let meant = |names: &[&str]| nearest(name, names.iter().copied());
            let fault = match (before(2), before(1)) {
                (_, Some(TemplateToken::Sign("|"))) if !filters::NAMES.contains(&name) => {
                    TemplateCompileReason::NoFilter { name: owned(), meant: meant(filters::NAMES) }
                }
                (None, Some(TemplateToken::Name("filter")))
                    if tag.statement && !filters::NAMES.contains(&name) =>
                {
                    TemplateCompileReason::NoFilter { name: owned(), meant: meant(filters::NAMES) }
                }
                (_, Some(TemplateToken::Name("is")))
                | (Some(TemplateToken::Name("is")), Some(TemplateToken::Name("not")))
                    if name != "not" && !filters::TESTS.contains(&name) =>
                {
                    TemplateCompileReason::NoTest { name: owned(), meant: meant(filters::TESTS) }
                }
                (
                    _,
                    Some(TemplateToken::Sign("|" | ".") | TemplateToken::Name("is" | "filter" | "macro")),
                ) => continue,
                (Some(TemplateToken::Name("is")), Some(TemplateToken::Name("not"))) => continue,
                _ if after == Some(TemplateToken::Sign("("))
                    && !KEYWORDS.contains(&name)
                    && !functions.contains(&name) =>
                {
                    TemplateCompileReason::NoFunction { name: owned(), meant: meant(&functions) }
                }
                _ => continue,
            };
            return Err(TemplateCompileError::at(source, word.at, fault));
        }
    }
    Ok(())
}

/// Refuses slices with a step: at `x[::-1]` minijinja 3.0 panics if `x` is empty, and data may be.
pub(super) fn reject_stepped_slices(
    source: &str,
    tags: &lex::LexedTemplate<'_>,
) -> Result<(), TemplateCompileError> {
    for tag in &tags.all {
        let mut open = Vec::new();
        for word in &tag.words {
            match word.token {
                TemplateToken::Sign(bracket @ ("[" | "{" | "(")) => open.push((bracket, 0)),
                TemplateToken::Sign("]" | "}" | ")") => {
                    open.pop();
                }
                TemplateToken::Sign(":") => match open.last_mut() {
                    Some(("[", 1)) => {
                        return Err(TemplateCompileError::at(source, word.at, TemplateCompileReason::Step));
                    }
                    Some((_, colons)) => *colons += 1,
                    None => {}
                },
                _ => {}
            }
        }
    }
    Ok(())
}

/// Words of the syntax, which are no names of variables or functions.
pub(super) const KEYWORDS: [&str; 34] = [
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "recursive",
    "set",
    "endset",
    "with",
    "endwith",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "filter",
    "endfilter",
    "do",
    "raw",
    "endraw",
    "autoescape",
    "endautoescape",
    "true",
    "false",
    "none",
    "True",
    "False",
    "None",
    "loop",
];

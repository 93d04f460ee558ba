//! What is wrong with a template that compiles, and how many steps it may take.

use super::filters;
use super::lex::{self, Token, Word};
use super::wrong::{Fault, Wrong};
use mcp_attune::near::nearest;

/// How many steps a rendering may take; a step is about the smallest thing that a template does.
const MAX_STEPS: u64 = 500_000;
/// How many steps are short work.
pub(super) const SHORT_STEPS: u64 = 5_000;
/// How many bytes of its own text a template may repeat into variables, about.
const MAX_KEPT: usize = 64 << 20;
/// How many steps a template may take. What it prints into variables is counted where values are concerned; its own text is
/// not, so the longer that is, the fewer steps there are.
pub(super) fn steps(tags: &lex::Tags<'_>) -> u64 {
    let keeps = tags.all.iter().filter(|tag| tag.statement).any(|tag| {
        let has = |wanted: Token<'_>| tag.words.iter().any(|word| word.token == wanted);
        match tag.words.first().map(|word| word.token) {
            Some(Token::Name("macro" | "call" | "filter")) => true,
            Some(Token::Name("set")) => !has(Token::Sign("=")),
            Some(Token::Name("for")) => has(Token::Name("recursive")),
            _ => false,
        }
    });
    if !keeps {
        return MAX_STEPS;
    }
    let fewer = MAX_KEPT / tags.longest_text.max(1);
    u64::try_from(fewer).unwrap_or(MAX_STEPS).clamp(5_000, MAX_STEPS)
}

/// Statements that name other files.
pub(super) fn other_files(source: &str, tags: &lex::Tags<'_>) -> Result<(), Wrong> {
    for tag in tags.all.iter().filter(|tag| tag.statement) {
        if let Some(Word {
            token: Token::Name(name @ ("include" | "extends" | "import" | "from" | "block")),
            at,
        }) = tag.words.first()
        {
            return Err(Wrong::at(source, *at, Fault::OtherFile((*name).to_owned())));
        }
    }
    Ok(())
}

/// Filters, tests and functions that there are not. minijinja would find out when a caller waits.
pub(super) fn names(source: &str, tags: &lex::Tags<'_>) -> Result<(), Wrong> {
    let mut functions = vec!["range", "loop", "caller"];
    for tag in &tags.all {
        if let [Word { token: Token::Name("macro"), .. }, Word { token: Token::Name(name), .. }, ..] =
            tag.words.as_slice()
        {
            functions.push(name);
        }
    }
    for tag in &tags.all {
        for (index, word) in tag.words.iter().enumerate() {
            let Token::Name(name) = word.token else { continue };
            let before = |back: usize| {
                index.checked_sub(back).and_then(|index| tag.words.get(index)).map(|word| word.token)
            };
            let after = tag.words.get(index + 1).map(|word| word.token);
            let owned = || name.to_owned();
            let meant = |names: &[&str]| nearest(name, names.iter().copied());
            let fault = match (before(2), before(1)) {
                (_, Some(Token::Sign("|"))) if !filters::NAMES.contains(&name) => {
                    Fault::NoFilter { name: owned(), meant: meant(filters::NAMES) }
                }
                (None, Some(Token::Name("filter"))) if tag.statement && !filters::NAMES.contains(&name) => {
                    Fault::NoFilter { name: owned(), meant: meant(filters::NAMES) }
                }
                (_, Some(Token::Name("is"))) | (Some(Token::Name("is")), Some(Token::Name("not")))
                    if name != "not" && !filters::TESTS.contains(&name) =>
                {
                    Fault::NoTest { name: owned(), meant: meant(filters::TESTS) }
                }
                (_, Some(Token::Sign("|" | ".") | Token::Name("is" | "filter" | "macro"))) => continue,
                (Some(Token::Name("is")), Some(Token::Name("not"))) => continue,
                _ if after == Some(Token::Sign("("))
                    && !KEYWORDS.contains(&name)
                    && !functions.contains(&name) =>
                {
                    Fault::NoFunction { name: owned(), meant: meant(&functions) }
                }
                _ => continue,
            };
            return Err(Wrong::at(source, word.at, fault));
        }
    }
    Ok(())
}

/// Slices with a step: of `x[::-1]` minijinja 3.0 panics where `x` is empty, and data may be.
pub(super) fn slices(source: &str, tags: &lex::Tags<'_>) -> Result<(), Wrong> {
    for tag in &tags.all {
        let mut open = Vec::new();
        for word in &tag.words {
            match word.token {
                Token::Sign(bracket @ ("[" | "{" | "(")) => open.push((bracket, 0)),
                Token::Sign("]" | "}" | ")") => {
                    open.pop();
                }
                Token::Sign(":") => match open.last_mut() {
                    Some(("[", 1)) => return Err(Wrong::at(source, word.at, Fault::Step)),
                    Some((_, colons)) => *colons += 1,
                    None => {}
                },
                _ => {}
            }
        }
    }
    Ok(())
}

/// Words that are no names.
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

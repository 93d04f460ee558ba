//! A pattern with other words.

use fluent_syntax::ast::{Entry, Expression, InlineExpression, Pattern as Ast, PatternElement};
use fluent_syntax::{parser, serializer};

use super::pattern::FluentPattern;

/// The same Fluent pattern with its fixed text changed: variables, functions, references, quoted text and the keys of
/// variants stay. None where it is no pattern, or what comes out is none.
///
/// ```
/// use mcp_attune::messages::map_fixed_text;
///
/// let loud = map_fixed_text("{ $n ->\n [one] a page\n *[other] { $n } pages\n}", |text| text.to_uppercase());
/// assert_eq!(loud.unwrap(), "{ $n ->\n    [one] A PAGE\n   *[other] { $n } PAGES\n}");
/// ```
#[must_use]
pub fn map_fixed_text(text: &str, mut change: impl FnMut(&str) -> String) -> Option<String> {
    // It says whether the pattern can be used, and keeps the parser from calling itself too often.
    FluentPattern::read(text).ok()?;
    let mut read = parser::parse(format!("m = {}\n", text.replace('\n', "\n "))).ok()?;
    for entry in &mut read.body {
        if let Entry::Message(message) = entry {
            pattern(message.value.as_mut()?, &mut change);
        }
    }
    let written = serializer::serialize(&read);
    let written = written.strip_prefix("m =")?.trim_end_matches('\n');
    let text = match written.strip_prefix('\n') {
        Some(lines) => {
            let lines: Vec<_> = lines.lines().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
            lines.join("\n")
        }
        None => written.trim_start_matches(' ').to_owned(),
    };
    FluentPattern::read(&text).is_ok().then_some(text)
}

fn pattern(pattern: &mut Ast<String>, change: &mut dyn FnMut(&str) -> String) {
    for element in &mut pattern.elements {
        match element {
            PatternElement::TextElement { value } => *value = change(value),
            PatternElement::Placeable { expression } => inside(expression, change),
        }
    }
}

/// As deep as braces stand inside each other, which was bounded.
fn inside(expression: &mut Expression<String>, change: &mut dyn FnMut(&str) -> String) {
    match expression {
        Expression::Select { variants, .. } => {
            for variant in variants {
                pattern(&mut variant.value, change);
            }
        }
        Expression::Inline(InlineExpression::Placeable { expression }) => inside(expression, change),
        Expression::Inline(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_changed_stays_the_same_pattern() {
        for text in [
            "plain",
            "two\nlines",
            "a\n\n  b\n c",
            "{ $count ->\n    [one] Eine Seite\n   *[other] { $count } Seiten\n}",
            "{$a ->\n[0] none\n*[other] {\"{\"}x{\"}\"}\n} and more",
            "{ NUMBER($n, minimumFractionDigits: 2) } { DATETIME($d, dateStyle: \"long\") } { TEXT($v) } { other } { -brand }",
            "{{ $a }}",
            "`{ TEXT($what) }` one of\n{\"\"}  days   today\n{\"\"}  units  this U",
            "[x] .y *z",
        ] {
            let told = map_fixed_text(text, str::to_owned).unwrap_or_else(|| panic!("{text}"));
            let same = |text: &str| format!("{:?}", FluentPattern::read(text).unwrap());
            assert_eq!(same(&told), same(text), "{told}");
        }
    }

    #[test]
    fn only_words_are_changed_and_what_breaks_is_not_told() {
        let cross = |text: &str| text.replace(|it: char| it.is_alphabetic(), "x");
        assert_eq!(
            map_fixed_text("ab { NUMBER($n, style: \"percent\") } cd { \"ef\" }", cross).unwrap(),
            "xx { NUMBER($n, style: \"percent\") } xx { \"ef\" }"
        );
        assert_eq!(map_fixed_text("fine", |_| "{".to_owned()), None);
        assert_eq!(map_fixed_text("{ $broken", str::to_owned), None);
    }
}

//! What a server says, with its variable parts named.

use super::error::MessageDefinitionError;

/// Writes text without variables as a `source` that fits it exactly.
///
/// ```
/// use mcp_attune::messages::literal_source;
///
/// assert_eq!(literal_source("{id} is taken"), "{{id}} is taken");
/// ```
#[must_use]
pub fn literal_source(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A source that was read: fixed parts with variables between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SourcePattern {
    /// One more than there are names; the first and the last may be empty.
    fixed: Box<[Box<str>]>,
    names: Box<[Box<str>]>,
}

impl SourcePattern {
    pub(super) fn read(text: &str) -> Result<Self, MessageDefinitionError> {
        let (mut fixed, mut names) = (Vec::<Box<str>>::new(), Vec::<Box<str>>::new());
        let mut open = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            open.push_str(rest.get(..at).unwrap_or_default());
            rest = rest.get(at..).unwrap_or_default();
            if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
                open.push_str(rest.get(..1).unwrap_or_default());
                rest = after;
                continue;
            }
            let inside = rest.strip_prefix('{').ok_or(MessageDefinitionError::Brace)?;
            let (name, after) = inside.split_once('}').ok_or(MessageDefinitionError::Brace)?;
            let name = name.trim();
            if !is_name(name) {
                return Err(MessageDefinitionError::Brace);
            }
            if names.iter().any(|known| **known == *name) {
                return Err(MessageDefinitionError::RepeatedVariable(name.into()));
            }
            if open.is_empty() && !names.is_empty() {
                return Err(MessageDefinitionError::NothingBetween);
            }
            fixed.push(core::mem::take(&mut open).into());
            names.push(name.into());
            rest = after;
        }
        open.push_str(rest);
        fixed.push(open.into());
        if fixed.iter().all(|fixed| fixed.trim().is_empty()) {
            return Err(MessageDefinitionError::NothingFixed);
        }
        Ok(Self { fixed: fixed.into(), names: names.into() })
    }

    pub(super) fn variable_names(&self) -> &[Box<str>] {
        &self.names
    }

    /// The whole text, where there is no variable in it.
    pub(super) fn exact_text(&self) -> Option<&str> {
        match &*self.fixed {
            [only] => Some(only),
            _ => None,
        }
    }

    /// How much of it is fixed, in bytes.
    pub(super) fn fixed_len(&self) -> usize {
        self.fixed.iter().map(|fixed| fixed.len()).sum()
    }

    /// Its fixed parts that say anything, by each of which it could be looked for.
    pub(super) fn anchors(&self) -> impl Iterator<Item = &str> {
        self.fixed.iter().filter(|fixed| !fixed.is_empty()).map(|fixed| shortened(fixed))
    }

    /// What the variables stand for, where the text fits as a whole: each ends as early as it can.
    pub(super) fn match_text<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        let (first, others) = self.fixed.split_first()?;
        let (last, middle) = others.split_last()?;
        let mut rest = text.strip_prefix(&**first)?.strip_suffix(&**last)?;
        let mut values = Vec::with_capacity(self.names.len());
        for fixed in middle {
            // A variable stands for at least one character.
            let least = rest.chars().next()?.len_utf8();
            let at = least + rest.get(least..)?.find(&**fixed)?;
            values.push(rest.get(..at)?);
            rest = rest.get(at + fixed.len()..)?;
        }
        values.push((!rest.is_empty()).then_some(rest)?);
        Some(values)
    }
}

/// The beginning of a fixed part: enough to tell it from others, and no more than an automaton should hold.
fn shortened(fixed: &str) -> &str {
    const MAX_ANCHOR_BYTES: usize = 64;
    let end = (0..=MAX_ANCHOR_BYTES.min(fixed.len())).rev().find(|end| fixed.is_char_boundary(*end));
    end.and_then(|end| fixed.get(..end)).unwrap_or(fixed)
}

/// Whether it is a name by Fluent: a letter, then letters, digits, `-` and `_`.
pub(super) fn is_name(name: &str) -> bool {
    name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str, expected: Option<&[&str]>) {
        let fit = SourcePattern::read(source).unwrap().match_text(text);
        assert_eq!(fit.as_deref(), expected, "{source} {text}");
    }

    #[test]
    fn fits_a_text_as_a_whole() {
        check("Fetched {count} of {total} pages", "Fetched 3 of 10 pages", Some(&["3", "10"]));
        check("Fetched {count} of {total} pages", "Fetched 3 of 10 pages.", None);
        check("Fetched {count} of {total} pages", "So: Fetched 3 of 10 pages", None);
        check("{a} of {b}", "3 of 4 of 5", Some(&["3", "4 of 5"]));
        check("{name}: not found", "a: b: not found", Some(&["a: b"]));
        check("Hello {name}", "Hello 世界", Some(&["世界"]));
        check("{ a }->{ b }", "é->ü", Some(&["é", "ü"]));
    }

    #[test]
    fn a_variable_stands_for_something() {
        check("Hello {name}", "Hello ", None);
        check("{a}, {b}", ", b", None);
        check("{a} of {b}", " of  of 3", Some(&[" of ", "3"]));
        check("<{a}>", "<>", None);
        // The first and the last fixed part must not share characters.
        check("aba{x}aba", "ababa", None);
    }

    #[test]
    fn braces_are_written_twice() {
        check("set {{{name}}}", "set {x}", Some(&["x"]));
        let exact = SourcePattern::read("{{}}").unwrap();
        assert_eq!(exact.exact_text(), Some("{}"));
    }

    #[test]
    fn refuses_what_could_be_read_in_two_ways() {
        for (source, wrong) in [
            ("{count", MessageDefinitionError::Brace),
            ("count}", MessageDefinitionError::Brace),
            ("{}x", MessageDefinitionError::Brace),
            ("{1}x", MessageDefinitionError::Brace),
            ("{a b}x", MessageDefinitionError::Brace),
            ("{a}{b}x", MessageDefinitionError::NothingBetween),
            ("{a} {b}", MessageDefinitionError::NothingFixed),
            ("", MessageDefinitionError::NothingFixed),
        ] {
            assert_eq!(SourcePattern::read(source), Err(wrong), "{source}");
        }
        assert_eq!(
            SourcePattern::read("{a}, {a}"),
            Err(MessageDefinitionError::RepeatedVariable("a".into()))
        );
    }
}

//! What stays as it is in every language: names, addresses and code in the middle of a sentence.

use core::ops::Range;
use std::collections::HashSet;

use super::locale_file::ParsedLocaleFile;
use crate::messages::VALUE_PLACEHOLDER;

/// The names of a server's things, for texts that speak of them.
#[derive(Clone, Debug, Default)]
pub(super) struct VerbatimNames<'a>(HashSet<&'a str>);

impl<'a> VerbatimNames<'a> {
    /// The names that cannot be taken for a word: `get-sum`, `us-west1`.
    pub(super) fn of(sheet: &'a ParsedLocaleFile) -> Self {
        let names = sheet.entries().filter(|line| line.path.names().next() != Some("messages"));
        // What a value is called is text too.
        let names = names.flat_map(|line| {
            let value = usize::from(line.path.as_value().is_some());
            line.path.names().rev().skip(value).rev().skip(1)
        });
        Self(names.filter(|name| name.contains(|it: char| !it.is_ascii_alphabetic())).collect())
    }

    /// Where such things stand in a text: what is in backquotes, `find_connections`, `requestState`, `data.mismatches`,
    /// `map://features/{id}`, `{id}`, `--locale`, and the names themselves.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let length = if let Some(quoted) = backquoted(rest) {
                if !quoted.is_empty() && !quoted.contains(VALUE_PLACEHOLDER) {
                    found.push(at + 1..at + 1 + quoted.len());
                }
                quoted.len() + 2
            } else {
                let token = rest.len() - rest.trim_start_matches(in_token).len();
                let word = rest.get(..token).unwrap_or_default();
                let start = word.len() - word.trim_start_matches(['.', ':', '/']).len();
                let bare = word.trim_matches(['.', ':', '/']);
                if self.is_name(bare) {
                    found.push(at + start..at + start + bare.len());
                }
                token.max(rest.chars().next().map_or(1, char::len_utf8))
            };
            at += length;
        }
        found
    }

    fn is_name(&self, word: &str) -> bool {
        let letters = |text: &str| text.bytes().take_while(u8::is_ascii_lowercase).count();
        let alphanumeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let snake = word.contains('_') && word.bytes().any(|byte| byte.is_ascii_alphanumeric());
        let camel =
            letters(word) >= 2 && alphanumeric(word) && word.bytes().any(|it| it.is_ascii_uppercase());
        let path = word.split_once('.').is_some_and(|(one, other)| {
            letters(one) >= 2 && letters(one) == one.len() && letters(other) >= 2
        });
        let option = word.strip_prefix("--").is_some_and(|name| letters(name) > 0);
        let variable = word.contains('{')
            && word.split_once('{').and_then(|(_, rest)| rest.split_once('}')).is_some_and(|(name, _)| {
                !name.is_empty()
                    && name.bytes().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-' | b'.'))
            });
        snake || camel || path || option || variable || word.contains("://") || self.0.contains(word)
    }
}

/// What stands in backquotes at the beginning of a text, on one line.
fn backquoted(text: &str) -> Option<&str> {
    let (quoted, _) = text.strip_prefix('`')?.split_once('`')?;
    (!quoted.contains('\n')).then_some(quoted)
}

fn in_token(it: char) -> bool {
    it.is_ascii_alphanumeric()
        || matches!(
            it,
            '_' | '-' | '.' | ':' | '/' | '#' | '@' | '$' | '{' | '}' | '%' | '&' | '=' | '?' | '+'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let (sheet, _) =
            ParsedLocaleFile::read(br#"{"tools":{"get-sum":{"title":"Sum"},"fetch":{"title":"Fetch"}}}"#)
                .unwrap();
        let found = VerbatimNames::of(&sheet).find(text);
        assert_eq!(found.into_iter().map(|range| &text[range]).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn finds_what_machines_read() {
        check("The id of a connection, from find_connections.", &["find_connections"]);
        check("The requestState is not of this call", &["requestState"]);
        check("see data.mismatches (and `city` or `U to date`)", &["data.mismatches", "city", "U to date"]);
        check("Open https://example.com/a?b=c: now", &["https://example.com/a?b=c"]);
        check("map://features/{id}; {name} und %s", &["map://features/{id}", "{name}"]);
        check("--locale and _meta, 用get-sum吧", &["--locale", "_meta", "get-sum"]);
    }

    #[test]
    fn leaves_words_alone() {
        check("Fetch a page, e.g. this one. Wi-Fi, iPhone and kWh; 3.5 km/h. A/B -- so", &[]);
        check("`\u{fffc}` is no number. 50 {}. JSON {\"a\": 1}", &[]);
        check("one ` alone", &[]);
    }
}

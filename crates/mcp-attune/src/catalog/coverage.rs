//! How far a translation has come.

use std::collections::{HashMap, HashSet};

use super::locale_file::{LocaleFileEntry, ParsedLocaleFile};
use super::slot::LocaleKeyPath;

/// A translation beside the file of the default language.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CatalogCoverage {
    /// How many texts the default language has.
    pub total: usize,
    /// What is not translated.
    pub missing: Vec<LocaleKeyPath>,
    /// What a relative of the language lends.
    pub inherited: Vec<LocaleKeyPath>,
    /// What is translated from text that has changed since.
    pub stale: Vec<LocaleKeyPath>,
    /// What the default language does not have.
    pub surplus: Vec<LocaleKeyPath>,
}

impl CatalogCoverage {
    /// How many texts are translated, stale and inherited ones included.
    #[must_use]
    pub fn translated(&self) -> usize {
        self.total - self.missing.len()
    }

    /// The same in whole hundredths, rounded down; 100 where there is nothing to translate.
    #[must_use]
    pub fn percent(&self) -> usize {
        (self.translated() * 100).checked_div(self.total).unwrap_or(100)
    }

    /// Takes what is missing from a relative's file, where that has it: `es-MX` needs only what it says otherwise than `es`.
    ///
    /// ```
    /// use mcp_attune::catalog::{ParsedLocaleFile, coverage};
    ///
    /// let [default, mexican, spanish] = [r#"{"server":{"title":"Cars"}}"#, "{}", r#"{"server":{"title":"Coches"}}"#]
    ///     .map(|text| ParsedLocaleFile::read(text.as_bytes()).unwrap().0);
    /// let mut found = coverage(&default, &mexican);
    /// found.inherit(&spanish);
    /// assert_eq!((found.inherited.len(), found.percent()), (1, 100));
    /// ```
    pub fn inherit(&mut self, relative: &ParsedLocaleFile) {
        let theirs: HashSet<&LocaleKeyPath> = relative.entries().map(|line| &line.path).collect();
        let (lent, missing) = self.missing.drain(..).partition(|path| theirs.contains(path));
        self.missing = missing;
        self.inherited.extend::<Vec<_>>(lent);
    }
}

/// Compares a translation with the file of the default language.
///
/// ```
/// use mcp_attune::catalog::{ParsedLocaleFile, coverage};
///
/// let (default, _) = ParsedLocaleFile::read(br#"{"tools":{"a":{"title":"New","description":"x"}}}"#).unwrap();
/// let (german, _) = ParsedLocaleFile::read(
///     br#"{"tools":{"a":{"title":"Alt","translated_from":{"title":"Old"}},"b":{"title":"weg"}}}"#,
/// ).unwrap();
/// let found = coverage(&default, &german);
/// assert_eq!(found.missing[0].to_string(), "tools.a.description");
/// assert_eq!(found.stale[0].to_string(), "tools.a.title");
/// assert_eq!(found.surplus[0].to_string(), "tools.b.title");
/// assert_eq!((found.translated(), found.percent()), (1, 50));
/// ```
#[must_use]
pub fn coverage(default: &ParsedLocaleFile, translation: &ParsedLocaleFile) -> CatalogCoverage {
    let index = |sheet| by_path(sheet).collect::<HashMap<_, _>>();
    let (ours, theirs) = (index(default), index(translation));
    let mut coverage = CatalogCoverage { total: ours.len(), ..CatalogCoverage::default() };
    for (path, line) in by_path(default) {
        match theirs.get(path) {
            None => coverage.missing.push(path.clone()),
            Some(translated) if is_stale(line, translated) => coverage.stale.push(path.clone()),
            Some(_) => {}
        }
    }
    coverage.surplus =
        by_path(translation).map(|(path, _)| path).filter(|path| !ours.contains_key(path)).cloned().collect();
    coverage
}

fn by_path(sheet: &ParsedLocaleFile) -> impl Iterator<Item = (&LocaleKeyPath, &LocaleFileEntry)> {
    sheet.entries().map(|line| (&line.path, line))
}

fn is_stale(default: &LocaleFileEntry, translated: &LocaleFileEntry) -> bool {
    let message = default.path.names().next() == Some("messages");
    match &translated.from {
        // Without a source a message is not recognized in text, where the other is.
        from if message => from != &default.from,
        Some(from) => *from != default.text,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(default: &str, translation: &str, stale: &[&str]) {
        let read = |text: &str| ParsedLocaleFile::read(text.as_bytes()).unwrap().0;
        let found = coverage(&read(default), &read(translation));
        assert_eq!(found.stale.iter().map(ToString::to_string).collect::<Vec<_>>(), stale);
        assert_eq!((found.missing.len(), found.surplus.len(), found.percent()), (0, 0, 100));
    }

    #[test]
    fn a_message_is_stale_where_its_source_is_another() {
        let default = r#"{"messages":{"m":{"source":"New {n}","text":"New { $n }"}}}"#;
        check(default, r#"{"messages":{"m":{"source":"New {n}","text":"Neu { $n }"}}}"#, &[]);
        check(
            default,
            r#"{"messages":{"m":{"source":"Old {n}","text":"Alt { $n }"}}}"#,
            &["messages.m.text"],
        );
        check(default, r#"{"messages":{"m":{"text":"Neu"}}}"#, &["messages.m.text"]);
    }

    #[test]
    fn a_mark_that_agrees_with_the_default_language_is_no_news() {
        let default = r#"{"tools":{"a":{"title":"Old"}}}"#;
        check(default, r#"{"tools":{"a":{"title":"Alt","translated_from":{"title":"Old"}}}}"#, &[]);
        check(default, r#"{"tools":{"a":{"title":"Alt"}}}"#, &[]);
        assert_eq!(CatalogCoverage::default().percent(), 100);
    }
}

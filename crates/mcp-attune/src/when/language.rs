//! The languages that expressions are read in.

use std::sync::OnceLock;

use super::table::PhraseTable;
use crate::language::Tag;

/// A language that expressions of time are read in. English is always read too.
///
/// Rules: C5.
///
/// ```
/// use mcp_attune::language::Tag;
/// use mcp_attune::when::ExpressionLanguage;
///
/// assert_eq!(ExpressionLanguage::of(&Tag::parse("de-CH").unwrap()), ExpressionLanguage::German);
/// assert_eq!(ExpressionLanguage::of(&Tag::parse("tlh").unwrap()), ExpressionLanguage::English);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ExpressionLanguage {
    /// English.
    #[default]
    English,
    /// German.
    German,
    /// French.
    French,
    /// Italian.
    Italian,
    /// Spanish.
    Spanish,
    /// Portuguese.
    Portuguese,
    /// Japanese.
    Japanese,
}

impl ExpressionLanguage {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::English,
        Self::German,
        Self::French,
        Self::Italian,
        Self::Spanish,
        Self::Portuguese,
        Self::Japanese,
    ];

    /// The language of a tag, or English where there is no table for it.
    ///
    /// Rules: C5.
    ///
    /// ```
    /// use mcp_attune::language::Tag;
    /// use mcp_attune::when::ExpressionLanguage;
    ///
    /// assert_eq!(ExpressionLanguage::of(&Tag::parse("PT-br").unwrap()), ExpressionLanguage::Portuguese);
    /// ```
    #[must_use]
    pub fn of(tag: &Tag) -> Self {
        let same = |language: &&Self| language.code().eq_ignore_ascii_case(tag.primary());
        Self::ALL.iter().find(same).copied().unwrap_or_default()
    }

    const fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Italian => "it",
            Self::Spanish => "es",
            Self::Portuguese => "pt",
            Self::Japanese => "ja",
        }
    }

    const fn source(self) -> &'static str {
        match self {
            Self::English => include_str!("words/en.txt"),
            Self::German => include_str!("words/de.txt"),
            Self::French => include_str!("words/fr.txt"),
            Self::Italian => include_str!("words/it.txt"),
            Self::Spanish => include_str!("words/es.txt"),
            Self::Portuguese => include_str!("words/pt.txt"),
            Self::Japanese => include_str!("words/ja.txt"),
        }
    }

    /// The table, read from its file when it is first asked for.
    pub(super) fn table(self) -> &'static PhraseTable {
        static TABLES: [OnceLock<PhraseTable>; ExpressionLanguage::ALL.len()] =
            [const { OnceLock::new() }; ExpressionLanguage::ALL.len()];
        static NONE: OnceLock<PhraseTable> = OnceLock::new();
        let place = TABLES.get(self as usize).unwrap_or(&NONE);
        place.get_or_init(|| PhraseTable::read(self.source(), self != Self::Japanese).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_table_can_be_read() {
        for language in ExpressionLanguage::ALL {
            let (table, wrong) =
                PhraseTable::read(language.source(), *language != ExpressionLanguage::Japanese);
            assert_eq!(wrong, [""; 0], "{language:?}");
            assert!(!table.ranges.is_empty(), "{language:?}");
        }
    }

    #[test]
    fn each_language_has_a_table_of_its_own() {
        for (at, language) in ExpressionLanguage::ALL.iter().enumerate() {
            assert_eq!(*language as usize, at);
            assert_eq!(ExpressionLanguage::of(&Tag::parse(language.code()).unwrap()), *language);
        }
    }
}

//! The languages that expressions are read in.

use std::sync::OnceLock;

use super::table::PhraseTable;
use crate::language::Tag;

/// Makes [`ExpressionLanguage`] from its rows: a language, and its code, which is also the name of its table in `words`.
macro_rules! expression_languages {
    ($default:ident = $default_code:literal, $($language:ident = $code:literal,)+) => {
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
        /// assert_eq!(ExpressionLanguage::Portuguese.name(), "Portuguese");
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        #[non_exhaustive]
        pub enum ExpressionLanguage {
            #[doc = concat!(stringify!($default), ".")]
            #[default]
            $default,
            $(#[doc = concat!(stringify!($language), ".")] $language,)+
        }

        impl ExpressionLanguage {
            /// All of them, English first.
            pub const ALL: &[Self] = &[Self::$default, $(Self::$language,)+];

            /// Its name in English.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$default => stringify!($default),
                    $(Self::$language => stringify!($language),)+
                }
            }

            const fn code(self) -> &'static str {
                match self {
                    Self::$default => $default_code,
                    $(Self::$language => $code,)+
                }
            }

            const fn source(self) -> &'static str {
                match self {
                    Self::$default => include_str!(concat!("words/", $default_code, ".txt")),
                    $(Self::$language => include_str!(concat!("words/", $code, ".txt")),)+
                }
            }
        }
    };
}

expression_languages! {
    English = "en",
    German = "de",
    French = "fr",
    Italian = "it",
    Spanish = "es",
    Portuguese = "pt",
    Japanese = "ja",
}

impl ExpressionLanguage {
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

    /// The names of all but English, enumerated with a last word between the last two.
    ///
    /// ```
    /// use mcp_attune::when::ExpressionLanguage;
    ///
    /// assert!(ExpressionLanguage::enumerated("or").starts_with("German, French, "));
    /// assert!(ExpressionLanguage::enumerated("or").contains(" or "));
    /// ```
    #[must_use]
    pub fn enumerated(conjunction: &str) -> String {
        let others = Self::ALL.iter().filter(|language| **language != Self::English);
        let mut names = others.map(|language| language.name());
        let last = names.next_back().unwrap_or_default();
        format!("{} {conjunction} {last}", names.collect::<Vec<_>>().join(", "))
    }

    /// The table, read from its file when it is first asked for.
    pub(super) fn table(self) -> &'static PhraseTable {
        static TABLES: [OnceLock<PhraseTable>; ExpressionLanguage::ALL.len()] =
            [const { OnceLock::new() }; ExpressionLanguage::ALL.len()];
        static NONE: OnceLock<PhraseTable> = OnceLock::new();
        let place = TABLES.get(self as usize).unwrap_or(&NONE);
        place.get_or_init(|| PhraseTable::read(self.source()).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_every_table_can_be_read() {
        for language in ExpressionLanguage::ALL {
            let (table, wrong) = PhraseTable::read(language.source());
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

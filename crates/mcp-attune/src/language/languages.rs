//! The languages that a server offers, made ready for looking up.
//!
//! 1. The default comes first, and is always offered.
//! 2. A language that comes again, in another case or under another of its names (`iw` and `he`), is left out: the first
//!    spelling stands.
//! 3. There are at most [`Languages::MAX_OFFERED`].
//!
//! Rules: L4, L5, L6.

use core::fmt;
use std::collections::BTreeSet;

use super::alias;
use super::ancestry::LocaleAncestry;
use super::distance::nearness;
use super::form::SubtagForms;
use super::subtag::Subtag;
use super::tag::{LanguageTagError, Tag};

/// The languages that a server offers, the default first.
///
/// Rules: L4, L5, L6.
///
/// ```
/// use mcp_attune::language::Languages;
///
/// let languages = Languages::new("en", ["fr", "de-CH"]).unwrap();
/// assert_eq!(languages.default_language().as_str(), "en");
/// assert_eq!(languages.len(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Languages {
    default: OfferedLanguage,
    others: Vec<OfferedLanguage>,
    heads: BTreeSet<Subtag>,
}

/// One language with all that looking it up needs.
#[derive(Clone, Debug)]
pub(super) struct OfferedLanguage {
    pub(super) tag: Tag,
    pub(super) place: Option<LocaleAncestry>,
    raw: Box<[Subtag]>,
    renamed: Option<Box<[Subtag]>>,
}

/// One language, the default.
impl From<Tag> for Languages {
    fn from(default: Tag) -> Self {
        let mut languages =
            Self { default: OfferedLanguage::new(default), others: Vec::new(), heads: BTreeSet::new() };
        languages.heads = languages.offered().flat_map(|offered| offered.form().first_subtags()).collect();
        languages
    }
}

impl Languages {
    /// How many languages a server can offer.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::{Languages, LanguagesError};
    ///
    /// let many: Vec<_> = (0..2000).map(|number| format!("en-x-n{number}")).collect();
    /// assert_eq!(Languages::new("en".to_owned(), many).unwrap_err(), LanguagesError::TooMany);
    /// ```
    pub const MAX_OFFERED: usize = 1000;

    /// Makes languages ready: the default, then the others in the server's own order.
    ///
    /// Rules: L4, L5, L6.
    ///
    /// ```
    /// use mcp_attune::language::{LanguageTagError, Languages, LanguagesError};
    ///
    /// assert!(Languages::new("en", ["he", "iw", "EN"]).is_ok_and(|languages| languages.len() == 2));
    /// let wrong = Languages::new("en", ["fr", "de_CH"]).unwrap_err();
    /// assert_eq!(wrong, LanguagesError::Tag { position: 2, why: LanguageTagError::Syntax });
    /// ```
    pub fn new<T>(default: T, others: impl IntoIterator<Item = T>) -> Result<Self, LanguagesError>
    where
        T: TryInto<Tag>,
        T::Error: Into<LanguageTagError>,
    {
        let read = |position: usize, tag: T| {
            let tag = tag.try_into().map_err(|why| LanguagesError::Tag { position, why: why.into() })?;
            Ok(OfferedLanguage::new(tag))
        };
        let mut languages = Self { default: read(0, default)?, others: Vec::new(), heads: BTreeSet::new() };
        let mut known = BTreeSet::from([languages.default.form().canonical().to_vec()]);
        for (position, tag) in (1..).zip(others) {
            if position >= Self::MAX_OFFERED {
                return Err(LanguagesError::TooMany);
            }
            let offered = read(position, tag)?;
            if known.insert(offered.form().canonical().to_vec()) {
                languages.others.push(offered);
            }
        }
        languages.heads = languages.offered().flat_map(|offered| offered.form().first_subtags()).collect();
        Ok(languages)
    }

    /// The language that answers when nothing else does.
    ///
    /// Rules: L6.
    ///
    /// ```
    /// use mcp_attune::language::Languages;
    ///
    /// assert_eq!(Languages::new("mi", []).unwrap().default_language().as_str(), "mi");
    /// ```
    #[must_use]
    pub fn default_language(&self) -> &Tag {
        &self.default.tag
    }

    /// The tags, the default first, then in the server's own order.
    ///
    /// Rules: L5.
    ///
    /// ```
    /// use mcp_attune::language::Languages;
    ///
    /// let languages = Languages::new("en", ["fr", "de"]).unwrap();
    /// assert_eq!(languages.tags().map(|tag| tag.as_str()).collect::<Vec<_>>(), ["en", "fr", "de"]);
    /// ```
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        self.offered().map(|offered| &offered.tag)
    }

    /// The language itself and those of the same language that CLDR knows a common ancestor for, the nearest first.
    ///
    /// Rules: L5.
    ///
    /// ```
    /// use mcp_attune::language::{Languages, Tag};
    ///
    /// let languages = Languages::new("en", ["zh-Hans", "zh-Hant", "zh-HK", "en-GB"]).unwrap();
    /// let relatives = languages.relatives(&Tag::parse("zh-HK").unwrap());
    /// assert_eq!(relatives.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(), ["zh-HK", "zh-Hant"]);
    /// ```
    #[must_use]
    pub fn relatives(&self, of: &Tag) -> Vec<&Tag> {
        let from = OfferedLanguage::new(of.clone());
        let same = |offered: &OfferedLanguage| offered.form().canonical() == from.form().canonical();
        let near = |offered: &OfferedLanguage| {
            let (here, there) = (from.place.as_ref()?, offered.place.as_ref()?);
            let related = here.full.language == there.full.language && here.common_ancestor(there).is_some();
            related.then(|| nearness(Some(here), Some(there), 0))
        };
        let mut found: Vec<_> = self
            .offered()
            .filter_map(|offered| {
                let nearness = near(offered);
                (same(offered) || nearness.is_some()).then_some(((!same(offered), nearness), &offered.tag))
            })
            .collect();
        found.sort_by_key(|(nearness, _)| *nearness);
        found.into_iter().map(|(_, tag)| tag).collect()
    }

    /// How many languages there are; at least one.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::Languages;
    ///
    /// assert_eq!(Languages::new("en", []).unwrap().len(), 1);
    /// ```
    #[expect(clippy::len_without_is_empty, reason = "there is always a default")]
    #[must_use]
    pub fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// Whether a range begins like any of the languages; one that doesn't has nothing to do with them.
    pub(super) fn may_match(&self, range: SubtagForms<'_>) -> bool {
        range.first_subtags().any(|head| self.heads.contains(&head))
    }

    pub(super) fn offered(&self) -> impl Iterator<Item = &OfferedLanguage> {
        core::iter::once(&self.default).chain(&self.others)
    }
}

impl OfferedLanguage {
    fn new(tag: Tag) -> Self {
        let raw: Box<[Subtag]> = tag.as_str().split('-').map(Subtag::new).collect();
        let mut renamed = Vec::new();
        let renamed = alias::canonicalize(&raw, &mut renamed).then_some(renamed.into_boxed_slice());
        let place = LocaleAncestry::of(renamed.as_deref().unwrap_or(&raw));
        Self { tag, place, raw, renamed }
    }

    pub(super) fn form(&self) -> SubtagForms<'_> {
        SubtagForms { raw: &self.raw, renamed: self.renamed.as_deref() }
    }
}

/// Why languages cannot be offered.
///
/// Rules: L4.
///
/// ```
/// use mcp_attune::language::Languages;
///
/// let wrong = Languages::new("en", ["klingon language"]).unwrap_err();
/// assert!(wrong.to_string().starts_with("language 1 of the list is not a language tag"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LanguagesError {
    /// More than [`Languages::MAX_OFFERED`] languages.
    TooMany,
    /// One that is no tag: `en_GB`.
    Tag {
        /// Which one: 0 is the default, 1 the first of the others.
        position: usize,
        /// What is wrong with it.
        why: LanguageTagError,
    },
}

impl fmt::Display for LanguagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "too many languages; offer at most {}", Languages::MAX_OFFERED),
            Self::Tag { position: 0, why } => write!(f, "the default language is {why}"),
            Self::Tag { position, why } => write!(f, "language {position} of the list is {why}"),
        }
    }
}

impl core::error::Error for LanguagesError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(default: &str, others: &[&str]) -> Vec<String> {
        let languages = Languages::new(default, others.iter().copied()).unwrap();
        languages.tags().map(Tag::to_string).collect()
    }

    #[test]
    fn keeps_the_first_spelling_of_a_language() {
        assert_eq!(spellings("en", &["de-ch", "de-CH", "EN"]), ["en", "de-ch"]);
        assert_eq!(spellings("iw", &["he", "he-IL"]), ["iw", "he-IL"]);
        assert_eq!(spellings("nb", &["no", "nn", "i-lux", "lb"]), ["nb", "nn", "i-lux"]);
    }

    #[test]
    fn takes_tags_as_well_as_texts() {
        let tags = [Tag::parse("en").unwrap(), Tag::parse("fr").unwrap()];
        assert_eq!(Languages::new(tags[0].clone(), [tags[1].clone()]).unwrap().len(), 2);
    }

    #[test]
    fn refuses_more_than_it_can_hold() {
        let many = |count: usize| (0..count).map(|number| format!("en-x-{number}")).collect::<Vec<_>>();
        assert!(Languages::new("en".to_owned(), many(Languages::MAX_OFFERED - 1)).is_ok());
        assert_eq!(
            Languages::new("en".to_owned(), many(Languages::MAX_OFFERED)).unwrap_err(),
            LanguagesError::TooMany
        );
    }

    #[test]
    fn names_the_language_that_is_no_tag() {
        let wrong = Languages::new("en_US", ["fr"]).unwrap_err();
        assert_eq!(wrong, LanguagesError::Tag { position: 0, why: LanguageTagError::Syntax });
        assert!(wrong.to_string().starts_with("the default language is not a language tag"));
    }
}

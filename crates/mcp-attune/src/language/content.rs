//! The language of an answer: the value of `contentLanguage` and `Content-Language`.
//!
//! 1. It is one tag or several, joined with `", "` when written.
//! 2. When read, empty members are read over and spaces and tabs may stand around a comma; at least one tag is there.
//!
//! Rules: L7, L15.

use core::fmt;
use core::str::FromStr;

use super::tag::{LanguageTagError, Tag};

/// The languages that an answer is in; at least one.
///
/// Rules: L7, L15.
///
/// ```
/// use mcp_attune::language::{ContentLanguage, Tag};
///
/// let one = ContentLanguage::from(Tag::parse("de-CH").unwrap());
/// assert_eq!(one.to_string(), "de-CH");
/// let two = ContentLanguage::parse("de-CH,en").unwrap();
/// assert_eq!(two.to_string(), "de-CH, en");
/// assert!(ContentLanguage::parse("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ContentLanguage {
    first: Tag,
    rest: Vec<Tag>,
}

impl ContentLanguage {
    /// How many bytes the value can have.
    ///
    /// Rules: L15.
    ///
    /// ```
    /// use mcp_attune::language::{ContentLanguageError, ContentLanguage};
    ///
    /// assert_eq!(ContentLanguage::parse(&"en,".repeat(2000)), Err(ContentLanguageError::TooLong));
    /// ```
    pub const MAX_LEN: usize = 4096;

    /// The languages of an answer, the main one first; one that comes again is left out.
    ///
    /// Rules: L7.
    ///
    /// ```
    /// use mcp_attune::language::{ContentLanguage, Tag};
    ///
    /// let tag = |text| Tag::parse(text).unwrap();
    /// assert_eq!(ContentLanguage::new(tag("de"), [tag("en"), tag("DE")]).to_string(), "de, en");
    /// ```
    #[must_use]
    pub fn new(first: Tag, others: impl IntoIterator<Item = Tag>) -> Self {
        let mut languages = Self::from(first);
        for tag in others {
            languages.add(&tag);
        }
        languages
    }

    /// Adds a language after the others; one that is there already changes nothing.
    ///
    /// ```
    /// use mcp_attune::language::{ContentLanguage, Tag};
    ///
    /// let mut languages = ContentLanguage::from(Tag::parse("de").unwrap());
    /// languages.add(&Tag::parse("en").unwrap());
    /// languages.add(&Tag::parse("de").unwrap());
    /// assert_eq!(languages.to_string(), "de, en");
    /// ```
    pub fn add(&mut self, language: &Tag) {
        if self.tags().all(|known| known != language) {
            self.rest.push(language.clone());
        }
    }

    /// Reads the value of a header or of `_meta`.
    ///
    /// Rules: L15.
    ///
    /// ```
    /// use mcp_attune::language::{ContentLanguageError, ContentLanguage, LanguageTagError};
    ///
    /// assert!(ContentLanguage::parse("mi, en").is_ok());
    /// let wrong = ContentLanguage::parse("mi, en_GB").unwrap_err();
    /// assert_eq!(wrong, ContentLanguageError::Tag { at: 4, why: LanguageTagError::Syntax });
    /// ```
    pub fn parse(text: &str) -> Result<Self, ContentLanguageError> {
        if text.len() > Self::MAX_LEN {
            return Err(ContentLanguageError::TooLong);
        }
        let mut tags = Vec::new();
        let mut at = 0;
        for element in text.split(',') {
            let member = element.trim_start_matches([' ', '\t']);
            let start = at + element.len() - member.len();
            let member = member.trim_end_matches([' ', '\t']);
            if !member.is_empty() {
                tags.push(Tag::parse(member).map_err(|why| ContentLanguageError::Tag { at: start, why })?);
            }
            at += element.len() + 1;
        }
        let mut tags = tags.into_iter();
        let first = tags.next().ok_or(ContentLanguageError::Empty)?;
        Ok(Self { first, rest: tags.collect() })
    }

    /// Whether the header of an answer says what its `_meta` says: the same languages in the same order, however they are
    /// spelled. What is no list of tags agrees with itself only.
    ///
    /// Rules: L16.
    ///
    /// ```
    /// use mcp_attune::language::ContentLanguage;
    ///
    /// assert!(ContentLanguage::agree("de-ch,en", "de-CH, en"));
    /// assert!(!ContentLanguage::agree("en", "de"));
    /// assert!(!ContentLanguage::agree("de, en", "de"));
    /// ```
    #[must_use]
    pub fn agree(header: &str, reported: &str) -> bool {
        match (Self::parse(header), Self::parse(reported)) {
            (Ok(header), Ok(reported)) => header == reported,
            _ => header == reported,
        }
    }

    /// The tags in their order.
    ///
    /// Rules: L7.
    ///
    /// ```
    /// use mcp_attune::language::ContentLanguage;
    ///
    /// let languages = ContentLanguage::parse("mi, en").unwrap();
    /// assert_eq!(languages.tags().map(|tag| tag.as_str()).collect::<Vec<_>>(), ["mi", "en"]);
    /// ```
    pub fn tags(&self) -> impl Iterator<Item = &Tag> {
        core::iter::once(&self.first).chain(&self.rest)
    }
}

impl From<Tag> for ContentLanguage {
    fn from(first: Tag) -> Self {
        Self { first, rest: Vec::new() }
    }
}

impl FromStr for ContentLanguage {
    type Err = ContentLanguageError;

    fn from_str(text: &str) -> Result<Self, ContentLanguageError> {
        Self::parse(text)
    }
}

impl fmt::Display for ContentLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        self.rest.iter().try_for_each(|tag| write!(f, ", {tag}"))
    }
}

/// Why a text does not say which language an answer is in.
///
/// Rules: L15.
///
/// ```
/// use mcp_attune::language::{ContentLanguageError, ContentLanguage};
///
/// assert_eq!(ContentLanguage::parse(",").unwrap_err(), ContentLanguageError::Empty);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ContentLanguageError {
    /// More than [`ContentLanguage::MAX_LEN`] bytes: a megabyte of `en,`.
    TooLong,
    /// No tag at all: the empty text, `,`.
    Empty,
    /// A member that is no tag: `en, *`.
    Tag {
        /// Where that member starts.
        at: usize,
        /// What is wrong with it.
        why: LanguageTagError,
    },
}

impl fmt::Display for ContentLanguageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("too long for the language of an answer; write at most 4096 bytes"),
            Self::Empty => f.write_str("no language; write at least one tag, such as en"),
            Self::Tag { at, why } => write!(f, "at byte {at}: {why}"),
        }
    }
}

impl core::error::Error for ContentLanguageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_what_it_reads_with_one_space_after_each_comma() {
        for (text, printed) in [("en", "en"), ("de-CH, en", "de-CH, en"), (" mi ,\ten,,", "mi, en")] {
            assert_eq!(ContentLanguage::parse(text).map(|it| it.to_string()), Ok(printed.to_owned()));
        }
    }

    #[test]
    fn says_each_language_once() {
        let tags = ["de", "en", "DE", "en-GB"].map(|text| Tag::parse(text).unwrap());
        let [first, others @ ..] = tags;
        assert_eq!(ContentLanguage::new(first, others).to_string(), "de, en, en-GB");
    }

    #[test]
    fn refuses_what_names_no_language() {
        for text in ["", " ", ",", ", ,"] {
            assert_eq!(ContentLanguage::parse(text), Err(ContentLanguageError::Empty), "{text:?}");
        }
        for text in ["*", "en;q=1", "en, de_CH"] {
            assert!(
                matches!(ContentLanguage::parse(text), Err(ContentLanguageError::Tag { .. })),
                "{text:?}"
            );
        }
    }
}

//! Language tags: what a server can offer and an answer can be in.
//!
//! 1. A tag is well formed by BCP 47, grandfathered tags, extended languages and private use included.
//! 2. No variant and no singleton comes twice.
//! 3. It has at most [`Tag::MAX_LEN`] bytes; the longest that anybody registered has less than fifty.
//!
//! Rules: L4.

use core::convert::Infallible;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use oxilangtag::LanguageTag;

/// A well-formed BCP 47 language tag that keeps its spelling; two are equal where they differ only in case.
///
/// Rules: L4.
///
/// ```
/// use mcp_attune::language::Tag;
///
/// let tag = Tag::parse("zh-hant-tw").unwrap();
/// assert_eq!(tag.to_string(), "zh-hant-tw");
/// assert_eq!(tag, Tag::parse("zh-Hant-TW").unwrap());
/// assert!(Tag::parse("de-1996-1996").is_err());
/// ```
#[derive(Clone)]
pub struct Tag(Box<str>);

impl Tag {
    /// How many bytes a tag can have.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::{LanguageTagError, Tag};
    ///
    /// let long = format!("en-x{}", "-private".repeat(40));
    /// assert_eq!(Tag::parse(&long), Err(LanguageTagError::TooLong));
    /// ```
    pub const MAX_LEN: usize = 255;

    /// Reads a tag, and keeps its spelling.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::{LanguageTagError, Tag};
    ///
    /// assert!(Tag::parse("i-klingon").is_ok());
    /// assert!(Tag::parse("zh-yue-HK").is_ok());
    /// assert_eq!(Tag::parse("en_GB"), Err(LanguageTagError::Syntax));
    /// ```
    pub fn parse(text: &str) -> Result<Self, LanguageTagError> {
        if text.len() > Self::MAX_LEN {
            return Err(LanguageTagError::TooLong);
        }
        if !text.is_ascii() {
            return Err(LanguageTagError::Syntax);
        }
        if is_common_form(text.as_bytes()) {
            return Ok(Self(text.into()));
        }
        let read = LanguageTag::parse(text).map_err(|_| LanguageTagError::Syntax)?;
        if has_repeats(read.variant_subtags().map(str::to_ascii_lowercase)) {
            return Err(LanguageTagError::RepeatedVariant);
        }
        if has_repeats(read.extension_subtags().map(|(singleton, _)| singleton.to_ascii_lowercase())) {
            return Err(LanguageTagError::RepeatedSingleton);
        }
        Ok(Self(text.into()))
    }

    /// The tag as it is written.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::Tag;
    ///
    /// assert_eq!(Tag::parse("EN-gb").unwrap().as_str(), "EN-gb");
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first subtag: the language, or `i` and `x` of tags that have none there.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::Tag;
    ///
    /// assert_eq!(Tag::parse("de-CH").unwrap().primary(), "de");
    /// ```
    #[must_use]
    pub fn primary(&self) -> &str {
        self.0.split('-').next().unwrap_or(&self.0)
    }
}

/// Whether it is a language alone, or one with a country, as nearly all are: well formed at one look.
fn is_common_form(text: &[u8]) -> bool {
    let letters = |text: &[u8]| text.iter().all(u8::is_ascii_alphabetic);
    match text {
        [a, b, b'-', region @ ..] => letters(&[*a, *b]) && region.len() == 2 && letters(region),
        [_, _] | [_, _, _] => letters(text),
        _ => false,
    }
}

/// At most a hundred subtags fit into a tag, so comparing each with each is cheap.
fn has_repeats<T: PartialEq>(subtags: impl Iterator<Item = T>) -> bool {
    let mut seen = Vec::new();
    for subtag in subtags {
        if seen.contains(&subtag) {
            return true;
        }
        seen.push(subtag);
    }
    false
}

impl PartialEq for Tag {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Tag {}

impl Hash for Tag {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(0xff);
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({})", self.0)
    }
}

impl AsRef<str> for Tag {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for Tag {
    type Err = LanguageTagError;

    fn from_str(text: &str) -> Result<Self, LanguageTagError> {
        Self::parse(text)
    }
}

impl TryFrom<&str> for Tag {
    type Error = LanguageTagError;

    fn try_from(text: &str) -> Result<Self, LanguageTagError> {
        Self::parse(text)
    }
}

impl TryFrom<&String> for Tag {
    type Error = LanguageTagError;

    fn try_from(text: &String) -> Result<Self, LanguageTagError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Tag {
    type Error = LanguageTagError;

    fn try_from(text: String) -> Result<Self, LanguageTagError> {
        Self::parse(&text)
    }
}

/// Why a text is no language tag.
///
/// Rules: L4.
///
/// ```
/// use mcp_attune::language::{LanguageTagError, Tag};
///
/// let wrong = Tag::parse("english").map(|_| ()).and(Tag::parse("en-US-")).unwrap_err();
/// assert_eq!(wrong, LanguageTagError::Syntax);
/// assert!(wrong.to_string().contains("such as"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LanguageTagError {
    /// More than [`Tag::MAX_LEN`] bytes: `x-aaaaaaaa-aaaaaaaa-…`.
    TooLong,
    /// Not the grammar of BCP 47: `en_GB`, `de-`, the empty text, `*`.
    Syntax,
    /// A variant that comes twice: `de-1996-1996`.
    RepeatedVariant,
    /// An extension that comes twice: `en-a-bbb-a-ccc`.
    RepeatedSingleton,
}

impl LanguageTagError {
    /// What is wrong.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::TooLong => "too long for a language tag",
            Self::Syntax => "not a language tag",
            Self::RepeatedVariant => "a language tag with the same variant twice",
            Self::RepeatedSingleton => "a language tag with the same extension twice",
        }
    }

    /// What to write instead.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::TooLong => "write at most 255 bytes",
            Self::Syntax => "write one by BCP 47, such as en, de-CH or zh-Hant-TW",
            Self::RepeatedVariant => "write it once, such as de-1996",
            Self::RepeatedSingleton => "write one, such as en-u-ca-gregory",
        }
    }
}

impl fmt::Display for LanguageTagError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

impl core::error::Error for LanguageTagError {}

/// A [`Tag`] needs no reading, so a list of them cannot fail to be one.
impl From<Infallible> for LanguageTagError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn reads_the_examples_of_rfc_5646() {
        for text in [
            "de",
            "fr",
            "ja",
            "i-enochian",
            "zh-Hant",
            "zh-Hans",
            "sr-Cyrl",
            "sr-Latn",
            "zh-cmn-Hans-CN",
            "cmn-Hans-CN",
            "zh-yue-HK",
            "yue-HK",
            "zh-Hans-CN",
            "sr-Latn-RS",
            "sl-rozaj",
            "sl-rozaj-biske",
            "sl-nedis",
            "de-CH-1901",
            "sl-IT-nedis",
            "hy-Latn-IT-arevela",
            "de-DE",
            "en-US",
            "es-419",
            "de-CH-x-phonebk",
            "az-Arab-x-AZE-derbend",
            "x-whatever",
            "qaa-Qaaa-QM-x-southern",
            "de-Qaaa",
            "sr-Latn-QM",
            "sr-Qaaa-RS",
            "en-US-u-islamcal",
            "zh-CN-a-myext-x-private",
            "en-a-myext-b-another",
        ] {
            assert_eq!(Tag::parse(text).map(|tag| tag.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn reads_grandfathered_tags() {
        for text in ["i-klingon", "I-Lux", "art-lojban", "zh-min-nan", "sgn-BE-FR", "en-GB-oed", "i-default"]
        {
            assert!(Tag::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_ill_formed() {
        for text in [
            "",
            "*",
            "-",
            "en-",
            "-en",
            "en--GB",
            "en_GB",
            "a-DE",
            "de-419-DE",
            "x",
            "x-",
            "abcdefghi",
            "en-\u{e9}",
            "en\0",
            " en",
            "en ",
            "日本語",
        ] {
            assert_eq!(Tag::parse(text), Err(LanguageTagError::Syntax), "{text:?}");
        }
    }

    #[test]
    fn refuses_a_variant_twice() {
        assert_eq!(Tag::parse("de-DE-1901-1901"), Err(LanguageTagError::RepeatedVariant));
        assert_eq!(Tag::parse("sl-rozaj-ROZAJ"), Err(LanguageTagError::RepeatedVariant));
        assert!(Tag::parse("de-1901-x-1901").is_ok());
    }

    #[test]
    fn refuses_a_singleton_twice() {
        assert_eq!(Tag::parse("ar-a-aaa-b-bbb-a-ccc"), Err(LanguageTagError::RepeatedSingleton));
        assert_eq!(Tag::parse("en-u-ca-gregory-U-nu-latn"), Err(LanguageTagError::RepeatedSingleton));
        assert!(Tag::parse("en-a-bbb-x-a-ccc").is_ok());
    }

    #[test]
    fn refuses_more_than_it_can_hold() {
        let long = format!("x{}", "-12345678".repeat(28));
        assert!(Tag::parse(&long).is_ok_and(|tag| tag.as_str().len() == 253));
        assert_eq!(Tag::parse(&(long + "-12")), Err(LanguageTagError::TooLong));
    }

    #[test]
    fn is_the_same_in_any_case() {
        let tags: HashSet<_> = ["de-CH", "DE-ch", "de-Ch"].map(|text| Tag::parse(text).unwrap()).into();
        assert_eq!(tags.len(), 1);
        assert_ne!(Tag::parse("de").unwrap(), Tag::parse("de-CH").unwrap());
    }
}

//! Basic language ranges: what a caller can ask for.
//!
//! 1. A range is `*`, or subtags joined by `-`.
//! 2. The first subtag is one to eight letters, each other one to eight letters or digits.
//! 3. A range need not be a language tag: `en-blah` and `i` are ranges that match little or nothing.
//!
//! Rules: L1.

use core::fmt;

use super::malformed::AcceptLanguageError;
use super::subtag::Subtag;

/// A basic language range of RFC 4647, as it is written.
///
/// Rules: L1.
///
/// ```
/// use mcp_attune::language::LanguageRange;
///
/// assert_eq!(LanguageRange::parse("de-CH").unwrap().as_str(), "de-CH");
/// assert!(LanguageRange::parse("*").unwrap().is_wildcard());
/// assert!(LanguageRange::parse("de-*").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LanguageRange<'a>(&'a str);

impl<'a> LanguageRange<'a> {
    /// Any language: `*`.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::LanguageRange;
    ///
    /// assert_eq!(LanguageRange::WILDCARD.to_string(), "*");
    /// ```
    pub const WILDCARD: LanguageRange<'static> = LanguageRange("*");

    /// Reads a range, and keeps its spelling.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::{AcceptLanguageError, LanguageRange};
    ///
    /// assert!(LanguageRange::parse("zh-Hant-CN-x-private1-private2").is_ok());
    /// assert_eq!(LanguageRange::parse("en--GB").unwrap_err(), AcceptLanguageError::Subtag { at: 3 });
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, AcceptLanguageError> {
        Self::parse_with(text, |_| {})
    }

    /// Reads a range and hands out its subtags on the way, none for `*`; `each` may see some of a malformed range.
    pub(super) fn parse_with(
        text: &'a str,
        mut each: impl FnMut(Subtag),
    ) -> Result<Self, AcceptLanguageError> {
        if text == "*" {
            return Ok(Self(text));
        }
        let mut at = 0;
        for subtag in text.split('-') {
            check_subtag(subtag, at == 0).map_err(|fault| fault.shifted(at))?;
            each(Subtag::new(subtag));
            at += subtag.len() + 1;
        }
        Ok(Self(text))
    }

    /// A range that was read before.
    pub(super) const fn new_unchecked(text: &'a str) -> Self {
        Self(text)
    }

    /// The range as it is written.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::LanguageRange;
    ///
    /// assert_eq!(LanguageRange::parse("EN-gb").unwrap().as_str(), "EN-gb");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether it is `*`, any language.
    ///
    /// Rules: L1, L4.
    ///
    /// ```
    /// use mcp_attune::language::LanguageRange;
    ///
    /// assert!(!LanguageRange::parse("en").unwrap().is_wildcard());
    /// ```
    #[must_use]
    pub fn is_wildcard(self) -> bool {
        self.0 == "*"
    }

    /// The first subtag, or `*`.
    ///
    /// Rules: L1, L19.
    ///
    /// ```
    /// use mcp_attune::language::LanguageRange;
    ///
    /// assert_eq!(LanguageRange::parse("de-CH-1996").unwrap().primary(), "de");
    /// ```
    #[must_use]
    pub fn primary(self) -> &'a str {
        self.0.split('-').next().unwrap_or(self.0)
    }
}

fn check_subtag(subtag: &str, first: bool) -> Result<(), AcceptLanguageError> {
    if let Some(at) = subtag.bytes().position(|byte| !byte.is_ascii_alphanumeric()) {
        return Err(AcceptLanguageError::Character { at });
    }
    let long = !matches!(subtag.len(), 1..=8);
    if first && (long || !subtag.bytes().all(|byte| byte.is_ascii_alphabetic())) {
        return Err(AcceptLanguageError::Primary { at: 0 });
    }
    if long {
        return Err(AcceptLanguageError::Subtag { at: 0 });
    }
    Ok(())
}

/// Ranges are the same where they differ only in case.
impl PartialEq for LanguageRange<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for LanguageRange<'_> {}

impl fmt::Display for LanguageRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_rfc_4647_allows() {
        for text in ["*", "de", "de-de", "i", "x-1", "zh-Hant-CN-x-private1-private2", "abcdefgh-12345678"] {
            assert_eq!(LanguageRange::parse(text).map(LanguageRange::as_str), Ok(text));
        }
    }

    #[test]
    fn refuses_what_rfc_4647_does_not_allow() {
        for (text, fault) in [
            ("", AcceptLanguageError::Primary { at: 0 }),
            ("-en", AcceptLanguageError::Primary { at: 0 }),
            ("1en", AcceptLanguageError::Primary { at: 0 }),
            ("abcdefghi", AcceptLanguageError::Primary { at: 0 }),
            ("en-", AcceptLanguageError::Subtag { at: 3 }),
            ("en--GB", AcceptLanguageError::Subtag { at: 3 }),
            ("en-abcdefghi", AcceptLanguageError::Subtag { at: 3 }),
            ("en_GB", AcceptLanguageError::Character { at: 2 }),
            ("de-*", AcceptLanguageError::Character { at: 3 }),
            ("*-CH", AcceptLanguageError::Character { at: 0 }),
            ("**", AcceptLanguageError::Character { at: 0 }),
            ("en-G\u{df}", AcceptLanguageError::Character { at: 4 }),
            ("en\0", AcceptLanguageError::Character { at: 2 }),
        ] {
            assert_eq!(LanguageRange::parse(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn is_the_same_in_any_case() {
        assert_eq!(LanguageRange::parse("de-CH"), LanguageRange::parse("DE-ch"));
        assert_ne!(LanguageRange::parse("de-CH"), LanguageRange::parse("de"));
    }
}

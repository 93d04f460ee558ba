//! Basic language ranges: what a caller can ask for.
//!
//! 1. A range is `*`, or subtags joined by `-`.
//! 2. The first subtag is one to eight letters, each other one to eight letters or digits.
//! 3. A range need not be a language tag: `en-blah` and `i` are ranges that match little or nothing.
//!
//! Rules: L1.

use core::fmt;

use super::malformed::Malformed;
use super::subtag::Subtag;

/// A basic language range of RFC 4647, as it is written.
///
/// Rules: L1.
///
/// ```
/// use mcp_attune::language::Range;
///
/// assert_eq!(Range::parse("de-CH").unwrap().as_str(), "de-CH");
/// assert!(Range::parse("*").unwrap().is_wildcard());
/// assert!(Range::parse("de-*").is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Range<'a>(&'a str);

impl<'a> Range<'a> {
    /// Any language: `*`.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::Range;
    ///
    /// assert_eq!(Range::WILDCARD.to_string(), "*");
    /// ```
    pub const WILDCARD: Range<'static> = Range("*");

    /// Reads a range, and keeps its spelling.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::{Malformed, Range};
    ///
    /// assert!(Range::parse("zh-Hant-CN-x-private1-private2").is_ok());
    /// assert_eq!(Range::parse("en--GB").unwrap_err(), Malformed::Subtag { at: 3 });
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        Self::read(text, |_| {})
    }

    /// Reads a range and hands out its subtags on the way, none for `*`; `each` may see some of a malformed range.
    pub(super) fn read(text: &'a str, mut each: impl FnMut(Subtag)) -> Result<Self, Malformed> {
        if text == "*" {
            return Ok(Self(text));
        }
        let mut at = 0;
        for subtag in text.split('-') {
            check(subtag, at == 0).map_err(|fault| fault.moved(at))?;
            each(Subtag::new(subtag));
            at += subtag.len() + 1;
        }
        Ok(Self(text))
    }

    /// A range that was read before.
    pub(super) const fn known(text: &'a str) -> Self {
        Self(text)
    }

    /// The range as it is written.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::Range;
    ///
    /// assert_eq!(Range::parse("EN-gb").unwrap().as_str(), "EN-gb");
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
    /// use mcp_attune::language::Range;
    ///
    /// assert!(!Range::parse("en").unwrap().is_wildcard());
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
    /// use mcp_attune::language::Range;
    ///
    /// assert_eq!(Range::parse("de-CH-1996").unwrap().primary(), "de");
    /// ```
    #[must_use]
    pub fn primary(self) -> &'a str {
        self.0.split('-').next().unwrap_or(self.0)
    }
}

fn check(subtag: &str, first: bool) -> Result<(), Malformed> {
    if let Some(at) = subtag.bytes().position(|byte| !byte.is_ascii_alphanumeric()) {
        return Err(Malformed::Character { at });
    }
    let long = !matches!(subtag.len(), 1..=8);
    if first && (long || !subtag.bytes().all(|byte| byte.is_ascii_alphabetic())) {
        return Err(Malformed::Primary { at: 0 });
    }
    if long {
        return Err(Malformed::Subtag { at: 0 });
    }
    Ok(())
}

/// Ranges are the same where they differ only in case.
impl PartialEq for Range<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for Range<'_> {}

impl fmt::Display for Range<'_> {
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
            assert_eq!(Range::parse(text).map(Range::as_str), Ok(text));
        }
    }

    #[test]
    fn refuses_what_rfc_4647_does_not_allow() {
        for (text, fault) in [
            ("", Malformed::Primary { at: 0 }),
            ("-en", Malformed::Primary { at: 0 }),
            ("1en", Malformed::Primary { at: 0 }),
            ("abcdefghi", Malformed::Primary { at: 0 }),
            ("en-", Malformed::Subtag { at: 3 }),
            ("en--GB", Malformed::Subtag { at: 3 }),
            ("en-abcdefghi", Malformed::Subtag { at: 3 }),
            ("en_GB", Malformed::Character { at: 2 }),
            ("de-*", Malformed::Character { at: 3 }),
            ("*-CH", Malformed::Character { at: 0 }),
            ("**", Malformed::Character { at: 0 }),
            ("en-G\u{df}", Malformed::Character { at: 4 }),
            ("en\0", Malformed::Character { at: 2 }),
        ] {
            assert_eq!(Range::parse(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn is_the_same_in_any_case() {
        assert_eq!(Range::parse("de-CH"), Range::parse("DE-ch"));
        assert_ne!(Range::parse("de-CH"), Range::parse("de"));
    }
}

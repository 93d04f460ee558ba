//! Versions of clients, as `clientInfo` says them, and ranges of them.

use std::fmt;

/// A longer version is none: nobody counts so far.
const MAX_VERSION_BYTES: usize = 64;

/// The version of a client: up to four numbers. What stands behind them (`-beta.1`, `+build`) does not count.
///
/// ```
/// use mcp_attune::clients::ClientVersion;
///
/// let beta = ClientVersion::parse("1.18.33-beta.1").unwrap();
/// assert_eq!(beta, ClientVersion::new([1, 18, 33, 0]));
/// assert!(beta < ClientVersion::parse("v1.20").unwrap());
/// assert_eq!(ClientVersion::parse("latest"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientVersion([u32; 4]);

impl ClientVersion {
    /// Makes a version of its numbers.
    #[must_use]
    pub const fn new(numbers: [u32; 4]) -> Self {
        Self(numbers)
    }

    /// Parses a version. Returns `None` for what does not begin with one to four numbers with dots between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_VERSION_BYTES {
            return None;
        }
        let text = text.strip_prefix('v').unwrap_or(text);
        let plain = text.split(['-', '+']).next()?;
        let mut numbers = [0; 4];
        let mut places = numbers.iter_mut();
        for part in plain.split('.') {
            if !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            *places.next()? = part.parse().ok()?;
        }
        Some(Self(numbers))
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch, build] = self.0;
        write!(f, "{major}.{minor}.{patch}")?;
        if build == 0 { Ok(()) } else { write!(f, ".{build}") }
    }
}

/// The versions that an entry holds for: from one on, before another, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct VersionRange {
    /// The first version; `None` for all that came before, too.
    pub from: Option<ClientVersion>,
    /// The first version that it does not hold for any more.
    pub before: Option<ClientVersion>,
}

impl VersionRange {
    /// Parses a range as it is printed: `all`, `>=1.2`, `<2`, or `>=1.2 <2`. Returns `None` for anything else; a range that has no
    /// version is one too, see [`VersionRange::is_empty`].
    ///
    /// ```
    /// use mcp_attune::clients::VersionRange;
    ///
    /// let range = VersionRange::parse(">=1.2 <2").unwrap();
    /// assert_eq!(range.to_string(), ">=1.2.0 <2.0.0");
    /// assert_eq!(VersionRange::parse("all"), Some(VersionRange::default()));
    /// assert_eq!(VersionRange::parse("^1.2"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::default());
        }
        let (from, before) = match text.split_once(' ') {
            Some((from, before)) => {
                (Some(from.strip_prefix(">=")?), Some(before.trim_start().strip_prefix('<')?))
            }
            None => match text.strip_prefix(">=") {
                Some(from) => (Some(from), None),
                None => (None, Some(text.strip_prefix('<')?)),
            },
        };
        let version = |text: Option<&str>| match text {
            Some(text) => ClientVersion::parse(text).map(Some),
            None => Some(None),
        };
        Some(Self { from: version(from)?, before: version(before)? })
    }

    /// Returns whether no version is in it, because its end is not later than its begin.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.from.zip(self.before).is_some_and(|(from, before)| before <= from)
    }

    /// Returns whether there can be a version that is in both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let begins_in = |one: &Self, two: &Self| {
            one.from.is_none_or(|from| two.before.is_none_or(|before| from < before))
        };
        begins_in(self, other) && begins_in(other, self)
    }

    /// Returns whether a version is in the range. One that cannot be parsed is in no range but that of all versions.
    ///
    /// ```
    /// use mcp_attune::clients::{ClientVersion, VersionRange};
    ///
    /// let range = VersionRange { from: ClientVersion::parse("1.2"), before: ClientVersion::parse("2") };
    /// assert!(range.contains("1.2.0") && range.contains("1.10") && !range.contains("2.0.0"));
    /// assert!(!range.contains("latest") && VersionRange::default().contains("latest"));
    /// ```
    #[must_use]
    pub fn contains(&self, version: &str) -> bool {
        if *self == Self::default() {
            return true;
        }
        let Some(version) = ClientVersion::parse(version) else { return false };
        self.from.is_none_or(|from| from <= version) && self.before.is_none_or(|before| version < before)
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.before) {
            (None, None) => f.write_str("all"),
            (Some(from), None) => write!(f, ">={from}"),
            (None, Some(before)) => write!(f, "<{before}"),
            (Some(from), Some(before)) => write!(f, ">={from} <{before}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_numbers_and_not_their_digits() {
        let parse = |text| ClientVersion::parse(text).expect(text);
        assert!(parse("0.9.0") < parse("0.10.0"));
        assert!(parse("1") < parse("1.0.0.1"));
        assert_eq!(parse("v2.1"), parse("2.1.0-rc.3+7"));
    }

    #[test]
    fn what_is_no_version_is_none() {
        let long = format!("1.0-{}", "a".repeat(MAX_VERSION_BYTES));
        for text in [
            "",
            "latest",
            "1..2",
            "1.2.3.4.5",
            "1.x",
            "99999999999",
            "1.+2",
            "-1",
            "1. 2",
            "\u{661}.2",
            &long,
        ] {
            assert_eq!(ClientVersion::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_range_is_parsed_as_it_is_printed() {
        for text in ["all", ">=1.2.0", "<2.0.0.1", ">=1.0.0 <2.0.0"] {
            assert_eq!(VersionRange::parse(text).expect(text).to_string(), text);
        }
        assert_eq!(VersionRange::parse(">=v1  <2-rc.1"), VersionRange::parse(">=1 <2"));
        for text in [
            "",
            "1.2",
            ">1",
            "<=2",
            "=1",
            "^1.2",
            ">=1, <2",
            "<2 >=1",
            ">= 1",
            ">=1 <2 <3",
            ">=new",
            "ALL",
            "*",
        ] {
            assert_eq!(VersionRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_overlap_where_a_version_is_in_both() {
        let parse = |text| VersionRange::parse(text).expect(text);
        for (one, other, expected) in [
            ("all", "all", true),
            ("all", "<1", true),
            (">=1", "<2", true),
            (">=2", "<2", false),
            (">=1 <2", ">=2 <3", false),
            (">=1 <3", ">=2 <4", true),
        ] {
            assert_eq!(parse(one).overlaps(&parse(other)), expected, "{one} and {other}");
            assert_eq!(parse(other).overlaps(&parse(one)), expected, "{other} and {one}");
        }
        assert!(parse(">=2 <2").is_empty() && parse(">=2 <1").is_empty());
        assert!(!parse(">=1 <2").is_empty() && !parse("<1").is_empty() && !parse("all").is_empty());
    }

    #[test]
    fn a_range_says_itself() {
        let at = |text| ClientVersion::parse(text);
        for (from, before, shown) in [
            (None, None, "all"),
            (at("1.2"), None, ">=1.2.0"),
            (None, at("2.0.0.1"), "<2.0.0.1"),
            (at("1"), at("2"), ">=1.0.0 <2.0.0"),
        ] {
            assert_eq!(VersionRange { from, before }.to_string(), shown);
        }
    }
}

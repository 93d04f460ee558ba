//! What can be chosen about a connection.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use mcp_attune_process::process::Stderr;
use mcp_attune_wire::listing::{MAX_BYTES, MAX_ITEMS, MAX_PAGES};
use rmcp::model::ProtocolVersion;

use super::cache::Cache;
use super::host::Host;
use super::profile::CallerProfile;
use super::shown::shown;
use super::trust::Trust;

/// The two ways of speaking MCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Era {
    /// 2026-07-28 and later: every request stands alone.
    Modern,
    /// 2025-11-25 and before: `initialize` first.
    Legacy,
}

/// How to connect, and how much to bear.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Headers of every request over HTTP. They replace those that would be sent under the same name, but for the
    /// `Accept-Language` of a request whose caller has a preference.
    pub headers: Vec<Header>,
    /// What is said of the caller, where a request does not say otherwise.
    pub profile: CallerProfile,
    /// Where answers are kept for as long as the server says; without one, none are.
    pub cache: Option<Arc<Cache>>,
    /// The only era that is spoken; without one, the newer that the server speaks.
    pub era: Option<Era>,
    /// The only version that is asked for, which decides the era too. A legacy server may answer with another.
    pub version: Option<Version>,
    /// Whose certificates are accepted over HTTPS.
    pub trust: Trust,
    /// How long it may take until the server has introduced itself. A server that is silent when it is asked what it
    /// may not know is asked in the older way after half of it, and after eight seconds at the latest.
    pub connect: Duration,
    /// How long an answer may take.
    pub answer: Duration,
    /// How many bytes one answer may have.
    pub bytes: usize,
    /// How many bytes a whole listing may have, all its pages together.
    pub listing_bytes: usize,
    /// How many pages a listing may have.
    pub pages: usize,
    /// How many items a listing may have.
    pub items: usize,
    /// Where a program's standard error goes.
    pub stderr: Stderr,
    /// Who looks on, and answers when the server asks. What they can answer is declared by the profile.
    pub host: Option<Arc<dyn Host>>,
}

/// How long a server may take at most to say whether it knows `server/discover`. rmcp gives up after ten seconds, and
/// would then take a late answer for one to its next question.
const MAX_PROBE: Duration = Duration::from_secs(8);

impl Options {
    /// How long a server may take to say whether it knows `server/discover`.
    pub(crate) fn probe(&self) -> Duration {
        (self.connect / 2).min(MAX_PROBE)
    }
}

/// A version of MCP.
///
/// ```
/// use mcp_attune_rmcp::{Era, Version};
///
/// let version: Version = "2025-06-18".parse()?;
/// assert_eq!((version.as_str(), version.era()), ("2025-06-18", Era::Legacy));
/// assert!("2025-06".parse::<Version>().is_err());
/// # Ok::<(), mcp_attune_rmcp::UnknownVersion>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version(pub(crate) ProtocolVersion);

impl Version {
    /// The date that it is called by.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Its era.
    #[must_use]
    pub fn era(&self) -> Era {
        if self.0.has_initialize() { Era::Legacy } else { Era::Modern }
    }
}

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == text);
        known.cloned().map(Self).ok_or_else(|| UnknownVersion(shown(text)))
    }
}

/// A version that we do not speak.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownVersion(String);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
        write!(f, "{} is no version that we speak; there are {}", self.0, known.join(", "))
    }
}

impl std::error::Error for UnknownVersion {}

impl Default for Options {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            profile: CallerProfile::default(),
            cache: None,
            era: None,
            version: None,
            trust: Trust::default(),
            connect: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            bytes: 64 << 20,
            listing_bytes: MAX_BYTES,
            pages: MAX_PAGES,
            items: MAX_ITEMS,
            stderr: Stderr::Inherited,
            host: None,
        }
    }
}

/// One header line, `name: value`. Its value is not shown by `Debug`.
///
/// ```
/// use mcp_attune_rmcp::Header;
///
/// let header: Header = "Accept-Language: de-CH".parse()?;
/// assert!("Content-Length: 3".parse::<Header>().is_err());
/// # Ok::<(), mcp_attune_rmcp::BadHeader>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
}

impl Header {
    /// Its name and its value.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [self.name.as_str().as_bytes(), self.value.as_bytes()]
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Header").field(&self.name.as_str()).finish_non_exhaustive()
    }
}

/// What belongs to the connection and is not for others to set.
const OURS: [HeaderName; 6] = [
    ::http::header::CONNECTION,
    ::http::header::CONTENT_LENGTH,
    ::http::header::TE,
    ::http::header::TRAILER,
    ::http::header::TRANSFER_ENCODING,
    ::http::header::UPGRADE,
];

impl Header {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Its value, which may be a secret.
    #[must_use]
    pub fn value(&self) -> &HeaderValue {
        &self.value
    }
}

impl FromStr for Header {
    type Err = BadHeader;

    fn from_str(line: &str) -> Result<Self, BadHeader> {
        let (name, value) = line.split_once(':').ok_or(BadHeader::NoColon)?;
        let bad_name = || BadHeader::Name(shown(name));
        let name: HeaderName = name.trim().parse().map_err(|_| bad_name())?;
        if OURS.contains(&name) {
            return Err(BadHeader::Ours(name));
        }
        match HeaderValue::from_str(value.trim()) {
            Ok(value) => Ok(Self { name, value }),
            Err(_) => Err(BadHeader::Value(name)),
        }
    }
}

/// Why a line is no header that can be sent. The value is never in it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BadHeader {
    /// Nothing divides name and value.
    NoColon,
    /// A name that no header has.
    Name(String),
    /// A value that no header has.
    Value(HeaderName),
    /// A header that belongs to the connection.
    Ours(HeaderName),
}

impl fmt::Display for BadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColon => f.write_str("a header has no colon; write it as `Name: value`"),
            Self::Name(name) => {
                write!(f, "`{name}` is no name of a header; names are letters, digits and hyphens")
            }
            Self::Value(name) => {
                write!(f, "the value of the header `{name}` holds a character that no header can carry")
            }
            Self::Ours(name) => {
                write!(f, "the header `{name}` belongs to the connection and cannot be set; leave it out")
            }
        }
    }
}

impl std::error::Error for BadHeader {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_header_line() {
        let header: Header = "X-Key:  a:b ".parse().unwrap();
        assert_eq!((header.name.as_str(), header.value.to_str().unwrap()), ("x-key", "a:b"));
        assert_eq!(format!("{header:?}"), r#"Header("x-key", ..)"#);
    }

    #[test]
    fn says_what_is_wrong_with_a_header() {
        let check = |line: &str, expected| assert_eq!(line.parse::<Header>().unwrap_err(), expected);
        check("X-Key", BadHeader::NoColon);
        check(": x", BadHeader::Name(String::new()));
        check("X Key: x", BadHeader::Name("X Key".to_owned()));
        check("X-Key: a\nb", BadHeader::Value(HeaderName::from_static("x-key")));
        check("transfer-encoding: chunked", BadHeader::Ours(::http::header::TRANSFER_ENCODING));
    }
}

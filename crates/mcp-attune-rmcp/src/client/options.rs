//! The options of a connection.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue};
use mcp_attune_process::process::StderrTarget;
use mcp_attune_wire::listing::{MAX_ITEMS, MAX_LISTING_TOTAL_BYTES, MAX_PAGES};
use rmcp::model::ProtocolVersion;

use super::cache::AnswerCache;
use super::host::ClientHost;
use super::profile::CallerProfile;
use super::sanitize::sanitized;
use super::trust::CertificateTrust;

/// The two ways of speaking MCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Era {
    /// 2026-07-28 and later: every request stands alone and says its version.
    Modern,
    /// 2025-11-25 and before: a session that begins with `initialize`.
    Legacy,
}

/// How to connect, what to say of the caller, and how much to accept from the server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionOptions {
    /// Headers of every request over HTTP. They replace those that would be sent under the same name, except
    /// the `Accept-Language` of a request whose caller has a preference. For a program they are an error.
    pub headers: Vec<CustomHeader>,
    /// What is said of the caller, unless a request says otherwise. In the legacy era its features hold for the
    /// whole session.
    pub profile: CallerProfile,
    /// Where answers are kept for as long as the server says. `None` keeps none.
    pub cache: Option<Arc<AnswerCache>>,
    /// The only era that is spoken. `None` speaks the newest that the server does.
    pub era: Option<Era>,
    /// The only version that is asked for, which decides the era too. A legacy server may answer with another.
    pub version: Option<McpVersion>,
    /// Which certificates are accepted over HTTPS.
    pub trust: CertificateTrust,
    /// How long it may take until the server has introduced itself, all attempts together. 30 seconds by
    /// default.
    ///
    /// A server that does not answer `server/discover` is asked with `initialize` after half of it, and after
    /// eight seconds at the latest.
    pub connect: Duration,
    /// How long one answer may take. 60 seconds by default.
    pub answer: Duration,
    /// Maximum size of one answer, or of one stream of events, in bytes. 64 MiB by default.
    pub bytes: usize,
    /// Maximum size of a listing in bytes, all its pages together.
    pub listing_bytes: usize,
    /// Maximum number of pages of a listing.
    pub pages: usize,
    /// Maximum number of items of a listing, all its pages together.
    pub items: usize,
    /// Where a program's standard error goes. To our own by default.
    pub stderr: StderrTarget,
    /// Who watches the wire, and answers if the server asks. What they can answer is declared by the profile.
    pub host: Option<Arc<dyn ClientHost>>,
}

/// Maximum time that a server has to answer `server/discover`. It is shorter than rmcp's own ten seconds, after
/// which rmcp would take a late answer for one to its next request.
const MAX_PROBE_TIME: Duration = Duration::from_secs(8);

impl ConnectionOptions {
    /// Returns how long a server has to answer `server/discover` before it is taken for a legacy one.
    pub(crate) fn probe_timeout(&self) -> Duration {
        (self.connect / 2).min(MAX_PROBE_TIME)
    }
}

/// A version of MCP that we speak.
///
/// ```
/// use mcp_attune_rmcp::{Era, McpVersion};
///
/// let version: McpVersion = "2025-06-18".parse()?;
/// assert_eq!((version.as_str(), version.era()), ("2025-06-18", Era::Legacy));
/// assert!("2025-06".parse::<McpVersion>().is_err());
/// # Ok::<(), mcp_attune_rmcp::UnknownVersion>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct McpVersion(pub(crate) ProtocolVersion);

impl McpVersion {
    /// Returns the date that the version is called by.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the era of the version.
    #[must_use]
    pub fn era(&self) -> Era {
        if self.0.has_initialize() { Era::Legacy } else { Era::Modern }
    }
}

impl FromStr for McpVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| known.as_str() == text);
        known.cloned().map(Self).ok_or_else(|| UnknownVersion(sanitized(text)))
    }
}

/// A text that is not a version that we speak. `Display` lists those that are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownVersion(String);

impl fmt::Display for UnknownVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
        write!(f, "{} is no version that we speak; there are {}", self.0, known.join(", "))
    }
}

impl std::error::Error for UnknownVersion {}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            headers: Vec::new(),
            profile: CallerProfile::default(),
            cache: None,
            era: None,
            version: None,
            trust: CertificateTrust::default(),
            connect: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            bytes: 64 << 20,
            listing_bytes: MAX_LISTING_TOTAL_BYTES,
            pages: MAX_PAGES,
            items: MAX_ITEMS,
            stderr: StderrTarget::Inherited,
            host: None,
        }
    }
}

/// A header to be sent, parsed from a line `name: value`. `Debug` does not show its value, which may be a
/// secret.
///
/// ```
/// use mcp_attune_rmcp::CustomHeader;
///
/// let header: CustomHeader = "Accept-Language: de-CH".parse()?;
/// assert!("Content-Length: 3".parse::<CustomHeader>().is_err());
/// # Ok::<(), mcp_attune_rmcp::CustomHeaderError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct CustomHeader {
    pub(crate) name: HeaderName,
    pub(crate) value: HeaderValue,
}

impl CustomHeader {
    /// Returns its name and its value as bytes, for the identity in a cache.
    pub(crate) fn parts(&self) -> [&[u8]; 2] {
        [self.name.as_str().as_bytes(), self.value.as_bytes()]
    }
}

impl fmt::Debug for CustomHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomHeader").field(&self.name.as_str()).finish_non_exhaustive()
    }
}

/// Headers that belong to the connection, and that a caller must not set.
const RESERVED_HEADERS: [HeaderName; 6] = [
    ::http::header::CONNECTION,
    ::http::header::CONTENT_LENGTH,
    ::http::header::TE,
    ::http::header::TRAILER,
    ::http::header::TRANSFER_ENCODING,
    ::http::header::UPGRADE,
];

impl CustomHeader {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Returns its value, which may be a secret.
    #[must_use]
    pub fn value(&self) -> &HeaderValue {
        &self.value
    }
}

impl FromStr for CustomHeader {
    type Err = CustomHeaderError;

    fn from_str(line: &str) -> Result<Self, CustomHeaderError> {
        let (name, value) = line.split_once(':').ok_or(CustomHeaderError::NoColon)?;
        let bad_name = || CustomHeaderError::Name(sanitized(name));
        let name: HeaderName = name.trim().parse().map_err(|_| bad_name())?;
        if RESERVED_HEADERS.contains(&name) {
            return Err(CustomHeaderError::Ours(name));
        }
        match HeaderValue::from_str(value.trim()) {
            Ok(value) => Ok(Self { name, value }),
            Err(_) => Err(CustomHeaderError::Value(name)),
        }
    }
}

/// Why a line is not a header that can be sent. The value is never in it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CustomHeaderError {
    /// The line has no colon.
    NoColon,
    /// The name has characters that no header name has.
    Name(String),
    /// The value of this header has characters that no header value has.
    Value(HeaderName),
    /// This header belongs to the connection, such as `Content-Length`.
    Ours(HeaderName),
}

impl fmt::Display for CustomHeaderError {
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

impl std::error::Error for CustomHeaderError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_header_line() {
        let header: CustomHeader = "X-Key:  a:b ".parse().unwrap();
        assert_eq!((header.name.as_str(), header.value.to_str().unwrap()), ("x-key", "a:b"));
        assert_eq!(format!("{header:?}"), r#"CustomHeader("x-key", ..)"#);
    }

    #[test]
    fn says_what_is_wrong_with_a_header() {
        let check = |line: &str, expected| assert_eq!(line.parse::<CustomHeader>().unwrap_err(), expected);
        check("X-Key", CustomHeaderError::NoColon);
        check(": x", CustomHeaderError::Name(String::new()));
        check("X Key: x", CustomHeaderError::Name("X Key".to_owned()));
        check("X-Key: a\nb", CustomHeaderError::Value(HeaderName::from_static("x-key")));
        check("transfer-encoding: chunked", CustomHeaderError::Ours(::http::header::TRANSFER_ENCODING));
    }
}

//! The list of allowed hosts and origins, and the checks against it.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use http::header::{HOST, HeaderValue, ORIGIN};
use http::{HeaderMap, Request, StatusCode, Uri, Version};
use mcp_attune_wire::notice::Notice;

use super::name::{BrowserOrigin, HostAndPort};
use super::printable_ascii;

/// The hosts and origins that requests may name, in addition to those of this machine, which are always
/// allowed. The default allows no others.
///
/// Rules: H15.
#[derive(Clone, Debug, Default)]
pub struct Allowlist {
    hosts: Vec<HostAndPort>,
    origins: Vec<BrowserOrigin>,
    /// Whether every host that is an IP address is allowed.
    addresses: bool,
    /// The first four host values that were allowed, byte for byte as they were written, so that most requests
    /// need no parsing. They are never replaced.
    known: [OnceLock<Box<[u8]>>; 4],
}

/// An entry of the operator's that is not a host or not an origin.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AllowlistError {
    /// Not a host, such as `https://mcp.example`, `*` or `mcp.example:port`.
    Host(String),
    /// Not an origin, such as `app.example`, `https://app.example/` or `*`.
    Origin(String),
}

impl fmt::Display for AllowlistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(entry) => {
                write!(
                    f,
                    "{} is no host; write a name or an address, with a port or without",
                    printable_ascii(entry.as_bytes())
                )
            }
            Self::Origin(entry) => write!(
                f,
                "{} is no origin; write scheme and host as a browser does, like https://app.example",
                printable_ascii(entry.as_bytes())
            ),
        }
    }
}

impl Error for AllowlistError {}

/// Why a request is refused. The values in it are shortened and printable, so that they can be shown and
/// logged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GuardError {
    /// It names a host that is neither loopback nor listed: 403.
    Host(String),
    /// It names an origin that is neither loopback nor listed: 403.
    Origin(String),
    /// It is of HTTP/1.1 and names no host: 400.
    NoHost,
}

impl GuardError {
    /// Returns the HTTP status that the caller gets.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Host(_) | Self::Origin(_) => StatusCode::FORBIDDEN,
            Self::NoHost => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns what the caller is told.
    #[must_use]
    pub fn notice(&self) -> Notice {
        match self {
            Self::Host(host) => Notice::HostNotAllowed { host: host.clone().into() },
            Self::Origin(origin) => Notice::OriginNotAllowed { origin: origin.clone().into() },
            Self::NoHost => Notice::HostMissing,
        }
    }
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl Error for GuardError {}

impl Allowlist {
    /// Makes a list of hosts as `Host` headers name them, with or without a port, and of origins as `Origin`
    /// headers name them.
    ///
    /// # Errors
    ///
    /// [`AllowlistError`] for the first entry that is wrong.
    pub fn new<'a>(
        hosts: impl IntoIterator<Item = &'a str>,
        origins: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, AllowlistError> {
        let host = |entry: &str| entry.parse().map_err(|()| AllowlistError::Host(entry.to_owned()));
        let origin = |entry: &str| entry.parse().map_err(|()| AllowlistError::Origin(entry.to_owned()));
        Ok(Self {
            hosts: hosts.into_iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.into_iter().map(origin).collect::<Result<_, _>>()?,
            addresses: false,
            known: Default::default(),
        })
    }

    /// Also allows every host that is an IP address and not a name.
    ///
    /// A page whose name was made to point here ("DNS rebinding") names that name, so an address cannot be such
    /// an attack. This is meant for listeners that have no web page to read, such as the one for health and
    /// metrics.
    #[must_use]
    pub fn with_ip_addresses(self) -> Self {
        Self { addresses: true, ..self }
    }

    /// Returns whether a value of `Host` is allowed. A value that cannot be parsed is not.
    #[must_use]
    pub fn allows_host(&self, value: &[u8]) -> bool {
        if self.known.iter().filter_map(OnceLock::get).any(|known| **known == *value) {
            return true;
        }
        let allowed = parse::<HostAndPort>(value).is_some_and(|host| {
            host.is_loopback()
                || (self.addresses && host.is_address())
                || self.hosts.iter().any(|entry| entry.covers(&host))
        });
        if allowed && let Some(place) = self.known.iter().find(|place| place.get().is_none()) {
            // Somebody else may have been first to the place, with one as good.
            let _ = place.set(value.into());
        }
        allowed
    }

    /// Returns whether a value of `Origin` is allowed: loopback or listed.
    #[must_use]
    pub fn allows_origin(&self, value: &[u8]) -> bool {
        parse::<BrowserOrigin>(value)
            .is_some_and(|origin| origin.is_loopback() || self.origins.contains(&origin))
    }

    /// Returns whether an origin is listed, so that its pages may read the answers (CORS). Loopback origins are
    /// allowed to ask, but may only read if they are listed.
    ///
    /// Rules: G7.
    #[must_use]
    pub fn lists_origin(&self, value: &[u8]) -> bool {
        parse::<BrowserOrigin>(value).is_some_and(|origin| self.origins.contains(&origin))
    }

    /// Returns whether any origin is listed, which turns CORS on.
    ///
    /// Rules: G7.
    #[must_use]
    pub fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    /// Checks every host and origin that a request names, in its target and in its headers. A request of
    /// HTTP/1.1 has to name a host.
    ///
    /// # Errors
    ///
    /// [`GuardError`] for the first thing that is not allowed.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), GuardError> {
        let named = request.uri().authority().is_some() || request.headers().contains_key(HOST);
        if !named && request.version() == Version::HTTP_11 {
            return Err(GuardError::NoHost);
        }
        self.check_named(request.uri(), request.headers())
    }

    /// Checks the same, but lets a request name no host at all: the layer may be called by code of the same
    /// process, and browsers always name one.
    pub(crate) fn check_named(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), GuardError> {
        let target = uri.authority().map(|authority| authority.as_str().as_bytes());
        let lines = headers.get_all(HOST).into_iter().map(HeaderValue::as_bytes);
        if let Some(host) = target.into_iter().chain(lines).find(|host| !self.allows_host(host)) {
            return Err(GuardError::Host(printable_ascii(host)));
        }
        let mut origins = headers.get_all(ORIGIN).into_iter().map(HeaderValue::as_bytes);
        match origins.find(|origin| !self.allows_origin(origin)) {
            Some(origin) => Err(GuardError::Origin(printable_ascii(origin))),
            None => Ok(()),
        }
    }
}

fn parse<T: FromStr>(value: &[u8]) -> Option<T> {
    str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Allowlist {
        let hosts = ["MCP.example", "ports.example:8443", "192.0.2.1", "[2001:db8::1]:80"];
        Allowlist::new(hosts, ["https://App.example", "http://app.example:80", "https://app.example:9443"])
            .unwrap()
    }

    #[test]
    fn lets_loopback_and_listed_hosts_in() {
        for host in [
            "localhost",
            "LocalHost:1",
            "127.0.0.1:8808",
            "127.255.0.9",
            "[::1]",
            "[0:0:0:0:0:0:0:1]:65535",
            "[::ffff:127.0.0.1]",
            "mcp.example",
            "mcp.EXAMPLE:1234",
            "ports.example:8443",
            "192.0.2.1:80",
            "[2001:DB8::1]:80",
        ] {
            assert!(allowed().allows_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn lets_every_address_in_where_it_is_told_to() {
        let with = allowed().with_ip_addresses();
        for host in ["10.1.2.3", "10.1.2.3:8809", "[2001:db8::2]:1", "[::2]", "0.0.0.0"] {
            assert!(with.allows_host(host.as_bytes()), "{host}");
            assert!(!allowed().allows_host(host.as_bytes()), "{host}");
        }
        for host in
            ["evil.example", "10.1.2", "10.1.2.3.evil.example", "0x7f.1", "::2", "10.1.2.3@evil.example"]
        {
            assert!(!with.allows_host(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn says_the_same_again() {
        let allowed = allowed();
        for _ in 0..3 {
            for port in 1..9 {
                assert!(allowed.allows_host(format!("localhost:{port}").as_bytes()));
                assert!(!allowed.allows_host(format!("localhost.:{port}").as_bytes()));
            }
        }
    }

    #[test]
    fn keeps_other_hosts_out() {
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "localhost.",
            "evil-localhost",
            "me@localhost",
            "localhost:80@evil.example",
            "localhost, evil.example",
            "localhost/",
            "localhost:",
            "localhost:x",
            "localhost:+1",
            "localhost:65536",
            "localhost:1:2",
            "128.0.0.1",
            "127.0.0.1.evil.example",
            "127.1",
            "0.0.0.0",
            "[::2]",
            "[::1",
            "::1",
            "[::1]x",
            "[::1]:",
            "[localhost]",
            "[::1%25lo]",
            " localhost",
            "ports.example",
            "ports.example:80",
            "[2001:db8::1]",
            "mcp.example.evil.example",
            "xmcp.example",
            "*",
            "localhost\u{e9}",
        ] {
            assert!(!allowed().allows_host(host.as_bytes()), "{host}");
        }
        assert!(!allowed().allows_host(b"localhost\xff"));
    }

    #[test]
    fn lets_loopback_and_listed_origins_in() {
        for (origin, listed) in [
            ("http://localhost", false),
            ("https://LOCALHOST:3000", false),
            ("http://127.8.0.1:5173", false),
            ("http://[::1]:3000", false),
            ("vscode-webview://localhost", false),
            ("https://app.example", true),
            ("HTTPS://APP.example:443", true),
            ("http://app.example", true),
            ("https://app.example:9443", true),
        ] {
            assert!(allowed().allows_origin(origin.as_bytes()), "{origin}");
            assert_eq!(allowed().lists_origin(origin.as_bytes()), listed, "{origin}");
        }
        assert!(Allowlist::new([], ["null"]).unwrap().allows_origin(b"null"));
    }

    #[test]
    fn keeps_other_origins_out() {
        for origin in [
            "",
            "null",
            "*",
            "localhost",
            "http://",
            "://localhost",
            "http://evil.example",
            "ftp://app.example",
            "https://app.example:80",
            "https://app.example/",
            "https://app.example.evil.example",
            "https://evil.example#https://app.example",
            "https://app.example https://evil.example",
            "https://app.example, https://evil.example",
            "http://localhost@evil.example",
            "http://localhost/x",
        ] {
            assert!(!allowed().allows_origin(origin.as_bytes()), "{origin}");
        }
    }

    #[test]
    fn says_which_entry_is_none() {
        for entry in ["https://mcp.example", "*", "mcp.example:port", "", "::1"] {
            assert_eq!(Allowlist::new([entry], []).unwrap_err(), AllowlistError::Host(entry.to_owned()));
        }
        for entry in ["app.example", "https://app.example/", "*", "", "https://*.example"] {
            assert_eq!(Allowlist::new([], [entry]).unwrap_err(), AllowlistError::Origin(entry.to_owned()));
        }
    }

    fn checked(version: Version, uri: &str, lines: &[(&str, &str)]) -> Result<(), GuardError> {
        let mut request = Request::builder().version(version).uri(uri);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        allowed().check(&request.body(()).unwrap())
    }

    #[test]
    fn looks_at_every_host_and_origin_of_a_request() {
        let host = |name: &str| Err(GuardError::Host(name.to_owned()));
        let origin = |name: &str| Err(GuardError::Origin(name.to_owned()));
        let (h1, h2) = (Version::HTTP_11, Version::HTTP_2);
        let here = ("host", "localhost");
        for (version, uri, lines, expected) in [
            (h1, "/", &[here][..], Ok(())),
            (h1, "/", &[], Err(GuardError::NoHost)),
            (Version::HTTP_10, "/", &[], Ok(())),
            (h1, "/", &[("host", "")], host("")),
            (h1, "/", &[here, ("host", "evil.example")], host("evil.example")),
            (h1, "http://evil.example/", &[here], host("evil.example")),
            (h1, "http://localhost/", &[("host", "evil.example")], host("evil.example")),
            (h2, "http://localhost/", &[], Ok(())),
            (h2, "http://evil.example/", &[], host("evil.example")),
            (h1, "/", &[here, ("origin", "null")], origin("null")),
            (
                h1,
                "/",
                &[here, ("origin", "http://localhost"), ("origin", "http://evil")],
                origin("http://evil"),
            ),
            (h1, "/", &[("host", "evil"), ("origin", "http://evil")], host("evil")),
        ] {
            assert_eq!(checked(version, uri, lines), expected, "{version:?} {uri} {lines:?}");
        }
    }
}

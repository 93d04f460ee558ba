//! Hosts and origins as requests and operators write them, parsed strictly: what cannot be parsed matches
//! nothing.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host with an optional port, as in a `Host` header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HostAndPort {
    name: HostName,
    /// In an entry of a list, `None` stands for any port.
    port: Option<u16>,
}

/// A host: a DNS name or an IP address. They are told apart so that `127.0.0.1` is compared as an address.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HostName {
    /// A DNS name in lower case.
    Dns(String),
    /// An IPv4 address, or an IPv6 address that was written in brackets.
    Address(IpAddr),
}

impl HostAndPort {
    /// Returns whether the host is this machine: `localhost`, or a loopback address, also an IPv4 one mapped
    /// into IPv6.
    pub(super) fn is_loopback(&self) -> bool {
        match &self.name {
            HostName::Dns(name) => name == "localhost",
            HostName::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// Returns whether the host is an IP address and not a name.
    pub(super) fn is_address(&self) -> bool {
        matches!(self.name, HostName::Address(_))
    }

    /// Returns whether this entry of a list allows `host`: the same host, and the same port unless the entry
    /// has none.
    pub(super) fn covers(&self, host: &Self) -> bool {
        self.name == host.name && (self.port.is_none() || self.port == host.port)
    }
}

impl FromStr for HostAndPort {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']').ok_or(())?;
                (HostName::Address(IpAddr::V6(address.parse::<Ipv6Addr>().map_err(drop)?)), port)
            }
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                (parse_host_name(name)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().map_err(drop)?)
            }
            None if port.is_empty() => None,
            _ => return Err(()),
        };
        Ok(Self { name, port })
    }
}

/// Parses an IPv4 address, or a name of letters, digits, dots, hyphens and underscores.
fn parse_host_name(name: &str) -> Result<HostName, ()> {
    if let Ok(address) = name.parse() {
        return Ok(HostName::Address(IpAddr::V4(address)));
    }
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    if name.is_empty() || !name.bytes().all(fits) {
        return Err(());
    }
    Ok(HostName::Dns(name.to_ascii_lowercase()))
}

/// An origin as browsers serialize it (RFC 6454 §6.2). The default ports of HTTP and HTTPS are dropped, so that
/// `https://app.example:443` and `https://app.example` are the same origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BrowserOrigin {
    /// The opaque origin `null`, which for instance sandboxed frames and local files have.
    Null,
    /// A scheme in lower case and a host.
    Of { scheme: String, host: HostAndPort },
}

impl BrowserOrigin {
    /// Returns whether the page comes from this machine, over whatever scheme. `null` does not.
    pub(super) fn is_loopback(&self) -> bool {
        matches!(self, Self::Of { host, .. } if host.is_loopback())
    }
}

impl FromStr for BrowserOrigin {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "null" {
            return Ok(Self::Null);
        }
        let (scheme, host) = text.split_once("://").ok_or(())?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(fits) {
            return Err(());
        }
        let scheme = scheme.to_ascii_lowercase();
        let mut host: HostAndPort = host.parse()?;
        // A browser leaves the scheme's own port out; an operator may not.
        if matches!((scheme.as_str(), host.port), ("http", Some(80)) | ("https", Some(443))) {
            host.port = None;
        }
        Ok(Self::Of { scheme, host })
    }
}

//! Hosts and origins as requests and operators write them.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A host, and a port where one is named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HostAndPort {
    name: HostName,
    port: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum HostName {
    /// In lower case.
    Dns(String),
    Address(IpAddr),
}

impl HostAndPort {
    pub(super) fn is_loopback(&self) -> bool {
        match &self.name {
            HostName::Dns(name) => name == "localhost",
            HostName::Address(address) => address.to_canonical().is_loopback(),
        }
    }

    /// Whether it is an IP address, and no name.
    pub(super) fn is_address(&self) -> bool {
        matches!(self.name, HostName::Address(_))
    }

    /// Whether this entry stands for a host.
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

/// A name or an IPv4 address.
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

/// An origin as browsers write it (RFC 6454 §6.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum BrowserOrigin {
    Null,
    Of { scheme: String, host: HostAndPort },
}

impl BrowserOrigin {
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

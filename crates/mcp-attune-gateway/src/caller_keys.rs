//! Tells one caller from another, so that permits can be shared out fairly.
//!
//! 1. Whoever shows credentials (`Authorization`, `Cookie`, the headers that `identity_headers` names) has
//!    one key for them.
//! 2. The address that a connection comes from is another key, and both count: credentials that nobody has
//!    checked can be made up anew for every request. Of an IPv6 address the first 64 bits count, because one
//!    caller has all addresses below them.
//! 3. A connection of a trusted proxy is not its callers' own. The last address in `X-Forwarded-For` or `Forwarded`
//!    that is not a trusted proxy's is the caller's; where there is none, the address tells nobody apart. Loopback
//!    is trusted by default.
//! 4. A proxy writes one of the two headers, and a caller can send it the other. So where they disagree, or
//!    `Forwarded` is malformed, neither counts: such callers share the key of the proxy.
//!
//! Rules: G4.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};

use crate::config::IpNetwork;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// How many addresses of a chain of proxies are looked at, from the last one on.
const MAX_HOPS: usize = 32;

/// The keys of one caller: a hash of its credentials, and a hash of where it comes from. Either can be
/// missing; the default has neither, and is limited by nothing but the total.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct CallerKeys([Option<u64>; 2]);

impl CallerKeys {
    /// Returns the keys that there are, each with its index (0: credentials, 1: address).
    pub(crate) fn iter(self) -> impl Iterator<Item = (usize, u64)> {
        self.0.into_iter().enumerate().filter_map(|(place, key)| key.map(|key| (place, key)))
    }

    /// Sets the key at an index. Other indices than 0 and 1 are ignored.
    pub(crate) fn set(&mut self, place: usize, key: u64) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = Some(key);
        }
    }
}

/// Computes the keys of callers. The hashes are seeded at random, so that nobody can choose credentials whose
/// key collides with somebody else's; keys of two hashers cannot be compared.
#[derive(Debug)]
pub(crate) struct CallerKeyHasher {
    hashes: RandomState,
    trusted_proxies: Vec<IpNetwork>,
}

impl CallerKeyHasher {
    /// Makes a hasher that believes `X-Forwarded-For` and `Forwarded` from these networks.
    pub(crate) fn new(trusted_proxies: &[IpNetwork]) -> Self {
        Self { hashes: RandomState::new(), trusted_proxies: trusted_proxies.to_vec() }
    }

    /// Returns the keys of whoever sent these headers over a connection from `peer`. `identity` is a hash of
    /// their credentials, or `None` if they show none.
    pub(crate) fn keys(&self, identity: Option<u64>, headers: &HeaderMap, peer: IpAddr) -> CallerKeys {
        let address = self.client_address(headers, peer);
        // The first element keeps the two kinds apart.
        let identity = identity.map(|identity| self.hashes.hash_one((0, u128::from(identity))));
        CallerKeys([identity, address.map(|address| self.hashes.hash_one((1, network_of(address))))])
    }

    /// Returns the address of the caller as far as it can be believed: that of the connection, or, behind
    /// trusted proxies, what these say. `None` if they do not say it.
    fn client_address(&self, headers: &HeaderMap, peer: IpAddr) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return Some(peer);
        }
        match (headers.contains_key(X_FORWARDED_FOR), headers.contains_key(FORWARDED)) {
            (false, false) => None,
            (true, false) => self.last_untrusted(x_forwarded_for(headers)),
            (false, true) => match forwarded(headers) {
                Some(hops) => self.last_untrusted(hops.into_iter().rev()),
                None => Some(peer),
            },
            (true, true) => {
                let old = self.last_untrusted(x_forwarded_for(headers));
                let new = forwarded(headers).and_then(|hops| self.last_untrusted(hops.into_iter().rev()));
                if old == new { old } else { Some(peer) }
            }
        }
    }

    /// Returns the first of these addresses, the last hop before all others, that is not a trusted proxy's. `None` if
    /// all are trusted, one is unknown, or there are more than [`MAX_HOPS`].
    fn last_untrusted(&self, hops: impl Iterator<Item = Option<IpAddr>>) -> Option<IpAddr> {
        for hop in hops.take(MAX_HOPS) {
            let address = hop?;
            if !self.is_trusted(address) {
                return Some(address);
            }
        }
        None
    }

    /// Returns whether an address is a trusted proxy's.
    pub(crate) fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted_proxies.iter().any(|network| network.contains(address))
    }
}

/// Returns the part of an address that one caller cannot choose: all of an IPv4 address, the upper half of an
/// IPv6 address.
fn network_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(Ipv4Addr::to_bits(address)),
        // No IPv4 address is as large as one whose upper half is not empty.
        IpAddr::V6(address) => Ipv6Addr::to_bits(address) >> 64 << 64,
    }
}

/// Returns the addresses in `X-Forwarded-For`, the last one first.
fn x_forwarded_for(headers: &HeaderMap) -> impl Iterator<Item = Option<IpAddr>> {
    let lines = headers.get_all(X_FORWARDED_FOR).into_iter().rev();
    lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')).map(parse_forwarded_hop)
}

/// Returns the `for` of each element of `Forwarded` (RFC 7239), the first one first; one that is missing, hidden or
/// `unknown` is `None`. All of it is `None` if it is malformed: a quote that the caller left open would hide what the
/// proxy wrote behind it.
fn forwarded(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    let mut hops = Vec::new();
    for line in headers.get_all(FORWARDED) {
        let mut rest = line.to_str().ok()?;
        loop {
            let (hop, after) = parse_forwarded_element(rest)?;
            hops.push(hop);
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => break,
            }
        }
    }
    Some(hops)
}

/// Parses `name=value;name="value"` up to a comma or the end, and returns the address in its `for`.
fn parse_forwarded_element(text: &str) -> Option<(Option<IpAddr>, &str)> {
    let (mut hop, mut rest) = (None, text.trim_start());
    loop {
        let (name, after) = rest.split_once('=')?;
        let is_token = |name: &str| !name.is_empty() && !name.contains([' ', '\t', '"', ',', ';']);
        let (value, after) = match after.strip_prefix('"') {
            // An address needs no escapes, and a quoted string with one is none.
            Some(quoted) => quoted.split_once('"').filter(|(value, _)| !value.contains('\\'))?,
            None => after.split_at(after.find([',', ';', ' ', '\t']).unwrap_or(after.len())),
        };
        if !is_token(name) || value.contains('"') {
            return None;
        }
        if name.eq_ignore_ascii_case("for") {
            hop = parse_forwarded_hop(value.as_bytes());
        }
        rest = after.trim_start();
        match rest.strip_prefix(';') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() || rest.starts_with(',') => return Some((hop, rest)),
            None => return None,
        }
    }
}

/// Parses one hop: an address, possibly in brackets or quotes, possibly with a port.
fn parse_forwarded_hop(hop: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(hop).ok()?.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|text| text.split(']').next()).unwrap_or(text);
    let without_port =
        || bare.rsplit_once(':').map(|(address, _)| address).filter(|address| !address.contains(':'));
    bare.parse().ok().or_else(|| without_port()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(trusted: &[&str], forwarded: &[&str], peer: &str) -> Option<String> {
        address_of(trusted, forwarded.iter().map(|line| (X_FORWARDED_FOR, *line)), peer)
    }

    fn address_of<'a>(
        trusted: &[&str],
        lines: impl Iterator<Item = (HeaderName, &'a str)>,
        peer: &str,
    ) -> Option<String> {
        let trusted: Vec<IpNetwork> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(name, line.parse().unwrap());
        }
        CallerKeyHasher::new(&trusted)
            .client_address(&headers, peer.parse().unwrap())
            .map(|address| address.to_string())
    }

    #[test]
    fn believes_trusted_proxies_and_nobody_else() {
        let check = |trusted: &[&str], forwarded: &[&str], peer: &str, expected: Option<&str>| {
            assert_eq!(address(trusted, forwarded, peer).as_deref(), expected, "{forwarded:?} from {peer}");
        };
        let loopback = &["127.0.0.0/8", "::1"];
        check(loopback, &[], "203.0.113.7", Some("203.0.113.7"));
        check(loopback, &["198.51.100.1"], "203.0.113.7", Some("203.0.113.7"));
        check(loopback, &["198.51.100.1"], "127.0.0.1", Some("198.51.100.1"));
        check(loopback, &["198.51.100.1"], "::ffff:127.0.0.1", Some("198.51.100.1"));
        check(loopback, &["1.1.1.1, 198.51.100.1:4711"], "::1", Some("198.51.100.1"));
        check(loopback, &["1.1.1.1", "\"[2001:db8::1]:80\", 127.0.0.9"], "127.0.0.1", Some("2001:db8::1"));
        check(loopback, &["198.51.100.1", "127.0.0.9", "127.0.0.8"], "127.0.0.1", Some("198.51.100.1"));
        for forwarded in [&[][..], &["127.0.0.1"], &["1.1.1.1, unknown"], &[""], &["1.1.1.1, "]] {
            check(loopback, forwarded, "127.0.0.1", None);
        }
        check(&[], &["198.51.100.1"], "127.0.0.1", Some("127.0.0.1"));
        check(&["10.0.0.0/8"], &["198.51.100.1, 10.1.2.3"], "10.9.9.9", Some("198.51.100.1"));
    }

    #[test]
    fn forwarded_is_believed_as_x_forwarded_for_is() {
        let check = |lines: &[&str], peer: &str, expected: Option<&str>| {
            let lines = lines.iter().map(|line| (FORWARDED, *line));
            assert_eq!(address_of(&["127.0.0.0/8"], lines, peer).as_deref(), expected);
        };
        check(&["for=198.51.100.1"], "203.0.113.7", Some("203.0.113.7"));
        check(&["for=198.51.100.1"], "127.0.0.1", Some("198.51.100.1"));
        check(&["proto=https; FOR=198.51.100.1:4711 ;by=127.0.0.9"], "127.0.0.1", Some("198.51.100.1"));
        check(
            &["for=1.1.1.1, for=\"[2001:db8::1]:80\";host=\"a,b;c\", for=127.0.0.9"],
            "127.0.0.1",
            Some("2001:db8::1"),
        );
        check(&["for=1.1.1.1", "for=198.51.100.1"], "127.0.0.1", Some("198.51.100.1"));
        for nobody in ["for=unknown", "for=1.1.1.1, for=_hidden", "proto=https", "for=127.0.0.9"] {
            check(&[nobody], "127.0.0.1", None);
        }
    }

    #[test]
    fn what_a_caller_writes_into_forwarded_gives_it_no_other_address() {
        let proxy = Some("127.0.0.1");
        let check = |lines: &[(HeaderName, &str)], expected: Option<&str>| {
            let found = address_of(&["127.0.0.0/8"], lines.iter().cloned(), "127.0.0.1");
            assert_eq!(found.as_deref(), expected, "{lines:?}");
        };
        // A quote that is left open, before what the proxy appends.
        for malformed in [
            "for=\"x, for=198.51.100.1",
            "for=\"x, for=\"[2001:db8::1]\"",
            "for=\"x\\\", for=198.51.100.1",
            "for=a\"b, for=1.1.1.1",
            "",
            ", for=1.1.1.1",
            "for",
            "=1.1.1.1",
        ] {
            check(&[(FORWARDED, malformed)], proxy);
        }
        // A header that the proxy does not write.
        let both = |new: &'static str| [(X_FORWARDED_FOR, "198.51.100.1"), (FORWARDED, new)];
        check(&both("for=198.51.100.1"), Some("198.51.100.1"));
        check(&both("for=1.1.1.1"), proxy);
        check(&both("for=unknown"), proxy);
        check(&both("\""), proxy);
    }

    #[test]
    fn keys_are_those_of_one_caller() {
        let callers = CallerKeyHasher::new(&[]);
        let keys = |identity, peer: &str| callers.keys(identity, &HeaderMap::new(), peer.parse().unwrap());
        assert_eq!(keys(Some(1), "2001:db8::1"), keys(Some(1), "2001:db8::2"));
        assert_ne!(keys(None, "2001:db8::1"), keys(None, "2001:db8:0:1::1"));
        assert_ne!(keys(None, "203.0.113.7"), keys(None, "203.0.113.8"));
        assert_eq!(keys(None, "203.0.113.7"), keys(None, "::ffff:203.0.113.7"));
        assert_ne!(keys(Some(1), "203.0.113.7"), keys(Some(2), "203.0.113.7"));
        assert_eq!(keys(None, "203.0.113.7").iter().count(), 1);
        // One number as an identity and as an address makes two keys.
        let address = Ipv4Addr::new(203, 0, 113, 7).to_bits();
        let CallerKeys([identity, peer]) = keys(Some(address.into()), "203.0.113.7");
        assert!(identity.is_some() && identity != peer);
    }

    #[test]
    fn a_header_without_end_is_looked_at_to_a_bound() {
        let many = "127.0.0.1,".repeat(5000) + "127.0.0.1";
        assert_eq!(address(&["127.0.0.0/8"], &[&format!("1.1.1.1,{many}")], "127.0.0.1"), None);
    }
}

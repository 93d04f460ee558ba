//! Tells one caller from another, so that permits can be shared out fairly.
//!
//! 1. Whoever shows credentials (`Authorization`, `Cookie`, the headers that `identity_headers` names) has
//!    one key for them.
//! 2. The address that a connection comes from is another key, and both count: credentials that nobody has
//!    checked can be made up anew for every request. Of an IPv6 address the first 64 bits count, because one
//!    caller has all addresses below them.
//! 3. A connection of a trusted proxy is not its callers' own. The last address in `X-Forwarded-For` that is
//!    not a trusted proxy's is the caller's; where there is none, the address tells nobody apart. Loopback is
//!    trusted by default.
//!
//! Rules: G4.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderMap, HeaderName};

use crate::config::IpNetwork;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// How many addresses of `X-Forwarded-For` are looked at, from the last one on.
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
    /// Makes a hasher that believes `X-Forwarded-For` from these networks.
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
    /// trusted proxies, the last one in `X-Forwarded-For` that none of them has. `None` if all are trusted,
    /// one cannot be parsed, or there are more than [`MAX_HOPS`].
    fn client_address(&self, headers: &HeaderMap, peer: IpAddr) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return Some(peer);
        }
        let lines = headers.get_all(FORWARDED_FOR).into_iter().rev();
        let hops = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b',')).take(MAX_HOPS);
        for hop in hops {
            let address = parse_forwarded_hop(hop)?;
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

/// Parses one element of `X-Forwarded-For`: an address, possibly in brackets or quotes, possibly with a port.
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
        let trusted: Vec<IpNetwork> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
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

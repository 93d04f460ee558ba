//! IP networks as operators write them: `10.0.0.0/8`, `2001:db8::/32`, or one address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::findings::ConfigProblem;

/// A range of IP addresses: those that begin with the same bits.
///
/// ```
/// use mcp_attune_gateway::config::IpNetwork;
///
/// let network: IpNetwork = "10.0.0.0/8".parse().unwrap();
/// assert!(network.contains("10.1.2.3".parse().unwrap()));
/// assert!(!network.contains("11.1.2.3".parse().unwrap()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct IpNetwork {
    /// Any address of the network; bits beyond the first `bits` are ignored.
    address: IpAddr,
    /// How many bits count: at most 32 for IPv4, 128 for IPv6. A single address has all of them.
    bits: u32,
}

/// The error of a text that is not an address or a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpNetworkError;

impl fmt::Display for IpNetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("is no network")
    }
}

impl std::error::Error for IpNetworkError {}

impl FromStr for IpNetwork {
    type Err = IpNetworkError;

    fn from_str(text: &str) -> Result<Self, IpNetworkError> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| IpNetworkError)?;
        let size = if address.is_ipv4() { 32 } else { 128 };
        let is_number = |bits: &&str| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let bits = match bits {
            None => size,
            Some(bits) => {
                Some(bits).filter(is_number).and_then(|bits| bits.parse().ok()).ok_or(IpNetworkError)?
            }
        };
        if bits > size {
            return Err(IpNetworkError);
        }
        Ok(Self { address, bits })
    }
}

impl IpNetwork {
    /// Returns whether an address belongs to the network. An IPv4 address that is mapped into IPv6
    /// (`::ffff:10.0.0.1`) counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                own.to_bits().checked_shr(32 - self.bits) == other.to_bits().checked_shr(32 - self.bits)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                own.to_bits().checked_shr(128 - self.bits) == other.to_bits().checked_shr(128 - self.bits)
            }
            _ => false,
        }
    }
}

/// Parses an entry of `trusted_proxies`.
pub(super) fn parse_network(text: &str) -> Result<IpNetwork, ConfigProblem> {
    let hint = "write an address, or a network such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
    text.parse().map_err(|IpNetworkError| ConfigProblem::new("is no network", hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_its_addresses() {
        for (network, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.0.0.0/8", "::ffff:10.0.0.1", "2001:db8::1"),
            ("0.0.0.0/0", "203.0.113.7", "::2"),
            ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("2001:db8::/32", "2001:db8:1::1", "2001:db9::1"),
            ("::/0", "2001:db8::1", "10.0.0.1"),
            ("::1", "::1", "::2"),
        ] {
            let read: IpNetwork = network.parse().unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{inside} in {network}");
            assert!(!read.contains(outside.parse().unwrap()), "{outside} in {network}");
        }
    }

    #[test]
    fn refuses_what_is_none() {
        for text in [
            "",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0/8",
            "example.com",
            "10.0.0.0/8/8",
        ] {
            assert_eq!(text.parse::<IpNetwork>(), Err(IpNetworkError), "{text}");
        }
    }
}

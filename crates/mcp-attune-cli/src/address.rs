//! Addresses to listen on, as people write them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads an address with a port; a port alone, and `localhost`, mean this machine.
///
/// # Errors
///
/// What is wrong, and what to write instead.
pub(crate) fn parse_listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    match (host, port.parse()) {
        ("" | "localhost", Ok(port)) => Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        ("*", Ok(port)) => Err(format!("write 0.0.0.0:{port} to listen for everyone")),
        _ => Err("write an IP address and a port, such as 127.0.0.1:8808 or [::1]:8808, or a port alone"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_and_localhost_are_this_machine() {
        for text in ["8808", ":8808", "localhost:8808", "127.0.0.1:8808"] {
            assert_eq!(
                parse_listen_address(text).map(|address| address.to_string()).as_deref(),
                Ok("127.0.0.1:8808"),
                "{text}"
            );
        }
        assert_eq!(parse_listen_address("[::1]:80").map(|address| address.port()), Ok(80));
        for (text, says) in [
            ("*:80", "write 0.0.0.0:80"),
            ("", "write an IP address and a port"),
            ("127.0.0.1", "write an IP address and a port"),
            ("99999", "write an IP address and a port"),
            ("example.com:80", "write an IP address and a port"),
        ] {
            assert!(parse_listen_address(text).unwrap_err().starts_with(says), "{text}");
        }
    }
}

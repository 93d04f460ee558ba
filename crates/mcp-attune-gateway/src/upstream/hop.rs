//! Headers that belong to one hop, and those that a hop adds.
//!
//! 1. `Connection` and every header that it names, `Keep-Alive`, `Proxy-*`, `TE`, `Trailer`,
//!    `Transfer-Encoding` and `Upgrade` end here, both ways (RFC 9110 §7.6.1).
//! 2. A caller that takes trailers is still known to: `TE: trailers` is said anew, for this hop.
//! 3. `Host` is the upstream's. `Expect` is answered by the hop that it came in on.
//! 4. `X-Forwarded-For` gets the peer's address at its end; `X-Forwarded-Proto` and `X-Forwarded-Host` are
//!    added where a proxy further out did not. What came in is passed on as text, and nothing here believes
//!    it.
//! 5. `Forwarded` and `Via` are left alone. Everything else stays, and values of one name keep their order.
//!
//! Rules: G1.

use std::net::IpAddr;

use bytes::{BufMut, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue, TE};
use http::{Uri, request};
use mcp_attune_http1::list_members;

use crate::listen::Peer;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Removes the headers of the hop that they came in on (rule 1). Used for answers.
pub(super) fn strip(headers: &mut HeaderMap) {
    // Most have nothing of that kind, and one look at the names is cheaper than looking for each.
    if headers.keys().any(is_hop_by_hop) {
        remove_hop_headers(headers);
    }
}

/// Removes the headers of one hop, and those that `Connection` names.
#[cold]
fn remove_hop_headers(headers: &mut HeaderMap) {
    let mut found: Vec<HeaderName> = headers.keys().filter(|name| is_hop_by_hop(name)).cloned().collect();
    found.extend(list_members(headers, &CONNECTION).filter_map(|name| HeaderName::from_bytes(name).ok()));
    for name in found {
        headers.remove(name);
    }
}

/// Whether a header belongs to one hop by its name alone.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    let name = name.as_str();
    // Most names are told apart by how they begin.
    name.starts_with(['c', 'k', 'p', 't', 'u'])
        && (matches!(name, "connection" | "keep-alive" | "te" | "trailer" | "transfer-encoding" | "upgrade")
            || name.starts_with("proxy-"))
}

/// Makes the headers of a caller's request those of a request to the server (rules 1 to 5). `behind` is the
/// server's `Host`, `peer` where the request came from; without it nothing is said of that. The target is not
/// touched.
///
/// Headers of one hop are removed first, so a caller that names `X-Forwarded-For` in `Connection` loses what
/// it sent there and cannot hide its own address.
pub(super) fn rewrite_request_head(head: &mut request::Parts, behind: &HeaderValue, peer: Option<Peer>) {
    let headers = &mut head.headers;
    let came = HopHeaderPresence::in_names(headers);
    let takes_trailers =
        came.te && list_members(headers, &TE).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
    if came.of_one_hop {
        remove_hop_headers(headers);
    }
    if came.expect {
        headers.remove(EXPECT);
    }
    let host = headers.insert(HOST, behind.clone()).or_else(|| {
        head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok())
    });
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    if let Some(peer) = peer {
        if let Some(value) = forwarded_for(headers, came.forwarded_for, peer) {
            headers.insert(FORWARDED_FOR, value);
        }
        if !came.forwarded_proto {
            let scheme = HeaderValue::from_static(if peer.tls { "https" } else { "http" });
            headers.insert(FORWARDED_PROTO, scheme);
        }
    }
    if let Some(host) = host.filter(|_| !came.forwarded_host) {
        headers.insert(FORWARDED_HOST, host);
    }
}

/// Which headers of interest a request has, found in one pass over the names: to look each of them up costs
/// more.
#[derive(Default)]
struct HopHeaderPresence {
    /// Whether there is any header of one hop, `te` included.
    of_one_hop: bool,
    te: bool,
    expect: bool,
    forwarded_for: bool,
    forwarded_proto: bool,
    forwarded_host: bool,
}

impl HopHeaderPresence {
    /// Looks through the names of the headers.
    fn in_names(headers: &HeaderMap) -> Self {
        let mut came = Self::default();
        for name in headers.keys() {
            came.of_one_hop |= is_hop_by_hop(name);
            let name = name.as_str();
            // Most names are told apart by how they begin.
            if !name.starts_with(['e', 't', 'x']) {
                continue;
            }
            match name {
                "te" => came.te = true,
                "expect" => came.expect = true,
                "x-forwarded-for" => came.forwarded_for = true,
                "x-forwarded-proto" => came.forwarded_proto = true,
                "x-forwarded-host" => came.forwarded_host = true,
                _ => {}
            }
        }
        came
    }
}

/// Returns the value of `Host` for a URL: host and port, without the port where it is the scheme's own (80,
/// or 443 for `https`). `None` where the URL has no host.
pub(super) fn host_header(url: &Uri) -> Option<HeaderValue> {
    let authority = url.authority()?;
    let common = match url.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let text = match authority.port_u16() {
        Some(port) if port != common => authority.as_str(),
        _ => authority.host(),
    };
    HeaderValue::from_str(text).ok()
}

/// Returns the value of `X-Forwarded-For`: all that came, joined to one line, and at its end the address of
/// the peer. `came`: there is something to join. An IPv4 address that is mapped into IPv6 is written as IPv4.
fn forwarded_for(headers: &HeaderMap, came: bool, peer: Peer) -> Option<HeaderValue> {
    let mut line = BytesMut::with_capacity(16);
    if came {
        for value in headers.get_all(FORWARDED_FOR) {
            line.put_slice(value.as_bytes());
            line.put_slice(b", ");
        }
    }
    put_address(&mut line, peer.address.ip().to_canonical());
    HeaderValue::from_maybe_shared(line.freeze()).ok()
}

/// Writes an address. Every call writes its caller's, so IPv4, the common kind, goes without the machinery
/// for formatting.
fn put_address(line: &mut BytesMut, address: IpAddr) {
    let IpAddr::V4(address) = address else {
        line.put_slice(address.to_string().as_bytes());
        return;
    };
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            line.put_u8(b'.');
        }
        if octet >= 100 {
            line.put_u8(b'0' + octet / 100);
        }
        if octet >= 10 {
            line.put_u8(b'0' + octet / 10 % 10);
        }
        line.put_u8(b'0' + octet % 10);
    }
}

/// Corrects a `Content-Length` that differs from the length of the body, where that is known: two lengths are
/// two readings of one message. Adds none where there is none.
pub(super) fn correct_length(headers: &mut HeaderMap, exact: Option<u64>) {
    let Some(exact) = exact else { return };
    let Some(written) = headers.get(CONTENT_LENGTH) else { return };
    if !states_length(written.as_bytes(), exact) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(exact));
    }
}

/// Whether a length is written as it should be, in decimal digits without leading zeros. Most are, and need
/// no writing.
fn states_length(written: &[u8], length: u64) -> bool {
    let mut left = length;
    for (place, digit) in written.iter().rev().enumerate() {
        if (place > 0 && left == 0) || u64::from(*digit) != u64::from(b'0') + left % 10 {
            return false;
        }
        left /= 10;
    }
    left == 0 && !written.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        headers
    }

    fn sent_on(uri: &str, lines: &[(&str, &str)], peer: Option<Peer>) -> HeaderMap {
        let (mut head, ()) = http::Request::builder().uri(uri).body(()).unwrap().into_parts();
        head.headers = headers(lines);
        rewrite_request_head(&mut head, &HeaderValue::from_static("behind"), peer);
        assert_eq!(head.headers.remove("host").unwrap(), "behind");
        head.headers
    }

    fn peer(tls: bool) -> Option<Peer> {
        Some(Peer { address: "203.0.113.7:4711".parse().unwrap(), tls })
    }

    #[test]
    fn writes_addresses_as_everybody_does() {
        for address in
            ["0.0.0.0", "127.0.0.1", "203.0.113.7", "9.10.99.100", "255.254.109.200", "2001:db8::7"]
        {
            let mut line = BytesMut::new();
            put_address(&mut line, address.parse().unwrap());
            assert_eq!(line, address);
        }
    }

    #[test]
    fn strips_what_belongs_to_one_hop() {
        let mut all = headers(&[
            ("connection", "Close, X-Hop"),
            ("connection", " ,x-other ,"),
            ("x-hop", "1"),
            ("x-other", "1"),
            ("x-other", "2"),
            ("keep-alive", "timeout=5"),
            ("proxy-authenticate", "Basic"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("te", "trailers, deflate"),
            ("trailer", "x-sum"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("www-authenticate", "Bearer"),
            ("x-kept", "b"),
            ("x-kept", "a"),
        ]);
        strip(&mut all);
        assert_eq!(all, headers(&[("www-authenticate", "Bearer"), ("x-kept", "b"), ("x-kept", "a")]));
    }

    #[test]
    fn a_name_that_is_none_strips_nothing() {
        let mut all = headers(&[("connection", "\"x\", @"), ("x", "1")]);
        strip(&mut all);
        assert_eq!(all, headers(&[("x", "1")]));
    }

    #[test]
    fn tells_the_next_hop_who_came() {
        assert_eq!(
            sent_on(
                "/mcp",
                &[("host", "public.example:8808"), ("expect", "100-continue"), ("te", "Trailers")],
                peer(true)
            ),
            headers(&[
                ("te", "trailers"),
                ("connection", "te"),
                ("x-forwarded-for", "203.0.113.7"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "public.example:8808"),
            ])
        );
        assert_eq!(
            sent_on("https://public.example/mcp", &[], peer(false)),
            headers(&[
                ("x-forwarded-for", "203.0.113.7"),
                ("x-forwarded-proto", "http"),
                ("x-forwarded-host", "public.example"),
            ])
        );
        assert_eq!(sent_on("/mcp", &[("via", "1.1 a"), ("forwarded", "for=b")], None).len(), 2);
    }

    #[test]
    fn passes_on_what_proxies_further_out_said() {
        let said = [
            ("x-forwarded-for", "198.51.100.1"),
            ("x-forwarded-for", "unknown, \"[2001:db8::1]\""),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "outer.example"),
            ("host", "inner.example"),
        ];
        assert_eq!(
            sent_on("/mcp", &said, peer(false)),
            headers(&[
                ("x-forwarded-for", "198.51.100.1, unknown, \"[2001:db8::1]\", 203.0.113.7"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "outer.example"),
            ])
        );
    }

    #[test]
    fn a_caller_cannot_have_the_peer_left_out() {
        let sent =
            sent_on("/mcp", &[("connection", "x-forwarded-for"), ("x-forwarded-for", "a")], peer(false));
        assert_eq!(sent.get("x-forwarded-for").unwrap(), "203.0.113.7");
    }

    #[test]
    fn a_known_length_corrects_a_written_one() {
        for (written, exact, expected) in [
            (Some("7"), Some(9), Some("9")),
            (Some("7"), None, Some("7")),
            (None, Some(9), None),
            (Some("0"), Some(0), Some("0")),
            (Some(""), Some(0), Some("0")),
            (Some("09"), Some(9), Some("9")),
            (Some("00"), Some(0), Some("0")),
            (Some("9"), Some(19), Some("19")),
            (Some("119"), Some(19), Some("19")),
            (Some("18446744073709551615"), Some(u64::MAX), Some("18446744073709551615")),
            (Some("1024"), Some(1024), Some("1024")),
        ] {
            let mut all = HeaderMap::new();
            if let Some(written) = written {
                all.insert(CONTENT_LENGTH, HeaderValue::from_static(written));
            }
            correct_length(&mut all, exact);
            assert_eq!(all.get(CONTENT_LENGTH).map(|value| value.to_str().unwrap()), expected);
        }
    }
}

//! Plain requests, as they are read from a caller.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Uri};
use httparse::Status;
use memchr::memchr_iter;

use crate::head::{header_map, parse_decimal};
use crate::limits::{HeadLimits, MAX_HEAD_BYTES, MAX_HEADER_LINES};

/// Takes a plain request out of what was read. Returns `None`, and leaves everything in place, if the request is not plain.
///
/// A request is plain if all of it has come and it can be read in one way only: HTTP/1.1 with CR LF at the end of each line, a
/// path as target, at most one `Host`, no body or one of a length that is stated once, and nothing about the connection but
/// `Connection: keep-alive`. `HEAD` and `CONNECT`, whose answers are framed differently, are not plain.
///
/// ```
/// use bytes::BytesMut;
/// use mcp_attune_http1::{HeadLimits, take_plain_request};
///
/// let mut chunked = BytesMut::from("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
/// let before = chunked.clone();
/// assert!(take_plain_request(&mut chunked, HeadLimits::default()).is_none());
/// assert_eq!(chunked, before);
/// ```
pub fn take_plain_request(read: &mut BytesMut, limits: HeadLimits) -> Option<Request<Bytes>> {
    // Taken out before it is parsed, because the request shares its memory.
    let text = read.split().freeze();
    let taken = parse_plain(&text, limits);
    let bytes = taken.as_ref().map_or(0, |(_, bytes)| *bytes);
    if let Some(rest) = text.get(bytes..).filter(|rest| !rest.is_empty()) {
        put_back(rest, read);
    }
    taken.map(|(request, _)| request)
}

#[cold]
fn put_back(rest: &[u8], read: &mut BytesMut) {
    *read = BytesMut::from(rest);
}

/// Parses a plain request at the beginning of a text. Returns it with the number of its bytes, or `None` if it is incomplete,
/// malformed or not plain.
fn parse_plain(text: &Bytes, limits: HeadLimits) -> Option<(Request<Bytes>, usize)> {
    let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADER_LINES];
    let lines = lines.get_mut(..limits.lines.min(MAX_HEADER_LINES))?;
    let mut parsed = httparse::Request::new(&mut []);
    let Ok(Status::Complete(head_bytes)) = parsed.parse_with_uninit_headers(text, lines) else { return None };
    let head = text.get(..head_bytes).filter(|head| head.len() <= limits.bytes.min(MAX_HEAD_BYTES))?;
    let method = parsed.method?;
    // httparse skips empty lines before a request, and takes LF alone for a line end. It takes CR only before LF, so that every
    // line ends with CR LF if there are as many CR as lines.
    let has_crlf_only = memchr_iter(b'\r', head).count() == parsed.headers.len() + 2;
    if !head.starts_with(method.as_bytes()) || !has_crlf_only || parsed.version != Some(1) {
        return None;
    }
    let method = Method::from_bytes(method.as_bytes()).ok()?;
    if [Method::HEAD, Method::CONNECT].contains(&method) {
        return None;
    }
    // No request has a fragment, and `Uri` would drop it.
    let target = parsed.path.filter(|target| target.starts_with('/') && !target.contains('#'))?;
    let (mut length, mut has_host) = (None, false);
    let accept = |name: &str, value: &[u8]| match HeaderKind::of(name) {
        HeaderKind::Other => true,
        HeaderKind::Length if length.is_none() => {
            length = parse_decimal(value);
            length.is_some()
        }
        HeaderKind::Connection => value.eq_ignore_ascii_case(b"keep-alive"),
        HeaderKind::Host => !std::mem::replace(&mut has_host, true),
        HeaderKind::Length | HeaderKind::NotPlain => false,
    };
    let headers = header_map(text, parsed.headers, accept)?;
    let end = usize::try_from(length.unwrap_or(0)).ok()?.checked_add(head_bytes)?;
    let mut request = Request::new(text.slice_ref(text.get(head_bytes..end)?));
    *request.method_mut() = method;
    *request.uri_mut() = Uri::from_maybe_shared(text.slice_ref(target.as_bytes())).ok()?;
    *request.headers_mut() = headers;
    Some((request, end))
}

/// What a header says of the framing and of the connection.
enum HeaderKind {
    Length,
    Host,
    Connection,
    /// A request that has it is not plain.
    NotPlain,
    Other,
}

impl HeaderKind {
    fn of(name: &str) -> Self {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // Most names are told apart by their length.
        match name.len() {
            2 if is("te") => Self::NotPlain,
            4 if is("host") => Self::Host,
            6 if is("expect") => Self::NotPlain,
            7 if is("upgrade") || is("trailer") => Self::NotPlain,
            10 if is("connection") => Self::Connection,
            14 if is("content-length") => Self::Length,
            14 if is("http2-settings") => Self::NotPlain,
            17 if is("transfer-encoding") => Self::NotPlain,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMITS: HeadLimits = HeadLimits { lines: 9, bytes: 500 };

    fn plain(text: &str) -> Option<Request<Bytes>> {
        let mut read = BytesMut::from(text);
        let taken = take_plain_request(&mut read, LIMITS);
        assert!(taken.is_some() || read == text, "{text:?} was touched");
        taken
    }

    #[test]
    fn only_the_whole_name_tells_what_a_header_is() {
        for name in ["ab", "from", "accept", "referer", "user-agent", "accept-charset", "if-modified-since"] {
            let text = format!("GET / HTTP/1.1\r\nHost: x\r\n{name}: 5\r\n\r\n");
            assert_eq!(plain(&text).unwrap().headers()[name], "5");
        }
    }

    #[test]
    fn takes_a_plain_request_and_leaves_what_follows() {
        let mut read = BytesMut::from(
            "POST /mcp?a=%20 HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nconnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}GET /",
        );
        let request = take_plain_request(&mut read, LIMITS).unwrap();
        assert_eq!((request.method(), request.uri()), (&Method::POST, &Uri::from_static("/mcp?a=%20")));
        assert_eq!(
            (request.headers().len(), &request.headers()["x-a"]),
            (4, &http::HeaderValue::from_static("1"))
        );
        assert_eq!((&request.body()[..], &read[..]), (&b"{}"[..], &b"GET /"[..]));
        assert!(plain("GET / HTTP/1.1\r\n\r\n").unwrap().body().is_empty());
    }

    #[test]
    fn leaves_everything_that_is_not_plain() {
        let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(500));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: 1\r\n".repeat(10));
        for text in [
            "",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET http://x/ HTTP/1.1\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\n\r\n",
            "GET /a#b HTTP/1.1\r\n\r\n",
            "HEAD / HTTP/1.1\r\n\r\n",
            "CONNECT x:1 HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 2, 2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: +2\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length:\r\n\r\nab",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nab",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 0\r\nTransfer-Encoding: x\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
            "GET / HTTP/1.1\r\nConnection: keep-alive, x\r\n\r\n",
            "GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
            "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
            "GET / HTTP/1.1\r\nTE: trailers\r\n\r\n",
            "GET / HTTP/1.1\r\nTrailer: x\r\n\r\n",
            "GET / HTTP/1.1\r\nHTTP2-Settings: x\r\n\r\n",
            "GET / HTTP/1.1\r\nA : 1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\r\n b\r\n\r\n",
            "GET / HTTP/1.1\r\n A: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nA\r\n\r\n",
            "GET / HTTP/1.1\r\n: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\r\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\0\r\n\r\n",
            "GET / HTTP/1.1\r\nA: \u{c}1\r\n\r\n",
            "GET / HTTP/1.1\r\ncaf\u{e9}: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1 \r\n\r\n",
            "GET /\r\n\r\n",
            "\r\nGET / HTTP/1.1\r\n\r\n",
            // LF alone at the end of a line.
            "GET / HTTP/1.1\n\n",
            "GET / HTTP/1.1\nA: 1\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\nB: 2\r\n\r\n",
            "GET / HTTP/1.1\r\nA: 1\r\n\n",
            "\nGET / HTTP/1.1\r\n\r\n",
            &long,
            &many,
        ] {
            assert!(plain(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_head_may_be_exactly_as_large_as_the_limits_say() {
        let takes = |text: &str, lines, bytes| {
            take_plain_request(&mut BytesMut::from(text), HeadLimits { lines, bytes }).is_some()
        };
        let text = "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\n";
        assert!(takes(text, 2, text.len()));
        assert!(!takes(text, 1, text.len()) && !takes(text, 2, text.len() - 1));
        // The limits of the crate hold whatever is asked for.
        let lines = |count| format!("GET / HTTP/1.1\r\n{}\r\n", "A: 1\r\n".repeat(count));
        assert!(takes(&lines(MAX_HEADER_LINES), usize::MAX, usize::MAX));
        assert!(!takes(&lines(MAX_HEADER_LINES + 1), usize::MAX, usize::MAX));
        let around = "GET / HTTP/1.1\r\nA: \r\n\r\n".len();
        let long = |bytes| format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(bytes - around));
        assert!(takes(&long(MAX_HEAD_BYTES), usize::MAX, usize::MAX));
        assert!(!takes(&long(MAX_HEAD_BYTES + 1), usize::MAX, usize::MAX));
    }

    proptest! {
        #[test]
        fn takes_a_request_as_a_whole_or_not_at_all(text in "(GET|POST) /[a-z]{0,3} HTTP/1\\.1\r\n([A-Za-z-]{1,9}: ?[a-z0-9 ]{0,5}\r?\n){0,3}(Content-Length: [0-9]\r\n)?\r\n[a-z]{0,9}") {
            plain(&text);
        }

        /// A second reading that shares nothing with httparse: lines and their parts, cut by hand.
        #[test]
        fn reads_as_a_reader_that_splits_lines(text in "(GET|POST|G\\(T|get|) {0,2}/?[a-c?#%\u{e9}\"\t]{0,3} {1,2}HTTP/1\\.[01] ?\r?\n([A-Ca-c -]{1,3}: ?[a-c\t\u{e9} ]{0,3}\r?\n){0,3}\r?\n") {
            if let Some(request) = plain(&text) {
                let mut lines = text.split("\r\n");
                let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
                let target = request.uri().path_and_query().map_or("", http::uri::PathAndQuery::as_str);
                prop_assert_eq!(words, [request.method().as_str(), target, "HTTP/1.1"]);
                let mut theirs: Vec<(String, Vec<u8>)> = lines
                    .take_while(|line| !line.is_empty())
                    .map(|line| line.split_once(':').unwrap())
                    .map(|(name, value)| (name.to_lowercase(), value.trim_matches([' ', '\t']).as_bytes().to_vec()))
                    .collect();
                let headers = request.headers().iter();
                let mut ours: Vec<_> =
                    headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
                ours.sort();
                theirs.sort();
                prop_assert_eq!(ours, theirs);
            }
        }
    }
}

//! A second reading of requests, which shares nothing with the crate: lines and chunks, cut by hand, as leniently as an
//! implementation reads that stands behind the checker.

/// A request as it was read, with header names in small letters and in the order of their names.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: Vec<u8>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn new(
        method: &str,
        target: &[u8],
        headers: impl Iterator<Item = (String, Vec<u8>)>,
        body: &[u8],
    ) -> Self {
        let mut headers: Vec<_> = headers.collect();
        headers.sort_by(|one, other| one.0.cmp(&other.0));
        Self { method: method.to_owned(), target: target.to_vec(), headers, body: body.to_vec() }
    }
}

/// Reads all requests that are complete, up to the first that is malformed or the last of its connection.
pub(crate) fn requests(mut text: &[u8]) -> Vec<Seen> {
    let mut seen = Vec::new();
    while let Some((request, is_last, rest)) = request(text) {
        seen.push(request);
        text = if is_last { b"" } else { rest };
    }
    seen
}

fn line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let line = &text[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &text[end + 1..]))
}

/// Reads a request. Returns it, whether its connection is closed after it, and what follows.
fn request(text: &[u8]) -> Option<(Seen, bool, &[u8])> {
    let (first, mut rest) = line(text)?;
    let words: Vec<&[u8]> = first.split(|byte| *byte == b' ').collect();
    let [method, target, version @ (b"HTTP/1.0" | b"HTTP/1.1")] = words[..] else { return None };
    let method = std::str::from_utf8(method).ok()?;
    let mut headers = Vec::new();
    loop {
        let (line, after) = line(rest)?;
        rest = after;
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = std::str::from_utf8(&line[..colon]).ok()?.to_ascii_lowercase();
        headers.push((name, line[colon + 1..].trim_ascii().to_vec()));
    }
    let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let (body, rest) = if find("transfer-encoding").is_some() {
        chunks(rest)?
    } else {
        let length = find("content-length").map_or("0", |value| std::str::from_utf8(value).unwrap());
        rest.split_at_checked(length.parse().ok()?).map(|(body, rest)| (body.to_vec(), rest))?
    };
    let says = |option: &[u8]| find("connection").is_some_and(|value| value.eq_ignore_ascii_case(option));
    let is_last = says(b"close") || (version == b"HTTP/1.0" && !says(b"keep-alive"));
    Some((Seen::new(method, target, headers.into_iter(), &body), is_last, rest))
}

/// Chunks without trailers: the checker passes none on.
fn chunks(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut body = Vec::new();
    loop {
        let (size, after) = line(rest)?;
        let digits = size.split(|byte| b"; \t".contains(byte)).next()?;
        let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        let (data, after) = after.split_at_checked(size)?;
        body.extend_from_slice(data);
        rest = after.strip_prefix(b"\r\n")?;
        if size == 0 {
            return Some((body, rest));
        }
    }
}

#[test]
fn the_judge_reads_requests_one_after_the_other() {
    let text = b"POST /a HTTP/1.1\r\nB: 2\nA: 1\r\nContent-Length: 2\r\n\r\nxyGET /b HTTP/1.1\n\nPOST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;e\r\nz\r\n0\r\n\r\nGET";
    assert_eq!(requests(b"GET / HTTP/1.1\r\nConnection: Close\r\n\r\nGET / HTTP/1.1\r\n\r\n").len(), 1);
    assert_eq!(requests(b"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n").len(), 1);
    let seen: Vec<_> = requests(text)
        .into_iter()
        .map(|seen| (seen.method, seen.target, seen.headers.len(), seen.body))
        .collect();
    let expected = [("POST", "/a", 3, "xy"), ("GET", "/b", 0, ""), ("POST", "/c", 1, "z")]
        .map(|(method, target, headers, body)| (method.to_owned(), target.into(), headers, body.into()));
    assert_eq!(seen, expected);
}

//! A second reading of HTTP/1.1, which shares nothing with the gateway's own: httparse for heads, and framing that takes only
//! what leaves no question.

/// A request that was read strictly.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: Vec<u8>,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

/// Names in small letters, and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    fn of(lines: &[httparse::Header<'_>]) -> Self {
        Self(lines.iter().map(|line| (line.name.to_ascii_lowercase(), line.value.to_vec())).collect())
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&[u8]> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_slice()).collect()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        !self.all(name).is_empty()
    }
}

/// Reads a request from the beginning of what came: it and its size, or `None` before all of it is there.
pub(crate) fn request(came: &[u8]) -> Result<Option<(Request, usize)>, String> {
    let Some(size) = came.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        return if came.len() > 1 << 20 { Err("the head has no end".to_owned()) } else { Ok(None) };
    };
    let head = &came[..size];
    for (at, byte) in head.iter().enumerate() {
        let alone = match byte {
            b'\r' => head.get(at + 1) != Some(&b'\n'),
            b'\n' => at == 0 || head[at - 1] != b'\r',
            _ => false,
        };
        if alone {
            return Err("the head has a line end that stands alone".to_owned());
        }
    }
    let mut room = [httparse::EMPTY_HEADER; 300];
    let mut parsed = httparse::Request::new(&mut room);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(end)) if end == size => {}
        other => return Err(format!("the head cannot be read: {other:?}")),
    }
    let (method, target) = (parsed.method.unwrap_or_default(), parsed.path.unwrap_or_default());
    if parsed.version != Some(1) {
        return Err("the version is not 1.1".to_owned());
    }
    if !target.starts_with('/') || !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Err(format!("the target is no path: {target:?}"));
    }
    let headers = Headers::of(parsed.headers);
    if headers.all("host").len() != 1 {
        return Err("there is not exactly one host".to_owned());
    }
    let rest = &came[size..];
    let body = match (headers.all("content-length").as_slice(), headers.all("transfer-encoding").as_slice()) {
        ([], []) => Some((Vec::new(), 0)),
        ([length], []) => fixed(length, rest)?,
        ([], [b"chunked"]) => chunks(rest)?,
        _ => return Err("how long the body is can be read in several ways".to_owned()),
    };
    Ok(body.map(|(body, length)| {
        (
            Request { method: method.to_owned(), target: target.as_bytes().to_vec(), headers, body },
            size + length,
        )
    }))
}

type Body = Option<(Vec<u8>, usize)>;

fn fixed(length: &[u8], rest: &[u8]) -> Result<Body, String> {
    let plain = !length.is_empty() && length.len() < 20 && length.iter().all(u8::is_ascii_digit);
    let length = plain.then(|| std::str::from_utf8(length).ok()?.parse().ok()).flatten();
    let length: usize = length.ok_or("the length is no number")?;
    Ok(rest.get(..length).map(|body| (body.to_vec(), length)))
}

/// Chunks without extensions, and without trailers: the gateway sends none.
fn chunks(rest: &[u8]) -> Result<Body, String> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(end) = rest[at..].windows(2).position(|two| two == b"\r\n") else { return Ok(None) };
        let digits = &rest[at..at + end];
        let plain = !digits.is_empty() && digits.len() < 9 && digits.iter().all(u8::is_ascii_hexdigit);
        let size = plain.then(|| usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).flatten();
        let size =
            size.ok_or_else(|| format!("the size of a chunk is no number: {}", digits.escape_ascii()))?;
        at += end + 2;
        let Some(data) = rest.get(at..at + size) else { return Ok(None) };
        let Some(line) = rest.get(at + size..at + size + 2) else { return Ok(None) };
        if line != b"\r\n" {
            return Err("a chunk does not end where it should".to_owned());
        }
        body.extend_from_slice(data);
        at += size + 2;
        if size == 0 {
            return Ok(Some((body, at)));
        }
    }
}

/// An answer as a caller reads it.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    /// Whether all of it came.
    pub(crate) whole: bool,
}

/// Reads answers, without those that are interim. `to_head` says whether the first is one to HEAD; `over` that no more comes.
pub(crate) fn answers(mut came: &[u8], mut to_head: bool, over: bool) -> Result<Vec<Answer>, String> {
    let mut found = Vec::new();
    while !came.is_empty() {
        let mut room = [httparse::EMPTY_HEADER; 300];
        let mut parsed = httparse::Response::new(&mut room);
        let size = match parsed.parse(came) {
            Ok(httparse::Status::Complete(size)) => size,
            Ok(httparse::Status::Partial) => break,
            Err(error) => {
                return Err(format!("an answer cannot be read: {error}: {}", super::data::shown(came)));
            }
        };
        let status = parsed.code.unwrap_or_default();
        let headers = Headers::of(parsed.headers);
        came = &came[size..];
        if (100..200).contains(&status) {
            continue;
        }
        let length = headers.all("content-length").first().copied().map(<[u8]>::to_vec);
        let body = if std::mem::take(&mut to_head) || [204, 304].contains(&status) {
            Some((Vec::new(), 0))
        } else if headers.all("transfer-encoding") == [b"chunked"] {
            chunks(came)?
        } else if let Some(length) = length {
            fixed(&length, came)?
        } else {
            over.then(|| (came.to_vec(), came.len()))
        };
        let Some((body, size)) = body else {
            if over {
                found.push(Answer { status, headers, body: came.to_vec(), whole: false });
            }
            break;
        };
        found.push(Answer { status, headers, body, whole: true });
        came = &came[size..];
    }
    Ok(found)
}

#[test]
fn the_strict_reading_takes_what_leaves_no_question() {
    let head = "POST /mcp HTTP/1.1\r\nHost: x\r\n";
    for (rest, body) in [
        ("Content-Length: 2\r\n\r\nab", "ab"),
        ("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ab"),
        ("\r\n", ""),
    ] {
        let text = format!("{head}{rest}");
        let (request, size) = request(text.as_bytes()).unwrap().unwrap();
        assert_eq!((request.body.as_slice(), size), (body.as_bytes(), text.len()), "{rest}");
    }
}

#[test]
fn the_strict_reading_takes_nothing_else() {
    let head = "POST /mcp HTTP/1.1\r\nHost: x\r\n";
    for rest in [
        "Host: x\r\n\r\n",
        "A: 1\nB: 2\r\n\r\n",
        "A : 1\r\n\r\n",
        "A: 1\r\n 2\r\n\r\n",
        "Content-Length: +2\r\n\r\nab",
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: Chunked, x\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2;a\r\nab\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\n\r\n",
    ] {
        assert!(request(format!("{head}{rest}").as_bytes()).is_err(), "{rest:?}");
    }
    for text in [
        "POST /mcp HTTP/1.0\r\nHost: x\r\n\r\n",
        "POST mcp HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
    ] {
        assert!(request(text.as_bytes()).is_err(), "{text:?}");
    }
}

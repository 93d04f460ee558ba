//! Answers: as they are read from a server, and as they are written to a caller.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, DATE, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use http::{Response, StatusCode};
use hyper::ext::ReasonPhrase;

use super::head::{Extent, digits, first_line, headers, tokens, write_lines};
use super::{Bad, Frame, MOST_HEAD, MOST_LINES, Pieces};

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: Response<()>,
    pub(crate) body: Pieces,
    /// Whether the connection can be used again afterwards.
    pub(crate) keeps: bool,
}

/// Takes the head of an answer out of what was read; none where it has not all come. Interim answers are skipped. An answer
/// to HEAD has no body, whatever it says.
///
/// # Errors
///
/// [`Bad`], where it is no answer, or too long a one.
pub(crate) fn read_answer(read: &mut BytesMut, to_head: bool) -> Result<Option<Answer>, Bad> {
    loop {
        if !begins(read) {
            return Err(Bad::Head);
        }
        // The first line is none of those that are counted.
        let Some(Extent { size, lines }) = Extent::of(read, 1 + MOST_LINES)? else {
            return if read.len() < MOST_HEAD { Ok(None) } else { Err(Bad::TooLong) };
        };
        if size > MOST_HEAD {
            return Err(Bad::TooLong);
        }
        let text = read.split_to(size).freeze();
        let Found { status, reason, minor, mut headers } = find(&text, lines).ok_or(Bad::Head)?;
        if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
            continue;
        }
        let body = pieces(&mut headers, status, to_head, minor)?;
        let other = body == Pieces::ToTheEnd || status == StatusCode::SWITCHING_PROTOCOLS;
        let keeps = keeps(&headers, minor) && !other;
        let mut head = Response::new(());
        if status.canonical_reason().map(str::as_bytes) != Some(reason)
            && let Ok(reason) = ReasonPhrase::try_from(reason)
        {
            head.extensions_mut().insert(reason);
        }
        *head.status_mut() = status;
        *head.headers_mut() = headers;
        return Ok(Some(Answer { head, body, keeps }));
    }
}

/// How an answer begins.
const BEGINNING: &[u8] = b"HTTP/1.";

/// Whether this can become an answer.
fn begins(text: &[u8]) -> bool {
    text.iter().zip(BEGINNING).all(|(came, byte)| came == byte)
}

struct Found<'t> {
    status: StatusCode,
    /// The words after the status: nobody reads them, and they go on as they came.
    reason: &'t [u8],
    minor: u8,
    headers: HeaderMap,
}

/// Finds the parts of a head: `HTTP/1.1 200 OK`, and lines.
fn find(text: &Bytes, lines: usize) -> Option<Found<'_>> {
    let (line, rest) = first_line(text)?;
    let (minor, line) = match line.strip_prefix(BEGINNING)? {
        [b'0', b' ', line @ ..] => (0, line),
        [b'1', b' ', line @ ..] => (1, line),
        _ => return None,
    };
    let (status, reason) = line.split_at_checked(3)?;
    let reason = match reason {
        [] => reason,
        [b' ', reason @ ..] if reason.iter().all(|byte| is_text(*byte)) => reason,
        _ => return None,
    };
    let status = StatusCode::from_bytes(status).ok()?;
    Some(Found { status, reason, minor, headers: headers(text, rest, lines, |_, _| true)? })
}

/// What may stand in a line: everything but control characters.
fn is_text(byte: u8) -> bool {
    byte == b'\t' || !byte.is_ascii_control()
}

fn keeps(headers: &HeaderMap, minor: u8) -> bool {
    if minor == 1 && !headers.contains_key(CONNECTION) {
        return true;
    }
    let says = |token| tokens(headers, &CONNECTION).any(|said| said.eq_ignore_ascii_case(token));
    if minor == 1 { !says(b"close") } else { says(b"keep-alive") }
}

/// Whether an answer has no body, whatever its headers say.
fn is_bare(status: StatusCode) -> bool {
    status.is_informational() || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status)
}

/// Where the body ends. A length is in the headers once afterwards, or not at all.
fn pieces(headers: &mut HeaderMap, status: StatusCode, to_head: bool, minor: u8) -> Result<Pieces, Bad> {
    let coded = headers.contains_key(TRANSFER_ENCODING);
    if coded {
        headers.remove(CONTENT_LENGTH);
    }
    let length = length(headers)?;
    if is_bare(status) || to_head {
        return Ok(Pieces::Length(0));
    }
    if !coded {
        return Ok(length.map_or(Pieces::ToTheEnd, Pieces::Length));
    }
    let mut codings = tokens(headers, &TRANSFER_ENCODING);
    match (codings.next(), codings.next()) {
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") && minor == 1 => {
            Ok(Pieces::chunked())
        }
        _ => Err(Bad::Coding),
    }
}

/// The length that is told. One that is told several times is told once from here on.
fn length(headers: &mut HeaderMap) -> Result<Option<u64>, Bad> {
    let mut told = headers.get_all(CONTENT_LENGTH).iter();
    let Some(first) = told.next() else { return Ok(None) };
    let several = told.next().is_some() || first.as_bytes().contains(&b',');
    if !several {
        return digits(first.as_bytes()).map(Some).ok_or(Bad::Length);
    }
    let length = tokens(headers, &CONTENT_LENGTH).next().and_then(digits).ok_or(Bad::Length)?;
    if tokens(headers, &CONTENT_LENGTH).any(|other| digits(other) != Some(length)) {
        return Err(Bad::Length);
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    Ok(Some(length))
}

/// Writes the head of an answer to a caller, and says how its body goes. `size` is that of the body, where it is known;
/// `closes` says that the connection is not used again.
pub(crate) fn write_answer<B>(
    answer: &mut Response<B>,
    size: Option<u64>,
    closes: bool,
    out: &mut Vec<u8>,
) -> Frame {
    let status = answer.status();
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    match answer.extensions().get::<ReasonPhrase>() {
        Some(reason) => out.extend_from_slice(reason.as_bytes()),
        None => out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes()),
    }
    out.extend_from_slice(b"\r\n");
    let headers = answer.headers_mut();
    let frame = match size {
        _ if is_bare(status) => Frame::Length(0),
        Some(size) => Frame::Length(size),
        None => Frame::Chunked,
    };
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(TRANSFER_ENCODING);
    }
    match frame {
        // Nothing that is sent; and what 304 says of a body, it says of another one.
        _ if is_bare(status) => {}
        Frame::Length(size) => {
            let told = headers.get(CONTENT_LENGTH).and_then(|told| digits(told.as_bytes()));
            if told != Some(size) {
                headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
            }
        }
        Frame::Chunked => {
            headers.remove(CONTENT_LENGTH);
            headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
    }
    if closes {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    write_lines(headers, out);
    if !headers.contains_key(DATE) {
        write_date(out);
    }
    out.extend_from_slice(b"\r\n");
    frame
}

/// Writes what time it is, which is put into words once a second.
fn write_date(out: &mut Vec<u8>) {
    thread_local! {
        static LINE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    LINE.with_borrow_mut(|(second, line)| {
        if *second != now {
            *second = now;
            *line = format!("date: {}\r\n", httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(now)));
        }
        out.extend_from_slice(line.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use super::super::head::tests::{as_httparse, as_map};
    use super::*;
    use http::Method;
    use proptest::prelude::*;

    fn read(text: &str, asked: &Method) -> Result<Option<Answer>, Bad> {
        read_answer(&mut BytesMut::from(text), asked == Method::HEAD)
    }

    #[test]
    fn reads_a_head_and_leaves_what_follows() {
        let mut came = BytesMut::from(
            "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b:  2 \r\nX-a: 3\r\nContent-Length: 4\r\n\r\nbody",
        );
        let Answer { head, body, keeps } = read_answer(&mut came, false).unwrap().unwrap();
        let lines: Vec<_> =
            head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let expected: [(_, &[u8]); 4] =
            [("x-a", b"1"), ("x-a", b"3"), ("x-b", b"2"), ("content-length", b"4")];
        assert_eq!(lines, expected);
        assert_eq!(
            (head.status(), body, keeps, &came[..]),
            (StatusCode::OK, Pieces::Length(4), true, &b"body"[..])
        );
    }

    #[test]
    fn keeps_the_words_after_a_status() {
        for (line, words) in [
            ("HTTP/1.1 200 OK", None),
            ("HTTP/1.1 401 Go Away", Some("Go Away")),
            ("HTTP/1.1 200 ", Some("")),
            ("HTTP/1.1 200", Some("")),
        ] {
            let answer = read(&format!("{line}\r\nA:\r\n\r\n"), &Method::GET).unwrap().unwrap();
            let kept = answer.head.extensions().get::<ReasonPhrase>().map(ReasonPhrase::as_bytes);
            assert_eq!(kept, words.map(str::as_bytes), "{line}");
            assert_eq!(answer.head.headers()["a"], "");
        }
    }

    #[test]
    fn waits_for_all_of_a_head() {
        let text = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\n";
        for size in 0..text.len() {
            assert!(read(&text[..size], &Method::GET).unwrap().is_none(), "{size}");
        }
        let answer = read(text, &Method::GET).unwrap().unwrap();
        assert_eq!((answer.head.status(), answer.head.headers().len()), (StatusCode::OK, 1));
    }

    #[test]
    fn knows_where_a_body_ends() {
        for (asked, text, body) in [
            ("POST", "200 OK\r\nContent-Length: 7", Ok(Pieces::Length(7))),
            ("POST", "200 OK\r\nContent-Length: 7\r\nContent-Length: 7", Ok(Pieces::Length(7))),
            ("POST", "200 OK\r\nContent-Length: 7, 7", Ok(Pieces::Length(7))),
            ("POST", "200 OK\r\nContent-Length: 7, 8", Err(Bad::Length)),
            ("POST", "200 OK\r\nContent-Length: 7\r\nContent-Length: 8", Err(Bad::Length)),
            ("POST", "200 OK\r\nContent-Length: +7", Err(Bad::Length)),
            ("POST", "200 OK\r\nContent-Length: ", Err(Bad::Length)),
            ("POST", "200 OK\r\nContent-Length: 99999999999999999999", Err(Bad::Length)),
            ("POST", "200 OK\r\nTransfer-Encoding: Chunked", Ok(Pieces::chunked())),
            ("POST", "200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked", Ok(Pieces::chunked())),
            ("POST", "200 OK\r\nTransfer-Encoding: gzip, chunked", Err(Bad::Coding)),
            ("POST", "200 OK\r\nTransfer-Encoding: chunked, chunked", Err(Bad::Coding)),
            ("POST", "200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x", Err(Bad::Coding)),
            ("POST", "200 OK\r\nTransfer-Encoding: ", Err(Bad::Coding)),
            ("POST", "200 OK\r\nX: 1", Ok(Pieces::ToTheEnd)),
            ("HEAD", "200 OK\r\nContent-Length: 7", Ok(Pieces::Length(0))),
            ("HEAD", "200 OK\r\nTransfer-Encoding: chunked", Ok(Pieces::Length(0))),
            ("GET", "204 None\r\nContent-Length: 7", Ok(Pieces::Length(0))),
            ("GET", "304 Same\r\nContent-Length: 7", Ok(Pieces::Length(0))),
            ("GET", "101 Other\r\nUpgrade: x", Ok(Pieces::Length(0))),
        ] {
            let asked = asked.parse().unwrap();
            let read = read(&format!("HTTP/1.1 {text}\r\n\r\n"), &asked).map(|answer| answer.unwrap());
            if let Ok(answer) = &read {
                assert!(answer.head.headers().get_all(CONTENT_LENGTH).iter().count() <= 1, "{text}");
                assert!(
                    answer.body != Pieces::chunked() || !answer.head.headers().contains_key(CONTENT_LENGTH)
                );
            }
            assert_eq!(read.map(|answer| answer.body), body, "{asked} {text}");
        }
        assert_eq!(
            read("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &Method::GET).unwrap_err(),
            Bad::Coding
        );
    }

    #[test]
    fn knows_which_connections_can_be_used_again() {
        for (text, keeps) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0", true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close", false),
            ("HTTP/1.1 200 OK\r\nConnection: keep-alive", false),
            ("HTTP/1.1 101 Other\r\nUpgrade: x\r\nConnection: upgrade", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0", false),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive", true),
        ] {
            assert_eq!(
                read(&format!("{text}\r\n\r\n"), &Method::GET).unwrap().unwrap().keeps,
                keeps,
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_what_is_no_head() {
        for text in [
            "220 mail.example ESMTP\r\n",
            "HTTP/2 200 OK\r\n\r\n",
            "HTTP/1.1 99 Low\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA : 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: \u{1}\r\n\r\n",
            "HTTP/1.1 200 O\rK\r\n\r\n",
            "HTTP/1.1 103 Early\u{c}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert_eq!(read(text, &Method::GET).unwrap_err(), Bad::Head, "{text:?}");
        }
    }

    #[test]
    fn a_head_is_bounded() {
        let lines = |count| format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: 1\r\n".repeat(count));
        assert!(read(&lines(MOST_LINES), &Method::GET).unwrap().is_some());
        assert_eq!(read(&lines(MOST_LINES + 1), &Method::GET).unwrap_err(), Bad::TooLong);
        let unfinished = lines(MOST_LINES + 1);
        assert_eq!(read(unfinished.strip_suffix("\r\n").unwrap(), &Method::GET).unwrap_err(), Bad::TooLong);
        let long = |size| format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(size));
        assert!(read(&long(MOST_HEAD / 2), &Method::GET).unwrap().is_none());
        assert_eq!(read(&long(MOST_HEAD), &Method::GET).unwrap_err(), Bad::TooLong);
        assert_eq!(read(&format!("{}\r\n\r\n", long(MOST_HEAD)), &Method::GET).unwrap_err(), Bad::TooLong);
    }

    #[track_caller]
    fn check_written(
        status: u16,
        headers: &[(&'static str, &str)],
        size: Option<u64>,
        closes: bool,
        expected: (&str, Frame),
    ) {
        let mut answer = Response::builder().status(status).header("date", "now");
        for (name, value) in headers {
            answer = answer.header(*name, *value);
        }
        let mut out = Vec::new();
        let frame = write_answer(&mut answer.body(()).unwrap(), size, closes, &mut out);
        let out = String::from_utf8(out).unwrap();
        let (first, rest) = out.split_once("\r\ndate: now\r\n").unwrap();
        assert_eq!((format!("{first}\r\n{rest}").as_str(), frame), expected);
    }

    #[test]
    fn writes_an_answer() {
        let (length, chunked) = (Frame::Length, Frame::Chunked);
        check_written(200, &[], Some(2), false, ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", length(2)));
        check_written(
            200,
            &[("content-length", "3")],
            Some(2),
            true,
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n", length(2)),
        );
        check_written(
            202,
            &[],
            Some(0),
            false,
            ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", length(0)),
        );
        check_written(
            200,
            &[("content-length", "3"), ("a", "")],
            None,
            false,
            ("HTTP/1.1 200 OK\r\na: \r\ntransfer-encoding: chunked\r\n\r\n", chunked),
        );
        check_written(
            200,
            &[("transfer-encoding", "gzip")],
            Some(2),
            false,
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", length(2)),
        );
        check_written(204, &[], None, false, ("HTTP/1.1 204 No Content\r\n\r\n", length(0)));
        check_written(
            304,
            &[("content-length", "3")],
            Some(0),
            false,
            ("HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n", length(0)),
        );
        check_written(799, &[], Some(0), false, ("HTTP/1.1 799 \r\ncontent-length: 0\r\n\r\n", length(0)));
        let mut named = Response::new(());
        named.extensions_mut().insert(ReasonPhrase::from_static(b"Fine"));
        let mut out = Vec::new();
        write_answer(&mut named, Some(0), false, &mut out);
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.starts_with("HTTP/1.1 200 Fine\r\n")
                && out.contains("\r\ndate: ")
                && out.ends_with(" GMT\r\n\r\n"),
            "{out}"
        );
    }

    proptest! {
        #[test]
        fn reads_as_httparse_does(text in "HTTP/1\\.[0-2] {1,2}[0-9]{2,4} ?[a-c\t\u{e9}]{0,3} ?\r?\n([A-Ca-c -]{1,3}: ?[a-c\t\u{e9} ]{0,3}\r?\n){0,3}\r?\n") {
            if let Some(found) = find(&Bytes::from(text.clone()), 3) {
                let mut room = [httparse::EMPTY_HEADER; 8];
                let mut theirs = httparse::Response::new(&mut room);
                prop_assert_eq!(theirs.parse(text.as_bytes()), Ok(httparse::Status::Complete(text.len())));
                prop_assert_eq!((theirs.code, theirs.version), (Some(found.status.as_u16()), Some(found.minor)));
                let (mut ours, mut theirs) = (as_map(&found.headers), as_httparse(theirs.headers));
                ours.sort();
                theirs.sort();
                prop_assert_eq!(ours, theirs);
            }
        }

        #[test]
        fn ends_whatever_comes(text in "(HTTP/1\\.[01] [0-9]{3} ?[a-z]{0,3}\r?\n)?([A-Za-z -]{0,9}:?[a-z0-9, ]{0,5}\r?\n){0,3}(\r\n)?.{0,9}", to_head: bool) {
            let mut came = BytesMut::from(text.as_bytes());
            if let Ok(None) = read_answer(&mut came, to_head) {
                prop_assert!(text.as_bytes().ends_with(&came), "what is read of interim answers goes, and nothing else");
            }
        }
    }
}

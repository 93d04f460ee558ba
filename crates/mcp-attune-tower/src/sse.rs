//! Server-sent events, taken apart into events and put together again without changing a byte.
//!
//! 1. A line ends with LF, CRLF or CR; an event ends with an empty line.
//! 2. What comes out, put together again, is what went in, whatever pieces it came in.
//! 3. An event leaves as soon as its last byte is there; a comment does not wait for an event.
//! 4. An event that grows over its bound is an error, not a larger buffer.
//!
//! Rules: G2, G4.

use bytes::{Bytes, BytesMut};
use mcp_attune_wire::notice::Notice;
use memchr::memchr2;

/// A complete piece of a stream of server-sent events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SsePiece {
    /// Bytes outside of an event, to be passed on unchanged: comments, keep-alives, or the LF of a CRLF whose
    /// CR has left already.
    Raw(Bytes),
    /// All lines of one event, with the empty line that ends it and comments between its lines.
    Event(Bytes),
}

/// An event of a stream is larger than its limit. The stream cannot be read on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventTooLarge {
    /// How many bytes an event may have.
    pub limit: usize,
    /// The pieces that were complete before it, which can still be passed on.
    pub before: Vec<SsePiece>,
}

impl EventTooLarge {
    /// Returns what the caller is told.
    #[must_use]
    pub fn notice(&self) -> Notice {
        Notice::EventTooLarge { limit: self.limit }
    }
}

impl std::fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.notice().fmt(f)
    }
}

impl std::error::Error for EventTooLarge {}

/// Splits a stream of server-sent events into events and what stands between them. It holds at most one
/// unfinished event.
///
/// ```
/// use mcp_attune_tower::sse::{SsePiece, SseSplitter};
///
/// let mut splitter = SseSplitter::new(1024);
/// assert_eq!(splitter.push(b"data: 1\n")?, []);
/// assert_eq!(splitter.push(b"\n: ping\n")?, [
///     SsePiece::Event("data: 1\n\n".into()),
///     SsePiece::Raw(": ping\n".into()),
/// ]);
/// # Ok::<(), mcp_attune_tower::sse::EventTooLarge>(())
/// ```
#[derive(Debug)]
pub struct SseSplitter {
    /// Maximum size of an event in bytes, its empty line included.
    limit: usize,
    /// Bytes that came and have not left: the lines of one unfinished event, or of a comment.
    held: BytesMut,
    /// Offset in `held` where the current line begins.
    line: usize,
    /// Offset in `held` up to which line ends were looked for, so that no byte is searched twice.
    seen: usize,
    /// Whether `held` has a line that is not a comment, so that the next empty line ends an event.
    fields: bool,
    /// Whether the byte before was a CR that ended a line: an LF right after it belongs to the same line end.
    after_cr: bool,
}

impl SseSplitter {
    /// Makes a splitter for a stream whose events may have `limit` bytes each.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, held: BytesMut::new(), line: 0, seen: 0, fields: false, after_cr: false }
    }

    /// Takes the next bytes of the stream and returns the pieces that they complete, in order.
    ///
    /// # Errors
    ///
    /// [`EventTooLarge`], after which the splitter must not be used any more. Whether an event is too large
    /// does not depend on the pieces that it comes in.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SsePiece>, EventTooLarge> {
        self.held.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        while let Some(rest) = self.held.get(self.seen..).filter(|rest| !rest.is_empty()) {
            if std::mem::take(&mut self.after_cr) && rest.first() == Some(&b'\n') {
                self.push_lf_of_crlf(&mut pieces);
                continue;
            }
            let end = memchr2(b'\n', b'\r', rest);
            let is_cr = end.and_then(|at| rest.get(at)) == Some(&b'\r');
            self.seen += end.map_or(rest.len(), |at| at + 1);
            // However large the pieces are that it comes in: the same event is always too large, or never.
            if self.seen > self.limit {
                return Err(EventTooLarge { limit: self.limit, before: pieces });
            }
            if end.is_some() {
                self.after_cr = is_cr;
                self.end_line(1, &mut pieces);
            }
        }
        Ok(pieces)
    }

    /// Returns how many bytes of an unfinished event are held.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.held.len()
    }

    /// Returns what is left when the stream ends: the bytes of an unfinished event, to be passed on unchanged.
    /// `None` if nothing is.
    pub fn finish(&mut self) -> Option<Bytes> {
        (!self.held.is_empty()).then(|| self.held.split().freeze())
    }

    /// Handles the LF of a CRLF whose CR has ended the line already. If that line has left, the LF joins the
    /// last piece of this push, or leaves as a raw piece of its own; otherwise it stays with its line.
    fn push_lf_of_crlf(&mut self, pieces: &mut Vec<SsePiece>) {
        self.seen += 1;
        self.line = self.seen;
        if self.seen == 1 {
            // The line left with its CR.
            match pieces.last_mut() {
                Some(SsePiece::Raw(last) | SsePiece::Event(last)) => {
                    let mut joined = BytesMut::from(last.as_ref());
                    joined.extend_from_slice(b"\n");
                    *last = joined.freeze();
                    let _ = self.held.split_to(1);
                }
                None => pieces.push(SsePiece::Raw(self.held.split_to(1).freeze())),
            }
            (self.seen, self.line) = (0, 0);
        }
    }

    /// Ends the current line at `seen`; its line end has `end` bytes. An empty line completes an event, and a
    /// comment outside of an event leaves at once.
    fn end_line(&mut self, end: usize, pieces: &mut Vec<SsePiece>) {
        let line = self.held.get(self.line..self.seen - end).unwrap_or_default();
        let (empty, comment) = (line.is_empty(), line.first() == Some(&b':'));
        self.line = self.seen;
        self.fields |= !empty && !comment;
        if empty || !self.fields {
            let bytes = self.held.split_to(self.seen).freeze();
            let event = std::mem::take(&mut self.fields);
            (self.line, self.seen) = (0, 0);
            pieces.push(if event { SsePiece::Event(bytes) } else { SsePiece::Raw(bytes) });
        }
    }
}

/// Returns the data of an event: the values of its `data` lines, joined with LF. `None` if it has no such line.
#[must_use]
pub fn event_data(event: &[u8]) -> Option<Vec<u8>> {
    let mut data: Option<Vec<u8>> = None;
    for value in event_lines(event).filter_map(|line| data_field(line.text)) {
        match &mut data {
            None => data = Some(value.to_vec()),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        }
    }
    data
}

/// Returns the event with other data. The first `data` line is replaced by one line for each line of the new
/// data, the other `data` lines are dropped, and everything else stays as it was. An event without a `data`
/// line does not change.
#[must_use]
pub fn replace_event_data(event: &[u8], data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(event.len() + data.len());
    let mut written = false;
    for line in event_lines(event) {
        out.extend_from_slice(line.mark);
        if data_field(line.text).is_none() {
            out.extend_from_slice(line.text);
            out.extend_from_slice(line.ending);
        } else if !std::mem::replace(&mut written, true) {
            for value in data.split(|byte| *byte == b'\n') {
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(value);
                out.extend_from_slice(line.ending);
            }
        }
    }
    out
}

/// Returns the event with another id and everything else unchanged. `shown` is given the old id and returns the
/// new one.
///
/// Of several `id` lines the last is the event's. Returns `None`, and the event is to stay as it is, if there
/// is no id, if it is empty (nothing can be resumed after it), or if `shown` returns `None`. Lines with a NUL
/// do not count as ids.
#[must_use]
pub fn replace_event_id(event: &[u8], shown: impl FnOnce(&[u8]) -> Option<String>) -> Option<Vec<u8>> {
    let named = |line: &SseLine<'_>| named_field(b"id", line.text).is_some_and(|id| !id.contains(&0));
    let line = event_lines(event).filter(named).last()?;
    let id = named_field(b"id", line.text).filter(|id| !id.is_empty())?;
    let new = shown(id)?;
    // A line is a part of the event, and the id is the end of its text.
    let end = line.end - line.ending.len();
    let (head, tail) = (event.get(..end.checked_sub(id.len())?)?, event.get(end..)?);
    Some([head, new.as_bytes(), tail].concat())
}

/// Returns the value of a line if it is a `data` line.
fn data_field(line: &[u8]) -> Option<&[u8]> {
    named_field(b"data", line)
}

/// Returns the value of a line if its field has this name. One space after the colon is not part of the value.
fn named_field<'l>(name: &[u8], line: &'l [u8]) -> Option<&'l [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// One line of an event, in its parts.
struct SseLine<'e> {
    /// A byte order mark, which may stand before the first line of a stream; else empty.
    mark: &'e [u8],
    /// The line without its end.
    text: &'e [u8],
    /// The line end as written: LF, CRLF, CR, or nothing at the end of the bytes.
    ending: &'e [u8],
    /// Offset in the event where the next line begins.
    end: usize,
}

/// Iterates over the lines of an event. The parts of all lines, joined, are the event.
fn event_lines(event: &[u8]) -> impl Iterator<Item = SseLine<'_>> {
    const MARK: usize = "\u{feff}".len();
    let mut rest = event;
    let mut first = true;
    std::iter::from_fn(move || {
        let has_mark = std::mem::take(&mut first) && rest.starts_with("\u{feff}".as_bytes());
        let (mark, line) = rest.split_at_checked(if has_mark { MARK } else { 0 })?;
        if mark.is_empty() && line.is_empty() {
            return None;
        }
        let length = line.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(line.len());
        let (text, after) = line.split_at_checked(length)?;
        let ending = if after.starts_with(b"\r\n") { 2 } else { after.len().min(1) };
        let (ending, next) = after.split_at_checked(ending)?;
        rest = next;
        Some(SseLine { mark, text, ending, end: event.len() - next.len() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAMS: &[&str] = &[
        "data: {\"a\":1}\n\ndata: 2\n\n",
        "event: message\r\nid: 7\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n: ping\r\n\r\ndata: x\r\n\r\n",
        "data: one\r\rdata:two\rdata\rretry: 5\r\r",
        ": comment\n:\n\n\n\ndata: 1\n\n",
        "id\ndata\n\nunfinished: yes\ndata: 3",
        "data: mixed\r\n\ndata: ends\n\r\n\r\rdata: z\r\n\r",
        "\u{feff}data: mark\n\n",
        "",
        "\n",
    ];

    fn split(stream: &[u8], at: &[usize]) -> (Vec<SsePiece>, Vec<u8>) {
        let mut splitter = SseSplitter::new(1 << 20);
        let mut pieces = Vec::new();
        let mut from = 0;
        for to in at.iter().copied().chain([stream.len()]) {
            pieces.extend(splitter.push(&stream[from..to]).unwrap());
            from = to;
        }
        let rest = splitter.finish();
        let mut whole = Vec::new();
        for piece in &pieces {
            let (SsePiece::Raw(bytes) | SsePiece::Event(bytes)) = piece;
            whole.extend_from_slice(bytes);
        }
        whole.extend_from_slice(rest.as_deref().unwrap_or_default());
        (pieces, whole)
    }

    fn events(pieces: &[SsePiece]) -> Vec<Option<Vec<u8>>> {
        pieces
            .iter()
            .filter_map(
                |piece| if let SsePiece::Event(bytes) = piece { Some(event_data(bytes)) } else { None },
            )
            .collect()
    }

    #[test]
    fn split_at_every_offset_gives_the_same_bytes_and_the_same_events() {
        for stream in STREAMS {
            let stream = stream.as_bytes();
            let expected = events(&split(stream, &[]).0);
            for one in 0..=stream.len() {
                for two in one..=stream.len() {
                    let (pieces, whole) = split(stream, &[one, two]);
                    assert_eq!(whole, stream);
                    assert_eq!(events(&pieces), expected, "{one} {two} {}", String::from_utf8_lossy(stream));
                }
            }
        }
    }

    #[test]
    fn reads_data_as_the_standard_says() {
        for (event, expected) in [
            ("data: a\n\n", Some("a")),
            ("data:a\n\n", Some("a")),
            ("data:  a\n\n", Some(" a")),
            ("data\n\n", Some("")),
            ("data: a\ndata: b\n\n", Some("a\nb")),
            ("data: a\r\ndata:b\r\r\n", Some("a\nb")),
            ("database: a\nid: data\n\n", None),
            ("\u{feff}data: a\n\n", Some("a")),
        ] {
            assert_eq!(event_data(event.as_bytes()).as_deref(), expected.map(str::as_bytes), "{event}");
        }
    }

    #[test]
    fn replaces_data_and_keeps_the_rest() {
        for (event, data, expected) in [
            ("data: a\n\n", "b", "data: b\n\n"),
            ("id: 1\ndata: a\ndata: b\nretry: 3\n\n", "c", "id: 1\ndata: c\nretry: 3\n\n"),
            (": note\r\ndata:a\r\n\r\n", "c\nd", ": note\r\ndata: c\r\ndata: d\r\n\r\n"),
            ("\u{feff}data: a\n\n", "b", "\u{feff}data: b\n\n"),
        ] {
            assert_eq!(
                String::from_utf8_lossy(&replace_event_data(event.as_bytes(), data.as_bytes())),
                expected
            );
        }
    }

    #[test]
    fn replaces_the_id_that_counts_and_keeps_the_rest() {
        for (event, expected) in [
            ("id: 1\ndata: a\n\n", Some("id: <1>\ndata: a\n\n")),
            ("id:1\r\ndata: a\r\n\r\n", Some("id:<1>\r\ndata: a\r\n\r\n")),
            ("data: a\rid:  1\r\r", Some("data: a\rid: < 1>\r\r")),
            (
                ": id: 0\nid: 1\nevent: x\nid: 2\nretry: 3\n\n",
                Some(": id: 0\nid: 1\nevent: x\nid: <2>\nretry: 3\n\n"),
            ),
            ("id: 1\nid: 2\0\n\n", Some("id: <1>\nid: 2\0\n\n")),
            ("\u{feff}id: 1\ndata: id: 7\n\n", Some("\u{feff}id: <1>\ndata: id: 7\n\n")),
            ("id: 1\nid\n\n", None),
            ("id: 1\nid:\n\n", None),
            ("id: \n\n", None),
            ("idea: 1\nID: 1\n id: 1\ndata: id: 1\n\n", None),
            ("data: a\n\n", None),
        ] {
            let shown = |id: &[u8]| Some(format!("<{}>", String::from_utf8_lossy(id)));
            let changed =
                replace_event_id(event.as_bytes(), shown).map(|event| String::from_utf8(event).unwrap());
            assert_eq!(changed.as_deref(), expected, "{event:?}");
            assert_eq!(replace_event_id(event.as_bytes(), |_| None), None);
        }
    }

    #[test]
    fn an_event_and_a_comment_leave_with_their_last_byte() {
        let mut splitter = SseSplitter::new(100);
        assert_eq!(splitter.push(b"data: 1\r\n\r").unwrap(), [SsePiece::Event("data: 1\r\n\r".into())]);
        assert_eq!(splitter.push(b"\n").unwrap(), [SsePiece::Raw("\n".into())]);
        assert_eq!(splitter.push(b":\n").unwrap(), [SsePiece::Raw(":\n".into())]);
        assert_eq!(splitter.push(b": x").unwrap(), []);
        assert_eq!(splitter.push(b"\r").unwrap(), [SsePiece::Raw(": x\r".into())]);
    }

    #[test]
    fn refuses_an_event_over_its_bound() {
        let mut splitter = SseSplitter::new(10);
        assert!(splitter.push(b"data: 1\n\ndata: 2\n\n").is_ok());
        assert!(splitter.push(b"data: 12").is_ok());
        assert_eq!(splitter.push(b"345"), Err(EventTooLarge { limit: 10, before: vec![] }));
    }

    #[test]
    fn an_event_over_its_bound_is_refused_in_whatever_pieces_it_comes() {
        let stream = b"data: 1\n\ndata: 12345\n\ndata: 2\n\n";
        for length in 1..=stream.len() {
            let mut splitter = SseSplitter::new(10);
            let mut came = Vec::new();
            let refused = stream.chunks(length).find_map(|chunk| match splitter.push(chunk) {
                Ok(pieces) => {
                    came.extend(pieces);
                    None
                }
                Err(too_large) => Some(too_large),
            });
            came.extend(refused.unwrap().before);
            assert_eq!(came, [SsePiece::Event("data: 1\n\n".into())], "in pieces of {length}");
        }
    }
}

//! Finds the `id` and the kind of a JSON-RPC message that is too long to be kept, while its bytes pass by.
//!
//! When an answer exceeds the limit of a line, it is thrown away. Its id still tells which request waits for
//! it, so that request can be failed at once instead of timing out. For a request or a notification nobody
//! waits, whatever its id is.

use mcp_attune_wire::message::MessageKind;

/// Maximum length of an id in bytes as written, quotes included. The id of a request is never longer, so a
/// longer one cannot belong to anybody who waits.
const MAX_KEPT_ID_BYTES: usize = 1024;

/// An incremental scanner that looks for the top-level members `id` and `method` of a JSON object, fed in pieces of any
/// size.
///
/// It keeps at most one name or id and a nesting depth, never the message. It does not validate: what is not
/// JSON gives no id, or a wrong one, so the result must only be used to find out who waits. Of several members
/// named `id` the last counts.
#[derive(Debug, Default)]
pub(super) struct EnvelopeScanner {
    /// How many objects and arrays are open. The members of the message itself are at depth 1.
    depth: usize,
    /// Whether the next byte is inside a string.
    string: bool,
    /// Whether the byte before was a backslash inside a string, so that the next one neither ends the string
    /// nor escapes.
    escaped: bool,
    /// At depth 1, the member name that is being read, or the value of `id` so far, as written. Bounded by
    /// `MAX_KEPT_ID_BYTES` and one byte more, which tells that the bound was exceeded.
    text: Vec<u8>,
    state: EnvelopeScannerState,
    /// The value of the last complete member `id`.
    id: Option<Vec<u8>>,
    /// Whether there is a member `method`.
    has_method: bool,
    /// Whether the text begins as an array.
    is_array: bool,
}

/// Where in the members of the message the scanner is, ignoring everything that is nested deeper.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum EnvelopeScannerState {
    /// Before or inside a member name.
    #[default]
    Name,
    /// After a member name and before its colon. `id`: the name was `id`.
    Colon { id: bool },
    /// In the value of a member. `id`: it is the value of `id`, and is kept.
    Value { id: bool },
}

impl EnvelopeScanner {
    /// Scans the next bytes of the message. Strings below the top level are skipped with `memchr`, because a
    /// long message is long on account of its texts.
    pub(super) fn feed(&mut self, mut piece: &[u8]) {
        while let Some((byte, rest)) = piece.split_first() {
            piece = rest;
            self.feed_byte(*byte);
            if self.string && !self.escaped && self.depth > 1 {
                // The inside of a long text is nothing to look at.
                let end = memchr::memchr2(b'"', b'\\', piece).unwrap_or(piece.len());
                piece = piece.get(end..).unwrap_or_default();
            }
        }
    }

    /// Returns what kind of message it was. One without a `method` and without an id that could be found is
    /// [`MessageKind::Other`]: nobody waits for it.
    pub(super) fn kind(&self) -> MessageKind {
        match (self.has_method, self.id.is_some()) {
            _ if self.is_array => MessageKind::Batch,
            (true, true) => MessageKind::Request,
            (true, false) => MessageKind::Notification,
            (false, true) => MessageKind::Answer,
            (false, false) => MessageKind::Other,
        }
    }

    /// Returns the id as written, such as `7` or `"a"`. `None` if there was none at the top level, if it was
    /// longer than the bound, an object or an array, or not UTF-8.
    pub(super) fn into_id(self) -> Option<String> {
        self.id.and_then(|id| String::from_utf8(id).ok())
    }

    fn feed_byte(&mut self, byte: u8) {
        let is_id = self.state == EnvelopeScannerState::Value { id: true };
        let outer = self.depth == 1;
        if self.string {
            if outer && (is_id || self.state == EnvelopeScannerState::Name) {
                self.keep_byte(byte);
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.end_string(),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.string = true;
                if outer && self.state == EnvelopeScannerState::Name {
                    self.text.clear();
                }
                if outer && (is_id || self.state == EnvelopeScannerState::Name) {
                    self.keep_byte(byte);
                }
            }
            b'{' | b'[' => {
                self.is_array |= self.depth == 0 && byte == b'[';
                self.depth += 1;
            }
            b'}' | b']' => {
                if outer {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if outer => self.end_value(),
            b':' if outer => {
                if let EnvelopeScannerState::Colon { id } = self.state {
                    self.state = EnvelopeScannerState::Value { id };
                    self.text.clear();
                }
            }
            _ if outer && is_id && !byte.is_ascii_whitespace() => self.keep_byte(byte),
            _ => {}
        }
    }

    /// Appends a byte to the name or id, up to one byte more than the bound.
    fn keep_byte(&mut self, byte: u8) {
        if self.text.len() <= MAX_KEPT_ID_BYTES {
            self.text.push(byte);
        }
    }

    /// Ends a string. At depth 1, where a name is expected, it was one.
    fn end_string(&mut self) {
        self.string = false;
        if self.depth == 1 && self.state == EnvelopeScannerState::Name {
            self.has_method |= self.text == b"\"method\"";
            self.state = EnvelopeScannerState::Colon { id: self.text == b"\"id\"" };
        }
    }

    /// Ends a member at a comma or at the end of the object: takes its value over if it was that of `id` and
    /// within the bound.
    fn end_value(&mut self) {
        if self.state == (EnvelopeScannerState::Value { id: true })
            && (1..=MAX_KEPT_ID_BYTES).contains(&self.text.len())
        {
            self.id = Some(std::mem::take(&mut self.text));
        }
        self.state = EnvelopeScannerState::Name;
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<String> {
        let mut finder = EnvelopeScanner::default();
        finder.feed(text.as_bytes());
        finder.into_id()
    }

    #[test]
    fn finds_the_id_of_the_message_and_of_nothing_in_it() {
        for (text, expected) in [
            (r#"{"id":7}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id" : "a,}\"b" ,"result":{}}"#, Some(r#""a,}\"b""#)),
            (r#"{"result":{"id":1,"x":[{"id":2}],"y":"\"id\":3"},"id":-4.5e6}"#, Some("-4.5e6")),
            (r#"{"result":{"id":1}}"#, None),
            (r#"{"method":"id","params":{"id":1}}"#, None),
            (r#"{"id":{"id":1}}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"no json "id":1"#, None),
            ("}}}]],,::\"", None),
            ("", None),
        ] {
            assert_eq!(id(text).as_deref(), expected, "{text}");
        }
        assert_eq!(id(&format!(r#"{{"id":"{}"}}"#, "x".repeat(MAX_KEPT_ID_BYTES))), None);
        let long = format!("\"{}\"", "x".repeat(1000));
        assert_eq!(id(&format!(r#"{{"id":{long}}}"#)).as_deref(), Some(long.as_str()));
    }

    #[test]
    fn tells_an_answer_from_what_nobody_waits_for() {
        for (text, expected) in [
            (r#"{"result":{"method":"x"},"id":7}"#, MessageKind::Answer),
            (r#"{"id":7,"error":{}}"#, MessageKind::Answer),
            (r#"{"id":7,"params":{},"method":"elicitation/create"}"#, MessageKind::Request),
            (r#"{"method":"notifications/message","params":{"id":7}}"#, MessageKind::Notification),
            (r#" [{"id":7,"result":{}}]"#, MessageKind::Batch),
            (r#"{"x":[{"id":7}]}"#, MessageKind::Other),
            (r#"Listening: "method" "id":7"#, MessageKind::Other),
            ("", MessageKind::Other),
        ] {
            let mut scanner = EnvelopeScanner::default();
            scanner.feed(text.as_bytes());
            assert_eq!(scanner.kind(), expected, "{text}");
        }
    }
}

//! The id of a message that is too long to be kept, found as it passes by.

/// As many bytes as the id of a request may have; a longer one is nobody's.
const MAX_KEPT_ID_BYTES: usize = 1024;

/// Looks for the `id` of a message, in pieces, without keeping the message. What is no JSON gives no id, or a wrong
/// one: it is only good for finding who waits.
#[derive(Debug, Default)]
pub(super) struct IdFinder {
    depth: usize,
    /// Whether a string is being read, and whether a backslash was just before.
    string: bool,
    escaped: bool,
    /// The string that may turn out to be a name, or the value of `id` so far.
    text: Vec<u8>,
    state: IdFinderState,
    id: Option<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum IdFinderState {
    /// Before a name, at the level of the message.
    #[default]
    Name,
    /// After the name `id` or another, before the colon.
    Colon { id: bool },
    /// In a value.
    Value { id: bool },
}

impl IdFinder {
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

    pub(super) fn into_id(self) -> Option<String> {
        self.id.and_then(|id| String::from_utf8(id).ok())
    }

    fn feed_byte(&mut self, byte: u8) {
        let is_id = self.state == IdFinderState::Value { id: true };
        let outer = self.depth == 1;
        if self.string {
            if outer && (is_id || self.state == IdFinderState::Name) {
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
                if outer && self.state == IdFinderState::Name {
                    self.text.clear();
                }
                if outer && (is_id || self.state == IdFinderState::Name) {
                    self.keep_byte(byte);
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if outer {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if outer => self.end_value(),
            b':' if outer => {
                if let IdFinderState::Colon { id } = self.state {
                    self.state = IdFinderState::Value { id };
                    self.text.clear();
                }
            }
            _ if outer && is_id && !byte.is_ascii_whitespace() => self.keep_byte(byte),
            _ => {}
        }
    }

    fn keep_byte(&mut self, byte: u8) {
        if self.text.len() <= MAX_KEPT_ID_BYTES {
            self.text.push(byte);
        }
    }

    fn end_string(&mut self) {
        self.string = false;
        if self.depth == 1 && self.state == IdFinderState::Name {
            self.state = IdFinderState::Colon { id: self.text == b"\"id\"" };
        }
    }

    fn end_value(&mut self) {
        if self.state == (IdFinderState::Value { id: true })
            && (1..=MAX_KEPT_ID_BYTES).contains(&self.text.len())
        {
            self.id = Some(std::mem::take(&mut self.text));
        }
        self.state = IdFinderState::Name;
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Option<String> {
        let mut finder = IdFinder::default();
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
    }
}

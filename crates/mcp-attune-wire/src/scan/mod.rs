//! The strict reader: JSON in one pass, with every refusal that keeps a message readable in one way.
//!
//! 1. The bytes are UTF-8, one value, nothing after it.
//! 2. At most 127 brackets are open at once.
//! 3. No object has a member name twice, escapes decoded.
//!
//! Small objects compare names as they come; an object of more than [`MAX_LINEAR_NAMES`] names is sorted once, at its
//! end: no hashing, so nothing to flood, and never quadratic.
//!
//! Rules: H13.

use alloc::vec::Vec;

mod fault;
mod name;
pub(crate) mod case_fold;

pub use fault::{JsonFault, JsonParseError};
pub(crate) use name::{ScannedName, WantedName};

use crate::json::{ByteSpan, clamp, find_special};

/// How many brackets may be open at once.
pub const MAX_DEPTH: usize = 127;

/// Up to this many names in one object are compared one by one.
const MAX_LINEAR_NAMES: usize = 16;

/// The longest text that is read at all: offsets are kept in 32 bits.
const MAX_JSON_BYTES: usize = i32::MAX as usize;

/// Stands in [`Scanner::open`] for a bracket that opened an array.
const OPEN_ARRAY: u32 = u32::MAX;

pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// What each open bracket waits for: an array's next value ([`OPEN_ARRAY`]), or an object's next member, with the
    /// count of names that were open before the object's own.
    open: [u32; MAX_DEPTH],
    /// The names of all open objects, innermost last.
    names: Vec<ScannedName>,
    /// Where an escaped name is decoded, to be marked.
    scratch: Vec<u8>,
}

type ScanResult<T = ()> = Result<T, JsonParseError>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> ScanResult<Self> {
        if bytes.len() > MAX_JSON_BYTES {
            return Err(JsonParseError { fault: JsonFault::TooLong, at: MAX_JSON_BYTES });
        }
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok(Self {
                text,
                at: 0,
                depth: 0,
                open: [OPEN_ARRAY; MAX_DEPTH],
                names: Vec::with_capacity(32),
                scratch: Vec::new(),
            }),
            Err(error) => Err(JsonParseError { fault: JsonFault::Utf8, at: error.valid_up_to() }),
        }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The first byte of the next value.
    pub(crate) fn peek(&mut self) -> ScanResult<u8> {
        self.skip_whitespace();
        self.current_byte().ok_or_else(|| {
            let empty = self.text.trim_ascii().is_empty();
            self.error_here(if empty { JsonFault::Empty } else { JsonFault::Cut })
        })
    }

    /// Nothing but white space may be left.
    pub(crate) fn expect_end(&mut self) -> ScanResult {
        self.skip_whitespace();
        match self.current_byte() {
            None => Ok(()),
            Some(_) => Err(self.error_here(JsonFault::Trailing)),
        }
    }

    /// Reads an object, handing each member to `member`, which must read exactly its value. One function for all kinds of
    /// members: the code of three takes longer to fetch than to run.
    pub(crate) fn read_object(
        &mut self,
        member: &mut dyn FnMut(&mut Self, ScannedName) -> ScanResult,
    ) -> ScanResult<ByteSpan> {
        let start = self.at;
        self.push_object()?;
        if self.close_if_empty(b'}') {
            return Ok(ByteSpan::new(start, self.at));
        }
        loop {
            let name = self.member_name()?;
            member(self, name)?;
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.skip_whitespace();
                }
                b'}' => {
                    self.close_object()?;
                    return Ok(ByteSpan::new(start, self.at));
                }
                _ => return Err(self.error_here(JsonFault::Syntax)),
            }
        }
    }

    /// Reads an array, calling `element` at each value, which it must read.
    pub(crate) fn read_array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> ScanResult,
    ) -> ScanResult<ByteSpan> {
        let start = self.at;
        self.push(OPEN_ARRAY)?;
        if self.close_if_empty(b']') {
            return Ok(ByteSpan::new(start, self.at));
        }
        loop {
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(ByteSpan::new(start, self.at));
                }
                _ => return Err(self.error_here(JsonFault::Syntax)),
            }
        }
    }

    /// Reads any value and says where it stands. No recursion: what is open is on a list of our own.
    pub(crate) fn read_value(&mut self) -> ScanResult<ByteSpan> {
        self.skip_whitespace();
        let start = self.at;
        let floor = self.depth;
        loop {
            self.skip_whitespace();
            match self.current_byte() {
                Some(b'"') => {
                    self.read_string()?;
                }
                Some(b'{') => {
                    self.push_object()?;
                    if !self.close_if_empty(b'}') {
                        self.member_name()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.push(OPEN_ARRAY)?;
                    if !self.close_if_empty(b']') {
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.read_number()?,
                Some(b't') => self.read_literal("true")?,
                Some(b'f') => self.read_literal("false")?,
                Some(b'n') => self.read_literal("null")?,
                Some(_) => return Err(self.error_here(JsonFault::Syntax)),
                None => return Err(self.error_here(JsonFault::Cut)),
            }
            if !self.after_value(floor)? {
                return Ok(ByteSpan::new(start, self.at));
            }
        }
    }

    /// Closes what ends here; true where another value must follow.
    #[inline]
    fn after_value(&mut self, floor: usize) -> ScanResult<bool> {
        while self.depth > floor {
            self.skip_whitespace();
            let byte = self.current_byte().ok_or_else(|| self.error_here(JsonFault::Cut))?;
            let array = self.open.get(self.depth - 1) == Some(&OPEN_ARRAY);
            match (array, byte) {
                (true, b',') => {
                    self.at += 1;
                    return Ok(true);
                }
                (true, b']') => {
                    self.at += 1;
                    self.depth -= 1;
                }
                (false, b',') => {
                    self.at += 1;
                    self.skip_whitespace();
                    self.member_name()?;
                    return Ok(true);
                }
                (false, b'}') => self.close_object()?,
                _ => return Err(self.error_here(JsonFault::Syntax)),
            }
        }
        Ok(false)
    }

    fn push_object(&mut self) -> ScanResult {
        self.push(clamp(self.names.len()))
    }

    fn push(&mut self, open: u32) -> ScanResult {
        match self.open.get_mut(self.depth) {
            Some(slot) => *slot = open,
            None => return Err(self.error_here(JsonFault::TooDeep)),
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// An empty object or array, right after its opening bracket.
    fn close_if_empty(&mut self, close: u8) -> bool {
        self.skip_whitespace();
        let closes = self.current_byte() == Some(close);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    fn first_name_of_object(&self) -> usize {
        match self.depth.checked_sub(1).and_then(|top| self.open.get(top)) {
            Some(from) => *from as usize,
            None => self.names.len(),
        }
    }

    /// Reads `"name" :` and compares the name with those before it in the same object.
    #[inline]
    fn member_name(&mut self) -> ScanResult<ScannedName> {
        if self.current_byte() != Some(b'"') {
            return Err(self.error_here(if self.current_byte().is_some() {
                JsonFault::Syntax
            } else {
                JsonFault::Cut
            }));
        }
        let start = self.at + 1;
        let escaped = self.read_string()?;
        let end = self.at - 1;
        let name = if escaped {
            ScannedName::from_escaped(self.text, start, end, &mut self.scratch)
        } else {
            ScannedName::from_plain(self.text, start, end)
        };
        self.skip_whitespace();
        if self.current_byte() != Some(b':') {
            return Err(self.error_here(if self.current_byte().is_some() {
                JsonFault::Syntax
            } else {
                JsonFault::Cut
            }));
        }
        self.at += 1;

        let before = self.names.get(self.first_name_of_object()..).unwrap_or_default();
        if before.len() < MAX_LINEAR_NAMES {
            for other in before {
                if other.mark == name.mark && other.order(&name, self.text).is_eq() {
                    return Err(JsonParseError { fault: JsonFault::RepeatedName, at: start - 1 });
                }
            }
        }
        self.names.push(name);
        Ok(name)
    }

    #[inline]
    fn close_object(&mut self) -> ScanResult {
        let from = self.first_name_of_object();
        if self.names.len() - from > MAX_LINEAR_NAMES {
            self.refuse_repeated(from)?;
        }
        self.names.truncate(from);
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    #[cold]
    fn refuse_repeated(&mut self, from: usize) -> ScanResult {
        let text = self.text;
        let order = |one: &ScannedName, other: &ScannedName| {
            one.mark.cmp(&other.mark).then_with(|| one.order(other, text))
        };
        let names = self.names.get_mut(from..).unwrap_or_default();
        names.sort_unstable_by(|one, other| order(one, other).then(one.start.cmp(&other.start)));
        let second = |pair: &[ScannedName]| match pair {
            [one, other] if order(one, other).is_eq() => Some(other.start),
            _ => None,
        };
        match names.windows(2).filter_map(second).min() {
            Some(start) => Err(JsonParseError { fault: JsonFault::RepeatedName, at: start as usize - 1 }),
            None => Ok(()),
        }
    }

    /// Reads a string; true where it was written with escapes.
    #[inline]
    fn read_string(&mut self) -> ScanResult<bool> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = find_special(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    at = self.skip_escape(at)?;
                }
                Some(_) => {
                    return Err(JsonParseError { fault: JsonFault::Syntax, at });
                }
                None => {
                    return Err(JsonParseError { fault: JsonFault::Cut, at: bytes.len() });
                }
            }
        }
    }

    /// The offset after the escape that begins at `at`.
    fn skip_escape(&self, at: usize) -> ScanResult<usize> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                for offset in at + 2..at + 6 {
                    match bytes.get(offset) {
                        Some(byte) if byte.is_ascii_hexdigit() => {}
                        Some(_) => {
                            return Err(JsonParseError { fault: JsonFault::Syntax, at: offset });
                        }
                        None => {
                            return Err(JsonParseError { fault: JsonFault::Cut, at: offset });
                        }
                    }
                }
                Ok(at + 6)
            }
            Some(_) => Err(JsonParseError { fault: JsonFault::Syntax, at: at + 1 }),
            None => Err(JsonParseError { fault: JsonFault::Cut, at: at + 1 }),
        }
    }

    fn read_number(&mut self) -> ScanResult {
        if self.current_byte() == Some(b'-') {
            self.at += 1;
        }
        if self.current_byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.read_digits()?;
        }
        if self.current_byte() == Some(b'.') {
            self.at += 1;
            self.read_digits()?;
        }
        if let Some(b'e' | b'E') = self.current_byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.current_byte() {
                self.at += 1;
            }
            self.read_digits()?;
        }
        Ok(())
    }

    /// One digit at least.
    #[inline]
    fn read_digits(&mut self) -> ScanResult {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.error_here(if rest.is_empty() { JsonFault::Cut } else { JsonFault::Syntax }));
        }
        self.at += count;
        Ok(())
    }

    fn read_literal(&mut self, word: &str) -> ScanResult {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else if word.as_bytes().starts_with(rest) {
            Err(JsonParseError { fault: JsonFault::Cut, at: self.text.len() })
        } else {
            Err(self.error_here(JsonFault::Syntax))
        }
    }

    #[inline]
    fn current_byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_whitespace(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.current_byte() {
            self.at += 1;
        }
    }

    #[cold]
    fn error_here(&self, fault: JsonFault) -> JsonParseError {
        JsonParseError { fault, at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use serde_json::value::RawValue;

    fn read(bytes: &[u8]) -> Result<(), JsonFault> {
        let mut scanner = Scanner::new(bytes).map_err(|error| error.fault)?;
        scanner.peek().map_err(|error| error.fault)?;
        scanner.read_value().map_err(|error| error.fault)?;
        scanner.expect_end().map_err(|error| error.fault)
    }

    #[test]
    fn agrees_with_serde_json_on_small_texts() {
        // Every text of up to five pieces out of those that decide something.
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "\\", "1", "-", "0", ".", "e", "true", " ", "\\u00",
            "x",
        ];
        let mut texts = alloc::vec![String::new()];
        for _ in 0..4 {
            let longer: Vec<_> = texts
                .iter()
                .flat_map(|text| pieces.iter().map(move |piece| format!("{text}{piece}")))
                .collect();
            for text in &longer {
                let ours = read(text.as_bytes());
                if ours != Err(JsonFault::RepeatedName) {
                    assert_eq!(ours.is_ok(), serde_json::from_str::<&RawValue>(text).is_ok(), "{text}");
                }
            }
            texts = longer;
        }
    }

    #[test]
    fn refuses_a_name_twice_however_it_is_written() {
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\u0061":1,"a":2}"#,
            r#"{"x":[{"k":{"deep":1,"d\u0065ep":1}}]}"#,
            r#"{"":1,"":2}"#,
            r#"{"/":1,"\/":2}"#,
            r#"{"é":1,"\u00E9":2}"#,
            r#"{"😀":1,"\ud83d\ude00":2}"#,
            r#"{"\ud83d":1,"\uD83D":2}"#,
            r#"{"a long name that does not fit a word":1,"b":2,"a long name that does not fit a word":3}"#,
        ] {
            assert_eq!(read(text.as_bytes()), Err(JsonFault::RepeatedName), "{text}");
        }
    }

    #[test]
    fn keeps_names_that_only_look_alike() {
        for text in [
            r#"{"a":1,"A":2}"#,
            r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#,
            r#"[{"a":1},{"a":1}]"#,
            r#"{"\\u0061":1,"a":2}"#,
            r#"{"\ud83d":1,"\ud83e":2,"\ufffd":3}"#,
            r#"{"xaaaaaaaa":1,"yaaaaaaaa":2,"aaaaaaaa":3,"\u0000aaaaaaaa":4}"#,
            r#"{"a":1,"\u0000a":2,"\u0000\u0000a":3}"#,
        ] {
            assert_eq!(read(text.as_bytes()), Ok(()), "{text}");
        }
    }

    #[test]
    fn finds_the_second_name_among_many() {
        for count in [15usize, 16, 17, 18, 100] {
            for twice in 0..count {
                let mut text = String::from("{");
                for index in 0..count {
                    text += &format!("\"k{index}\":1,");
                }
                let at = text.len();
                text += &format!("\"k{twice}\":2}}");
                let mut scanner = Scanner::new(text.as_bytes()).unwrap();
                assert_eq!(scanner.read_value(), Err(JsonParseError { fault: JsonFault::RepeatedName, at }));
            }
        }
    }

    #[test]
    fn opens_127_brackets_and_not_one_more() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nest = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(read(nest(127).as_bytes()), Ok(()));
            assert_eq!(read(nest(128).as_bytes()), Err(JsonFault::TooDeep));
            assert!(serde_json::from_str::<serde_json::Value>(&nest(127)).is_ok());
            assert!(serde_json::from_str::<serde_json::Value>(&nest(128)).is_err());
        }
        assert_eq!(read(b"[[1],[2],[3]]"), Ok(()));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, fault, at) in [
            (&b""[..], JsonFault::Empty, 0),
            (b" \n", JsonFault::Empty, 2),
            (b"{\"a\":1", JsonFault::Cut, 6),
            (b"{\"a\"", JsonFault::Cut, 4),
            (b"\"ab", JsonFault::Cut, 3),
            (b"{\"a\":}", JsonFault::Syntax, 5),
            (b"{\"a\":1,}", JsonFault::Syntax, 7),
            (b"[1,]", JsonFault::Syntax, 3),
            (b"{} {}", JsonFault::Trailing, 3),
            (b"1 x", JsonFault::Trailing, 2),
            (b"\"\xff\"", JsonFault::Utf8, 1),
            (b"\"\xed\xa0\x80\"", JsonFault::Utf8, 1),
            (b"\"a\nb\"", JsonFault::Syntax, 2),
            (b"01", JsonFault::Trailing, 1),
            (b"tru", JsonFault::Cut, 3),
            (b"trux", JsonFault::Syntax, 0),
            (b"\xef\xbb\xbf{}", JsonFault::Syntax, 0),
        ] {
            let read = |text| {
                let mut scanner = Scanner::new(text)?;
                scanner.peek()?;
                scanner.read_value()?;
                scanner.expect_end()
            };
            assert_eq!(read(text), Err(JsonParseError { fault, at }), "{}", String::from_utf8_lossy(text));
        }
    }
}

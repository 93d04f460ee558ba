//! The strict reader: JSON in one pass, with every refusal that keeps a message readable in one way.
//!
//! 1. The bytes are UTF-8, one value, nothing after it.
//! 2. At most 127 brackets are open at once.
//! 3. No object has a member name twice, escapes decoded.
//!
//! Small objects compare names as they come; an object of more than [`FEW`] names is sorted once, at its
//! end: no hashing, so nothing to flood, and never quadratic.
//!
//! Rules: H13.

use alloc::vec::Vec;

mod fault;
mod name;
pub(crate) mod fold;

pub use fault::{Fault, Unreadable};
pub(crate) use name::{Name, Wanted};

use crate::json::{Span, clamp, plain_until};

/// How many brackets may be open at once.
pub const MAX_DEPTH: usize = 127;

/// Up to this many names in one object are compared one by one.
const FEW: usize = 16;

/// The longest text that is read at all: offsets are kept in 32 bits.
const MAX_LENGTH: usize = i32::MAX as usize;

/// What an open bracket waits for: an array's next value, or an object's next member, with the count of
/// names that were open before the object's own.
const ARRAY: u32 = u32::MAX;

pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    open: [u32; MAX_DEPTH],
    /// The names of all open objects, innermost last.
    names: Vec<Name>,
    /// Where an escaped name is decoded, to be marked.
    scratch: Vec<u8>,
}

type Scan<T = ()> = Result<T, Unreadable>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Scan<Self> {
        if bytes.len() > MAX_LENGTH {
            return Err(Unreadable { fault: Fault::TooLong, at: MAX_LENGTH });
        }
        match core::str::from_utf8(bytes) {
            Ok(text) => Ok(Self {
                text,
                at: 0,
                depth: 0,
                open: [ARRAY; MAX_DEPTH],
                names: Vec::with_capacity(32),
                scratch: Vec::new(),
            }),
            Err(error) => Err(Unreadable { fault: Fault::Utf8, at: error.valid_up_to() }),
        }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The first byte of the next value.
    pub(crate) fn peek(&mut self) -> Scan<u8> {
        self.space();
        self.byte().ok_or_else(|| {
            let empty = self.text.trim_ascii().is_empty();
            self.fault(if empty { Fault::Empty } else { Fault::Cut })
        })
    }

    /// Nothing but white space may be left.
    pub(crate) fn finish(&mut self) -> Scan {
        self.space();
        match self.byte() {
            None => Ok(()),
            Some(_) => Err(self.fault(Fault::Trailing)),
        }
    }

    /// Reads an object, handing each member to `member`, which must read exactly its value. One function for all kinds of
    /// members: the code of three takes longer to fetch than to run.
    pub(crate) fn object(&mut self, member: &mut dyn FnMut(&mut Self, Name) -> Scan) -> Scan<Span> {
        let start = self.at;
        self.push_object()?;
        if self.close_at_once(b'}') {
            return Ok(Span::new(start, self.at));
        }
        loop {
            let name = self.member_name()?;
            member(self, name)?;
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    self.space();
                }
                b'}' => {
                    self.close_object()?;
                    return Ok(Span::new(start, self.at));
                }
                _ => return Err(self.fault(Fault::Syntax)),
            }
        }
    }

    /// Reads an array, calling `element` at each value, which it must read.
    pub(crate) fn array(&mut self, mut element: impl FnMut(&mut Self) -> Scan) -> Scan<Span> {
        let start = self.at;
        self.push(ARRAY)?;
        if self.close_at_once(b']') {
            return Ok(Span::new(start, self.at));
        }
        loop {
            element(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(Span::new(start, self.at));
                }
                _ => return Err(self.fault(Fault::Syntax)),
            }
        }
    }

    /// Reads any value and says where it stands. No recursion: what is open is on a list of our own.
    pub(crate) fn value(&mut self) -> Scan<Span> {
        self.space();
        let start = self.at;
        let floor = self.depth;
        loop {
            self.space();
            match self.byte() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{') => {
                    self.push_object()?;
                    if !self.close_at_once(b'}') {
                        self.member_name()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.push(ARRAY)?;
                    if !self.close_at_once(b']') {
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word("true")?,
                Some(b'f') => self.word("false")?,
                Some(b'n') => self.word("null")?,
                Some(_) => return Err(self.fault(Fault::Syntax)),
                None => return Err(self.fault(Fault::Cut)),
            }
            if !self.after_value(floor)? {
                return Ok(Span::new(start, self.at));
            }
        }
    }

    /// Closes what ends here; true where another value must follow.
    #[inline]
    fn after_value(&mut self, floor: usize) -> Scan<bool> {
        while self.depth > floor {
            self.space();
            let byte = self.byte().ok_or_else(|| self.fault(Fault::Cut))?;
            let array = self.open.get(self.depth - 1) == Some(&ARRAY);
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
                    self.space();
                    self.member_name()?;
                    return Ok(true);
                }
                (false, b'}') => self.close_object()?,
                _ => return Err(self.fault(Fault::Syntax)),
            }
        }
        Ok(false)
    }

    fn push_object(&mut self) -> Scan {
        self.push(clamp(self.names.len()))
    }

    fn push(&mut self, open: u32) -> Scan {
        match self.open.get_mut(self.depth) {
            Some(slot) => *slot = open,
            None => return Err(self.fault(Fault::TooDeep)),
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// An empty object or array, right after its opening bracket.
    fn close_at_once(&mut self, close: u8) -> bool {
        self.space();
        let closes = self.byte() == Some(close);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    fn names_from(&self) -> usize {
        match self.depth.checked_sub(1).and_then(|top| self.open.get(top)) {
            Some(from) => *from as usize,
            None => self.names.len(),
        }
    }

    /// Reads `"name" :` and compares the name with those before it in the same object.
    #[inline]
    fn member_name(&mut self) -> Scan<Name> {
        if self.byte() != Some(b'"') {
            return Err(self.fault(if self.byte().is_some() { Fault::Syntax } else { Fault::Cut }));
        }
        let start = self.at + 1;
        let escaped = self.string()?;
        let end = self.at - 1;
        let name = if escaped {
            Name::escaped(self.text, start, end, &mut self.scratch)
        } else {
            Name::plain(self.text, start, end)
        };
        self.space();
        if self.byte() != Some(b':') {
            return Err(self.fault(if self.byte().is_some() { Fault::Syntax } else { Fault::Cut }));
        }
        self.at += 1;

        let before = self.names.get(self.names_from()..).unwrap_or_default();
        if before.len() < FEW {
            for other in before {
                if other.mark == name.mark && other.order(&name, self.text).is_eq() {
                    return Err(Unreadable { fault: Fault::RepeatedName, at: start - 1 });
                }
            }
        }
        self.names.push(name);
        Ok(name)
    }

    #[inline]
    fn close_object(&mut self) -> Scan {
        let from = self.names_from();
        if self.names.len() - from > FEW {
            self.refuse_repeated(from)?;
        }
        self.names.truncate(from);
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    #[cold]
    fn refuse_repeated(&mut self, from: usize) -> Scan {
        let text = self.text;
        let order = |one: &Name, other: &Name| one.mark.cmp(&other.mark).then_with(|| one.order(other, text));
        let names = self.names.get_mut(from..).unwrap_or_default();
        names.sort_unstable_by(|one, other| order(one, other).then(one.start.cmp(&other.start)));
        let second = |pair: &[Name]| match pair {
            [one, other] if order(one, other).is_eq() => Some(other.start),
            _ => None,
        };
        match names.windows(2).filter_map(second).min() {
            Some(start) => Err(Unreadable { fault: Fault::RepeatedName, at: start as usize - 1 }),
            None => Ok(()),
        }
    }

    /// Reads a string; true where it was written with escapes.
    #[inline]
    fn string(&mut self) -> Scan<bool> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = plain_until(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    at = self.escape(at)?;
                }
                Some(_) => {
                    return Err(Unreadable { fault: Fault::Syntax, at });
                }
                None => {
                    return Err(Unreadable { fault: Fault::Cut, at: bytes.len() });
                }
            }
        }
    }

    /// The offset after the escape that begins at `at`.
    fn escape(&self, at: usize) -> Scan<usize> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                for offset in at + 2..at + 6 {
                    match bytes.get(offset) {
                        Some(byte) if byte.is_ascii_hexdigit() => {}
                        Some(_) => {
                            return Err(Unreadable { fault: Fault::Syntax, at: offset });
                        }
                        None => {
                            return Err(Unreadable { fault: Fault::Cut, at: offset });
                        }
                    }
                }
                Ok(at + 6)
            }
            Some(_) => Err(Unreadable { fault: Fault::Syntax, at: at + 1 }),
            None => Err(Unreadable { fault: Fault::Cut, at: at + 1 }),
        }
    }

    fn number(&mut self) -> Scan {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit at least.
    #[inline]
    fn digits(&mut self) -> Scan {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.fault(if rest.is_empty() { Fault::Cut } else { Fault::Syntax }));
        }
        self.at += count;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Scan {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else if word.as_bytes().starts_with(rest) {
            Err(Unreadable { fault: Fault::Cut, at: self.text.len() })
        } else {
            Err(self.fault(Fault::Syntax))
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    #[cold]
    fn fault(&self, fault: Fault) -> Unreadable {
        Unreadable { fault, at: self.at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use serde_json::value::RawValue;

    fn read(bytes: &[u8]) -> Result<(), Fault> {
        let mut scanner = Scanner::new(bytes).map_err(|error| error.fault)?;
        scanner.peek().map_err(|error| error.fault)?;
        scanner.value().map_err(|error| error.fault)?;
        scanner.finish().map_err(|error| error.fault)
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
                if ours != Err(Fault::RepeatedName) {
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
            assert_eq!(read(text.as_bytes()), Err(Fault::RepeatedName), "{text}");
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
                assert_eq!(scanner.value(), Err(Unreadable { fault: Fault::RepeatedName, at }));
            }
        }
    }

    #[test]
    fn opens_127_brackets_and_not_one_more() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let nest = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(read(nest(127).as_bytes()), Ok(()));
            assert_eq!(read(nest(128).as_bytes()), Err(Fault::TooDeep));
            assert!(serde_json::from_str::<serde_json::Value>(&nest(127)).is_ok());
            assert!(serde_json::from_str::<serde_json::Value>(&nest(128)).is_err());
        }
        assert_eq!(read(b"[[1],[2],[3]]"), Ok(()));
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        for (text, fault, at) in [
            (&b""[..], Fault::Empty, 0),
            (b" \n", Fault::Empty, 2),
            (b"{\"a\":1", Fault::Cut, 6),
            (b"{\"a\"", Fault::Cut, 4),
            (b"\"ab", Fault::Cut, 3),
            (b"{\"a\":}", Fault::Syntax, 5),
            (b"{\"a\":1,}", Fault::Syntax, 7),
            (b"[1,]", Fault::Syntax, 3),
            (b"{} {}", Fault::Trailing, 3),
            (b"1 x", Fault::Trailing, 2),
            (b"\"\xff\"", Fault::Utf8, 1),
            (b"\"\xed\xa0\x80\"", Fault::Utf8, 1),
            (b"\"a\nb\"", Fault::Syntax, 2),
            (b"01", Fault::Trailing, 1),
            (b"tru", Fault::Cut, 3),
            (b"trux", Fault::Syntax, 0),
            (b"\xef\xbb\xbf{}", Fault::Syntax, 0),
        ] {
            let read = |text| {
                let mut scanner = Scanner::new(text)?;
                scanner.peek()?;
                scanner.value()?;
                scanner.finish()
            };
            assert_eq!(read(text), Err(Unreadable { fault, at }), "{}", String::from_utf8_lossy(text));
        }
    }
}

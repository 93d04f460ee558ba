//! The mirrored headers: their names, and the one way a value travels in them.
//!
//! 1. A value travels plain when it is printable ASCII, has no space or tab at either end and does not look
//!    like the sentinel.
//! 2. Anything else travels as `=?base64?…?=` over its UTF-8 bytes; the sentinel is case-sensitive.
//! 3. Decoding is strict: canonical alphabet, padding, zero spare bits, valid UTF-8.
//! 4. The empty string travels as an empty value, which is present, not missing.
//! 5. `=?base64?=` is too short to be a sentinel and is read as it stands; [`encode`] never leaves it plain.
//!
//! Caveat: a value is compared after decoding, so `=?base64?SGVsbG8=?=` and `Hello` are one value. An
//! intermediary that routes on these headers must decode them too.
//!
//! ```
//! use mcp_attune_wire::header::{decode, encode};
//!
//! assert_eq!(encode("us-west1"), "us-west1");
//! assert_eq!(encode("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
//! assert_eq!(decode(b"=?base64?SGVsbG8sIOS4lueVjA==?=").unwrap(), "Hello, 世界");
//! assert!(decode(b"=?base64?SGVsbG8?=").is_err());
//! ```
//!
//! Rules: H3, H4.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::json::{JsonString, is_printable, is_simple};
use crate::notice::{Notice, NoticeText};

pub use crate::protocol::header::{
    ACCEPT_LANGUAGE, CONTENT_LANGUAGE, METHOD, NAME, PARAM_PREFIX, PROTOCOL_VERSION,
};

const SENTINEL: &[u8] = b"=?base64?";
const SENTINEL_END: &[u8] = b"?=";

/// Why a header value says nothing that could be compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum HeaderDecodeError {
    /// A byte outside printable ASCII, space and tab: `caf\xe9`.
    Byte,
    /// Something inside the sentinel that is not canonical, padded base64: `=?base64?SGVsbG8?=`.
    Base64,
    /// Base64 over bytes that are no UTF-8: `=?base64?/w==?=`.
    Utf8,
}

impl HeaderDecodeError {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(self, header: NoticeText) -> Notice {
        match self {
            Self::Byte => Notice::HeaderBadByte { header },
            Self::Base64 => Notice::HeaderBadBase64 { header },
            Self::Utf8 => Notice::HeaderBadUtf8 { header },
        }
    }
}

impl fmt::Display for HeaderDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice("the header".into()).fmt(f)
    }
}

impl core::error::Error for HeaderDecodeError {}

/// The text as it travels in a header: itself where that is safe, else in base64.
///
/// Rules: H4.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    if needs_no_encoding(text) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(text)))
    }
}

/// Whether a text may stand in a header as it is.
#[must_use]
pub fn needs_no_encoding(text: &str) -> bool {
    let bytes = text.as_bytes();
    let looks_encoded = bytes.starts_with(SENTINEL) && bytes.ends_with(SENTINEL_END);
    is_printable(bytes) && !bytes.starts_with(b" ") && !bytes.ends_with(b" ") && !looks_encoded
}

/// The text that a header value stands for.
///
/// # Errors
///
/// [`HeaderDecodeError`], where a value must not be taken for any text. Rules: H4.
pub fn decode(value: &[u8]) -> Result<Cow<'_, str>, HeaderDecodeError> {
    if !value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Err(HeaderDecodeError::Byte);
    }
    match base64_payload(value) {
        Some(payload) => {
            let bytes = STANDARD.decode(payload).map_err(|_| HeaderDecodeError::Base64)?;
            String::from_utf8(bytes).map(Cow::Owned).map_err(|_| HeaderDecodeError::Utf8)
        }
        None => core::str::from_utf8(value).map(Cow::Borrowed).map_err(|_| HeaderDecodeError::Byte),
    }
}

/// What stands inside the sentinel, if the value is one.
fn base64_payload(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(SENTINEL)?.strip_suffix(SENTINEL_END)
}

/// Whether a header value is this text to the letter, and there is no other way to write it: what most values are, so
/// that it is worth a look before any decoding. False says nothing.
pub(crate) fn is_trivially_equal(value: &[u8], text: JsonString<'_>) -> bool {
    // No escape of JSON, no space, and not the beginning of a sentinel.
    value == text.as_written().as_bytes() && is_simple(value)
}

/// Whether a header value stands for this text. Allocates nothing: canonical base64 has one spelling, so
/// the text is encoded in pieces and compared, and the header is never decoded.
pub(crate) fn decodes_to(value: &[u8], text: JsonString<'_>) -> bool {
    let Some(payload) = base64_payload(value) else {
        return match text.as_plain_str() {
            Some(plain) => {
                value == plain.as_bytes() && value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
            }
            None => text.chars().eq(value.iter().map(|byte| Some(char::from(*byte)).filter(char::is_ascii))),
        };
    };
    let mut rest = payload;
    let mut piece = Base64Block { bytes: [0; 48], len: 0 };
    for char in text.chars() {
        let Some(char) = char else { return false };
        for byte in char.encode_utf8(&mut [0; 4]).bytes() {
            if piece.push(byte) && !piece.strip_from(&mut rest) {
                return false;
            }
        }
    }
    piece.strip_from(&mut rest) && rest.is_empty()
}

/// Up to 48 bytes, which are 64 characters of base64 without padding.
struct Base64Block {
    bytes: [u8; 48],
    len: usize,
}

impl Base64Block {
    /// Adds a byte; true when full.
    fn push(&mut self, byte: u8) -> bool {
        if let Some(slot) = self.bytes.get_mut(self.len) {
            *slot = byte;
            self.len += 1;
        }
        self.len == self.bytes.len()
    }

    /// Takes this piece's base64 off the front of `rest` and empties the piece; false where it is not there.
    fn strip_from(&mut self, rest: &mut &[u8]) -> bool {
        let mut encoded = [0; 64];
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        self.len = 0;
        let Ok(len) = STANDARD.encode_slice(bytes, &mut encoded) else {
            return false;
        };
        match encoded.get(..len).and_then(|encoded| rest.strip_prefix(encoded)) {
            Some(left) => {
                *rest = left;
                true
            }
            None => false,
        }
    }
}

/// Whether a text is a token of RFC 9110 §5.6.2, as a header name must be.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !text.is_empty() && text.as_bytes().iter().all(token)
}

/// The order of two header names, case ignored.
pub(crate) fn cmp_header_names(one: &str, other: &str) -> Ordering {
    one.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(other.bytes().map(|byte| byte.to_ascii_lowercase()))
}

/// The headers of one request that the rules look at, each line as it was received.
///
/// Made from all lines in the order they came; a map that folds lines together hides duplicates, and a
/// duplicate is what must be seen. White space around a value is not part of it (RFC 9110 §5.5).
///
/// ```
/// use mcp_attune_wire::header::MirroredHeaders;
///
/// let headers = MirroredHeaders::new([("mcp-method", &b"ping"[..]), ("Host", b"localhost"), ("Mcp-Method", b"ping")]);
/// assert_eq!(headers.method().len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct MirroredHeaders<'h> {
    version: HeaderValues<'h>,
    method: HeaderValues<'h>,
    name: HeaderValues<'h>,
    accept_language: HeaderValues<'h>,
    params: Vec<(&'h str, &'h [u8])>,
    /// Whether there was white space around any value.
    trimmed: bool,
}

impl<'h> MirroredHeaders<'h> {
    /// Keeps the lines that matter out of all lines.
    pub fn new(lines: impl IntoIterator<Item = (&'h str, &'h [u8])>) -> Self {
        let mut headers = Self::default();
        for (name, value) in lines {
            let line = value;
            let value = trim_whitespace(line);
            headers.trimmed |= value.len() != line.len();
            match name.len() {
                8 if name.eq_ignore_ascii_case(NAME) => headers.name.push(value),
                10 if name.eq_ignore_ascii_case(METHOD) => headers.method.push(value),
                15 if name.eq_ignore_ascii_case(ACCEPT_LANGUAGE) => headers.accept_language.push(value),
                20 if name.eq_ignore_ascii_case(PROTOCOL_VERSION) => headers.version.push(value),
                _ => {
                    if let Some(name) = param_name(name) {
                        headers.params.push((name, value));
                    }
                }
            }
        }
        headers
    }

    /// The lines of `MCP-Protocol-Version`.
    #[must_use]
    pub fn version(&self) -> &HeaderValues<'h> {
        &self.version
    }

    /// The lines of `Mcp-Method`.
    #[must_use]
    pub fn method(&self) -> &HeaderValues<'h> {
        &self.method
    }

    /// The lines of `Mcp-Name`.
    #[must_use]
    pub fn name(&self) -> &HeaderValues<'h> {
        &self.name
    }

    /// The lines of `Accept-Language`.
    #[must_use]
    pub fn accept_language(&self) -> &HeaderValues<'h> {
        &self.accept_language
    }

    /// The lines of `Mcp-Param-*`, each with what follows the prefix in its name.
    #[must_use]
    pub fn params(&self) -> &[(&'h str, &'h [u8])] {
        &self.params
    }

    /// Whether every value is all of its line.
    pub(crate) fn are_unpadded(&self) -> bool {
        !self.trimmed
    }

    /// Whether any header is there that a router could act on.
    #[must_use]
    pub fn has_routing_headers(&self) -> bool {
        !self.method.is_empty() || !self.name.is_empty() || !self.params.is_empty()
    }
}

/// A value without the optional white space around it: spaces and tabs, and nothing else.
fn trim_whitespace(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// What follows `Mcp-Param-` in a header name, if it is one.
fn param_name(name: &str) -> Option<&str> {
    let (prefix, rest) = name.split_at_checked(PARAM_PREFIX.len())?;
    prefix.eq_ignore_ascii_case(PARAM_PREFIX).then_some(rest)
}

/// The values of one header, line by line in the order received. One line costs no allocation.
#[derive(Clone, Debug, Default)]
pub struct HeaderValues<'h> {
    first: Option<&'h [u8]>,
    more: Vec<&'h [u8]>,
}

impl<'h> HeaderValues<'h> {
    fn push(&mut self, value: &'h [u8]) {
        match self.first {
            None => self.first = Some(value),
            Some(_) => self.more.push(value),
        }
    }

    /// The first line, if there is one.
    #[must_use]
    pub fn first(&self) -> Option<&'h [u8]> {
        self.first
    }

    /// How many lines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Whether the header is missing. An empty value is not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Each line.
    pub fn iter(&self) -> impl Iterator<Item = &'h [u8]> + '_ {
        self.first.into_iter().chain(self.more.iter().copied())
    }

    /// All lines as one value, joined with `", "` as RFC 9110 §5.3 allows.
    #[must_use]
    pub fn joined(&self) -> Option<Cow<'h, [u8]>> {
        let first = self.first?;
        if self.more.is_empty() {
            return Some(Cow::Borrowed(first));
        }
        let mut joined = first.to_vec();
        for line in &self.more {
            joined.extend_from_slice(b", ");
            joined.extend_from_slice(line);
        }
        Some(Cow::Owned(joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_lines_of_one_header_in_the_order_received() {
        let lines = [("accept-LANGUAGE", &b"de"[..]), ("X", b"y"), ("Accept-Language", b" en;q=0.5\t")];
        let headers = MirroredHeaders::new(lines);
        assert_eq!(headers.accept_language().joined().unwrap(), &b"de, en;q=0.5"[..]);
        assert!(!headers.has_routing_headers());
    }

    #[test]
    fn finds_params_whatever_their_case() {
        let lines = [
            ("MCP-PARAM-Region", &b"a"[..]),
            ("mcp-param-", b"b"),
            ("mcp-para", b"c"),
            ("Mcp-Param-ü", b"d"),
        ];
        let headers = MirroredHeaders::new(lines);
        assert_eq!(headers.params(), [("Region", &b"a"[..]), ("", b"b"), ("ü", b"d")]);
    }

    #[test]
    fn an_empty_value_is_present() {
        let headers = MirroredHeaders::new([("Mcp-Name", &b""[..])]);
        assert!(!headers.name().is_empty());
        assert_eq!(headers.name().first(), Some(&b""[..]));
    }

    #[test]
    fn compares_without_decoding_just_as_decoding_would() {
        let long = "é".repeat(100);
        let texts = [
            "",
            "a",
            "ab",
            "abc",
            "Hello",
            " padded ",
            "=?base64?=",
            "=?base64??=",
            "tab\there",
            &long,
            "日本",
        ];
        let mut values: Vec<Vec<u8>> = Vec::new();
        for text in texts {
            values.push(text.as_bytes().to_vec());
            values.push(encode(text).into_owned().into_bytes());
            values.push(format!("=?base64?{}?=", STANDARD.encode(text)).into_bytes());
            values.push(format!("=?base64?{}?=", STANDARD.encode(text).trim_end_matches('=')).into_bytes());
            values.push(format!("=?BASE64?{}?=", STANDARD.encode(text)).into_bytes());
        }
        for value in &values {
            for text in texts {
                let escaped = text.replace('\t', "\\t").replace('é', "\\u00e9");
                let expected = decode(value).is_ok_and(|decoded| decoded == text);
                let shown = String::from_utf8_lossy(value);
                assert_eq!(decodes_to(value, JsonString::new(&escaped)), expected, "{shown} {text}");
                assert_eq!(decodes_to(value, JsonString::new(text)), expected, "{shown} {text}");
            }
        }
    }
}

//! Member names, made quick to compare.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::json::{JsonString, clamp};

/// A member name of an object that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScannedName {
    /// Equal names have equal marks; most different ones differ here already.
    pub(super) mark: u64,
    pub(super) start: u32,
    /// The length as written, and in the highest bit whether it was written with escapes.
    len: u32,
}

const ESCAPED: u32 = 1 << 31;

impl ScannedName {
    /// The offset of its first byte, after the quote.
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }

    /// The name between `start` and `end`, which was written without escapes.
    #[inline]
    pub(super) fn from_plain(text: &str, start: usize, end: usize) -> Self {
        Self { mark: mark(text.as_bytes(), start, end), start: clamp(start), len: clamp(end - start) }
    }

    /// The name between `start` and `end`, written with escapes; `scratch` is where it is decoded.
    #[cold]
    pub(super) fn from_escaped(text: &str, start: usize, end: usize, scratch: &mut Vec<u8>) -> Self {
        scratch.clear();
        JsonString::new(text.get(start..end).unwrap_or_default()).decode_into(scratch);
        let mark = mark(scratch, 0, scratch.len());
        Self { mark, start: clamp(start), len: clamp(end - start) | ESCAPED }
    }

    /// Whether it was written with escapes.
    pub(super) fn is_escaped(self) -> bool {
        self.len & ESCAPED != 0
    }

    /// Whether it was written without escapes, in so many bytes.
    #[inline]
    pub(super) fn is_plain_with_len(self, len: usize) -> bool {
        self.len as usize == len
    }

    pub(crate) fn text<'t>(&self, text: &'t str) -> JsonString<'t> {
        let start = self.start as usize;
        let end = start + (self.len & !ESCAPED) as usize;
        JsonString::scanned(text.get(start..end).unwrap_or_default(), self.is_escaped())
    }

    /// Whether the name, its escapes decoded, is `wanted`.
    #[inline]
    pub(crate) fn is(&self, wanted: &WantedName<'_>, text: &str) -> bool {
        if self.mark != wanted.mark {
            return false;
        }
        self.text(text).is(wanted.name)
    }

    /// The order of two names by their decoded characters.
    pub(super) fn order(&self, other: &Self, text: &str) -> Ordering {
        let (one, two) = (self.text(text), other.text(text));
        if (self.len | other.len) & ESCAPED == 0 {
            one.as_written().cmp(two.as_written())
        } else {
            one.code_points().cmp(two.code_points())
        }
    }
}

/// A name to look for, made ready once.
pub(crate) struct WantedName<'n> {
    mark: u64,
    name: &'n str,
}

impl<'n> WantedName<'n> {
    #[inline]
    pub(crate) fn new(name: &'n str) -> Self {
        Self { mark: mark(name.as_bytes(), 0, name.len()), name }
    }
}

/// The last eight bytes of a name, or all of a shorter one, with its length.
#[inline]
pub(super) fn mark(bytes: &[u8], start: usize, end: usize) -> u64 {
    let len = end - start;
    let word = if len >= 8 {
        bytes.get(..end).and_then(<[u8]>::last_chunk).map(|tail| u64::from_le_bytes(*tail))
    } else {
        let tail = bytes.get(start..).and_then(<[u8]>::first_chunk);
        tail.map(|tail| u64::from_le_bytes(*tail) & !(u64::MAX << (8 * len)))
    };
    let short = || {
        let bytes = bytes.get(start..end).unwrap_or_default();
        bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte))
    };
    word.unwrap_or_else(short) ^ (len as u64).rotate_right(16)
}

//! Going over text quickly: to the next byte that matters, or to the end of a value that was checked before.

/// The offset after the closing quote of a string whose inside begins at `at`, in checked text, and whether a backslash
/// stands before it.
pub(super) fn skip_string(bytes: &[u8], mut at: usize) -> (usize, bool) {
    let mut has_escapes = false;
    loop {
        at = find_quote_or_backslash(bytes, at);
        match bytes.get(at) {
            Some(b'\\') => {
                has_escapes = true;
                at += 2;
            }
            Some(_) => return (at + 1, has_escapes),
            None => return (bytes.len(), has_escapes),
        }
    }
}

/// The first offset from `at` on whose byte is a quote or a backslash: checked text has no control characters in its
/// strings.
#[inline]
fn find_quote_or_backslash(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        let found = (mark_equal(word, b'"') | mark_equal(word, b'\\')) & HIGH_BITS;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|byte| !matches!(byte, b'"' | b'\\')) {
        at += 1;
    }
    at
}

/// The offset after the value that begins at `at`, in checked text.
pub(super) fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut open = 0usize;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => skip_string(bytes, at + 1).0,
            b'{' | b'[' => {
                open += 1;
                at + 1
            }
            b'}' | b']' if open == 0 => return at,
            b'}' | b']' => {
                open -= 1;
                at + 1
            }
            _ if open == 0 => return skip_scalar(bytes, at),
            _ => at + 1,
        };
        if open == 0 {
            return at;
        }
    }
    bytes.len()
}

/// The offset after the number, `true`, `false` or `null` that begins at `at`.
#[inline]
fn skip_scalar(bytes: &[u8], at: usize) -> usize {
    let ends =
        |byte: &u8| matches!(byte, b',' | b' ' | b'\t' | b'\n' | b'\r' | b'}' | b']' | b'{' | b'[' | b'"');
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The first offset from `at` on whose byte is a quote, a backslash or a control character.
///
/// Eight bytes at a time for names and short values, then 32 at a time in a shape that compilers
/// turn into vector instructions.
#[inline]
pub(crate) fn find_special(bytes: &[u8], at: usize) -> usize {
    match special_in_word(bytes, at) {
        Some(found) if found < 8 => at + found,
        Some(_) => find_special_far(bytes, at + 8),
        None => find_special_by_byte(bytes, at),
    }
}

fn find_special_far(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..7 {
        let Some(found) = special_in_word(bytes, at) else { return find_special_by_byte(bytes, at) };
        if found < 8 {
            return at + found;
        }
        at += 8;
    }
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        let mut special = 0u8;
        for &byte in block {
            special |= u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
        }
        if special != 0 {
            break;
        }
        at += 32;
    }
    while let Some(found) = special_in_word(bytes, at) {
        if found < 8 {
            return at + found;
        }
        at += 8;
    }
    find_special_by_byte(bytes, at)
}

#[inline]
fn special_in_word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
    let found = (mark_equal(word, b'"') | mark_equal(word, b'\\') | mark_control(word)) & HIGH_BITS;
    Some(found.trailing_zeros() as usize / 8)
}

/// Marks, among others, the lowest byte of a word that is this one, in its highest bit.
#[inline]
fn mark_equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (ONES * u64::from(byte));
    other.wrapping_sub(ONES) & !other
}

/// The same for a control character below the space.
#[inline]
fn mark_control(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word
}

/// The same for what is not printable ASCII.
#[inline]
fn mark_unprintable(word: u64) -> u64 {
    word | word.wrapping_add(ONES) | mark_control(word)
}

/// Whether a byte is among them, eight at a time: `special` marks a word's special bytes in their highest bits, and
/// does not mark an `a`.
#[inline]
fn any_marked(bytes: &[u8], special: impl Fn(u64) -> u64) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else {
        let word = bytes.iter().fold(ONES * u64::from(b'a'), |word, byte| (word << 8) | u64::from(*byte));
        return special(word) & HIGH_BITS != 0;
    };
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().chain([last]).any(|word| special(u64::from_le_bytes(*word)) & HIGH_BITS != 0)
}

/// Whether a backslash is among them.
pub(super) fn has_escapes(bytes: &[u8]) -> bool {
    any_marked(bytes, |word| mark_equal(word, b'\\'))
}

/// Whether all of them are printable ASCII, the space included.
pub(crate) fn is_printable(bytes: &[u8]) -> bool {
    !any_marked(bytes, mark_unprintable)
}

/// The same without spaces, backslashes and `=`.
pub(crate) fn is_simple(bytes: &[u8]) -> bool {
    !any_marked(bytes, |word| {
        mark_unprintable(word) | mark_equal(word, b' ') | mark_equal(word, b'\\') | mark_equal(word, b'=')
    })
}

fn find_special_by_byte(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_every_byte_at_every_place() {
        for length in 1..20 {
            for at in 0..length {
                for byte in 0..=255u8 {
                    for other in [b'a', b'~', b'!'] {
                        let mut bytes = alloc::vec![other; length];
                        bytes[at] = byte;
                        assert_eq!(has_escapes(&bytes), byte == b'\\', "{bytes:?}");
                        assert_eq!(is_printable(&bytes), matches!(byte, b' '..=b'~'), "{bytes:?}");
                        let simple = matches!(byte, b'!'..=b'~') && !b"\\=".contains(&byte);
                        assert_eq!(is_simple(&bytes), simple, "{bytes:?}");
                    }
                }
            }
        }
        assert!(!has_escapes(b"") && is_printable(b"") && is_simple(b""));
    }

    #[test]
    fn finds_the_first_special_byte_at_every_offset() {
        for length in 0..120 {
            for at in 0..length {
                for special in [b'"', b'\\', 0x1f, 0] {
                    let mut bytes = alloc::vec![b'a'; length];
                    bytes[at] = special;
                    assert_eq!(find_special(&bytes, 0), at);
                    bytes[at] = 0xC3;
                    assert_eq!(find_special(&bytes, 0), length);
                }
            }
        }
    }
}

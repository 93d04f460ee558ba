//! How many tokens a text has for a model: those of `o200k_base`, which other tokenizers differ from by some percent.
//!
//! A text goes to the tokenizer in pieces, because its regular expressions give up on a blank that is a megabyte long. A
//! piece ends where a word does, so that the count is that of the whole; only where there is no such place for many
//! thousand bytes can it be one token more.

use serde::Serialize;
use tiktoken_rs::o200k_base_singleton;

/// What counts.
pub(super) const TOKENIZER_NAME: &str = "o200k_base";

/// What a model is charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct AuditTokenCost {
    pub(super) bytes: usize,
    pub(super) tokens: usize,
}

impl AuditTokenCost {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, tokens: self.tokens + other.tokens }
    }
}

/// How long a piece is at most.
const MAX_PIECE_BYTES: usize = 32 << 10;

pub(super) fn count(text: &str) -> usize {
    let tokenizer = o200k_base_singleton();
    pieces(text).map(|piece| tokenizer.encode_ordinary(piece).len()).sum()
}

fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at_checked(piece_end(text))?;
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Where the first piece of a text ends.
fn piece_end(text: &str) -> usize {
    if text.len() <= MAX_PIECE_BYTES {
        return text.len();
    }
    let most = (0..=MAX_PIECE_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(MAX_PIECE_BYTES);
    // A blank alone before a letter belongs to the token of that letter's word, so a token begins with it.
    let begins = |at: &usize| match text.as_bytes().get(at.saturating_sub(1)..at + 2) {
        Some([before, b' ', after]) => !before.is_ascii_whitespace() && after.is_ascii_alphabetic(),
        _ => false,
    };
    (1..most).rev().find(begins).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_pieces_has_as_many_tokens_as_the_whole() {
        let prose =
            "The quick brown fox, 1234 of them;  jumps\n over\t\"lazy\" dogs. Überall 東京 🦊 ".repeat(2000);
        let json =
            r#"{"id": 12345, "name": "Some thing", "values": [1, 2.5, null], "ok": true}, "#.repeat(2000);
        for text in [prose, json] {
            assert!(pieces(&text).count() > 3);
            assert_eq!(pieces(&text).collect::<String>(), text);
            assert_eq!(count(&text), o200k_base_singleton().encode_ordinary(&text).len());
        }
        assert_eq!((count(""), count("Hello, world")), (0, 3));
    }

    #[test]
    fn nothing_that_repeats_itself_is_too_much_for_it() {
        // Whole, the first is too much: a megabyte of it makes the tokenizer panic.
        let blank = " ".repeat(1 << 20);
        assert!(pieces(&blank).all(|piece| piece.len() <= MAX_PIECE_BYTES) && count(&blank) > 1000);
        for part in ["a", "A", "=", "0", "\n", "\0", "é", "\u{301}", "👩‍👩‍👧‍👦", "\u{10ffff}", "'s", " \n"]
        {
            let text = part.repeat(2 * MAX_PIECE_BYTES / part.len() + 1);
            assert!(count(&text) > 100, "{part:?}");
            assert!(pieces(&text).all(|piece| piece.len() <= MAX_PIECE_BYTES), "{part:?}");
        }
    }
}

//! Regular expressions in schemas: the engine that matches them, and what a match costs.
//!
//! The engine never backtracks, so it is linear in the text whatever the pattern is. Its time for each byte
//! still grows with the compiled size of the pattern; the engine does not tell that size, so it is found by
//! compiling with larger and larger limits.

use jsonschema::{PatternOptions, Regex};
use serde_json::json;

use super::{PatternCost, steps};

/// How many bytes one pattern may have when it is compiled, and all patterns of a schema together.
pub(super) const MAX_PATTERN_BYTES: usize = 256 << 10;
/// How much memory a pattern may use for states that it has seen, while it is matched.
const MAX_DFA_BYTES: usize = 32 << 10;
/// The compiled sizes that are told apart, in ascending order. A pattern counts as large as the first that it
/// fits.
const SIZE_CLASSES: [usize; 15] = {
    const KIB: usize = 1 << 10;
    [
        KIB / 2,
        KIB * 3 / 4,
        KIB,
        KIB * 3 / 2,
        KIB * 2,
        KIB * 3,
        KIB * 4,
        KIB * 6,
        KIB * 8,
        KIB * 12,
        KIB * 16,
        KIB * 32,
        KIB * 64,
        KIB * 128,
        MAX_PATTERN_BYTES,
    ]
};

/// Returns the options that make the validator use the linear engine, within [`MAX_PATTERN_BYTES`]. Patterns
/// with look-around or backreferences do not compile with it.
pub(crate) fn pattern_options() -> PatternOptions<Regex> {
    limited(MAX_PATTERN_BYTES)
}

fn limited(size: usize) -> PatternOptions<Regex> {
    PatternOptions::regex().size_limit(size).dfa_size_limit(MAX_DFA_BYTES)
}

/// Returns how many bytes a pattern has when it is compiled, rounded up to a size class, or `None` if the
/// engine cannot match it or it is too large. Compiles the pattern several times, so the result is kept for
/// each distinct pattern of a schema.
pub(super) fn compiled_size(pattern: &str) -> Option<usize> {
    let schema = json!({ "pattern": pattern });
    let fits = |size: usize| jsonschema::options().with_pattern_options(limited(size)).build(&schema).is_ok();
    fits(MAX_PATTERN_BYTES)
        .then(|| SIZE_CLASSES.into_iter().find(|size| fits(*size)).unwrap_or(MAX_PATTERN_BYTES))
}

/// Returns what a match of a pattern of this compiled size costs.
///
/// At worst every byte is looked at in every state. Measured with patterns of all sizes, each matched against
/// the text that it is slowest for, that took up to one and a half instructions for each byte of the text
/// times each byte of the pattern. The base grows with the length of the pattern, because a list of words is
/// compared with each of them.
pub(super) fn cost(pattern: &str, size: usize) -> PatternCost {
    PatternCost { base: 6 + steps(pattern.len()) / 4, byte: steps(size) * 16 / 40 }
}

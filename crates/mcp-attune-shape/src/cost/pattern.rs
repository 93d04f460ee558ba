//! The engine for patterns, and how large a pattern is when it is compiled.

use jsonschema::{PatternOptions, Regex};
use serde_json::json;

use super::{PatternCost, steps};

/// How many bytes one pattern may have when it is compiled, and all of a schema together.
pub(super) const MAX_PATTERN_BYTES: usize = 256 << 10;
/// How much memory a pattern may use to remember what it saw.
const MAX_DFA_BYTES: usize = 32 << 10;
/// The sizes that are told apart.
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

/// The engine that takes time in proportion to a text and to the pattern. It knows no look-around and no backreferences.
pub(crate) fn pattern_options() -> PatternOptions<Regex> {
    limited(MAX_PATTERN_BYTES)
}

fn limited(size: usize) -> PatternOptions<Regex> {
    PatternOptions::regex().size_limit(size).dfa_size_limit(MAX_DFA_BYTES)
}

/// How many bytes a pattern has when it is compiled, rounded up; `None` where the engine cannot match it, or it is too large.
pub(super) fn compiled_size(pattern: &str) -> Option<usize> {
    let schema = json!({ "pattern": pattern });
    let fits = |size: usize| jsonschema::options().with_pattern_options(limited(size)).build(&schema).is_ok();
    fits(MAX_PATTERN_BYTES)
        .then(|| SIZE_CLASSES.into_iter().find(|size| fits(*size)).unwrap_or(MAX_PATTERN_BYTES))
}

/// What a match of a pattern of this size costs.
///
/// At worst every byte is looked at in every state. Of patterns of all sizes, matched against what they are worst at, that
/// took up to one and a half instructions for a byte of the text and a byte of the pattern. What is a list of words is
/// compared with each of them.
pub(super) fn cost(pattern: &str, size: usize) -> PatternCost {
    PatternCost { base: 6 + steps(pattern.len()) / 4, byte: steps(size) * 16 / 40 }
}

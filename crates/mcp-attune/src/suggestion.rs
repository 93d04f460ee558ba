//! Suggestions for a misspelt name, and somebody else's names in messages of ours.
//!
//! ```
//! use mcp_attune::suggestion::nearest;
//!
//! let tools = ["get_weather", "get_time"];
//! assert_eq!(nearest("get-wether", tools.into_iter()).as_deref(), Some("get_weather"));
//! assert_eq!(nearest("delete_everything", tools.into_iter()), None);
//! ```

use mcp_attune_wire::text::escape_and_truncate;

/// How many characters of a name are shown, and how long a name may be to be compared.
const MAX_NAME_CHARS: usize = 64;

/// Quotes somebody else's name in one line: escaped where it could deceive, and shortened to 64 characters.
#[must_use]
pub fn quote_name(name: &str) -> String {
    escape_and_truncate(name, MAX_NAME_CHARS)
}

/// Returns the name that is most likely meant by a misspelt one, ready to be shown, or `None` if none is near enough.
///
/// A name is near if at most three characters differ, and no more than a third of the misspelt name, rounded up. Case does not count, nor
/// whether words are joined by `-` or `_`.
#[must_use]
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // Longer names are no typing errors of each other, and comparing them costs.
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let wanted = plain(name);
    let near = names
        .filter(|other| other.len() <= MAX_NAME_CHARS * 4)
        .map(|other| (strsim::damerau_levenshtein(&wanted, &plain(other)), other))
        .filter(|(far, _)| *far <= length.div_ceil(3).min(3));
    near.min_by_key(|(far, _)| *far).map(|(_, other)| quote_name(other))
}

//! Names and texts as TOML writes them.

/// A key of TOML: bare where it can be.
pub(in crate::commands) fn key(name: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { basic(name) }
}

/// A string of TOML on one line. It is written as JSON writes it, but for one sign of control that JSON leaves as it is.
pub(in crate::commands) fn basic(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

//! What an answer tells caches: which request headers it depends on, and who may keep it.
//!
//! Rules: L17.

use alloc::string::String;

/// The value of `Vary` with one more field in it, or `None` where it is there already (or `*`, which says all).
///
/// ```
/// use mcp_attune_wire::reply::vary_with;
///
/// assert_eq!(vary_with(["Origin"], "Accept-Language").as_deref(), Some("Origin, Accept-Language"));
/// assert_eq!(vary_with(["accept-language"], "Accept-Language"), None);
/// assert_eq!(vary_with(["*"], "Accept-Language"), None);
/// ```
#[must_use]
pub fn vary_with<'v>(lines: impl IntoIterator<Item = &'v str>, field: &str) -> Option<String> {
    let mut value = String::new();
    for member in lines.into_iter().flat_map(|line| line.split(',')).map(str::trim) {
        if member == "*" || member.eq_ignore_ascii_case(field) {
            return None;
        }
        push_list_member(&mut value, member);
    }
    push_list_member(&mut value, field);
    Some(value)
}

/// The value of `Cache-Control` that keeps shared caches away: `private` in, `public` and `s-maxage` out, all else
/// as it was. `no-store` and `private` are strict enough as they are.
///
/// ```
/// use mcp_attune_wire::reply::private_cache_control;
///
/// assert_eq!(private_cache_control(["public, max-age=60, s-maxage=600"]), "max-age=60, private");
/// assert_eq!(private_cache_control([]), "private");
/// assert_eq!(private_cache_control(["no-store"]), "no-store");
/// ```
#[must_use]
pub fn private_cache_control<'v>(lines: impl IntoIterator<Item = &'v str>) -> String {
    let mut value = String::new();
    let mut strict = false;
    for directive in lines.into_iter().flat_map(split_directives).map(str::trim) {
        let name = directive.split('=').next().unwrap_or_default().trim();
        if name.eq_ignore_ascii_case("public") || name.eq_ignore_ascii_case("s-maxage") {
            continue;
        }
        // `private="Set-Cookie"` speaks of that field alone.
        strict |= directive.eq_ignore_ascii_case("private") || name.eq_ignore_ascii_case("no-store");
        push_list_member(&mut value, directive);
    }
    if !strict {
        push_list_member(&mut value, "private");
    }
    value
}

/// The members of a list in which commas may stand inside quotes.
fn split_directives(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |char| {
        quoted ^= char == '"';
        char == ',' && !quoted
    })
}

pub(super) fn push_list_member(value: &mut String, member: &str) {
    if member.is_empty() {
        return;
    }
    if !value.is_empty() {
        value.push_str(", ");
    }
    value.push_str(member);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds_a_field_to_vary_once() {
        for (lines, expected) in [
            (&[][..], Some("Accept-Language")),
            (&["Origin, Accept"], Some("Origin, Accept, Accept-Language")),
            (&["Origin", "Accept-Encoding"], Some("Origin, Accept-Encoding, Accept-Language")),
            (&["Origin,,ACCEPT-language"], None),
            (&["Origin", "*"], None),
        ] {
            assert_eq!(vary_with(lines.iter().copied(), "Accept-Language").as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn keeps_shared_caches_away_and_stricter_words_in() {
        for (lines, expected) in [
            (&["public"][..], "private"),
            (&["max-age=5"], "max-age=5, private"),
            (&["PUBLIC, S-MaxAge=9, no-cache"], "no-cache, private"),
            (&["private, max-age=5"], "private, max-age=5"),
            (&["no-store, public"], "no-store"),
            (&["private=\"a, b\", public"], "private=\"a, b\", private"),
        ] {
            assert_eq!(private_cache_control(lines.iter().copied()), expected, "{lines:?}");
        }
    }
}

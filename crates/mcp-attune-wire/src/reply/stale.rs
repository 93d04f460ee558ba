//! Headers that describe the bytes of a body, and are wrong once the body is another one.
//!
//! 1. Digests (`Content-Digest`, `Repr-Digest`, `Digest`, `Content-MD5`) are of the old bytes.
//! 2. Validators (`ETag`, `Last-Modified`) name the old representation: a cache that asks with them would keep one variant
//!    for all callers.
//! 3. `Accept-Ranges` promises parts of bytes that exist nowhere any more.
//!
//! They are taken out of headers and of trailers, and out of what `Trailer` announces. A body that was not changed keeps
//! them.
//!
//! Rules: L17.

use alloc::string::String;

use super::cache::push_list_member;

/// The headers, in lower case.
const STALE: [&str; 7] =
    ["content-digest", "repr-digest", "digest", "content-md5", "etag", "last-modified", "accept-ranges"];

/// Whether a header or trailer describes the body that it came with, and must not go on with another one.
///
/// ```
/// use mcp_attune_wire::reply::is_stale_after_edit;
///
/// assert!(is_stale_after_edit("ETag") && is_stale_after_edit("content-digest"));
/// assert!(!is_stale_after_edit("Cache-Control") && !is_stale_after_edit("Content-Type"));
/// ```
#[must_use]
pub fn is_stale_after_edit(name: &str) -> bool {
    STALE.iter().any(|stale| name.eq_ignore_ascii_case(stale))
}

/// The value of `Trailer` for a body that was changed. None where nothing is left to announce.
///
/// ```
/// use mcp_attune_wire::reply::trailer_after_edit;
///
/// assert_eq!(trailer_after_edit(["Content-Digest, X-Took"]).as_deref(), Some("X-Took"));
/// assert_eq!(trailer_after_edit(["Repr-Digest", "ETag"]), None);
/// ```
#[must_use]
pub fn trailer_after_edit<'v>(lines: impl IntoIterator<Item = &'v str>) -> Option<String> {
    let mut value = String::new();
    let names = lines.into_iter().flat_map(|line| line.split(',')).map(str::trim);
    for name in names.filter(|name| !is_stale_after_edit(name)) {
        push_list_member(&mut value, name);
    }
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_the_bytes_is_stale_in_any_case() {
        for name in [
            "Content-Digest",
            "Repr-Digest",
            "DIGEST",
            "Content-MD5",
            "ETag",
            "last-modified",
            "Accept-Ranges",
        ] {
            assert!(is_stale_after_edit(name), "{name}");
        }
        for name in ["", "Content-Length", "Content-Type", "Vary", "Cache-Control", "X-ETag", "Want-Digest"] {
            assert!(!is_stale_after_edit(name), "{name}");
        }
    }

    #[test]
    fn trailers_that_are_taken_out_are_not_announced() {
        for (lines, expected) in [
            (&[][..], None),
            (&["Server-Timing"], Some("Server-Timing")),
            (&["Server-Timing, content-digest", "ETag,X-A"], Some("Server-Timing, X-A")),
            (&["Content-MD5,,Digest"], None),
        ] {
            assert_eq!(trailer_after_edit(lines.iter().copied()).as_deref(), expected, "{lines:?}");
        }
    }
}

//! The endpoint of a server: its methods, and the other spellings of its path.
//!
//! 1. At the endpoint the methods are those of [`METHODS`], written so. Some servers take `post` for `POST`, so what is
//!    written otherwise must not pass unchecked.
//! 2. Servers take many spellings for one path. [`canonical_path`] undoes all that is commonly undone: percent-encoding (also
//!    repeated), case, dot segments, backslashes, doubled and trailing slashes, `;parameters`, and what follows an encoded
//!    `?` or `#`.
//! 3. A path that is not the endpoint's, but canonically equal to it, is an alias ([`is_alias`]). A request for an alias
//!    would run the endpoint's handler without having been checked, so it is refused.
//!
//! ```
//! use mcp_attune_wire::endpoint::is_alias;
//!
//! for alias in ["/%6dcp", "/MCP", "/mcp/", "//mcp", "/x/../mcp", "/mcp;v=1"] {
//!     assert!(is_alias(alias, "/mcp"), "{alias}");
//! }
//! assert!(!is_alias("/mcp", "/mcp"));
//! assert!(!is_alias("/mcp/messages", "/mcp"));
//! ```
//!
//! Rules: H19.

use alloc::string::String;
use alloc::vec::Vec;

/// The methods of the endpoint.
pub const METHODS: [&str; 5] = ["POST", "GET", "DELETE", "OPTIONS", "HEAD"];

/// [`METHODS`] as an `Allow` header says them.
pub const ALLOW: &str = "POST, GET, DELETE, OPTIONS, HEAD";

/// How many times an encoding may be encoded again. More rounds than any chain of servers undoes.
const MAX_DECODING_ROUNDS: usize = 8;

/// Whether a method is one of the endpoint's, to the letter.
#[must_use]
pub fn is_endpoint_method(method: &str) -> bool {
    METHODS.contains(&method)
}

/// Whether a path is another spelling of the endpoint's: equal to it after [`canonical_path`], and not the same.
#[must_use]
pub fn is_alias(path: &str, endpoint: &str) -> bool {
    path != endpoint && canonical_path(path) == canonical_path(endpoint)
}

/// A path with everything undone that servers commonly undo before they choose a handler.
///
/// The result is for comparing only: it is coarser than what any one server does.
///
/// ```
/// use mcp_attune_wire::endpoint::canonical_path;
///
/// assert_eq!(canonical_path("/A//b/./c/../%64;x=1/"), "/a/b/d");
/// assert_eq!(canonical_path("/%252e%252e/x"), "/x");
/// ```
#[must_use]
pub fn canonical_path(path: &str) -> String {
    let decoded = percent_decode(path.as_bytes());
    let text = String::from_utf8_lossy(&decoded);
    let end = text.find(['?', '#']).unwrap_or(text.len());
    let mut segments: Vec<String> = Vec::new();
    for segment in text.get(..end).unwrap_or_default().split(['/', '\\']) {
        let name = segment.split(';').next().unwrap_or_default();
        let name: String = name.chars().filter(|char| !is_ignored(*char)).flat_map(fold_case).collect();
        match name.as_str() {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(name),
        }
    }
    segments.iter().flat_map(|segment| ["/", segment]).collect()
}

/// Characters that a server may drop from a path.
fn is_ignored(char: char) -> bool {
    char.is_control() || char == ' '
}

/// A character regardless of its case: first up and then down, so that `ſ` is `s` and the Kelvin sign is `k`.
fn fold_case(char: char) -> impl Iterator<Item = char> {
    char.to_uppercase().flat_map(char::to_lowercase)
}

/// Undoes percent-encoding until nothing is left of it.
fn percent_decode(path: &[u8]) -> Vec<u8> {
    let mut path = path.to_vec();
    for _ in 0..MAX_DECODING_ROUNDS {
        let mut decoded = Vec::with_capacity(path.len());
        let mut rest = path.as_slice();
        while let [byte, after @ ..] = rest {
            let escaped = match rest {
                [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
                _ => None,
            };
            decoded.push(escaped.unwrap_or(*byte));
            rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
        }
        if decoded.len() == path.len() {
            break;
        }
        path = decoded;
    }
    path
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[test]
    fn knows_every_spelling_that_servers_take_for_the_endpoint() {
        for alias in [
            "/%6dcp",
            "/%6Dcp",
            "/%256dcp",
            "/%25256dcp",
            "/mcp/",
            "/mcp//",
            "//mcp",
            "///mcp",
            "/MCP",
            "/Mcp/",
            "/./mcp",
            "/x/../mcp",
            "/%2e/mcp",
            "/x/%2e%2e/mcp",
            "/x/..%2fmcp",
            "/../mcp",
            "/mcp/.",
            "/mcp/x/..",
            "/mcp;",
            "/mcp;jsessionid=1",
            "/;x/mcp",
            "/mcp%2f",
            "/mcp%3fa=1",
            "/mcp%23a",
            "/mcp%00",
            "/mcp%20",
            "/\\mcp",
            "\\mcp",
            "/x\\..\\mcp",
            "/mcp%5c",
            "mcp",
            "/m%09cp",
            "/%00/mcp",
            "/.%00/mcp",
            "/x/.%09./mcp",
            "/x/.%20.%20/mcp",
            "/..;/mcp",
            "/x/..;a/mcp",
        ] {
            assert!(is_alias(alias, "/mcp"), "{alias}");
        }
        assert!(is_alias("/ta\u{17f}ks", "/tasks") && is_alias("/%E2%84%AAey", "/key"));
        assert!(
            is_alias("/a/b", "/A/b") && is_alias("//", "/") && is_alias("", "/") && is_alias("/x/..", "/")
        );
    }

    #[test]
    fn leaves_other_paths_alone() {
        for path in [
            "/mcp",
            "/mcpx",
            "/mcp/x",
            "/x/mcp",
            "/m/cp",
            "/mc%70x",
            "/mcp%",
            "/mcp%2",
            "/%zz",
            "/",
            "/mcp..",
            "/.mcp",
            "/.well-known/oauth-protected-resource/mcp",
            "*",
            "/mcp%2fx",
            "/x/;/mcp",
        ] {
            assert!(!is_alias(path, "/mcp"), "{path}");
        }
    }

    #[test]
    fn what_is_encoded_without_end_costs_a_bounded_number_of_rounds() {
        let encoded = |rounds: usize| format!("/%{}6dcp", "25".repeat(rounds - 1));
        assert!(is_alias(&encoded(MAX_DECODING_ROUNDS), "/mcp"));
        for rounds in [MAX_DECODING_ROUNDS + 1, 1000, 100_000] {
            assert!(!is_alias(&encoded(rounds), "/mcp"), "{rounds}");
        }
        assert!(canonical_path(&format!("/{}", "%2e%2e/".repeat(100_000))).is_empty());
    }

    #[test]
    fn methods_are_written_as_they_are() {
        assert!(METHODS.into_iter().all(is_endpoint_method));
        for method in ["post", "Post", "PUT", "PATCH", "TRACE", "CONNECT", "POST ", ""] {
            assert!(!is_endpoint_method(method), "{method}");
        }
        assert_eq!(METHODS.join(", "), ALLOW);
    }
}

//! Where a public path lies on the server behind.
//!
//! 1. The mount's own path is the endpoint.
//! 2. What lies below the mount lies below the endpoint.
//! 3. A well-known address made for the mount (RFC 8414, RFC 9728: `/.well-known/NAME/…mount`) is the one
//!    made for the endpoint.
//! 4. Any other path is the same path on the server's origin.
//!
//! 2 to 4 are beside the endpoint; whether they are passed on is decided before (`route`). A target that is
//! no path (`*`, or the authority of a CONNECT) is never passed on. The query is kept; one in the endpoint's
//! own URL comes before it.
//!
//! With the mount `/weather` and the endpoint `/mcp`, `/weather/messages` is `/mcp/messages`, and
//! `/.well-known/oauth-protected-resource/weather` is `/.well-known/oauth-protected-resource/mcp`. Below a
//! mount at `/` everything is as in 4.
//!
//! Rules: G1.

use std::borrow::Cow;

use http::Uri;
use http::uri::PathAndQuery;

const WELL_KNOWN: &str = "/.well-known/";

/// Returns the path on the server behind for a public path, or `None` where that does not begin with `/`.
/// `mount` is the public path of the endpoint, `endpoint` its path on the server. The router uses it too, to
/// judge a path by what the server would see.
pub(crate) fn upstream_path<'a>(path: &'a str, mount: &str, endpoint: &'a str) -> Option<Cow<'a, str>> {
    if path == mount {
        return Some(Cow::Borrowed(endpoint));
    }
    if !path.starts_with('/') {
        return None;
    }
    let (mount, base) = (mount.trim_end_matches('/'), endpoint.trim_end_matches('/'));
    if mount == base || mount.is_empty() {
        return Some(Cow::Borrowed(path));
    }
    if let Some(below) = path.strip_prefix(mount).filter(|rest| rest.starts_with('/')) {
        return Some(Cow::Owned(format!("{base}{below}")));
    }
    if let Some(name) = path.strip_suffix(mount).filter(|rest| is_well_known(rest)) {
        return Some(Cow::Owned(format!("{name}{base}")));
    }
    Some(Cow::Borrowed(path))
}

/// Whether a path is `/.well-known/NAME`, and no more.
fn is_well_known(path: &str) -> bool {
    path.strip_prefix(WELL_KNOWN).is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// Returns the whole target of a request to the server: the path, and the query. Only for the endpoint itself
/// is the query of its own URL added. `None` where the public target is no path.
pub(super) fn upstream_target(public: &Uri, mount: &str, endpoint: &Uri) -> Option<PathAndQuery> {
    if public.path() == mount && public.query().is_none() {
        return Some(endpoint.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/")));
    }
    let path = upstream_path(public.path(), mount, endpoint.path())?;
    let own = endpoint.query().filter(|_| public.path() == mount);
    let text = match (own, public.query()) {
        (None, None) => path.into_owned(),
        (Some(query), None) | (None, Some(query)) => format!("{path}?{query}"),
        (Some(own), Some(query)) => format!("{path}?{own}&{query}"),
    };
    PathAndQuery::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(public: &str, mount: &str, endpoint: &str, expected: Option<&str>) {
        let endpoint: Uri = format!("http://behind{endpoint}").parse().unwrap();
        let target = upstream_target(&public.parse().unwrap(), mount, &endpoint);
        assert_eq!(target.as_ref().map(PathAndQuery::as_str), expected, "{public} on {mount}");
    }

    #[test]
    fn maps_the_mount_to_the_endpoint() {
        check("/mcp", "/mcp", "/mcp", Some("/mcp"));
        check("/weather", "/weather", "/mcp", Some("/mcp"));
        check("/", "/", "/mcp", Some("/mcp"));
        check("/mcp", "/mcp", "/", Some("/"));
        check("http://public.example/weather", "/weather", "/mcp", Some("/mcp"));
    }

    #[test]
    fn keeps_queries() {
        check("/mcp?a=1&b=%2F", "/mcp", "/mcp", Some("/mcp?a=1&b=%2F"));
        check("/mcp?", "/mcp", "/mcp", Some("/mcp?"));
        check("/weather", "/weather", "/mcp?key=1", Some("/mcp?key=1"));
        check("/weather?a=1", "/weather", "/mcp?key=1", Some("/mcp?key=1&a=1"));
        check("/other?a=1", "/weather", "/mcp?key=1", Some("/other?a=1"));
    }

    #[test]
    fn maps_what_lies_below() {
        check("/weather/", "/weather", "/mcp", Some("/mcp/"));
        check("/weather/messages?s=1", "/weather", "/v1/mcp", Some("/v1/mcp/messages?s=1"));
        check("/weather/x", "/weather", "/", Some("/x"));
        check("/weatherman", "/weather", "/mcp", Some("/weatherman"));
    }

    #[test]
    fn maps_well_known_addresses_of_the_mount() {
        let name = "/.well-known/oauth-protected-resource";
        check(name, "/weather", "/mcp", Some(name));
        check(&format!("{name}/mcp"), "/mcp", "/mcp", Some("/.well-known/oauth-protected-resource/mcp"));
        check(
            &format!("{name}/weather"),
            "/weather",
            "/mcp",
            Some("/.well-known/oauth-protected-resource/mcp"),
        );
        check(
            &format!("{name}/a/weather"),
            "/weather",
            "/mcp",
            Some("/.well-known/oauth-protected-resource/a/weather"),
        );
        check("/.well-known/weather", "/weather", "/mcp", Some("/.well-known/weather"));
        check("/docs/weather", "/weather", "/mcp", Some("/docs/weather"));
    }

    #[test]
    fn sends_nothing_where_there_is_no_path() {
        check("*", "/mcp", "/mcp", None);
        check("behind:80", "/mcp", "/mcp", None);
    }
}

//! Decides by path and method which mount a request is meant for.
//!
//! 1. A mount's path is its endpoint, to the letter, and takes the methods of MCP, to the letter: all others
//!    are 405.
//! 2. Another spelling of any mount's path is 400, whatever the settings: the upstream may take it for the
//!    endpoint, and would then see a request that no rule has checked. So is a path that becomes the
//!    endpoint's own path on the upstream.
//! 3. A path is *off the endpoint* if it is below a mount's path, or is `/.well-known/NAME/…mount` (RFC 8414,
//!    RFC 9728), or, where there is only one mount, if it is any other path. `unknown_paths` says which of
//!    these are passed on: by default `GET` and `HEAD` of `/.well-known/…` ([`UnknownPaths`]).
//! 4. Everything else is 404. A target with bytes outside ASCII, which servers decode as they like, is 400.
//!
//! Rules: G1, H19.

use http::{Method, Uri};
use mcp_attune_wire::endpoint;
use mcp_attune_wire::notice::Notice;

use crate::config::UnknownPaths;
use crate::upstream::upstream_path;

/// The prefix of metadata documents (RFC 8615).
const WELL_KNOWN: &str = "/.well-known/";

/// What the router has to know of a mount.
#[derive(Clone, Debug)]
pub(crate) struct MountRoute {
    /// The public path, such as `/weather/mcp`.
    pub(crate) path: String,
    /// The path of the endpoint on the upstream. `None` for a program, which has no paths.
    pub(crate) endpoint: Option<String>,
    /// Which requests off the endpoint are passed on.
    pub(crate) unknown_paths: UnknownPaths,
}

/// The paths of all mounts, compiled for lookups. It compares every mount in turn: there are few.
#[derive(Debug)]
pub(crate) struct Router {
    mounts: Vec<MountRoute>,
    /// The public paths in canonical form (decoded, case folded, dot segments removed), by which another
    /// spelling is recognized. In the order of `mounts`.
    canonical_paths: Vec<String>,
    /// The upstream endpoints in the same form, without those of programs.
    canonical_endpoints: Vec<String>,
}

/// Where a request goes. The number is the index of the mount, in the order in which they were given to
/// [`Router::new`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RouteDestination {
    /// To the endpoint of the mount, through all rules.
    Endpoint(usize),
    /// To another path of the mount's upstream, unchecked and unchanged.
    OffEndpoint(usize),
}

/// Why a request goes to no mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoRoute<'r> {
    /// It is another spelling of this mount's path, or leads to an endpoint on the upstream: 400.
    Alias(&'r str),
    /// The path takes only these methods, which is the value of `Allow`: 405.
    Method(&'static str),
    /// Its path or query has bytes outside ASCII: 400.
    NotAscii,
    /// No mount has the path, or its settings do not pass it on: 404.
    NotFound,
}

impl NoRoute<'_> {
    /// Returns the HTTP status that the caller gets.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Alias(_) | Self::NotAscii => 400,
            Self::Method(_) => 405,
            Self::NotFound => 404,
        }
    }

    /// Returns what the caller is told.
    pub(crate) fn notice(self) -> Notice {
        match self {
            Self::Alias(path) => Notice::PathAlias { path: path.to_owned().into() },
            Self::Method(allowed) => Notice::MethodNotAllowed { allowed: allowed.into() },
            Self::NotAscii => Notice::TargetNotAscii,
            Self::NotFound => Notice::NothingServed,
        }
    }
}

impl Router {
    /// Compiles the routes. The configuration has checked that no two mounts have the same path.
    pub(crate) fn new(mounts: Vec<MountRoute>) -> Self {
        let canonical_paths = mounts.iter().map(|mount| endpoint::canonical_path(&mount.path)).collect();
        let endpoints = mounts.iter().filter_map(|mount| mount.endpoint.as_deref());
        let canonical_endpoints = endpoints.map(endpoint::canonical_path).collect();
        Self { mounts, canonical_paths, canonical_endpoints }
    }

    /// Decides where a request goes. Only the exact path of a mount takes the short way; everything else is
    /// checked against the canonical forms.
    ///
    /// The methods of an endpoint are checked here for upstreams over HTTP only. A program takes every method
    /// up to `Upstream::refuse`, which answers 405 itself.
    pub(crate) fn route(&self, method: &Method, uri: &Uri) -> Result<RouteDestination, NoRoute<'_>> {
        let path = uri.path();
        if !path.is_ascii() || !uri.query().is_none_or(str::is_ascii) {
            return Err(NoRoute::NotAscii);
        }
        let found = self.mounts.iter().enumerate().find(|(_, mount)| mount.path == path);
        let Some((number, mount)) = found else { return self.off_endpoint(method, path) };
        // A program gets no methods, and what stands in its place says which it takes.
        if mount.endpoint.is_some() && !endpoint::is_endpoint_method(method.as_str()) {
            return Err(NoRoute::Method(endpoint::ALLOW));
        }
        Ok(RouteDestination::Endpoint(number))
    }

    /// Decides about a path that is no mount's exact path: first whether it is an alias of one (400 in every
    /// setting), then whether `unknown_paths` passes it on, and last whether it would arrive at an endpoint
    /// on the upstream.
    #[cold]
    fn off_endpoint(&self, method: &Method, path: &str) -> Result<RouteDestination, NoRoute<'_>> {
        let canonical = endpoint::canonical_path(path);
        let alias = self.canonical_paths.iter().position(|mount| *mount == canonical);
        if let Some(mount) = alias.and_then(|mount| self.mounts.get(mount)) {
            return Err(NoRoute::Alias(&mount.path));
        }
        let number = self.mount_beside(path).ok_or(NoRoute::NotFound)?;
        let mount = self.mounts.get(number).ok_or(NoRoute::NotFound)?;
        // A program has one endpoint and nothing beside it.
        let behind = mount.endpoint.as_deref().ok_or(NoRoute::NotFound)?;
        match mount.unknown_paths {
            UnknownPaths::Refuse => return Err(NoRoute::NotFound),
            // Dot segments would lead out of it again.
            UnknownPaths::WellKnown
                if !path.starts_with(WELL_KNOWN) || !canonical.starts_with(WELL_KNOWN) =>
            {
                return Err(NoRoute::NotFound);
            }
            UnknownPaths::WellKnown if ![Method::GET, Method::HEAD].contains(method) => {
                return Err(NoRoute::Method("GET, HEAD"));
            }
            UnknownPaths::WellKnown | UnknownPaths::Pass => {}
        }
        let target = upstream_path(path, &mount.path, behind).ok_or(NoRoute::NotFound)?;
        if self.canonical_endpoints.contains(&endpoint::canonical_path(&target)) {
            return Err(NoRoute::Alias(&mount.path));
        }
        Ok(RouteDestination::OffEndpoint(number))
    }

    /// Returns the index of the mount that a path off the endpoint belongs to. `None` where there are several
    /// mounts and the path belongs to none of them.
    fn mount_beside(&self, path: &str) -> Option<usize> {
        let belongs = |mount: &MountRoute| {
            path.strip_suffix(mount.path.as_str()).is_some_and(|start| start.starts_with(WELL_KNOWN))
                || path.strip_prefix(mount.path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        self.mounts.iter().position(belongs).or((self.mounts.len() == 1).then_some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router(unknown_paths: UnknownPaths, mounts: &[(&str, Option<&str>)]) -> Router {
        let mount = |(path, endpoint): &(&str, Option<&str>)| MountRoute {
            path: (*path).to_owned(),
            endpoint: endpoint.map(str::to_owned),
            unknown_paths,
        };
        Router::new(mounts.iter().map(mount).collect())
    }

    #[track_caller]
    fn check(router: &Router, method: &str, path: &str, expected: Result<RouteDestination, NoRoute<'_>>) {
        let uri = path.parse().unwrap();
        assert_eq!(router.route(&method.parse().unwrap(), &uri), expected, "{method} {path}");
    }

    const ALL: [UnknownPaths; 3] = [UnknownPaths::WellKnown, UnknownPaths::Pass, UnknownPaths::Refuse];
    const MCP: &[(&str, Option<&str>)] = &[("/mcp", Some("/mcp"))];

    #[test]
    fn the_endpoint_takes_its_methods_to_the_letter() {
        for router in ALL.map(|unknown_paths| router(unknown_paths, MCP)) {
            for method in endpoint::METHODS {
                check(&router, method, "/mcp?a=/MCP", Ok(RouteDestination::Endpoint(0)));
            }
            for method in ["post", "PUT", "PATCH", "TRACE", "CONNECT", "Get", "FOO"] {
                check(&router, method, "/mcp", Err(NoRoute::Method(endpoint::ALLOW)));
            }
        }
    }

    #[test]
    fn another_spelling_of_a_mount_is_refused_in_every_setting() {
        for router in ALL.map(|unknown_paths| router(unknown_paths, MCP)) {
            for path in ["/%6dcp", "/MCP", "/mcp/", "//mcp", "/x/../mcp", "/mcp;a", "/.well-known/../mcp"] {
                for method in ["POST", "GET", "post"] {
                    check(&router, method, path, Err(NoRoute::Alias("/mcp")));
                }
            }
        }
    }

    #[test]
    fn a_path_that_comes_to_an_endpoint_behind_is_refused() {
        let mounts = [("/a", Some("/x/mcp")), ("/b", Some("/y/mcp"))];
        let two = router(UnknownPaths::Pass, &mounts);
        check(&two, "POST", "/a/../../y/mcp", Err(NoRoute::Alias("/a")));
        check(&two, "POST", "/a/../../y/%4dCP", Err(NoRoute::Alias("/a")));
        check(&two, "POST", "/a/%2e%2e/x", Ok(RouteDestination::OffEndpoint(0)));
        let one = router(UnknownPaths::Pass, &mounts[..1]);
        for path in ["/x/mcp", "/X/mcp/", "/x/%6dcp", "/a/../../x/mcp", "/a/../mcp"] {
            check(&one, "POST", path, Err(NoRoute::Alias("/a")));
        }
        check(&one, "POST", "/x/other", Ok(RouteDestination::OffEndpoint(0)));
    }

    #[test]
    fn only_well_known_addresses_pass_by_default() {
        let router = router(UnknownPaths::default(), MCP);
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"] {
            check(&router, "GET", path, Ok(RouteDestination::OffEndpoint(0)));
            check(&router, "HEAD", path, Ok(RouteDestination::OffEndpoint(0)));
            check(&router, "POST", path, Err(NoRoute::Method("GET, HEAD")));
        }
        for path in [
            "/",
            "/admin",
            "/mcp/messages",
            "/.well-known/../admin",
            "/.well-known",
            "/.well-known/%2e%2e/a",
            "/admin/../.well-known/a",
            "//.well-known/a",
            "/.Well-Known/a",
            "*",
        ] {
            check(&router, "GET", path, Err(NoRoute::NotFound));
        }
    }

    #[test]
    fn passes_or_refuses_all_else_when_told_so() {
        let pass = router(UnknownPaths::Pass, MCP);
        let refuse = router(UnknownPaths::Refuse, MCP);
        for path in ["/", "/admin", "/mcp/messages", "/.well-known/oauth-authorization-server"] {
            check(&pass, "PUT", path, Ok(RouteDestination::OffEndpoint(0)));
            check(&refuse, "GET", path, Err(NoRoute::NotFound));
        }
        check(&pass, "OPTIONS", "*", Err(NoRoute::NotFound));
    }

    #[test]
    fn bytes_outside_ascii_are_refused_in_path_and_query() {
        for router in ALL.map(|unknown_paths| router(unknown_paths, MCP)) {
            for path in ["/mc\u{e9}", "/mcp?\u{e9}", "/.well-known/\u{ff}", "/\u{fffd}"] {
                check(&router, "GET", path, Err(NoRoute::NotAscii));
            }
            check(&router, "GET", "/mcp?%C3%A9", Ok(RouteDestination::Endpoint(0)));
        }
    }

    #[test]
    fn a_program_has_nothing_beside_its_endpoint() {
        let router = router(UnknownPaths::Pass, &[("/mcp", None)]);
        check(&router, "GET", "/.well-known/oauth-authorization-server", Err(NoRoute::NotFound));
        check(&router, "POST", "/mcp", Ok(RouteDestination::Endpoint(0)));
    }

    #[test]
    fn with_several_mounts_a_path_must_belong_to_one() {
        let router = router(UnknownPaths::Pass, &[("/a", Some("/mcp")), ("/b", Some("/mcp"))]);
        check(
            &router,
            "GET",
            "/.well-known/oauth-protected-resource/b",
            Ok(RouteDestination::OffEndpoint(1)),
        );
        check(&router, "GET", "/b/x", Ok(RouteDestination::OffEndpoint(1)));
        check(&router, "GET", "/.well-known/oauth-authorization-server", Err(NoRoute::NotFound));
        check(&router, "POST", "/mcp", Err(NoRoute::NotFound));
    }
}

//! CORS: which pages may send requests, with which headers, and what they may read of the answers.
//!
//! The gateway itself never allows credentials of the browser (`Access-Control-Allow-Credentials`): pages of
//! MCP clients send `Authorization` by themselves.

use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE,
    ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Request, Response, StatusCode};
use mcp_attune_wire::protocol::header;

use super::Allowlist;
use crate::Body;

/// The headers that a page may send, beside those that begin with `Mcp-Param-`.
const ALLOWED_HEADERS: [&str; 10] = [
    "authorization",
    "content-type",
    "accept",
    header::ACCEPT_LANGUAGE,
    header::LAST_EVENT_ID,
    header::PROTOCOL_VERSION,
    header::SESSION_ID,
    header::METHOD,
    header::NAME,
    "x-api-key",
];
/// The methods that a page may use: those of an MCP endpoint.
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
/// The headers of an answer that a page may read, beside those that browsers always show.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Language, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate",
);
/// How long a browser may remember a preflight, in seconds: two hours, the longest that browsers do.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// What the answer to a preflight depends on.
const PREFLIGHT_VARY: HeaderValue =
    HeaderValue::from_static("Origin, Access-Control-Request-Method, Access-Control-Request-Headers");

/// Returns the answer to a preflight of a listed origin: 204 with the methods and headers that are granted.
/// `None` for every other request, which then goes on.
///
/// Rules: G7.
pub(super) fn preflight<B>(allowed: &Allowlist, request: &Request<B>) -> Option<Response<Body>> {
    let asked = request.headers();
    if request.method() != Method::OPTIONS || !asked.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let origin = listed_origin(allowed, asked)?;
    let mut answer = Response::new(mcp_attune_tower::full(""));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
    if let Some(granted) = granted_headers(asked) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, granted);
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    headers.insert(VARY, PREFLIGHT_VARY);
    Some(answer)
}

/// Returns those of the requested headers that a page may send, spelled as they were. `None` if there are
/// none.
fn granted_headers(asked: &HeaderMap) -> Option<HeaderValue> {
    let lines =
        asked.get_all(ACCESS_CONTROL_REQUEST_HEADERS).into_iter().filter_map(|line| line.to_str().ok());
    let names: Vec<&str> =
        lines.flat_map(|line| line.split(',')).map(str::trim).filter(|name| may_be_sent(name)).collect();
    if names.is_empty() { None } else { HeaderValue::try_from(names.join(", ")).ok() }
}

/// Returns whether a page may send a header: it is one of [`ALLOWED_HEADERS`], or a valid header name after
/// `Mcp-Param-`.
fn may_be_sent(name: &str) -> bool {
    let begins = name
        .get(..header::PARAM_PREFIX.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(header::PARAM_PREFIX));
    // A name may hold nothing that a list or a line could be made of.
    let is_token =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    (begins && is_token) || ALLOWED_HEADERS.iter().any(|sent| sent.eq_ignore_ascii_case(name))
}

/// Returns the origin of a request if there is exactly one and it is listed.
fn listed_origin(allowed: &Allowlist, headers: &HeaderMap) -> Option<HeaderValue> {
    let mut lines = headers.get_all(ORIGIN).into_iter();
    match (lines.next(), lines.next()) {
        (Some(origin), None) if allowed.lists_origin(origin.as_bytes()) => Some(origin.clone()),
        _ => None,
    }
}

/// Which pages may read an answer.
#[derive(Debug)]
pub(super) enum CorsReadAccess {
    /// CORS is off, so the answer keeps whatever CORS headers the upstream gave it.
    Unsaid,
    /// The gateway lets no page read it. The answer to another origin would differ, so it has `Vary: Origin`.
    ByNone,
    /// Pages of this origin may read it.
    By(HeaderValue),
}

/// Decides which pages may read the answer to a request with these headers. Rules: G7.
pub(super) fn read_access(allowed: &Allowlist, asked: &HeaderMap) -> CorsReadAccess {
    if !allowed.has_origins() {
        return CorsReadAccess::Unsaid;
    }
    listed_origin(allowed, asked).map_or(CorsReadAccess::ByNone, CorsReadAccess::By)
}

impl CorsReadAccess {
    /// Writes the decision into the headers of an answer. For a listed origin, `Access-Control-Allow-Origin`
    /// and `-Expose-Headers` of the upstream are replaced; for any other they are removed, together with
    /// `-Allow-Credentials`, so that an upstream that says `*` opens nothing that the operator did not list.
    pub(super) fn write_headers(&self, headers: &mut HeaderMap) {
        match self {
            Self::Unsaid => {}
            Self::ByNone => {
                headers.remove(ACCESS_CONTROL_ALLOW_ORIGIN);
                headers.remove(ACCESS_CONTROL_ALLOW_CREDENTIALS);
                headers.remove(ACCESS_CONTROL_EXPOSE_HEADERS);
            }
            Self::By(origin) => {
                headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
                headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
            }
        }
        if !matches!(self, Self::Unsaid) && !varies_by_origin(headers) {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
    }
}

/// Returns whether `Vary` already names `Origin`, or is `*`.
fn varies_by_origin(headers: &HeaderMap) -> bool {
    let names =
        headers.get_all(VARY).into_iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    names.map(<[u8]>::trim_ascii).any(|name| name == b"*" || name.eq_ignore_ascii_case(b"origin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Allowlist {
        Allowlist::new([], ["https://app.example"]).unwrap()
    }

    fn request(method: Method, lines: &[(&str, &str)]) -> Request<()> {
        let mut request = Request::builder().method(method);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    const PAGE: (&str, &str) = ("origin", "https://app.example");
    const WANTS_POST: (&str, &str) = ("access-control-request-method", "POST");

    #[track_caller]
    fn grants(asked: &[&str], expected: Option<&str>) {
        let mut lines = vec![PAGE, WANTS_POST];
        lines.extend(asked.iter().map(|line| ("access-control-request-headers", *line)));
        let answer = preflight(&allowed(), &request(Method::OPTIONS, &lines)).unwrap();
        assert_eq!(answer.status(), 204);
        let said = |name| answer.headers().get(name).map(|value: &HeaderValue| value.to_str().unwrap());
        assert_eq!(said("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(said("access-control-allow-methods"), Some("POST, GET, DELETE"));
        assert_eq!(said("access-control-max-age"), Some("7200"));
        assert_eq!(
            said("vary"),
            Some("Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
        );
        assert_eq!(said("access-control-allow-headers"), expected, "{asked:?}");
    }

    #[test]
    fn grants_the_headers_that_mcp_needs_and_no_other() {
        grants(&[], None);
        grants(&[""], None);
        grants(&["x-evil"], None);
        grants(&["mcp-param"], None);
        grants(&["mcp-param-\"x"], None);
        grants(&["authorization,x-evil,mcp-param-region"], Some("authorization, mcp-param-region"));
        grants(&["MCP-PARAM-A , Accept", "last-event-id"], Some("MCP-PARAM-A, Accept, last-event-id"));
        let all = "Authorization, Content-Type, Accept, Accept-Language, Last-Event-ID, MCP-Protocol-Version, \
                   Mcp-Session-Id, Mcp-Method, Mcp-Name, X-Api-Key";
        grants(&[all], Some(all));
    }

    #[test]
    fn answers_preflights_of_listed_origins_only() {
        let other = ("origin", "http://localhost:3000");
        for (method, lines) in [
            (Method::OPTIONS, &[PAGE][..]),
            (Method::OPTIONS, &[WANTS_POST]),
            (Method::OPTIONS, &[other, WANTS_POST]),
            (Method::OPTIONS, &[PAGE, PAGE, WANTS_POST]),
            (Method::POST, &[PAGE, WANTS_POST]),
        ] {
            assert!(preflight(&allowed(), &request(method, lines)).is_none(), "{lines:?}");
        }
        let asked = request(Method::OPTIONS, &[PAGE, WANTS_POST]);
        assert!(preflight(&Allowlist::default(), &asked).is_none());
    }

    #[track_caller]
    fn marks(
        allowed: &Allowlist,
        asked: &[(&str, &str)],
        answer: &[(&str, &str)],
        expected: &[(&str, &str)],
    ) {
        let mut headers = request(Method::POST, answer).headers().clone();
        read_access(allowed, request(Method::POST, asked).headers()).write_headers(&mut headers);
        assert_eq!(&headers, request(Method::POST, expected).headers());
    }

    #[test]
    fn marks_answers_for_listed_origins() {
        let by = ("access-control-allow-origin", "https://app.example");
        let exposed = (
            "access-control-expose-headers",
            "Content-Language, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate",
        );
        let varies = ("vary", "Origin");
        marks(&allowed(), &[PAGE], &[], &[by, exposed, varies]);
        marks(&allowed(), &[], &[], &[varies]);
        marks(&allowed(), &[("origin", "http://localhost")], &[], &[varies]);
        marks(&allowed(), &[], &[("vary", "Accept")], &[("vary", "Accept"), varies]);
        marks(&allowed(), &[], &[("vary", "Accept, ORIGIN")], &[("vary", "Accept, ORIGIN")]);
        marks(&allowed(), &[], &[("vary", "*")], &[("vary", "*")]);
        marks(&allowed(), &[PAGE], &[("access-control-allow-origin", "*")], &[by, exposed, varies]);
    }

    #[test]
    fn no_server_opens_what_is_not_listed() {
        let open = [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-credentials", "true"),
            ("access-control-expose-headers", "Mcp-Session-Id"),
        ];
        marks(&allowed(), &[("origin", "http://localhost:3000")], &open, &[("vary", "Origin")]);
        marks(&allowed(), &[], &open, &[("vary", "Origin")]);
    }

    #[test]
    fn leaves_answers_alone_while_cors_is_off() {
        let own = ("access-control-allow-origin", "*");
        marks(&Allowlist::default(), &[PAGE], &[own], &[own]);
    }
}

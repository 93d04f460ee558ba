//! The leg from the bridge to the server: requests that the bridge makes of a caller's own, with the caller's credentials.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Response, Uri, request};
use mcp_attune_tower::{HttpFailure, full};
use mcp_attune_wire::protocol::header::lowercase;

use crate::Body;
use crate::metrics::Meter;
use crate::upstream::{Requester, Upstream};

const SESSION_ID: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(lowercase::PROTOCOL_VERSION);

/// Sends messages to the server in the name of one caller.
#[derive(Clone, Debug)]
pub(super) struct Leg {
    upstream: Arc<dyn Upstream>,
    uri: Uri,
    /// The caller's headers, without those of MCP and of its body.
    headers: HeaderMap,
    requester: Requester,
    meter: Meter,
}

impl Leg {
    /// Prepares to send in the name of whoever sent this request.
    pub(super) fn new(
        upstream: &Arc<dyn Upstream>,
        head: &request::Parts,
        requester: Requester,
        meter: &Meter,
    ) -> Self {
        let is_mcp = |name: &HeaderName| {
            let name = name.as_str();
            [
                lowercase::SESSION_ID,
                lowercase::PROTOCOL_VERSION,
                lowercase::METHOD,
                lowercase::NAME,
                lowercase::LAST_EVENT_ID,
            ]
            .contains(&name)
                || name.starts_with(lowercase::PARAM_PREFIX)
        };
        let own = |name: &HeaderName| {
            is_mcp(name) || [ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE].contains(name)
        };
        let headers = head.headers.iter().filter(|(name, _)| !own(name));
        let headers = headers.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self {
            upstream: Arc::clone(upstream),
            uri: head.uri.clone(),
            headers,
            requester,
            meter: meter.clone(),
        }
    }

    /// Posts a message with these headers beside the caller's.
    pub(super) async fn post(
        &self,
        text: String,
        mcp: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Response<Body>, HttpFailure> {
        let body = Bytes::from(text);
        let mut request = self.request(Method::POST, mcp);
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        self.upstream.call(request.map(|()| full(body)), self.requester, &self.meter).await
    }

    /// Sends a request without a body.
    pub(super) async fn send(
        &self,
        method: Method,
        mcp: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Result<Response<Body>, HttpFailure> {
        let mut request = self.request(method, mcp);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.upstream.call(request.map(|()| full("")), self.requester, &self.meter).await
    }

    fn request(
        &self,
        method: Method,
        mcp: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
    ) -> Request<()> {
        let mut request = Request::new(());
        *request.method_mut() = method;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        request.headers_mut().extend(mcp);
        request
    }
}

/// Returns the headers of a legacy session.
pub(super) fn session_headers(version: &str, id: Option<&HeaderValue>) -> Vec<(HeaderName, HeaderValue)> {
    let version = HeaderValue::from_str(version).ok().map(|version| (PROTOCOL_VERSION, version));
    version.into_iter().chain(id.map(|id| (SESSION_ID, id.clone()))).collect()
}

/// Returns headers that were made as text. What no header can hold is left out.
pub(super) fn text_headers(lines: Vec<(String, String)>) -> Vec<(HeaderName, HeaderValue)> {
    let parse =
        |(name, value): (String, String)| Some((name.parse().ok()?, HeaderValue::from_str(&value).ok()?));
    lines.into_iter().filter_map(parse).collect()
}

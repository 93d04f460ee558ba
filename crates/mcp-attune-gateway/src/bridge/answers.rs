//! The HTTP answers that the bridge gives itself.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use mcp_attune_tower::{HttpFailure, full};
use mcp_attune_wire::agree::{MessageRefusal, MessageRefusalReason};
use mcp_attune_wire::message::MessageKind;
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

use crate::upstream::UpstreamError;
use crate::{Body, refusal};

/// Answers with one message, as `application/json`.
pub(super) fn json(status: u16, text: String) -> Response<Body> {
    let mut answer = Response::new(full(text));
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Answers with a stream of events, which caches and proxies are not to hold back.
pub(super) fn stream(body: Body) -> Response<Body> {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

/// Answers without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(full(""));
    *answer.status_mut() = status;
    answer
}

/// Answers a request that has nothing to say with an empty result. `id` is the request's, as written.
pub(super) fn empty_result(id: &str) -> Response<Body> {
    json(200, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
}

/// Refuses input for a call that does not wait for it.
pub(super) fn no_such_call(id: Option<&str>) -> Response<Body> {
    refusal::render_reply(&Reply::invalid_params(id, Notice::CallNotWaiting))
}

/// Refuses a method that has no counterpart in the other era.
pub(super) fn not_bridged(id: &str, method: &str) -> Response<Body> {
    refusal::render_reply(&Reply::method_not_found(
        id,
        Notice::NotBridged { method: method.to_owned().into() },
    ))
}

/// Refuses what is no single message: batches are not bridged.
pub(super) fn not_a_request() -> Response<Body> {
    let refused = MessageRefusalReason::NotARequest(MessageKind::Batch);
    refusal::render_reply(&Reply::from(&MessageRefusal { id: None, refused }))
}

/// Refuses a session that is not known: its client begins another one.
pub(super) fn no_session(id: Option<&str>) -> Response<Body> {
    refusal::render_reply(&Reply::unknown_session(id))
}

/// Returns the failure of an upstream as callers are told it.
pub(super) fn failure(error: UpstreamError) -> HttpFailure {
    HttpFailure::new(error.status(), error.notice())
}

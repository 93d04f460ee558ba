//! The HTTP answers in front of a child, which knows nothing of HTTP: status, headers and the refusals that
//! an HTTP server would give itself.
//!
//! Rules: G11, H14, H15.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use mcp_attune_tower::{BodyMediaType, boxed, full, media};
use mcp_attune_wire::agree::{MessageRefusal, MessageRefusalReason};
use mcp_attune_wire::message::{MAX_ID_BYTES, Message, MessageKind};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::reply::Reply;

use super::events::{ChildEventBody, ChildEventSource};
use crate::{Body, refusal};

/// `Mcp-Session-Id`: the answer to `initialize` sets it, and all requests of a legacy session carry it.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);

/// Converts a status that the rules gave as a number. What is no HTTP status, which the rules never give,
/// becomes 200.
pub(super) fn status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::OK)
}

/// Answers with one message, as `application/json`.
pub(super) fn json(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut answer = Response::new(full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// Answers 200 with a stream of events. The headers ask caches and proxies (`X-Accel-Buffering: no`) not to
/// hold events back.
pub(super) fn stream(
    events: ChildEventBody<impl ChildEventSource + Unpin + Send + 'static>,
) -> Response<Body> {
    let mut answer = Response::new(boxed(events));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

/// Answers without a body: a message was taken (202), a session was ended (204).
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(full(""));
    *answer.status_mut() = status;
    answer
}

/// Answers 202: what was posted is no request, so that there is nothing to answer it with.
pub(super) fn accepted() -> Response<Body> {
    empty(StatusCode::ACCEPTED)
}

/// Refuses a message whose protocol version the child does not speak: 400 and `-32022`, with `requested` and
/// `supported` in the `data` of the error, so that the client can choose another.
pub(super) fn unsupported_version(
    message: &Message<'_>,
    requested: &str,
    supported: &[String],
) -> Response<Body> {
    let refused =
        MessageRefusalReason::Version { requested: requested.to_owned(), supported: supported.to_vec() };
    refused_with(message, refused)
}

/// Refuses a body that no client sends here (400 and `-32600`): what is no JSON-RPC message, an empty batch,
/// and of modern callers also answers and batches.
pub(super) fn not_a_request(message: &Message<'_>) -> Response<Body> {
    refused_with(message, MessageRefusalReason::NotARequest(message.kind()))
}

/// Renders a refusal, with the id of the message where that is a request.
fn refused_with(message: &Message<'_>, refused: MessageRefusalReason) -> Response<Body> {
    let id = message.id().filter(|_| message.kind() == MessageKind::Request).map(|id| id.raw().to_owned());
    refusal::render_reply(&Reply::from(&MessageRefusal { id, refused }))
}

/// Refuses a legacy request outside of any session. `named`: it has a session id, and no such session is open
/// (404, upon which clients initialize anew); otherwise it has none and is no `initialize` (400).
pub(super) fn no_session(named: bool) -> Response<Body> {
    refusal::render_reply(&if named {
        Reply::not_accepted(404, "G9", Notice::SessionOver)
    } else {
        Reply::not_accepted(400, "G9", Notice::SessionMissing)
    })
}

/// Refuses (400) a request whose id another running request of its session has: nobody could tell their
/// answers apart.
pub(super) fn id_in_use() -> Response<Body> {
    refusal::render_reply(&Reply::not_accepted(400, "G9", Notice::IdInUse))
}

/// Refuses (400) a request whose id has more than [`MAX_ID_BYTES`] bytes, because ids are kept until the
/// answer comes.
pub(super) fn id_too_long() -> Response<Body> {
    let notice = Notice::IdTooLong { limit: MAX_ID_BYTES };
    refusal::render_reply(&Reply::not_accepted(400, "G9", notice))
}

/// Refuses (400) to resume a stream: `Last-Event-ID` is none that was given out, or what came after it is not
/// kept any more.
pub(super) fn no_such_event() -> Response<Body> {
    refusal::render_reply(&Reply::not_accepted(400, "G9", Notice::EventForgotten))
}

/// Refuses an HTTP method (405). `allowed` is the value of `Allow`.
pub(super) fn method_not_allowed(allowed: &'static str) -> Response<Body> {
    let notice = Notice::MethodNotAllowed { allowed: allowed.into() };
    let mut answer = refusal::render_reply(&Reply::not_accepted(405, "H15", notice));
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// Returns the refusal (415) of a request whose `Content-Type` is not `application/json`, or `None` where it
/// is.
pub(super) fn not_json(headers: &HeaderMap) -> Option<Reply> {
    (media(headers) != BodyMediaType::Json).then(|| Reply::not_accepted(415, "G11", Notice::BodyNoJsonType))
}

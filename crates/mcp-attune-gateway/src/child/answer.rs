//! The HTTP answers in front of a child, which knows nothing of HTTP.
//!
//! Rules: G11, H14, H15.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use mcp_attune_tower::{BodyMediaType, boxed, full, media};
use mcp_attune_wire::agree::{MessageRefusal, MessageRefusalReason};
use mcp_attune_wire::message::{MAX_ID_BYTES, Message, MessageKind};
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::reply::Reply;

use super::events::{ChildEventBody, ChildEventSource};
use crate::{Body, refusal};

/// The header of a legacy session.
pub(super) const SESSION_ID: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);

/// A status that the rules give.
pub(super) fn status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::OK)
}

/// One message.
pub(super) fn json(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut answer = Response::new(full(text));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// A stream.
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

/// Nothing to say: a message was taken (202), a session has ended (204).
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut answer = Response::new(full(""));
    *answer.status_mut() = status;
    answer
}

/// Taken, and nothing to say.
pub(super) fn accepted() -> Response<Body> {
    empty(StatusCode::ACCEPTED)
}

/// A message in a version that the child does not speak.
pub(super) fn unsupported_version(
    message: &Message<'_>,
    requested: &str,
    supported: &[String],
) -> Response<Body> {
    let refused =
        MessageRefusalReason::Version { requested: requested.to_owned(), supported: supported.to_vec() };
    refused_with(message, refused)
}

/// A message that nobody sends.
pub(super) fn not_a_request(message: &Message<'_>) -> Response<Body> {
    refused_with(message, MessageRefusalReason::NotARequest(message.kind()))
}

fn refused_with(message: &Message<'_>, refused: MessageRefusalReason) -> Response<Body> {
    let id = message.id().filter(|_| message.kind() == MessageKind::Request).map(|id| id.raw().to_owned());
    refusal::render_reply(&Reply::from(&MessageRefusal { id, refused }))
}

/// A request that goes without a session, or into one that is over.
pub(super) fn no_session(named: bool) -> Response<Body> {
    refusal::render_reply(&if named {
        Reply::not_accepted(
            404,
            "G9",
            &"this session is over; begin another with `initialize`, without Mcp-Session-Id",
        )
    } else {
        Reply::not_accepted(
            400,
            "G9",
            &"Mcp-Session-Id is missing; begin with `initialize`, and send what it answers",
        )
    })
}

/// A request whose answer could not be told from another's.
pub(super) fn id_in_use() -> Response<Body> {
    let what = "a request with this id still runs in this session; give every request an id of its own";
    refusal::render_reply(&Reply::not_accepted(400, "G9", &what))
}

/// A request whose id is too long to be kept until its answer comes.
pub(super) fn id_too_long() -> Response<Body> {
    let what = format_args!("the id of this request has more than {MAX_ID_BYTES} bytes; send a shorter one");
    refusal::render_reply(&Reply::not_accepted(400, "G9", &what))
}

/// A stream that cannot be gone on with.
pub(super) fn no_such_event() -> Response<Body> {
    let what = "Last-Event-ID names no event that is still known; leave it out";
    refusal::render_reply(&Reply::not_accepted(400, "G9", &what))
}

/// A method of HTTP that is not for this.
pub(super) fn method_not_allowed(allowed: &'static str) -> Response<Body> {
    let what = format_args!("this method is not allowed here; use {allowed}");
    let mut answer = refusal::render_reply(&Reply::not_accepted(405, "H15", &what));
    answer.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    answer
}

/// What is said of a body that is not JSON.
pub(super) fn not_json(headers: &HeaderMap) -> Option<Reply> {
    let what = "the body is no application/json; send JSON, and Content-Type: application/json";
    (media(headers) != BodyMediaType::Json).then(|| Reply::not_accepted(415, "G11", &what))
}

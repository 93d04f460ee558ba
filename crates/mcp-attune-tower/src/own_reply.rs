//! Answers of our own, in the words of whoever gets them.
//!
//! What a caller prefers stands in the message. Where no message was read yet, the header that mirrors it is all there is.
//!
//! Rules: L7, L10, L15.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Response, StatusCode};
use mcp_attune::exchange::{self, mirrored_preference};
use mcp_attune::language::AcceptLanguage;
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::reply::Reply;

use crate::body::{Body, full};
use crate::lines::HeaderMapLines;
use crate::request_outcome::RequestOutcome;

/// An answer of our own, as HTTP, with its [`RequestOutcome`] in its extensions. What is unavailable (503) is so for a moment,
/// and says when to try again.
#[must_use]
#[cold]
pub fn render_reply(reply: &Reply) -> Response<Body> {
    let mut response = Response::new(full(reply.body.clone()));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let content_type = HeaderValue::from_static(reply.content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS].contains(&response.status()) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response.extensions_mut().insert(RequestOutcome::of_reply(reply));
    response.extensions_mut().insert(OwnReply(reply.clone()));
    response
}

/// In the extensions of an answer of our own: what it says, so that whoever knows its caller can say it in their words.
#[derive(Clone, Debug)]
pub(crate) struct OwnReply(pub(crate) Reply);

/// The answer in the caller's words, where it is one of our own.
pub(crate) fn reword(mut response: Response<Body>, wish: &AcceptLanguage) -> Response<Body> {
    let Some(OwnReply(reply)) = response.extensions_mut().remove() else { return response };
    let (reply, Some(language)) = exchange::localize_reply(reply, wish) else { return response };
    if let Ok(language) = HeaderValue::from_str(&language) {
        response.headers_mut().insert(header::CONTENT_LANGUAGE, language);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static(lowercase::ACCEPT_LANGUAGE));
    }
    response.map(|_| full(reply.body))
}

/// An answer of our own to a request whose message was not read, in the language that its headers mirror.
#[must_use]
#[cold]
pub fn render_reply_for(reply: &Reply, headers: &HeaderMap) -> Response<Body> {
    reword(render_reply(reply), &mirrored_preference(HeaderMapLines(headers)))
}

//! Answers of our own (refusals and failures) as HTTP responses, in the language of whoever gets them.
//!
//! A caller's preference stands in the message. If the message was not read yet, the header that mirrors it is
//! used.
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

/// Renders an answer of our own as an HTTP response in English, with its [`RequestOutcome`] in the extensions.
/// The statuses 503 and 429 get `Retry-After: 1`, because they say that a limit is reached at the moment.
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

/// The reply that a response was rendered from, in its extensions, so that the layer around, which knows the
/// caller's language, can render it again.
#[derive(Clone, Debug)]
pub(crate) struct OwnReply(pub(crate) Reply);

/// Renders an answer of our own again in the caller's language, with `Content-Language` and `Vary`. Other
/// responses, and replies in languages that we do not have, are returned as they are.
pub(crate) fn reword(mut response: Response<Body>, wish: &AcceptLanguage) -> Response<Body> {
    let Some(OwnReply(reply)) = response.extensions_mut().remove() else { return response };
    let (reply, Some(language)) = exchange::localize_reply(reply, wish) else { return response };
    if let Ok(language) = HeaderValue::from_str(&language) {
        response.headers_mut().insert(header::CONTENT_LANGUAGE, language);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static(lowercase::ACCEPT_LANGUAGE));
    }
    response.map(|_| full(reply.body))
}

/// Renders an answer of our own to a request whose message was not read, in the language that its
/// `Accept-Language` header asks for.
#[must_use]
#[cold]
pub fn render_reply_for(reply: &Reply, headers: &HeaderMap) -> Response<Body> {
    reword(render_reply(reply), &mirrored_preference(HeaderMapLines(headers)))
}

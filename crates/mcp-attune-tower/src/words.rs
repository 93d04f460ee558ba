//! Answers of our own, in the words of whoever gets them.
//!
//! What a caller prefers stands in the message. Where no message was read yet, the header that mirrors it is all there is.
//!
//! Rules: L7, L10, L15.

use std::borrow::Cow;

use http::Response;
use http::header::{self, HeaderMap, HeaderValue};
use mcp_attune::language::{AcceptLanguage, preference};
use mcp_attune::words;
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::reply::Reply;

use crate::body::{Body, full};
use crate::layer::answer;

/// What a message says that its caller prefers; nothing where it says nothing that can be read.
pub(crate) fn wish(message: &Message<'_>) -> AcceptLanguage {
    let stated = message.meta(meta::ACCEPT_LANGUAGE).and_then(Value::text).and_then(Text::decode);
    preference(stated.as_deref()).0
}

/// What the headers of a request say, where its message was not read.
pub(crate) fn mirrored(headers: &HeaderMap) -> AcceptLanguage {
    let mut lines = headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|line| line.to_str().ok());
    let first = lines.next();
    // Two lines are no mirror of one string, and a browser's own header is as good as any other here.
    preference(first.filter(|_| lines.next().is_none())).0
}

/// The answer in the caller's words.
pub(crate) fn say(mut reply: Reply, wish: &AcceptLanguage) -> (Reply, Option<String>) {
    let said = words::say(reply.body.as_bytes(), wish);
    let language = said.content_language;
    let text = match said.text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => String::from_utf8(text).ok(),
    };
    match text {
        Some(text) => {
            reply.body = text;
            (reply, language)
        }
        None => (reply, None),
    }
}

/// In the extensions of an answer of our own: what it says, so that whoever knows its caller can say it in their words.
#[derive(Clone, Debug)]
pub(crate) struct Own(pub(crate) Reply);

/// The answer in the caller's words, where it is one of our own.
pub(crate) fn reword(mut response: Response<Body>, wish: &AcceptLanguage) -> Response<Body> {
    let Some(Own(reply)) = response.extensions_mut().remove() else { return response };
    let (reply, Some(language)) = say(reply, wish) else { return response };
    if let Ok(language) = HeaderValue::from_str(&language) {
        response.headers_mut().insert(header::CONTENT_LANGUAGE, language);
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-language"));
    }
    response.map(|_| full(reply.body))
}

/// An answer of our own to a request whose message was not read, in the language that its headers mirror.
#[must_use]
#[cold]
pub fn answer_to(reply: &Reply, headers: &HeaderMap) -> Response<Body> {
    reword(answer(reply), &mirrored(headers))
}

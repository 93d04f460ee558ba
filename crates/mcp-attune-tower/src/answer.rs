//! Carries the answer of the service to the caller: passed on, adapted event by event, or held back and adapted
//! whole.
//!
//! Rules: G2, G4, G5, G10.

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderValue};
use http::response;
use mcp_attune::exchange::AnswerBodyMode;
use mcp_attune::language::AcceptLanguage;
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

use crate::body::{
    Body, BodyCollectError, BoxError, boxed, collect_with_trailers, full_reserved, with_trailers,
};
use crate::failed::HttpFailure;
use crate::lines::{HeaderMapLines, apply_header_changes, remove_stale_headers};
use crate::logging;
use crate::response_adapter::ResponseAdapter;
use crate::settings::Settings;
use crate::stream::AdaptedEventBody;

/// Changes the head of an answer as the rules say, and carries its body in the way that they chose. Returns
/// when the head is known, so that a stream flows on after it; a JSON answer that is held back is read first.
///
/// The error is an answer of our own with the language preference for it: the service's answer could not be
/// read.
pub(crate) async fn adapt_response<R>(
    response: Response<R>,
    asked: ResponseAdapter,
    settings: &Settings,
) -> Result<Response<Body>, (Reply, AcceptLanguage)>
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (mut parts, body) = response.into_parts();
    let success = parts.status.is_success();
    let (way, changes, notices) = asked.answering.adapt_head(success, HeaderMapLines(&parts.headers));
    logging::log_notices(&notices);
    apply_header_changes(&mut parts.headers, changes);
    match way {
        AnswerBodyMode::Pass => Ok(Response::from_parts(parts, boxed(body))),
        AnswerBodyMode::Events => {
            let events =
                AdaptedEventBody::new(body, asked, settings.limits.event, settings.held.start_reservation());
            Ok(Response::from_parts(parts, boxed(events)))
        }
        AnswerBodyMode::Hold => adapt_whole_answer(parts, body, &asked, settings).await,
    }
}

/// Reads a JSON answer whole, within its limit and the budget, and adapts it. It is held back because its
/// headers, such as `Content-Language`, depend on its content.
async fn adapt_whole_answer<R>(
    mut parts: response::Parts,
    body: R,
    asked: &ResponseAdapter,
    settings: &Settings,
) -> Result<Response<Body>, (Reply, AcceptLanguage)>
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let mut held = settings.held.start_reservation();
    let limit = settings.limits.answer;
    let whole = collect_with_trailers(body, limit, &mut held).await;
    let (body, trailers) =
        whole.map_err(|incomplete| asked.failure_reply(&answer_read_failure(incomplete, limit)))?;
    let message = match asked.adapt_message(&body) {
        Some(message) => message,
        // Boxed, so that calls do not carry its room.
        None => Box::pin(asked.adapt_long_message(body.clone())).await,
    };
    let (changes, notice) = asked.answering.adapt_held_head(&message, HeaderMapLines(&parts.headers));
    logging::log_notices(&notice);
    apply_header_changes(&mut parts.headers, changes);
    let is_changed = message.changed.is_some();
    let body = message.changed.map_or(body, Bytes::from);
    if parts.headers.contains_key(header::CONTENT_LENGTH) {
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    // It is made already: where there is no room for what grew, what came is counted on.
    let _ = held.resize(body.len());
    let body = full_reserved(body, held);
    let Some(mut trailers) = trailers else { return Ok(Response::from_parts(parts, body)) };
    if is_changed {
        remove_stale_headers(&mut trailers);
    }
    Ok(Response::from_parts(parts, with_trailers(body, trailers)))
}

/// Returns what the caller is told if an answer could not be read: 502 for one over its limit, 503 if the
/// budget has no room, else what the service failed with.
#[cold]
fn answer_read_failure(incomplete: BodyCollectError, limit: usize) -> HttpFailure {
    match incomplete {
        BodyCollectError::TooLarge => HttpFailure::new(502, Notice::AnswerTooLarge { limit }),
        BodyCollectError::Full(full) => HttpFailure::new(503, full.notice()),
        BodyCollectError::Broken(error) => HttpFailure::from_service_error(&error),
    }
}

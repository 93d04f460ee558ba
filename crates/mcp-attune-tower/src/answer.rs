//! The answer of the service, as the caller gets it.
//!
//! Rules: G2, G4, G5, G10.

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderValue};
use http::response;
use mcp_attune::exchange::Way;
use mcp_attune::language::AcceptLanguage;
use mcp_attune_wire::reply::Reply;

use crate::asked::Asked;
use crate::body::{Body, BoxError, Incomplete, boxed, collect_all, full_held, with_trailers};
use crate::failed::Failed;
use crate::lines::{Lines, change, forget_old_bytes};
use crate::settings::Settings;
use crate::stream::Events;
use crate::told;

/// Carries an answer to its caller.
pub(crate) async fn carry<R>(
    response: Response<R>,
    asked: Asked,
    settings: &Settings,
) -> Result<Response<Body>, (Reply, AcceptLanguage)>
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (mut parts, body) = response.into_parts();
    let success = parts.status.is_success();
    let (way, changes, notices) = asked.answering.answer(success, Lines(&parts.headers));
    told::notices(&notices);
    change(&mut parts.headers, changes);
    match way {
        Way::Pass => Ok(Response::from_parts(parts, boxed(body))),
        Way::Events => {
            let events = Events::new(body, asked, settings.limits.event, settings.held.hold());
            Ok(Response::from_parts(parts, boxed(events)))
        }
        Way::Hold => hold(parts, body, &asked, settings).await,
    }
}

/// Holds an answer back until it is whole, because its headers depend on it.
async fn hold<R>(
    mut parts: response::Parts,
    body: R,
    asked: &Asked,
    settings: &Settings,
) -> Result<Response<Body>, (Reply, AcceptLanguage)>
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let mut held = settings.held.hold();
    let limit = settings.limits.answer;
    let whole = collect_all(body, limit, &mut held).await;
    let (body, trailers) = whole.map_err(|incomplete| asked.failed(&not_whole(incomplete, limit)))?;
    let message = match asked.message(&body) {
        Some(message) => message,
        // Boxed, so that calls do not carry its room.
        None => Box::pin(asked.long_message(body.clone())).await,
    };
    let (changes, notice) = asked.answering.held(&message, Lines(&parts.headers));
    told::notices(&notice);
    change(&mut parts.headers, changes);
    let is_changed = message.changed.is_some();
    let body = message.changed.map_or(body, Bytes::from);
    if parts.headers.contains_key(header::CONTENT_LENGTH) {
        parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    // It is made already: where there is no room for what grew, what came is counted on.
    let _ = held.set(body.len());
    let body = full_held(body, held);
    let Some(mut trailers) = trailers else { return Ok(Response::from_parts(parts, body)) };
    if is_changed {
        forget_old_bytes(&mut trailers);
    }
    Ok(Response::from_parts(parts, with_trailers(body, trailers)))
}

/// What is said where an answer could not be had whole.
#[cold]
fn not_whole(incomplete: Incomplete, limit: usize) -> Failed {
    match incomplete {
        Incomplete::TooLarge => {
            Failed { status: 502, what: format!("the answer is over {limit} bytes, the limit `answer`") }
        }
        Incomplete::Full(full) => Failed { status: 503, what: full.to_string() },
        Incomplete::Broken(error) => Failed::of(&error),
    }
}

//! The first checks of a request, on its head and its size, before any rule about messages looks at it.
//!
//! Rules: G4, G10, H15, H20.

use bytes::Bytes;
use http::{HeaderMap, Method, header, request};
use mcp_attune_wire::hop_headers;
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

use crate::body::{Body, BodyCollectError, collect};
use crate::failed::HttpFailure;
use crate::guard::Allowlist;
use crate::held::BufferReservation;
use crate::mount::LayerState;
use crate::request_outcome::RequestOutcome;
use crate::settings::Settings;

/// Refuses a request by its head: 403 for a foreign host or origin, 400 for headers that would not all reach
/// the server, 415 for an encoded body of a POST.
pub(crate) fn admit(
    mount: &LayerState,
    parts: &request::Parts,
    account: &mut RequestOutcome,
) -> Result<(), Reply> {
    if let Some(allowed) = &mount.settings.guard {
        refuse_foreign(allowed, parts)?;
    }
    refuse_unfit(mount, &parts.headers, account)?;
    let encoded = || parts.headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
    if parts.method == Method::POST && encoded() {
        return Err(Reply::not_accepted(415, "G10", Notice::BodyEncoded));
    }
    Ok(())
}

/// Refuses a request that names a host or an origin that is not allowed.
///
/// Rules: H15.
fn refuse_foreign(allowed: &Allowlist, parts: &request::Parts) -> Result<(), Reply> {
    allowed.check_named(&parts.uri, &parts.headers).map_err(|foreign| {
        tracing::debug!(%foreign, "a request is refused");
        Reply::not_accepted(foreign.status().as_u16(), "H15", foreign.notice())
    })
}

/// Refuses headers of which not all would reach the server as they were checked, such as a `Connection` header
/// that names `Mcp-Name`. In report mode it only notes the broken rule.
///
/// Rules: H20.
fn refuse_unfit(mount: &LayerState, headers: &HeaderMap, account: &mut RequestOutcome) -> Result<(), Reply> {
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let Err(unfit) = hop_headers::check(lines, |name| mount.schemas.is_identity_header(name)) else {
        return Ok(());
    };
    let enforced = !mount.settings.report_only;
    let what = if enforced { "refused" } else { "would be refused" };
    tracing::warn!(rule = "H20", enforced, "{what}");
    if enforced {
        return Err(Reply::not_accepted(400, "H20", unfit.notice()));
    }
    account.broken.push("H20");
    Ok(())
}

/// Reads the body of a request up to its limit, with its reservation of the budget. A body that is in memory
/// already keeps the reservation that it has, if any.
///
/// The error is the answer: 413 for a body over the limit, 503 if the budget has no room, 400 if the caller
/// broke off.
pub(crate) async fn read_body(
    settings: &Settings,
    body: Body,
) -> Result<(Bytes, Option<BufferReservation>), Reply> {
    let limit = settings.limits.body;
    let body = match body.into_whole() {
        Ok((body, _)) if body.len() > limit => {
            return Err(body_error_reply(BodyCollectError::TooLarge, limit));
        }
        Ok(whole) => return Ok(whole),
        Err(body) => body,
    };
    let mut held = settings.held.start_reservation();
    // Boxed, because most bodies came whole.
    let body = Box::pin(collect(body, limit, &mut held)).await;
    body.map(|body| (body, Some(held))).map_err(|incomplete| body_error_reply(incomplete, limit))
}

/// Returns the answer to a request whose body could not be read. An [`HttpFailure`] of the body says its own
/// status.
#[cold]
fn body_error_reply(incomplete: BodyCollectError, limit: usize) -> Reply {
    let error = match incomplete {
        BodyCollectError::Full(full) => return Reply::failed(503, None, full.notice()),
        BodyCollectError::TooLarge => return Reply::not_accepted(413, "G4", Notice::BodyTooLarge { limit }),
        BodyCollectError::Broken(error) => error,
    };
    tracing::debug!(%error, "the caller's body broke off");
    let failed = error.downcast_ref::<HttpFailure>();
    let notice = failed.map_or(Notice::BodyBrokeOff, |failed| failed.notice.clone());
    Reply::not_accepted(failed.map_or(400, |failed| failed.status), "G4", notice)
}

//! The answer of the service, as the caller gets it.
//!
//! Rules: G2, G4, G5, G10.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderValue};
use http::response;
use mcp_attune::exchange::{Answering, Reworked, Way};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::Effort;
use mcp_attune_wire::reply::Reply;

use crate::account::Account;
use crate::body::{Body, BoxError, Incomplete, boxed, collect_all, full_held, with_trailers};
use crate::failed::Failed;
use crate::lines::{Lines, change, forget_old_bytes};
use crate::long_work;
use crate::mount::Mount;
use crate::schemas::Identity;
use crate::settings::Settings;
use crate::stream::Events;
use crate::told;

/// What is known of the request that is answered.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) answering: Arc<Answering>,
    mount: Arc<Mount>,
    identity: Identity,
    /// Where a stream that fails is noted.
    pub(crate) account: Account,
}

impl Asked {
    pub(crate) fn new(
        answering: Answering,
        mount: &Arc<Mount>,
        identity: Identity,
        account: Account,
    ) -> Self {
        Self { answering: Arc::new(answering), mount: Arc::clone(mount), identity, account }
    }

    /// What is answered where the service fails.
    #[cold]
    pub(crate) fn failed(&self, failed: &Failed) -> (Reply, AcceptLanguage) {
        let reply = Reply::failed(failed.status, self.answering.id(), failed);
        (reply, self.answering.wish().clone())
    }

    fn adapt(&self, message: &[u8], effort: Effort) -> Option<Reworked> {
        self.answering.adapt(message, effort, |learned| self.mount.learn(self.identity, learned))
    }

    /// Logs and counts what was done, on the thread that knows which request it is about.
    fn tell(&self, message: Reworked) -> Reworked {
        if let Some(told) = &message.told {
            told::shaped(told, &self.account);
        }
        message
    }

    /// One message of an answer, learned from and adapted; `None` where that may take long.
    pub(crate) fn message(&self, message: &[u8]) -> Option<Reworked> {
        self.adapt(message, Effort::Short).map(|message| self.tell(message))
    }

    /// The same where no other caller waits for it. It is not begun once the caller is gone.
    pub(crate) fn long_message(
        &self,
        message: impl AsRef<[u8]> + Send + 'static,
    ) -> impl Future<Output = Reworked> + Send + 'static {
        let (asked, teller) = (self.clone(), self.clone());
        async move {
            let work = move || asked.adapt(message.as_ref(), Effort::Full).unwrap_or_default();
            teller.tell(long_work::run(work).await)
        }
    }
}

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

//! The answer of the service, as the caller gets it.
//!
//! Rules: G2, G4, G5, G10, L15, L17, L21.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::{Adapted, Effort, Plan};
use mcp_attune_wire::json::Span;
use mcp_attune_wire::message as wire;
use mcp_attune_wire::reply::{Reply, private, vary_with};

use crate::account::Account;
use crate::body::{Body, BoxError, Incomplete, boxed, collect_all, full_held, with_trailers};
use crate::decide::Watch;
use crate::edited::forget_old_bytes;
use crate::failed::Failed;
use crate::long_work;
use crate::media::Media;
use crate::session::EventIds;
use crate::settings::Settings;
use crate::stream::Events;
use crate::tasks::TaskIds;
use crate::told;

/// What is known of the request that is answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) plan: Plan,
    /// The request's id; none where a stream goes on that a request before began, or that none did.
    pub(crate) id: Option<String>,
    /// What becomes of the ids of events; none where they stay.
    pub(crate) events: Option<EventIds>,
    /// What becomes of the ids of tasks; None where they stay.
    pub(crate) tasks: Option<Arc<TaskIds>>,
    /// Whether the caller stated a preference that counts.
    pub(crate) preferred: bool,
    /// Whether the answer has to be read before it goes on.
    pub(crate) reads: bool,
    /// Whether the preference stands in an `Accept-Language` header.
    pub(crate) told: bool,
    /// Whether the caller's context filled arguments.
    pub(crate) bound: bool,
    /// What is looked for in the answer.
    pub(crate) watch: Watch,
    /// Where a stream that fails is noted.
    pub(crate) account: Account,
    /// What the caller prefers, for what we say ourselves.
    pub(crate) wish: Option<AcceptLanguage>,
}

impl Asked {
    /// Nothing is known of the request but what becomes of its answer.
    pub(crate) fn new(plan: Plan, watch: Watch, account: Account) -> Self {
        Self {
            plan,
            id: None,
            events: None,
            tasks: None,
            preferred: false,
            reads: false,
            told: false,
            bound: false,
            watch,
            account,
            wish: None,
        }
    }

    /// Whether an event of a stream may be changed on its way: its message, or its id. It is decided before the first one
    /// comes, because the headers go before it.
    pub(crate) fn edits_events(&self) -> bool {
        self.plan.changes() || self.events.is_some()
    }
}

/// What became of a message.
pub(crate) struct Message {
    /// The message as the caller gets it, where it is another.
    pub(crate) changed: Option<Vec<u8>>,
    /// The language that it reports.
    pub(crate) language: Option<String>,
}

impl Message {
    /// Logs and counts what was done, on the thread that knows which request it is about.
    fn told(adapted: Adapted<'_>, account: &Account) -> Self {
        told::shaped(&adapted, account);
        let changed = match adapted.text {
            Cow::Borrowed(_) => None,
            Cow::Owned(changed) => Some(changed),
        };
        Self { changed, language: adapted.content_language }
    }
}

/// One message of an answer, read once, learned from and adapted; `None` where that may take long.
pub(crate) fn message(asked: &Asked, message: &[u8]) -> Option<Message> {
    if message.len() > Plan::MAX_SHORT {
        return None;
    }
    let adapted = match wire::Message::parse(message) {
        Ok(read) => {
            let adapted = asked.plan.adapt_read(&read, ids(asked.tasks.as_deref(), &read), Effort::Short)?;
            asked.watch.see(&read);
            adapted
        }
        Err(_) => Adapted::untouched(message),
    };
    Some(Message::told(adapted, &asked.account))
}

/// What changes for the ids of tasks that the caller knows.
fn ids(tasks: Option<&TaskIds>, message: &wire::Message<'_>) -> Vec<(Span, String)> {
    tasks.map(|tasks| tasks.back(message)).unwrap_or_default()
}

/// The same where no other caller waits for it. It is not begun once the caller is gone.
pub(crate) fn long_message(
    asked: &Asked,
    message: impl AsRef<[u8]> + Send + 'static,
) -> impl Future<Output = Message> + Send + 'static {
    let (plan, watch, account) = (asked.plan.clone(), asked.watch.clone(), asked.account.clone());
    let tasks = asked.tasks.clone();
    async move {
        let adapted = long_work::run(move || {
            let Ok(read) = wire::Message::parse(message.as_ref()) else { return Adapted::untouched(&[]) };
            watch.see(&read);
            let adapted = plan.adapt_read(&read, ids(tasks.as_deref(), &read), Effort::Full);
            let Some(adapted) = adapted else { return Adapted::untouched(&[]) };
            let Adapted { text, content_language, left_out, faults, unusable } = adapted;
            let text = match text {
                Cow::Borrowed(_) => Cow::Borrowed(&[][..]),
                Cow::Owned(changed) => Cow::Owned(changed),
            };
            Adapted { text, content_language, left_out, faults, unusable }
        });
        Message::told(adapted.await, &account)
    }
}

pub(crate) async fn adapt<R>(
    response: Response<R>,
    asked: Asked,
    settings: &Settings,
) -> Result<Response<Body>, Reply>
where
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    let (mut parts, body) = response.into_parts();
    let encoded = parts.headers.get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
    if encoded {
        // Where nothing is adapted, what the caller accepts went on as it came, and gzip is no surprise.
        if asked.reads {
            tracing::warn!("the answer is encoded although that was not asked for; it passes untouched");
        }
        return Ok(Response::from_parts(parts, boxed(body)));
    }
    match Media::of(&parts.headers) {
        Media::Events => {
            parts.headers.remove(header::CONTENT_LANGUAGE);
            parts.headers.remove(header::CONTENT_LENGTH);
            if asked.edits_events() {
                forget_old_bytes(&mut parts.headers);
            }
            // The headers go before a handler of this process says which language it chose.
            caches(&mut parts.headers, &asked, settings.offer.speaks);
            let events = Events::new(body, asked, settings.limits.event, settings.held.hold());
            Ok(Response::from_parts(parts, boxed(events)))
        }
        Media::Json if asked.reads => {
            let id = asked.id.as_deref();
            let limit = settings.limits.answer;
            let mut held = settings.held.hold();
            let (body, trailers) =
                collect_all(body, limit, &mut held).await.map_err(|incomplete| match incomplete {
                    Incomplete::TooLarge => {
                        let what = format_args!("the answer is over {limit} bytes, the limit `answer`");
                        Reply::failed(502, id, &what)
                    }
                    Incomplete::Full(full) => Reply::failed(503, id, &full),
                    Incomplete::Broken(error) => {
                        let failed = Failed::of(&error);
                        Reply::failed(failed.status, id, &failed)
                    }
                })?;
            let adapted = match message(&asked, &body) {
                Some(adapted) => adapted,
                // Boxed, so that calls do not carry its room.
                None => Box::pin(long_message(&asked, body.clone())).await,
            };
            let language = adapted.language;
            if let Some(language) = &language {
                mirror(&mut parts.headers, language);
            }
            caches(&mut parts.headers, &asked, language.is_some());
            let is_changed = adapted.changed.is_some();
            if is_changed {
                forget_old_bytes(&mut parts.headers);
            }
            let body = adapted.changed.map_or(body, Bytes::from);
            if parts.headers.contains_key(header::CONTENT_LENGTH) {
                parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
            }
            // It is made already: where there is no room for what grew, what came is counted on.
            let _ = held.set(body.len());
            let body = full_held(body, held);
            let body = match trailers {
                None => body,
                Some(mut trailers) => {
                    if is_changed {
                        forget_old_bytes(&mut trailers);
                    }
                    with_trailers(body, trailers)
                }
            };
            Ok(Response::from_parts(parts, body))
        }
        Media::Json | Media::Other => {
            caches(&mut parts.headers, &asked, false);
            Ok(Response::from_parts(parts, boxed(body)))
        }
    }
}

/// One `Content-Language` line that says what the message says.
fn mirror(headers: &mut HeaderMap, language: &str) {
    let lines: Vec<_> = headers.get_all(header::CONTENT_LANGUAGE).iter().collect();
    if lines.iter().any(|line| *line != language) {
        tracing::warn!(
            language,
            "the server's Content-Language is not what its message says; the message counts"
        );
    }
    if let Ok(value) = HeaderValue::from_str(language) {
        headers.insert(header::CONTENT_LANGUAGE, value);
    }
}

/// What caches are told about an answer that could be another one for another caller.
fn caches(headers: &mut HeaderMap, asked: &Asked, reported: bool) {
    let varies = asked.plan.varies() || reported;
    let own = asked.bound || asked.plan.shapes();
    if !varies && !own {
        return;
    }
    if varies {
        let vary = vary_with(texts(headers, &header::VARY), header::ACCEPT_LANGUAGE.as_str());
        if let Some(value) = vary.and_then(|value| value.parse().ok()) {
            headers.insert(header::VARY, value);
        }
    }
    // A shared cache sees the header alone, and could not tell this answer from another.
    if own || (varies && asked.preferred && !asked.told) {
        let value = private(texts(headers, &header::CACHE_CONTROL));
        if let Ok(value) = value.parse() {
            headers.insert(header::CACHE_CONTROL, value);
        }
    }
}

fn texts<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> + use<'h> {
    headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
}

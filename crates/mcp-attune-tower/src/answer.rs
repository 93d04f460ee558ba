//! The answer of the service, as the caller gets it.
//!
//! Rules: G2, G4, G5, G10, L15, L17, L21.

use bytes::Bytes;
use http::Response;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::Plan;
use mcp_attune_wire::reply::{Reply, private, vary_with};

use crate::account::Account;
use crate::body::{Body, BoxError, Incomplete, boxed, collect, full};
use crate::decide::Watch;
use crate::failed::Failed;
use crate::media::Media;
use crate::session::EventIds;
use crate::settings::Limits;
use crate::stream::Events;
use crate::told;

/// What is known of the request that is answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) plan: Plan,
    /// The request's id; none where a stream goes on that a request before began, or that none did.
    pub(crate) id: Option<String>,
    /// What becomes of the ids of events; none where they stay.
    pub(crate) events: Option<EventIds>,
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
            preferred: false,
            reads: false,
            told: false,
            bound: false,
            watch,
            account,
            wish: None,
        }
    }
}

pub(crate) async fn adapt<R>(
    response: Response<R>,
    asked: Asked,
    limits: Limits,
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
            caches(&mut parts.headers, &asked, false);
            let events = Events::new(body, asked, limits.event);
            Ok(Response::from_parts(parts, boxed(events)))
        }
        Media::Json if asked.reads => {
            let id = asked.id.as_deref();
            let body = collect(body, limits.answer).await.map_err(|incomplete| match incomplete {
                Incomplete::TooLarge => {
                    let what = format_args!("the answer is over {} bytes, the limit `answer`", limits.answer);
                    Reply::failed(502, id, &what)
                }
                Incomplete::Broken(error) => {
                    let failed = Failed::of(&error);
                    Reply::failed(failed.status, id, &failed)
                }
            })?;
            asked.watch.see(&body);
            let adapted = asked.plan.adapt(&body);
            told::shaped(&adapted, &asked.account);
            let language = adapted.content_language;
            if let Some(language) = &language {
                mirror(&mut parts.headers, language);
            }
            caches(&mut parts.headers, &asked, language.is_some());
            let body = match adapted.text {
                std::borrow::Cow::Borrowed(_) => body,
                std::borrow::Cow::Owned(changed) => Bytes::from(changed),
            };
            if parts.headers.contains_key(header::CONTENT_LENGTH) {
                parts.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
            }
            Ok(Response::from_parts(parts, full(body)))
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

//! The driver of an exchange over HTTP: it supplies what the state machine needs, forwards what it decided, and
//! carries the answer back.
//!
//! Rules: A2, A3, F1, G1, G2, G4, G5, G6, G8, L7, L13, L15, L17, L21.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, header, request};
use jiff::Timestamp;
use mcp_attune::assume::CallerEvidence;
use mcp_attune::caller::Caller;
use mcp_attune::exchange::{
    AnswerAdapter, Exchange, HeaderChange, IncomingRequest, ListingAvailability, Need, NonPostExchange,
    OutgoingRequest, Rejection, mirrored_preference,
};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::session::SessionFacts;
use mcp_attune_wire::reply::Reply;

use crate::admit::{admit, read_body};
use crate::answer::adapt_response;
use crate::attached_message::{AttachedMessage, CallerBody};
use crate::body::{Body, full};
use crate::inner::McpHttpService;
use crate::library;
use crate::lines::{self, HeaderMapLines};
use crate::lister::ToolLister;
use crate::logging;
use crate::mount::LayerState;
use crate::request_outcome::RequestOutcome;
use crate::response_adapter::ResponseAdapter;
use crate::schemas::IdentityHash;

/// An answer of our own, in English, and the language preference that it is to be worded for.
type ReplyWithPreference = (Reply, AcceptLanguage);

/// Answers a request.
///
/// In order: the head is admitted; the body is read; the exchange begins, and its needs are supplied; headers
/// and body are changed as it decided; the service is called; its answer is adapted. What is known of the
/// request meanwhile is noted in `account`. The bytes of the body stay reserved in the budget until the service
/// has answered.
///
/// The error is an answer of our own, for a refusal or a failure.
pub(crate) async fn drive<S: McpHttpService>(
    mut inner: S,
    mount: &Arc<LayerState>,
    request: Request<Body>,
    account: &mut RequestOutcome,
) -> Result<Response<Body>, ReplyWithPreference> {
    let (mut parts, body) = request.into_parts();
    let unread = |parts: &request::Parts, reply| (reply, mirrored_preference(HeaderMapLines(&parts.headers)));
    admit(mount, &parts, account).map_err(|reply| unread(&parts, reply))?;
    let identity = mount.schemas.identity(&parts);
    if parts.method != Method::POST {
        return resume(inner, mount, identity, parts, body, account).await;
    }
    let (body, _held) = read_body(&mount.settings, body).await.map_err(|reply| unread(&parts, reply))?;
    let (headers, now) = (Some(HeaderMapLines(&parts.headers)), Timestamp::now());
    // What whoever stands before the layer knows of the caller.
    let evidence = parts.extensions.get::<CallerEvidence>().cloned().unwrap_or_default();
    let session = SessionFacts::default();
    let incoming = IncomingRequest { headers, body: &body, session, evidence, now };
    let begun = Exchange::begin(mount.rules(), incoming);
    let exchange = begun.map_err(|rejected| record_rejection(rejected, mount, account))?;
    let given = supply_needs(exchange, &mut inner, mount, identity, &parts).await;
    let exchange = given.map_err(|rejected| record_rejection(rejected, mount, account))?;
    record_facts(&exchange, mount, account);
    let forwarded = exchange.forward().map_err(|rejected| record_rejection(rejected, mount, account))?;
    let (outgoing, caller, answering) = forwarded;
    let (changes, changed, attached) = split_outgoing(outgoing, mount, &body);
    lines::apply_header_changes(&mut parts.headers, changes);
    if let Some(changed) = changed.as_ref().filter(|_| parts.headers.contains_key(header::CONTENT_LENGTH)) {
        parts.headers.insert(header::CONTENT_LENGTH, changed.len().into());
    }
    if let Some(attached) = attached {
        parts.extensions.insert(attached);
    }
    if changed.is_some() && mount.settings.attach_caller_body {
        parts.extensions.insert(CallerBody(body.clone()));
    }
    let asked = ResponseAdapter::new(answering, mount, identity, account.clone());
    call_service(inner, mount, Request::from_parts(parts, full(changed.unwrap_or(body))), caller, asked).await
}

/// Takes apart what an exchange decided: the changes of the headers, the body if it is not the one that came,
/// and the parsed message if the service inside wants it.
fn split_outgoing(
    outgoing: OutgoingRequest<'_>,
    mount: &LayerState,
    body: &Bytes,
) -> (Vec<HeaderChange>, Option<Bytes>, Option<AttachedMessage>) {
    let attached = mount.settings.attach_message.then_some(outgoing.message).flatten();
    let attached = attached.and_then(|(message, era)| AttachedMessage::new(message, body, era));
    let changed = match outgoing.body {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(Bytes::from(changed)),
    };
    (outgoing.headers, changed, attached)
}

/// Calls the service with the caller and the place for reported languages in the extensions, and adapts its
/// answer.
async fn call_service<S: McpHttpService>(
    mut inner: S,
    mount: &LayerState,
    mut request: Request<Body>,
    caller: Caller,
    asked: ResponseAdapter,
) -> Result<Response<Body>, ReplyWithPreference> {
    logging::log_features(&caller);
    if mount.settings.introduce {
        request.extensions_mut().insert(caller);
    }
    if let Some(spoken) = asked.answering.plan().reported_languages() {
        request.extensions_mut().insert(spoken.clone());
    }
    inner.ready().await.map_err(|failed| asked.failure_reply(&failed))?;
    let response = inner.ask(request).await.map_err(|failed| asked.failure_reply(&failed))?;
    adapt_response(response, asked, &mount.settings).await
}

/// Supplies what only a host can get, until the exchange needs nothing more: what is known of the called tool,
/// from the cache or by listing the tools, and locale files. Fails if the exchange refuses the request with
/// what it learned.
///
/// The service may not be `Sync`, so it is borrowed mutably and never shared.
async fn supply_needs<'a, S: McpHttpService>(
    mut exchange: Exchange<'a, HeaderMapLines<'a>>,
    inner: &mut S,
    mount: &LayerState,
    identity: IdentityHash,
    parts: &request::Parts,
) -> Result<Exchange<'a, HeaderMapLines<'a>>, Box<Rejection>> {
    let schemas = &mount.schemas;
    while let Some(need) = exchange.need() {
        match need {
            Need::Tool(name, recency) => {
                let known = match schemas.cached_listing(identity, recency) {
                    Some(listing) => ListingAvailability::Listed(listing),
                    None => {
                        let lister =
                            ToolLister::new(inner.clone(), mount, parts, exchange.tool_list_request());
                        // Boxed, so that every call does not carry the room for a listing, which few need.
                        Box::pin(schemas.find_or_list(identity, &name, recency, move || lister.list())).await
                    }
                };
                exchange = exchange.provide_tool(known)?;
            }
            Need::Locales(language) => {
                let locales = library::load_locales(&mount.settings.offer, language).await;
                exchange.provide_locales(locales);
            }
        }
    }
    Ok(exchange)
}

/// Logs and notes what is known of a request that is forwarded.
fn record_facts<'a>(
    exchange: &Exchange<'a, HeaderMapLines<'a>>,
    mount: &LayerState,
    account: &mut RequestOutcome,
) {
    let facts = exchange.facts();
    logging::log_exchange(
        facts,
        exchange.caller(),
        &mount.settings.offer,
        Some(&mount.untrusted_header_logged),
    );
    account.note_facts(facts, listed_tool(exchange.called_tool(), mount));
    if let Some(filled) = exchange.filled_arguments() {
        tracing::debug!(?filled, "the context fills arguments");
    }
}

/// Returns the called tool if a listing has named it, and `None` for names that only callers use.
fn listed_tool(called: Option<&str>, mount: &LayerState) -> Option<Arc<str>> {
    called.and_then(|tool| mount.schemas.inspector().names.find(tool))
}

/// Logs and notes a request that the exchange answers itself, and returns the answer.
#[cold]
fn record_rejection(
    rejected: Box<Rejection>,
    mount: &LayerState,
    account: &mut RequestOutcome,
) -> ReplyWithPreference {
    let Rejection { reply, preference, breach, facts, called } = *rejected;
    account.note_facts(&facts, listed_tool(called.as_deref(), mount));
    if breach {
        logging::log_refusal(&reply, true);
    } else {
        tracing::debug!(code = reply.code, "a call ends here");
    }
    (reply, preference)
}

/// Forwards a request that is not a POST, such as a GET that opens or resumes a stream of a legacy session.
/// Sealed ids are opened, and a resumed stream is adapted in the language that it began in.
///
/// It is boxed as a whole, so that the futures of calls carry neither its size nor its code.
#[cold]
fn resume<'a, S: McpHttpService>(
    inner: S,
    mount: &'a Arc<LayerState>,
    identity: IdentityHash,
    mut parts: request::Parts,
    body: Body,
    account: &'a mut RequestOutcome,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, ReplyWithPreference>> + Send + 'a>> {
    Box::pin(async move {
        let (streams, rules) = (parts.method == Method::GET, mount.rules());
        let begun = NonPostExchange::begin(&rules, HeaderMapLines(&parts.headers), streams, Timestamp::now());
        let mut resumption =
            begun.map_err(|reply| (reply, mirrored_preference(HeaderMapLines(&parts.headers))))?;
        if let Some(language) = resumption.need() {
            let locales = library::load_locales(&mount.settings.offer, language).await;
            resumption = resumption.with_locales(locales);
        }
        let (changes, caller, answering) = resumption.forward();
        lines::apply_header_changes(&mut parts.headers, changes);
        note_languages(&answering, account);
        let asked = ResponseAdapter::new(answering, mount, identity, account.clone());
        call_service(inner, mount, Request::from_parts(parts, body), caller, asked).await
    })
}

fn note_languages(answering: &AnswerAdapter, account: &mut RequestOutcome) {
    account.language = answering.plan().chosen_language().map(|(language, _)| language.clone());
    account.default_language = answering.plan().default_language().cloned();
}

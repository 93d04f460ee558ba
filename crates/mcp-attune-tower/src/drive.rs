//! The driver of an exchange over HTTP: it gets what is needed, and carries what was decided.
//!
//! Rules: F1, G1, G2, G4, G5, G6, G8, L7, L13, L15, L17, L21.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, header, request};
use jiff::Timestamp;
use mcp_attune::caller::Caller;
use mcp_attune::exchange::{
    Answering, Exchange, HeaderChange, Known, Need, Outgoing, Rejection, Resumption, mirrored_preference,
};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::session::Features;
use mcp_attune_wire::reply::Reply;

use crate::account::Account;
use crate::admit::{admit, read_body};
use crate::answer::carry;
use crate::asked::Asked;
use crate::body::{Body, full};
use crate::inner::Inner;
use crate::library;
use crate::lines::{self, Lines};
use crate::lister::Lister;
use crate::mount::Mount;
use crate::read::ReadMessage;
use crate::schemas::Identity;
use crate::told;

/// An answer of our own, and what its caller prefers to read it in.
type Refused = (Reply, AcceptLanguage);

/// Answers a request.
pub(crate) async fn drive<S: Inner>(
    mut inner: S,
    mount: &Arc<Mount>,
    request: Request<Body>,
    account: &mut Account,
) -> Result<Response<Body>, Refused> {
    let (mut parts, body) = request.into_parts();
    let unread = |parts: &request::Parts, reply| (reply, mirrored_preference(Lines(&parts.headers)));
    admit(mount, &parts, account).map_err(|reply| unread(&parts, reply))?;
    let identity = mount.schemas.identity(&parts);
    if parts.method != Method::POST {
        return resume(inner, mount, identity, parts, body, account).await;
    }
    let (body, _held) = read_body(&mount.settings, body).await.map_err(|reply| unread(&parts, reply))?;
    let (headers, now) = (Some(Lines(&parts.headers)), Timestamp::now());
    let begun = Exchange::begin(mount.rules(), headers, &body, Features::default(), now);
    let exchange = begun.map_err(|rejected| refused(rejected, mount, account))?;
    let given = needs(exchange, &mut inner, mount, identity, &parts).await;
    let exchange = given.map_err(|rejected| refused(rejected, mount, account))?;
    tell(&exchange, mount, account);
    let forwarded = exchange.forward().map_err(|rejected| refused(rejected, mount, account))?;
    let (outgoing, caller, answering) = forwarded;
    let (changes, changed, attached) = parts_of(outgoing, mount, &body);
    lines::change(&mut parts.headers, changes);
    if let Some(changed) = changed.as_ref().filter(|_| parts.headers.contains_key(header::CONTENT_LENGTH)) {
        parts.headers.insert(header::CONTENT_LENGTH, changed.len().into());
    }
    if let Some(attached) = attached {
        parts.extensions.insert(attached);
    }
    let asked = Asked::new(answering, mount, identity, account.clone());
    ask(inner, mount, Request::from_parts(parts, full(changed.unwrap_or(body))), caller, asked).await
}

/// What an exchange decided, taken apart: changes of the headers, the body where it is another, and the message where the
/// service inside wants it.
fn parts_of(
    outgoing: Outgoing<'_>,
    mount: &Mount,
    body: &Bytes,
) -> (Vec<HeaderChange>, Option<Bytes>, Option<ReadMessage>) {
    let attached = mount.settings.attach_message.then_some(outgoing.message).flatten();
    let attached = attached.and_then(|(message, era)| ReadMessage::new(message, body, era));
    let changed = match outgoing.body {
        Cow::Borrowed(_) => None,
        Cow::Owned(changed) => Some(Bytes::from(changed)),
    };
    (outgoing.headers, changed, attached)
}

/// Asks the service, and carries its answer.
async fn ask<S: Inner>(
    mut inner: S,
    mount: &Mount,
    mut request: Request<Body>,
    caller: Caller,
    asked: Asked,
) -> Result<Response<Body>, Refused> {
    told::features(&caller);
    if mount.settings.introduce {
        request.extensions_mut().insert(caller);
    }
    if let Some(spoken) = asked.answering.plan().spoken() {
        request.extensions_mut().insert(spoken.clone());
    }
    inner.ready().await.map_err(|failed| asked.failed(&failed))?;
    let response = inner.ask(request).await.map_err(|failed| asked.failed(&failed))?;
    carry(response, asked, &mount.settings).await
}

/// Gets what only this host can get. The service is not shared: it may not be used from two threads.
async fn needs<'a, S: Inner>(
    mut exchange: Exchange<'a, Lines<'a>>,
    inner: &mut S,
    mount: &Mount,
    identity: Identity,
    parts: &request::Parts,
) -> Result<Exchange<'a, Lines<'a>>, Box<Rejection>> {
    let schemas = &mount.schemas;
    while let Some(need) = exchange.need() {
        match need {
            Need::Tool(name, recency) => {
                let known = match schemas.at_hand(identity, recency) {
                    Some(listing) => Known::Listed(listing),
                    None => {
                        let lister = Lister::new(inner.clone(), mount, parts, exchange.envelope());
                        // Boxed, so that every call does not carry the room for a listing, which few need.
                        Box::pin(schemas.known(identity, &name, recency, move || lister.list())).await
                    }
                };
                exchange = exchange.tool(known)?;
            }
            Need::Locales(language) => {
                let locales = library::locales(&mount.settings.offer, language).await;
                exchange.locales(locales);
            }
        }
    }
    Ok(exchange)
}

/// Logs and notes what is known of a request that goes on.
fn tell<'a>(exchange: &Exchange<'a, Lines<'a>>, mount: &Mount, account: &mut Account) {
    let facts = exchange.facts();
    told::exchange(facts, exchange.caller(), &mount.settings.offer);
    account.note(facts, known_tool(exchange.called(), mount));
    if let Some(filled) = exchange.filled() {
        tracing::debug!(?filled, "the context fills arguments");
    }
}

/// The tool that is called, where a listing has named it.
fn known_tool(called: Option<&str>, mount: &Mount) -> Option<Arc<str>> {
    called.and_then(|tool| mount.schemas.interest().names.find(tool))
}

/// Logs a request that is refused.
#[cold]
fn refused(rejected: Box<Rejection>, mount: &Mount, account: &mut Account) -> Refused {
    let Rejection { reply, preference, breach, facts, called } = *rejected;
    account.note(&facts, known_tool(called.as_deref(), mount));
    if breach {
        told::refused(&reply, true);
    } else {
        tracing::debug!(code = reply.code, "a call ends here");
    }
    (reply, preference)
}

/// What is no POST. Boxed as a whole, so that calls carry neither its room nor its code.
#[cold]
fn resume<'a, S: Inner>(
    inner: S,
    mount: &'a Arc<Mount>,
    identity: Identity,
    mut parts: request::Parts,
    body: Body,
    account: &'a mut Account,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Refused>> + Send + 'a>> {
    Box::pin(async move {
        let (streams, rules) = (parts.method == Method::GET, mount.rules());
        let begun = Resumption::begin(&rules, Lines(&parts.headers), streams, Timestamp::now());
        let mut resumption = begun.map_err(|reply| (reply, mirrored_preference(Lines(&parts.headers))))?;
        if let Some(language) = resumption.need() {
            let locales = library::locales(&mount.settings.offer, language).await;
            resumption = resumption.locales(locales);
        }
        let (changes, caller, answering) = resumption.forward();
        lines::change(&mut parts.headers, changes);
        note_languages(&answering, account);
        let asked = Asked::new(answering, mount, identity, account.clone());
        ask(inner, mount, Request::from_parts(parts, body), caller, asked).await
    })
}

fn note_languages(answering: &Answering, account: &mut Account) {
    account.language = answering.plan().chosen().map(|(language, _)| language.clone());
    account.default_language = answering.plan().default_language().cloned();
}

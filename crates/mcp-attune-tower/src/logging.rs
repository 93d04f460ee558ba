//! What is logged of a request and its answer: names of fields, reasons and counts. The only values of a caller
//! among them are the negotiated language and feature tags, at debug level.
//!
//! Rules: A2, A3, C3, C4, C8, F3, F5, F17, L2.

use std::sync::atomic::{AtomicBool, Ordering};

use mcp_attune::assume::CallerField;
use mcp_attune::caller::Caller;
use mcp_attune::exchange::{ExchangeNotice, RequestFacts};
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::{Tag, Why};
use mcp_attune::plan::{AdaptedMessage, Offer};
use mcp_attune_wire::reply::Reply;
use tracing::Level;

use crate::request_outcome::RequestOutcome;

/// Logs what could not be used of a caller's language preference and context. Ignored parts of the context are
/// warnings; all else is logged at debug level.
pub fn log_caller(caller: &Caller) {
    for warning in caller.warnings() {
        tracing::warn!(%warning, "a part of the caller's context is ignored");
    }
    if !tracing::enabled!(Level::DEBUG) {
        return;
    }
    if let Some(malformed) = caller.malformed() {
        tracing::debug!(%malformed, "a malformed language preference counts as absent");
    }
    let context = caller.context();
    if !context.is_empty() {
        tracing::debug!(?context, "the caller's context");
    }
    let sources = caller.sources();
    if sources.iter().next().is_some() {
        tracing::debug!(%sources, "where what is known of the caller comes from");
    }
    if context.offset_agrees() == Some(false) {
        tracing::debug!("the offset of currentTimestamp is not the one of timezone; both stand");
    }
}

/// Logs what is known of a request that is forwarded: what would have been refused (in report mode), notices,
/// the caller, and the negotiated language.
///
/// `untrusted_logged` remembers that a header of somebody who is not trusted was told: every request of theirs may have one.
pub(crate) fn log_exchange(
    facts: &RequestFacts,
    caller: Option<&Caller>,
    offer: &Offer,
    untrusted_logged: Option<&AtomicBool>,
) {
    if let Some(reported) = &facts.reported {
        log_refusal(reported, false);
    }
    let is_new = |notice: &&ExchangeNotice| {
        !matches!(notice, ExchangeNotice::UntrustedHeader(_))
            || untrusted_logged.is_some_and(|logged| !logged.swap(true, Ordering::Relaxed))
    };
    log_notices(facts.notices.iter().filter(is_new));
    if let Some(caller) = caller {
        log_caller(caller);
        log_chosen_language(facts.language.as_ref(), caller, offer);
    }
}

/// Logs the negotiated language at debug level, with the reason and the languages that it was chosen from.
fn log_chosen_language(language: Option<&(Tag, Why)>, caller: &Caller, offer: &Offer) {
    if let Some((language, why)) = language {
        // Collected only where somebody listens.
        let of = || offer.available_languages().iter().map(ToString::to_string).collect::<Vec<_>>();
        let preference = caller.origin();
        let from = caller.sources().get(CallerField::Language).map(ToString::to_string).unwrap_or_default();
        tracing::debug!(%language, %why, %preference, from, of = ?of(), "language chosen");
    }
}

/// Logs notices of an exchange as warnings.
pub(crate) fn log_notices<'n>(notices: impl IntoIterator<Item = &'n ExchangeNotice>) {
    for notice in notices {
        tracing::warn!("{notice}");
    }
}

/// Logs as a warning that a request is refused, or that it would be if the layer did not only report
/// (`enforced` is `false`). The line has the JSON-RPC error code and the names and rules of the headers at
/// fault, but no value of them.
#[cold]
pub(crate) fn log_refusal(reply: &Reply, enforced: bool) {
    let what = if enforced { "refused" } else { "would be refused" };
    tracing::warn!(code = reply.code, faults = reply.faults, enforced, "{what}");
}

/// Logs at debug level what a caller's feature tags ask for, and which of them are ignored and why.
pub fn log_features(caller: &Caller) {
    if caller.features().is_empty() || !tracing::enabled!(Level::DEBUG) {
        return;
    }
    let wanted = FeaturePreferences::read(caller.features().tags());
    let (format, verbosity) = (wanted.format(), wanted.verbosity());
    let ignored: Vec<_> = wanted.ignored().map(|(tag, why)| format!("{tag:?}: {why}")).collect();
    tracing::debug!(?format, ?verbosity, ?ignored, "what the caller's tags ask for");
}

/// Logs what was done to one message of an answer, and adds it to the outcome of the request: what shaping left
/// out, which templates failed, whether the tool's `outputSchema` cannot be used, and the language that the
/// message reports.
pub fn record_adapted(adapted: &AdaptedMessage<'_>, account: &RequestOutcome) {
    for fault in &adapted.faults {
        tracing::warn!(
            template = fault.template,
            "a template failed, and the answer was written without it: {}",
            fault.what
        );
    }
    if let Some(unusable) = &adapted.unusable {
        tracing::warn!(
            tool = unusable.tool,
            "the tool's outputSchema cannot be used, so nothing is checked against it: {}",
            unusable.why
        );
    }
    let left = adapted.left_out;
    if !left.is_empty() {
        tracing::debug!(
            left.blocks,
            left.fields,
            left.bytes,
            "left out of an answer, as the caller's tags ask"
        );
    }
    account.add_shaping(left, adapted.faults.len());
    if let Some(language) = &adapted.content_language {
        tracing::debug!(language, "language reported");
        account.set_reported_language(language);
    }
}

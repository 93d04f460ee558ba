//! What is logged of a caller: what of theirs counts as absent, and the names of what they told; no value. And of an
//! answer: what is left out of it.
//!
//! Rules: C3, C4, C8, F3, F5, F17, L2.

use mcp_attune::caller::Caller;
use mcp_attune::exchange::{ExchangeNotice, RequestFacts};
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::{Tag, Why};
use mcp_attune::plan::{AdaptedMessage, Offer};
use mcp_attune_wire::reply::Reply;
use tracing::Level;

use crate::request_outcome::RequestOutcome;

/// Logs it: what is ignored of a context as a warning, the rest at the level of debugging.
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
        tracing::debug!(?context, "the caller told their context");
    }
    if context.offset_agrees() == Some(false) {
        tracing::debug!("the offset of currentTimestamp is not the one of timezone; both stand");
    }
}

/// Logs what is known of a request that goes on.
pub(crate) fn log_exchange(facts: &RequestFacts, caller: Option<&Caller>, offer: &Offer) {
    if let Some(reported) = &facts.reported {
        log_refusal(reported, false);
    }
    log_notices(&facts.notices);
    if let Some(caller) = caller {
        log_caller(caller);
        log_chosen_language(facts.language.as_ref(), caller, offer);
    }
}

/// Logs the language that was chosen, and of which.
fn log_chosen_language(language: Option<&(Tag, Why)>, caller: &Caller, offer: &Offer) {
    if let Some((language, why)) = language {
        // Collected only where somebody listens.
        let of = || offer.available_languages().iter().map(ToString::to_string).collect::<Vec<_>>();
        let preference = caller.origin();
        tracing::debug!(%language, %why, %preference, of = ?of(), "language chosen");
    }
}

/// Logs what else is to be known of an exchange.
pub(crate) fn log_notices<'n>(notices: impl IntoIterator<Item = &'n ExchangeNotice>) {
    for notice in notices {
        tracing::warn!("{notice}");
    }
}

/// Logs a request that is refused, or would be.
#[cold]
pub(crate) fn log_refusal(reply: &Reply, enforced: bool) {
    let what = if enforced { "refused" } else { "would be refused" };
    tracing::warn!(code = reply.code, faults = reply.faults, enforced, "{what}");
}

/// Logs what a caller's tags ask for, and which of them change nothing.
pub fn log_features(caller: &Caller) {
    if caller.features().is_empty() || !tracing::enabled!(Level::DEBUG) {
        return;
    }
    let wanted = FeaturePreferences::read(caller.features().tags());
    let (format, verbosity) = (wanted.format(), wanted.verbosity());
    let ignored: Vec<_> = wanted.ignored().map(|(tag, why)| format!("{tag:?}: {why}")).collect();
    tracing::debug!(?format, ?verbosity, ?ignored, "what the caller's tags ask for");
}

/// Logs and counts what shaping left out of an answer, and which templates failed.
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

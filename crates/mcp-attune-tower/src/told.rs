//! What is logged of a caller: what of theirs counts as absent, and the names of what they told; no value.
//!
//! Rules: C3, C4, C8, L2.

use mcp_attune::caller::Caller;
use tracing::Level;

/// Logs it: what is ignored of a context as a warning, the rest at the level of debugging.
pub fn log(caller: &Caller) {
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

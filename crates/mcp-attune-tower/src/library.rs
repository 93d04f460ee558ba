//! What is read from files, without keeping a thread from other requests while a disk is slow.
//!
//! Rules: F6, L7, L8, L13.

use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::caller::Caller;
use mcp_attune::localize::Asked;
use mcp_attune::plan::{Offer, Plan};
use tokio::task::spawn_blocking;

use crate::schemas::Schemas;

/// Looks for files that changed, when it is time to, and lets nobody wait for it.
pub(crate) fn follow(offer: &Offer, schemas: &Arc<Schemas>) {
    if let Some(library) = offer.library.as_ref().filter(|library| library.is_due()) {
        let library = library.clone();
        drop(spawn_blocking(move || library.look()));
    }
    if let Some(content) = offer.content.as_ref().filter(|content| content.is_due()) {
        let (content, schemas) = (content.clone(), Arc::clone(schemas));
        drop(spawn_blocking(move || {
            content.look();
            schemas.hold_again();
        }));
    }
}

/// The plan with the files that it wants. Boxed as a whole, so that calls that are not translated carry neither its room nor
/// its code.
#[cold]
pub(crate) fn translating<'a>(
    plan: Plan,
    asked: Asked,
    caller: &'a Caller,
    offer: &'a Offer,
) -> Pin<Box<dyn Future<Output = Plan> + Send + 'a>> {
    Box::pin(async move {
        let (Some(library), Some(chosen)) = (&offer.library, plan.wants()) else { return plan };
        let locales = match library.at_hand(chosen) {
            Some(locales) => locales,
            None => {
                let (library, chosen) = (library.clone(), chosen.clone());
                spawn_blocking(move || library.load(&chosen)).await.unwrap_or_default()
            }
        };
        plan.translating(asked, caller, offer, locales, Timestamp::now())
    })
}

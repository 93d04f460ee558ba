//! What is read from files, without keeping a thread from other requests while a disk is slow.
//!
//! Rules: F6, L7, L8, L13.

use std::sync::Arc;

use mcp_attune::catalog::Locale;
use mcp_attune::language::Tag;
use mcp_attune::plan::Offer;
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

/// The locale files of a language.
#[cold]
pub(crate) fn locales<'a>(
    offer: &'a Offer,
    chosen: &'a Tag,
) -> impl Future<Output = Vec<Arc<Locale>>> + Send + use<'a> {
    let at_hand = offer.library.as_ref().and_then(|library| library.at_hand(chosen));
    async move {
        match (at_hand, &offer.library) {
            (Some(locales), _) => locales,
            (None, Some(library)) => {
                let (library, chosen) = (library.clone(), chosen.clone());
                Box::pin(spawn_blocking(move || library.load(&chosen))).await.unwrap_or_default()
            }
            (None, None) => Vec::new(),
        }
    }
}

//! Locale files for one request, without keeping a thread from other requests while they are loaded.
//!
//! Rules: L7, L8, L13.

use std::sync::Arc;

use mcp_attune::catalog::CompiledLocale;
use mcp_attune::language::Tag;
use mcp_attune::plan::Offer;
use tokio::task::spawn_blocking;

/// The locale files of a language.
#[cold]
pub(crate) fn load_locales<'a>(
    offer: &'a Offer,
    chosen: &'a Tag,
) -> impl Future<Output = Vec<Arc<CompiledLocale>>> + Send + use<'a> {
    let at_hand = offer.library.as_ref().and_then(|library| library.cached(chosen));
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

//! Loads the locale files for one request without blocking the thread that serves it.
//!
//! Rules: L7, L8, L13.

use std::sync::Arc;

use mcp_attune::catalog::CompiledLocale;
use mcp_attune::language::Tag;
use mcp_attune::plan::Offer;
use tokio::task::spawn_blocking;

/// Returns the compiled locale files of a language and its relatives. Those in memory are returned at once;
/// others are loaded on a blocking thread. Empty if the offer has no locale files, or if loading panics.
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

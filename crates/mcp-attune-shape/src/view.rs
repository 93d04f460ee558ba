//! Views: what a host draws from the structured content of a tool's results.
//!
//! Rules: F6, F7, F13.

use mcp_attune::session::ViewSupport;

/// Whether structured content stays beside the text, for the view that the caller's host draws from it.
pub(super) fn keeps_structured_content(support: ViewSupport, view: Option<bool>) -> bool {
    match view {
        Some(view) => view && support != ViewSupport::None,
        // Whoever only carries a vendor's key may draw no view at all.
        None => support == ViewSupport::Declared,
    }
}

//! Views: user interfaces that the caller's host draws from the structured content of a tool's results.
//!
//! A tool names its view in the `_meta` of its listing, for example `_meta.ui.resourceUri`. That host needs
//! the data to draw it, so such results keep their structured content even for callers that asked for text.
//!
//! Rules: F6, F7, F13.

use mcp_attune::session::ViewSupport;

/// Returns whether structured content stays beside the text, because the caller's host draws a view from it.
///
/// `view` says whether the listing names a view for the tool, and is `None` if the tool is not known. For a
/// known tool it is enough that the caller may draw views at all. For an unknown tool the caller must have
/// declared the extension: a vendor's key in the request only says that some views are drawn.
pub(super) fn keeps_structured_content(support: ViewSupport, view: Option<bool>) -> bool {
    match view {
        Some(view) => view && support != ViewSupport::None,
        // Whoever only carries a vendor's key may draw no view at all.
        None => support == ViewSupport::Declared,
    }
}

//! Views: what a host draws from the structured content of a tool's results.
//!
//! Rules: F6, F7, F13.

use mcp_attune_wire::json::{Type, Value};

use super::Schema;
use crate::session::ViewSupport;

/// Whether a tool, as it is listed, names a view that is drawn from its structured content.
///
/// ```
/// use mcp_attune::shape::has_view;
/// use mcp_attune_wire::message::Message;
///
/// let tool = br#"{"name":"map","_meta":{"ui":{"resourceUri":"ui://map"}}}"#;
/// assert!(has_view(Message::parse(tool)?.body()));
/// # Ok::<(), mcp_attune_wire::message::Unreadable>(())
/// ```
#[must_use]
pub fn has_view(tool: Value<'_>) -> bool {
    let Some(meta) = tool.member("_meta") else { return false };
    let nested = meta.member("ui").and_then(|ui| ui.member("resourceUri"));
    [nested, meta.member("ui/resourceUri"), meta.member("openai/outputTemplate")]
        .into_iter()
        .flatten()
        .any(|uri| uri.kind() == Type::String)
}

/// What a listing says of a called tool, as far as the shape of its results depends on it.
#[derive(Clone, Debug, Default)]
pub struct ListedTool {
    /// The schema of its results.
    pub output: Schema,
    /// Whether it has a view; None where the tool is not known.
    pub view: Option<bool>,
}

/// Whether structured content stays beside the text, for the view that the caller's host draws from it.
pub(super) fn keeps_data(support: ViewSupport, view: Option<bool>) -> bool {
    match view {
        Some(view) => view && support != ViewSupport::None,
        // Whoever only carries a vendor's key may draw no view at all.
        None => support == ViewSupport::Declared,
    }
}

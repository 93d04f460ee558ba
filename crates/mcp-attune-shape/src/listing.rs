//! `tools/list`: leaves out the `outputSchema` of tools whose results the caller gets without structured
//! content.
//!
//! A client validates results against the schema that it was shown, so a schema must not promise what will
//! not come. Tools with a view keep both.
//!
//! Rules: F13.

use mcp_attune::shaping::has_view;
use mcp_attune_wire::json::{ByteSpan, SpannedValue};

use crate::shape::{ListingAudience, hides_schemas};
use crate::view::keeps_structured_content;

/// Returns the spans that cut `outputSchema` out of the tools of a listing, for callers that get Markdown or
/// plain text.
///
/// `result` is the `result` of the answer. The list is empty for all other callers, whose listings stay as
/// they are.
pub(crate) fn hidden_schemas(reader: ListingAudience<'_>, result: SpannedValue<'_>) -> Vec<ByteSpan> {
    if !hides_schemas(reader.wanted) {
        return Vec::new();
    }
    let tools = result.member("tools").into_iter().flat_map(SpannedValue::elements);
    let hides = |tool: &SpannedValue<'_>| !keeps_structured_content(reader.views, Some(has_view(*tool)));
    tools.filter(hides).flat_map(|tool| tool.cut_members(|name| name.is("outputSchema"))).collect()
}

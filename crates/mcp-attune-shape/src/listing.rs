//! What a listing shows of results: no schema of what the caller does not get. What a view is drawn from stays.
//!
//! Rules: F13.

use mcp_attune::shaping::has_view;
use mcp_attune_wire::json::{ByteSpan, SpannedValue};

use crate::shape::{ListingAudience, hides_schemas};
use crate::view::keeps_structured_content;

/// The places of the schemas that a reader is not shown.
pub(crate) fn hidden_schemas(reader: ListingAudience<'_>, result: SpannedValue<'_>) -> Vec<ByteSpan> {
    if !hides_schemas(reader.wanted) {
        return Vec::new();
    }
    let tools = result.member("tools").into_iter().flat_map(SpannedValue::elements);
    let hides = |tool: &SpannedValue<'_>| !keeps_structured_content(reader.views, Some(has_view(*tool)));
    tools.filter(hides).flat_map(|tool| tool.cut_members(|name| name.is("outputSchema"))).collect()
}

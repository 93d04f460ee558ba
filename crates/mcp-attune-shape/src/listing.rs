//! What a listing shows of results: no schema of what the caller does not get. What a view is drawn from stays.
//!
//! Rules: F13.

use mcp_attune::shaping::has_view;
use mcp_attune_wire::json::{Span, Value};

use crate::shape::{ListingReader, hides_schemas};
use crate::view::keeps_data;

/// The places of the schemas that a reader is not shown.
pub(crate) fn hidden(reader: ListingReader<'_>, result: Value<'_>) -> Vec<Span> {
    if !hides_schemas(reader.wanted) {
        return Vec::new();
    }
    let tools = result.member("tools").into_iter().flat_map(Value::elements);
    let hides = |tool: &Value<'_>| !keeps_data(reader.views, Some(has_view(*tool)));
    tools.filter(hides).flat_map(|tool| tool.cut_members(|name| name.is("outputSchema"))).collect()
}

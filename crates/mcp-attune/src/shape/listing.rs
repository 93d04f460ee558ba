//! What a listing shows of results: no schema of what the caller does not get. What a view is drawn from stays.
//!
//! Rules: F13.

use mcp_attune_wire::json::Value;

use super::view::{has_view, keeps_data};
use super::{Work, hides_schemas};

pub(super) fn hide(work: &mut Work<'_>, result: Value<'_>) {
    if !hides_schemas(&work.shape.wanted) {
        return;
    }
    for tool in result.member("tools").into_iter().flat_map(Value::elements) {
        if keeps_data(work.shape.views, Some(has_view(tool))) {
            continue;
        }
        let cuts = tool.cut_members(|name| name.is("outputSchema"));
        work.cut(cuts);
    }
}

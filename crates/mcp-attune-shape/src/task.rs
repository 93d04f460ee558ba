//! The result that a task carries.
//!
//! Rules: F5, F6, F7, F8, F10, F12.

use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::ResultParts;

use crate::call;
use crate::editor::MessageEditor;

pub(super) fn shape(work: &mut MessageEditor<'_>, task: SpannedValue<'_>) {
    if let Some(result) = task.member("result") {
        call::shape(work, &ResultParts::from_value(result));
        // The task around it says by itself whose cache it is for.
        work.varied = true;
    }
}

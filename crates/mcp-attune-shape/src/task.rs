//! The result of a tool that arrives inside a task: in the answer to `tasks/get`, or in
//! `notifications/tasks`.
//!
//! Rules: F5, F6, F7, F8, F10, F12.

use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::ResultParts;

use crate::call;
use crate::editor::MessageEditor;

/// Shapes the `result` member of a task as the result of a call.
///
/// A task that still works, failed or waits for input has no such member and stays as it is. The task itself
/// may carry a `cacheScope` too, beside the one inside of its result, so `varied` is set again for the outer
/// one.
pub(super) fn shape(work: &mut MessageEditor<'_>, task: SpannedValue<'_>) {
    if let Some(result) = task.member("result") {
        call::shape(work, &ResultParts::from_value(result));
        // The task around it says by itself whose cache it is for.
        work.varied = true;
    }
}

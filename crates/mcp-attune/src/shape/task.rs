//! The result that a task carries.
//!
//! Rules: F5, F6, F7, F8, F10, F12.

use mcp_attune_wire::json::Value;

use super::{Work, call};

pub(super) fn shape(work: &mut Work<'_>, task: Value<'_>) {
    if let Some(result) = task.member("result") {
        call::shape(work, result);
        // The task around it says by itself whose cache it is for.
        work.varied = true;
    }
}

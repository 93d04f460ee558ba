//! `build_report`: slow on purpose. It tells how far it is to those who ask, and stops when it is told to.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolResult, JsonObject, ProgressNotificationParam, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, object};
use serde::Deserialize;
use serde_json::json;

use super::{TravelToolError, answer, arguments, read_only};

pub(crate) const NAME: &str = "build_report";
const TITLE: &str = "Travel report";
const MAX_REPORT_PAGES: u32 = 50;

pub(crate) fn definition() -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "pages": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_REPORT_PAGES,
                "title": "Pages",
                "description": "How many pages to fetch; 5 if left out"
            }
        }
    });
    let output = object!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "title": "Title", "examples": [TITLE] },
            "pages": { "type": "integer", "title": "Pages" },
            "words": { "type": "integer", "title": "Words" }
        },
        "required": ["title", "pages", "words"]
    });
    Tool::new(NAME, "Builds a travel report page by page. Takes a while, and reports its progress", input)
        .with_title(TITLE)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(TITLE))
}

#[derive(Deserialize)]
struct BuildReportArguments {
    pages: Option<u32>,
}

/// The outer error is for a call that nobody waits for any more: rmcp drops it.
pub(crate) async fn call(
    given: JsonObject,
    context: &RequestContext<RoleServer>,
    step_delay: Duration,
) -> Result<Result<CallToolResult, TravelToolError>, ErrorData> {
    let pages = match arguments(given).map(|BuildReportArguments { pages }| pages.unwrap_or(5)) {
        Ok(pages) if (1..=MAX_REPORT_PAGES).contains(&pages) => pages,
        Ok(_) => return Ok(Err(TravelToolError::Pages)),
        Err(problem) => return Ok(Err(problem)),
    };
    for page in 1..=pages {
        tokio::select! {
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("Cancelled", None)),
            () = tokio::time::sleep(step_delay) => report_progress(context, page, pages).await,
        }
    }
    Ok(answer(&json!({ "title": TITLE, "pages": pages, "words": pages * 250 })))
}

/// Tells a caller who gave a token. Whether the message arrives makes no difference to the report.
async fn report_progress(context: &RequestContext<RoleServer>, page: u32, pages: u32) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let progress = ProgressNotificationParam::new(token, page.into())
        .with_total(pages.into())
        .with_message(format!("Fetched {page} of {pages} pages"));
    let _ = context.peer.notify_progress(progress).await;
}

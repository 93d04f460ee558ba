//! One result in every form that a caller can ask for, and what each costs.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::features::{ContentFormat, FeaturePreferences, Verbosity};
use mcp_attune::format::Formatters;
use mcp_attune::shaping::ShapeRequest;
use mcp_attune_shape::{OperatorContent, ShapePlan};
use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;
use serde_json::json;

use super::found::texts;
use super::report::{AuditShapeCost, AuditTokenCost, shapes};
use super::tokens;
use crate::call_plan::PlannedCall;

/// Numbers and dates for somebody who says nothing about themselves.
static FORMATTERS: LazyLock<Formatters> = LazyLock::new(mcp_attune_format::english);

/// What of a result reaches a model: its texts, and `structuredContent` as JSON.
pub(super) fn cost(result: SpannedValue<'_>) -> AuditTokenCost {
    let data = result.member("structuredContent").map(|data| data.raw().into());
    let counted = texts(result).into_iter().chain(data);
    let costs = counted.map(|text| AuditTokenCost { bytes: text.len(), tokens: tokens::count(&text) });
    costs.fold(AuditTokenCost::default(), AuditTokenCost::plus)
}

/// What the answer to a call costs in every form; in those that change nothing, what it costs as it comes. `modern`: the
/// caller is one of that era.
pub(super) fn shaped_costs(
    call: &PlannedCall<'_>,
    modern: bool,
    answer: &str,
    before: AuditTokenCost,
) -> Vec<AuditShapeCost> {
    let cost = |(format, verbosity)| {
        let text = shape(call, modern, answer, format, verbosity);
        let read = text.as_ref().and_then(|text| Message::parse(text.as_bytes()).ok());
        let cost = read.and_then(|read| read.member("result")).map_or(before, cost);
        AuditShapeCost::new(format, verbosity, cost, before)
    };
    shapes().map(cost).collect()
}

/// The answer as a caller gets it who asks for this, from a gateway whose operator wrote nothing; none where it stays as it
/// is.
fn shape(
    call: &PlannedCall<'_>,
    modern: bool,
    answer: &str,
    format: ContentFormat,
    verbosity: Verbosity,
) -> Option<String> {
    let tags = [format!("format={format}"), format!("verbosity={verbosity}")];
    let content = Arc::new(OperatorContent::default());
    let params = json!({ "name": call.tool.name, "arguments": call.arguments });
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": method::TOOLS_CALL, "params": params }).to_string();
    let request = ShapeRequest::of(&Message::parse(request.as_bytes()).ok()?, modern, &*content);
    let wanted = FeaturePreferences::read(tags.iter().map(String::as_str));
    let values = || FORMATTERS.for_locales([], TimeZone::UTC);
    let shape = ShapePlan::new(request, wanted, content, values, Timestamp::now())?;
    Some(shape.with_schema(call.tool.output.clone()).adapt(answer.as_bytes(), None)?.text)
}

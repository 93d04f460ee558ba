//! One result in every form that a caller can ask for, and what each costs.

use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::features::{Format, Verbosity, Wanted};
use mcp_attune::format::Formatters;
use mcp_attune::shaping::Request;
use mcp_attune_shape::{Content, Shape};
use mcp_attune_wire::json::Value;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;
use serde_json::json;

use super::found::texts;
use super::report::{Cost, Shaped, shapes};
use super::tokens;
use crate::arguments::Call;

/// Numbers and dates for somebody who says nothing about themselves.
static FORMATTERS: LazyLock<Formatters> = LazyLock::new(mcp_attune_format::english);

/// What of a result reaches a model: its texts, and `structuredContent` as JSON.
pub(super) fn cost(result: Value<'_>) -> Cost {
    let data = result.member("structuredContent").map(|data| data.raw().into());
    let counted = texts(result).into_iter().chain(data);
    let costs = counted.map(|text| Cost { bytes: text.len(), tokens: tokens::count(&text) });
    costs.fold(Cost::default(), Cost::and)
}

/// What the answer to a call costs in every form; in those that change nothing, what it costs as it comes. `modern`: the
/// caller is one of that era.
pub(super) fn all(call: &Call<'_>, modern: bool, answer: &str, before: Cost) -> Vec<Shaped> {
    let cost = |(format, verbosity)| {
        let text = shape(call, modern, answer, format, verbosity);
        let read = text.as_ref().and_then(|text| Message::parse(text.as_bytes()).ok());
        let cost = read.and_then(|read| read.member("result")).map_or(before, cost);
        Shaped::new(format, verbosity, cost, before)
    };
    shapes().map(cost).collect()
}

/// The answer as a caller gets it who asks for this, from a gateway whose operator wrote nothing; none where it stays as it
/// is.
fn shape(
    call: &Call<'_>,
    modern: bool,
    answer: &str,
    format: Format,
    verbosity: Verbosity,
) -> Option<String> {
    let tags = [format!("format={format}"), format!("verbosity={verbosity}")];
    let content = Arc::new(Content::default());
    let params = json!({ "name": call.tool.name, "arguments": call.arguments });
    let request =
        json!({ "jsonrpc": "2.0", "id": 1, "method": method::TOOLS_CALL, "params": params }).to_string();
    let request = Request::of(&Message::parse(request.as_bytes()).ok()?, modern, &*content);
    let wanted = Wanted::read(tags.iter().map(String::as_str));
    let values = || FORMATTERS.format([], TimeZone::UTC);
    let shape = Shape::new(request, wanted, content, values, Timestamp::now())?;
    Some(shape.with_schema(call.tool.output.clone()).adapt(answer.as_bytes(), None)?.text)
}

//! A JSON resource as text for people, or with less in it.
//!
//! Rules: F8, F11.

use mcp_attune_wire::json::{Quoted, Text, Type, Value};
use mcp_attune_wire::message::Message;

use super::Work;
use crate::features::Format;

pub(super) fn shape(work: &mut Work<'_>, result: Value<'_>) {
    let Some(format) = work.shape.wanted.format() else { return };
    for contents in result.member("contents").into_iter().flat_map(Value::elements) {
        one(work, contents, format);
    }
}

fn one(work: &mut Work<'_>, contents: Value<'_>, format: Format) {
    let Some(kind) = contents.member("mimeType").filter(|kind| is_json(*kind)) else { return };
    let Some(place) = contents.member("text") else { return };
    let Some(text) = place.text().and_then(Text::decode) else { return };
    let Ok(data) = Message::parse(text.as_bytes()) else { return };
    let data = data.body();
    if !matches!(data.kind(), Type::Object | Type::Array) {
        return;
    }
    let uri = contents.member("uri").and_then(Value::text).and_then(Text::decode);
    let shape = work.shape;
    let templates = uri.as_deref().and_then(|uri| shape.content.resources.get(uri));
    let template = templates.and_then(|templates| templates.choose(&shape.wanted, format));
    let written = template.and_then(|template| work.rendered(template, data));
    match format {
        Format::Json => {
            let written = written.filter(|text| Message::parse(text.as_bytes()).is_ok());
            if let Some(text) = written.or_else(|| work.compacted(data, None, &[])) {
                work.put(place.span(), Quoted(&text).to_string());
            }
        }
        Format::Markdown | Format::Text => {
            let text = written.unwrap_or_else(|| work.written(data, None, &[], format));
            work.put(place.span(), Quoted(&text).to_string());
            let mime = if format == Format::Markdown { "\"text/markdown\"" } else { "\"text/plain\"" };
            work.put(kind.span(), mime);
        }
    }
}

/// Whether a MIME type is one of JSON: `application/json`, `application/geo+json; charset=utf-8`.
fn is_json(kind: Value<'_>) -> bool {
    let Some(kind) = kind.text().and_then(Text::decode) else { return false };
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

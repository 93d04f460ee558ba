//! A resource as text for people: JSON, HTML and Markdown; and JSON with less in it.
//!
//! The pages of views (`ui://`, `text/html;profile=mcp-app`, `text/html+skybridge`) are programs and no documents: they stay.
//!
//! Rules: F8, F11.

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{Quoted, Text, Type, Value};

use crate::document;
use crate::work::Work;
use mcp_attune::features::Format;

pub(super) fn shape(work: &mut Work<'_>, result: Value<'_>) {
    let Some(format) = work.shape.wanted.format() else { return };
    for contents in result.member("contents").into_iter().flat_map(Value::elements) {
        one(work, contents, format);
    }
}

fn one(work: &mut Work<'_>, contents: Value<'_>, format: Format) {
    let Some(kind) = contents.member("mimeType") else { return };
    let Some(media) = kind.text().and_then(Text::decode).and_then(|kind| Media::of(&kind)) else { return };
    let Some(place) = contents.member("text") else { return };
    let Some(text) = place.text().and_then(Text::decode) else { return };
    match media {
        Media::Json => data(work, contents, (kind, place), &text, format),
        Media::Html | Media::Markdown if is_view(work, contents) => {}
        Media::Html => match format {
            Format::Json => {}
            Format::Markdown => put(work, (kind, place), document::html_to_markdown(&text), format),
            Format::Text => put(work, (kind, place), document::html_to_text(&text), format),
        },
        Media::Markdown if format == Format::Text => {
            put(work, (kind, place), document::markdown_to_text(&text), format);
        }
        Media::Markdown => {}
    }
}

/// Puts a text in the place of another, with the type that it has now.
fn put(work: &mut Work<'_>, places: (Value<'_>, Value<'_>), text: Option<String>, format: Format) {
    let (kind, place) = places;
    let Some(text) = text.map(|text| work.live(text)) else { return };
    work.put(place.span(), Quoted(&text).to_string());
    let mime = if format == Format::Markdown { "\"text/markdown\"" } else { "\"text/plain\"" };
    work.put(kind.span(), mime);
}

/// Data, by the operator's template where there is one.
fn data(
    work: &mut Work<'_>,
    contents: Value<'_>,
    places: (Value<'_>, Value<'_>),
    text: &str,
    format: Format,
) {
    let Ok(data) = Document::parse(text.as_bytes()) else { return };
    let data = data.root();
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
            let written = written.filter(|text| Document::parse(text.as_bytes()).is_ok());
            if let Some(text) = written.or_else(|| work.compacted(data, None, &[])) {
                work.put(places.1.span(), Quoted(&text).to_string());
            }
        }
        Format::Markdown | Format::Text => {
            let text = written.unwrap_or_else(|| work.written(data, None, &[], format));
            put(work, places, Some(text), format);
        }
    }
}

/// Whether a resource is the page of a view. What it is asked for by counts as well as what it says of itself.
fn is_view(work: &Work<'_>, contents: Value<'_>) -> bool {
    let is_ui = |uri: &str| uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ui://"));
    let uri = contents.member("uri").and_then(Value::text).and_then(Text::decode);
    uri.as_deref().is_some_and(is_ui) || work.shape.asked.subject().is_some_and(is_ui)
}

/// What a text is, as far as it is written in another form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Media {
    Json,
    Html,
    Markdown,
}

impl Media {
    /// By a MIME type: `application/json`, `application/geo+json; charset=utf-8`, `text/html`, `text/markdown`.
    fn of(kind: &str) -> Option<Self> {
        let mut parts = kind.split(';').map(|part| part.trim().to_ascii_lowercase());
        let essence = parts.next().unwrap_or_default();
        let is_app = |parameter: String| {
            let value = parameter.split_once('=').filter(|(name, _)| name.trim() == "profile");
            value.is_some_and(|(_, value)| value.trim().trim_matches('"') == "mcp-app")
        };
        match essence.as_str() {
            "application/json" => Some(Self::Json),
            "text/html" | "application/xhtml+xml" => (!parts.any(is_app)).then_some(Self::Html),
            "text/markdown" | "text/x-markdown" => Some(Self::Markdown),
            other => other.ends_with("+json").then_some(Self::Json),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_is_follows_from_its_mime_type() {
        for (kind, media) in [
            ("application/json", Some(Media::Json)),
            ("application/geo+json; charset=utf-8", Some(Media::Json)),
            ("Text/HTML; charset=UTF-8", Some(Media::Html)),
            ("application/xhtml+xml", Some(Media::Html)),
            ("text/markdown", Some(Media::Markdown)),
            ("text/html;profile=mcp-app", None),
            ("text/html; Profile = \"MCP-App\"", None),
            ("text/html+skybridge", None),
            ("text/plain", None),
            ("", None),
        ] {
            assert_eq!(Media::of(kind), media, "{kind}");
        }
    }
}

//! `resources/read`: JSON, HTML and Markdown as text for people, and JSON with less in it.
//!
//! What a resource is follows from its `mimeType`; a resource without one, or with any other, stays as it is.
//! The `uri` never changes, and the `mimeType` changes with the text.
//!
//! The pages of views (`ui://`, `text/html;profile=mcp-app`, `text/html+skybridge`) are programs and no
//! documents: they stay.
//!
//! Rules: F8, F11.

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonQuoted, JsonString, SpannedValue};

use crate::editor::MessageEditor;
use crate::format_writer::FormatWriter;
use mcp_attune::features::ContentFormat;

/// Shapes each of the `contents` of a result in the format that the caller asked for.
pub(super) fn shape(work: &mut MessageEditor<'_>, result: SpannedValue<'_>) {
    let Some(format) = work.shape.wanted.format() else { return };
    for contents in result.member("contents").into_iter().flat_map(SpannedValue::elements) {
        shape_contents(work, contents, format);
    }
}

/// Shapes one element of `contents`, if it is a text of a kind that can be written in the format. Binary
/// contents (`blob`) stay.
///
/// | kind | `format=json` | `format=markdown` | `format=text` |
/// |---|---|---|---|
/// | JSON | compacted, or by a template | Markdown from the data | text from the data |
/// | HTML | stays | Markdown | text |
/// | Markdown | stays | stays | text |
fn shape_contents(work: &mut MessageEditor<'_>, contents: SpannedValue<'_>, format: ContentFormat) {
    let Some(kind) = contents.member("mimeType") else { return };
    let Some(media) = kind.text().and_then(JsonString::decode).and_then(|kind| ResourceMediaType::of(&kind))
    else {
        return;
    };
    let Some(place) = contents.member("text") else { return };
    let Some(text) = place.text().and_then(JsonString::decode) else { return };
    match media {
        ResourceMediaType::Json => shape_data(work, contents, (kind, place), &text, format),
        ResourceMediaType::Html | ResourceMediaType::Markdown if is_view(work, contents) => {}
        ResourceMediaType::Html | ResourceMediaType::Markdown => {
            let writer = FormatWriter::of(format);
            let html = media == ResourceMediaType::Html;
            let convert = if html { writer.html } else { writer.markdown };
            let converted = convert.and_then(|convert| convert(&text));
            replace_text(work, (kind, place), converted, format);
        }
    }
}

/// Replaces the text of a resource, and its `mimeType` by the one of the new text.
///
/// `places` are the values of `mimeType` and of `text`. A `text` of `None` means that the document is not or
/// cannot be converted, and leaves both as they are.
fn replace_text(
    work: &mut MessageEditor<'_>,
    places: (SpannedValue<'_>, SpannedValue<'_>),
    text: Option<String>,
    format: ContentFormat,
) {
    let (kind, place) = places;
    let Some(text) = text.map(|text| work.translate_model_text(text)) else { return };
    work.put(place.span(), JsonQuoted(&text).to_string());
    work.put(kind.span(), JsonQuoted(format.media_type()).to_string());
}

/// Shapes a resource that is JSON, by the operator's template for its URI if there is one that fits.
///
/// `text` is the decoded text. A text that is no JSON after all, or neither an object nor an array, stays as
/// it is. For `format=json` the `mimeType` stays too.
fn shape_data(
    work: &mut MessageEditor<'_>,
    contents: SpannedValue<'_>,
    places: (SpannedValue<'_>, SpannedValue<'_>),
    text: &str,
    format: ContentFormat,
) {
    let Ok(data) = Document::parse(text.as_bytes()) else { return };
    let data = data.root();
    if !matches!(data.kind(), JsonKind::Object | JsonKind::Array) {
        return;
    }
    let uri = contents.member("uri").and_then(SpannedValue::text).and_then(JsonString::decode);
    let shape = work.shape;
    let templates = uri.as_deref().and_then(|uri| shape.content.resources.get(uri));
    let template = templates.and_then(|templates| templates.choose(&shape.wanted, format));
    let written = template.and_then(|template| work.render_template(template, data));
    if format.is_structured() {
        let written = written.filter(|text| Document::parse(text.as_bytes()).is_ok());
        if let Some(text) = written.or_else(|| work.compact_data(data, None, &[])) {
            work.put(places.1.span(), JsonQuoted(&text).to_string());
        }
    } else {
        let text = written.unwrap_or_else(|| work.render_data(data, None, &[], format));
        replace_text(work, places, Some(text), format);
    }
}

/// Returns whether a resource is the page of a view, by a URI that begins with `ui://`. Both the URI that was
/// asked for and the one that the resource says of itself count.
fn is_view(work: &MessageEditor<'_>, contents: SpannedValue<'_>) -> bool {
    let is_ui = |uri: &str| uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("ui://"));
    let uri = contents.member("uri").and_then(SpannedValue::text).and_then(JsonString::decode);
    uri.as_deref().is_some_and(is_ui) || work.shape.asked.subject().is_some_and(is_ui)
}

/// The kinds of text that can be written in another form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResourceMediaType {
    /// `application/json`, or any type that ends in `+json`.
    Json,
    /// `text/html` or `application/xhtml+xml`, unless its profile says that it is the page of a view.
    Html,
    /// `text/markdown` or `text/x-markdown`.
    Markdown,
}

impl ResourceMediaType {
    /// Returns the kind for a MIME type, whose parameters and case do not matter:
    /// `application/geo+json; charset=utf-8` is JSON. Returns `None` for types whose texts stay as they are.
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
            ("application/json", Some(ResourceMediaType::Json)),
            ("application/geo+json; charset=utf-8", Some(ResourceMediaType::Json)),
            ("Text/HTML; charset=UTF-8", Some(ResourceMediaType::Html)),
            ("application/xhtml+xml", Some(ResourceMediaType::Html)),
            ("text/markdown", Some(ResourceMediaType::Markdown)),
            ("text/html;profile=mcp-app", None),
            ("text/html; Profile = \"MCP-App\"", None),
            ("text/html+skybridge", None),
            ("text/plain", None),
            ("", None),
        ] {
            assert_eq!(ResourceMediaType::of(kind), media, "{kind}");
        }
    }
}

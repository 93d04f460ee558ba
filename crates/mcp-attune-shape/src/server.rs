//! What a server says of itself: that answers are shaped here.
//!
//! Rules: F14.

use std::borrow::Cow;

use mcp_attune::catalog::{Chain, Field, Slot};
use mcp_attune::features::Format;
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_wire::json::{Quoted, Span, Text, Type, Value};

use crate::shape::{ListingReader, reasons};

/// What is added to what a server says of itself.
#[derive(Default)]
pub(crate) struct Advertisement {
    pub(crate) edits: Vec<(Span, String)>,
    /// Whether another caller may be told something else.
    pub(crate) varied: bool,
    /// Whether texts from the catalogs are in it.
    pub(crate) translated: bool,
}

/// Says in the capabilities of a server, and where the operator wants it in its instructions, that answers are shaped.
/// `model` has the texts for models, where those are translated.
pub(crate) fn advertise(
    reader: ListingReader<'_>,
    model: Option<&Chain>,
    result: Value<'_>,
) -> Advertisement {
    let mut said = Advertisement { varied: true, ..Advertisement::default() };
    let Some(capabilities) = result.member("capabilities").filter(|it| it.kind() == Type::Object) else {
        return said;
    };
    let first = |object: Value<'_>| if object.members().next().is_some() { "," } else { "" };
    let ours = format!("\"{CONTENT_NEGOTIATION}\":{{}}");
    match capabilities.member("extensions") {
        Some(extensions) if extensions.kind() != Type::Object => return said,
        Some(extensions) if extensions.member(CONTENT_NEGOTIATION).is_some() => return said,
        Some(extensions) => said.edits.push((extensions.opening(), ours + first(extensions))),
        None => {
            let comma = first(capabilities);
            said.edits.push((capabilities.opening(), format!("\"extensions\":{{{ours}}}{comma}")));
        }
    }
    // Everybody is told the same, but for what they get.
    said.varied = reader.content.announce;
    if !reader.content.announce {
        return said;
    }
    let sentence = sentence(reader);
    match result.member("instructions") {
        Some(there) => {
            let Some(text) = there.text().and_then(Text::decode) else { return said };
            let translated = model.and_then(instructions);
            said.translated = translated.is_some();
            let text = translated.map_or(text, Cow::Owned);
            said.edits.push((there.span(), Quoted(&format!("{text}\n\n{sentence}")).to_string()));
        }
        // Something follows: the capabilities.
        None => said.edits.push((result.opening(), format!("\"instructions\":{},", Quoted(&sentence)))),
    }
    said
}

/// The server's instructions in the caller's language, where a catalog has them.
fn instructions(model: &Chain) -> Option<String> {
    serde_json::from_str(model.find(Slot::Server(Field::Instructions))?).ok()
}

/// What this caller gets. It is for models, and so in English, as most of what they are told.
fn sentence(reader: ListingReader<'_>) -> String {
    let wanted = reader.wanted;
    let mut sentence = match wanted.format() {
        Some(Format::Json) => {
            "Content negotiation: results come as structured content, without text that repeats it."
        }
        Some(Format::Markdown) => "Content negotiation: results come as Markdown, without structured content.",
        Some(Format::Text) => "Content negotiation: results come as plain text, without structured content.",
        None if wanted.is_nothing() => {
            "Content negotiation is available; this client asks for nothing, so results come as the server writes them."
        }
        None => "Content negotiation: no format is asked for, so results come as the server writes them.",
    }
    .to_owned();
    if reasons(wanted) && reader.content.tools.values().any(|tool| tool.hints.is_some()) {
        sentence += " Hints for reasoning are added where there are any.";
    }
    sentence
}

//! What a server says of itself: that answers are shaped here.
//!
//! Rules: F14.

use std::borrow::Cow;

use mcp_attune::catalog::{LocaleChain, LocaleField, TextSlot};
use mcp_attune::features::ContentFormat;
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};

use crate::shape::{ListingAudience, accepts_hints};

/// What is added to what a server says of itself.
#[derive(Default)]
pub(crate) struct Advertisement {
    pub(crate) edits: Vec<(ByteSpan, String)>,
    /// Whether another caller may be told something else.
    pub(crate) varied: bool,
    /// Whether texts from the catalogs are in it.
    pub(crate) translated: bool,
}

/// Says in the capabilities of a server, and where the operator wants it in its instructions, that answers are shaped.
/// `model` has the texts for models, where those are translated.
pub(crate) fn advertise(
    reader: ListingAudience<'_>,
    model: Option<&LocaleChain>,
    result: SpannedValue<'_>,
) -> Advertisement {
    let mut said = Advertisement { varied: true, ..Advertisement::default() };
    let Some(capabilities) = result.member("capabilities").filter(|it| it.kind() == JsonKind::Object) else {
        return said;
    };
    let first = |object: SpannedValue<'_>| if object.members().next().is_some() { "," } else { "" };
    let ours = format!("\"{CONTENT_NEGOTIATION}\":{{}}");
    match capabilities.member("extensions") {
        Some(extensions) if extensions.kind() != JsonKind::Object => return said,
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
            let Some(text) = there.text().and_then(JsonString::decode) else { return said };
            let translated = model.and_then(instructions);
            said.translated = translated.is_some();
            let text = translated.map_or(text, Cow::Owned);
            said.edits.push((there.span(), JsonQuoted(&format!("{text}\n\n{sentence}")).to_string()));
        }
        // Something follows: the capabilities.
        None => said.edits.push((result.opening(), format!("\"instructions\":{},", JsonQuoted(&sentence)))),
    }
    said
}

/// The server's instructions in the caller's language, where a catalog has them.
fn instructions(model: &LocaleChain) -> Option<String> {
    serde_json::from_str(model.find(TextSlot::Server(LocaleField::Instructions))?).ok()
}

/// What this caller gets. It is for models, and so in English, as most of what they are told.
fn sentence(reader: ListingAudience<'_>) -> String {
    let wanted = reader.wanted;
    let mut sentence = match wanted.format() {
        Some(ContentFormat::Json) => {
            "Content negotiation: results come as structured content, without text that repeats it."
        }
        Some(ContentFormat::Markdown) => "Content negotiation: results come as Markdown, without structured content.",
        Some(ContentFormat::Text) => "Content negotiation: results come as plain text, without structured content.",
        None if wanted.is_nothing() => {
            "Content negotiation is available; this client asks for nothing, so results come as the server writes them."
        }
        None => "Content negotiation: no format is asked for, so results come as the server writes them.",
    }
    .to_owned();
    if accepts_hints(wanted) && reader.content.tools.values().any(|tool| tool.hints.is_some()) {
        sentence += " Hints for reasoning are added where there are any.";
    }
    sentence
}

//! `initialize` and `server/discover`: advertises that answers are shaped here.
//!
//! Rules: F14.

use std::borrow::Cow;

use mcp_attune::catalog::{LocaleChain, LocaleField, TextSlot};
use mcp_attune::session::CONTENT_NEGOTIATION;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};

use crate::shape::{ListingAudience, accepts_hints};

/// The edits that advertise shaping in a server's description of itself, and what has to be recorded of them.
#[derive(Default)]
pub(crate) struct Advertisement {
    /// Spans of the message and the text that replaces each.
    pub(crate) edits: Vec<(ByteSpan, String)>,
    /// Whether another caller may be told something else, so that a shared cache must not keep the answer. It
    /// depends on the sentence in `instructions`: the entry in the capabilities is the same for everybody.
    pub(crate) varied: bool,
    /// Whether the server's instructions were replaced by a translation from the locale files.
    pub(crate) translated: bool,
}

/// Adds the content negotiation extension to the capabilities of a server, with `{}` as its settings, and a
/// sentence to its `instructions` if the operator wants that.
///
/// `model` has translations of texts that models read, and is `None` if those are not translated. Nothing is
/// added if the answer has no `capabilities` object, if its `extensions` are no object, or if the server
/// declares the extension itself.
///
/// ```json
/// "capabilities": {"extensions": {"io.modelcontextprotocol/content-negotiation": {}}}
/// ```
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

/// Returns the server's instructions in the caller's language. Instructions that are about to be edited here
/// can no longer be translated by the later localization step, so both happen in one edit.
fn instructions(model: &LocaleChain) -> Option<String> {
    serde_json::from_str(model.find(TextSlot::Server(LocaleField::Instructions))?).ok()
}

/// Returns the sentence that tells this caller in which form results come. Models read it, so it is in
/// English, as most of what they are told.
fn sentence(reader: ListingAudience<'_>) -> String {
    let wanted = reader.wanted;
    let mut sentence = match wanted.format() {
        Some(format) if format.is_structured() => {
            "Content negotiation: results come as structured content, without text that repeats it."
                .to_owned()
        }
        Some(format) => {
            format!("Content negotiation: results come as {}, without structured content.", format.noun())
        }
        None if wanted.is_nothing() => {
            "Content negotiation is available; this client asks for nothing, so results come as \
             the server writes them."
                .to_owned()
        }
        None => "Content negotiation: no format is asked for, so results come as the server writes them."
            .to_owned(),
    };
    if accepts_hints(wanted) && reader.content.tools.values().any(|tool| tool.hints.is_some()) {
        sentence += " Hints for reasoning are added where there are any.";
    }
    sentence
}

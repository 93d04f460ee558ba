//! What a server says of itself: that answers are shaped here.
//!
//! Rules: F14.

use std::borrow::Cow;

use mcp_attune_wire::json::{Quoted, Text, Type, Value};
use mcp_attune_wire::message::Message;

use super::{Work, reasons};
use crate::features::Format;
use crate::session::CONTENT_NEGOTIATION;

pub(super) fn advertise(work: &mut Work<'_>, result: Value<'_>) {
    let Some(capabilities) = result.member("capabilities").filter(|it| it.kind() == Type::Object) else {
        return;
    };
    let first = |object: Value<'_>| if object.members().next().is_some() { "," } else { "" };
    let ours = format!("\"{CONTENT_NEGOTIATION}\":{{}}");
    match capabilities.member("extensions") {
        Some(extensions) if extensions.kind() != Type::Object => return,
        Some(extensions) if extensions.member(CONTENT_NEGOTIATION).is_some() => return,
        Some(extensions) => work.put(extensions.opening(), ours + first(extensions)),
        None => {
            let comma = first(capabilities);
            work.put(capabilities.opening(), format!("\"extensions\":{{{ours}}}{comma}"));
        }
    }
    // Everybody is told the same, but for what they get.
    work.varied = work.shape.content.announce;
    if !work.shape.content.announce {
        return;
    }
    let sentence = sentence(work);
    match result.member("instructions") {
        Some(there) => {
            let Some(text) = there.text().and_then(Text::decode) else { return };
            let text = work.instructions().map_or(text, Cow::Owned);
            work.put(there.span(), Quoted(&format!("{text}\n\n{sentence}")).to_string());
        }
        // Something follows: the capabilities.
        None => work.put(result.opening(), format!("\"instructions\":{},", Quoted(&sentence))),
    }
}

/// What this caller gets. It is for models, and so in English, as most of what they are told.
fn sentence(work: &Work<'_>) -> String {
    let wanted = &work.shape.wanted;
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
    if reasons(&work.shape.wanted) && work.shape.content.tools.values().any(|tool| tool.hints.is_some()) {
        sentence += " Hints for reasoning are added where there are any.";
    }
    sentence
}

/// Whether a server says that it negotiates content itself, and is therefore not shaped; none where a message is not the
/// one that would say so.
#[must_use]
pub fn negotiates(answer: &Message<'_>) -> Option<bool> {
    let capabilities = answer.member("result")?.member("capabilities")?;
    let extensions = capabilities.member("extensions");
    Some(extensions.is_some_and(|extensions| extensions.member(CONTENT_NEGOTIATION).is_some()))
}

//! A prompt, as the operator wrote it for callers like this one.
//!
//! 1. The text of the variant stands where the first text of the prompt stood; other texts go, and what is no text stays.
//! 2. A template sees the prompt as the server wrote it, and the arguments.
//!
//! Rules: F11, F12.

use mcp_attune_wire::json::{Quoted, Type, Value};

use super::call::is_text;
use mcp_attune::shaping::LeftOut;

use crate::work::Work;

pub(super) fn shape(work: &mut Work<'_>, result: Value<'_>) {
    let shape = work.shape;
    let Some(templates) = shape.asked.subject().and_then(|prompt| shape.content.prompts.get(prompt)) else {
        return;
    };
    let Some(template) = templates.choose_any(&shape.wanted) else { return };
    let Some(text) = work.rendered(template, result) else { return };
    let text = work.live(text);
    let messages = result.member("messages").filter(|messages| messages.kind() == Type::Array);
    let Some(messages) = messages else { return };
    let first = messages.elements().find_map(|message| texts(message).next());
    let Some(first) = first else {
        let comma = if messages.elements().next().is_some() { "," } else { "" };
        let text = Quoted(&text);
        work.put(
            messages.opening(),
            format!("{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":{text}}}}}{comma}"),
        );
        return;
    };
    let Some(place) = first.member("text") else { return };
    work.put(place.span(), Quoted(&text).to_string());
    let goes = |block: Value<'_>| is_text(block) && block.span() != first.span();
    let mut left = LeftOut::default();
    // A message goes whole where all that it says is text; from others the texts go.
    let whole = |message: Value<'_>| {
        let mut blocks = blocks(message).peekable();
        blocks.peek().is_some() && blocks.all(goes)
    };
    for message in messages.elements().filter(|message| !whole(*message)) {
        let content = message.member("content").filter(|content| content.kind() == Type::Array);
        let cuts = content.map(|content| content.cut_elements(goes)).unwrap_or_default();
        work.cut(cuts);
    }
    for block in messages.elements().flat_map(blocks).filter(|block| goes(*block)) {
        left += LeftOut { blocks: 1, fields: 0, bytes: block.raw().len() };
    }
    work.cut(messages.cut_elements(whole));
    work.done.left_out += left;
}

/// The blocks of a message: a list of them, or the one there is.
fn blocks<'a>(message: Value<'a>) -> impl Iterator<Item = Value<'a>> {
    let content = message.member("content");
    let one = content.filter(|content| content.kind() == Type::Object);
    let list = content.filter(|content| content.kind() == Type::Array);
    one.into_iter().chain(list.into_iter().flat_map(Value::elements))
}

fn texts<'a>(message: Value<'a>) -> impl Iterator<Item = Value<'a>> {
    blocks(message).filter(|block| is_text(*block))
}

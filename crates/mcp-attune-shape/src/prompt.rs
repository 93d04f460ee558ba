//! `prompts/get`: the text of a prompt in the variant that the operator wrote for callers like this one.
//!
//! 1. The text of the variant stands where the first text of the prompt stood; other texts go, and what is no
//!    text stays.
//! 2. A template sees the prompt as the server wrote it, and the arguments.
//!
//! Rules: F11, F12.

use mcp_attune_wire::json::{JsonKind, JsonQuoted, SpannedValue};

use super::call::is_text;
use mcp_attune::shaping::AnswerOmissions;

use crate::editor::MessageEditor;

/// Replaces the text of a prompt by the operator's variant, if one fits the caller's tags.
///
/// `result` is the `result` of the answer, and is also the data that the template sees. Without a fitting
/// template, or if the template fails, the prompt stays as it is. A prompt without any text gets a first
/// message with the role `user`. A message that consists of nothing but superfluous texts is removed as a
/// whole; from other messages only these texts are removed.
pub(super) fn shape(work: &mut MessageEditor<'_>, result: SpannedValue<'_>) {
    let shape = work.shape;
    let Some(templates) = shape.asked.subject().and_then(|prompt| shape.content.prompts.get(prompt)) else {
        return;
    };
    let Some(template) = templates.choose_for_prompt(&shape.wanted) else { return };
    let Some(text) = work.render_template(template, result) else { return };
    let text = work.translate_model_text(text);
    let messages = result.member("messages").filter(|messages| messages.kind() == JsonKind::Array);
    let Some(messages) = messages else { return };
    let first = messages.elements().find_map(|message| texts(message).next());
    let Some(first) = first else {
        let comma = if messages.elements().next().is_some() { "," } else { "" };
        let text = JsonQuoted(&text);
        work.put(
            messages.opening(),
            format!("{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":{text}}}}}{comma}"),
        );
        return;
    };
    let Some(place) = first.member("text") else { return };
    work.put(place.span(), JsonQuoted(&text).to_string());
    let goes = |block: SpannedValue<'_>| is_text(block) && block.span() != first.span();
    let mut left = AnswerOmissions::default();
    // A message goes whole where all that it says is text; from others the texts go.
    let whole = |message: SpannedValue<'_>| {
        let mut blocks = blocks(message).peekable();
        blocks.peek().is_some() && blocks.all(goes)
    };
    for message in messages.elements().filter(|message| !whole(*message)) {
        let content = message.member("content").filter(|content| content.kind() == JsonKind::Array);
        let cuts = content.map(|content| content.cut_elements(goes)).unwrap_or_default();
        work.cut(cuts);
    }
    for block in messages.elements().flat_map(blocks).filter(|block| goes(*block)) {
        left += AnswerOmissions { blocks: 1, fields: 0, bytes: block.raw().len() };
    }
    work.cut(messages.cut_elements(whole));
    work.done.left_out += left;
}

/// Iterates over the content blocks of a prompt message, whose `content` is either one block or an array of
/// blocks.
fn blocks<'a>(message: SpannedValue<'a>) -> impl Iterator<Item = SpannedValue<'a>> {
    let content = message.member("content");
    let one = content.filter(|content| content.kind() == JsonKind::Object);
    let list = content.filter(|content| content.kind() == JsonKind::Array);
    one.into_iter().chain(list.into_iter().flat_map(SpannedValue::elements))
}

fn texts<'a>(message: SpannedValue<'a>) -> impl Iterator<Item = SpannedValue<'a>> {
    blocks(message).filter(|block| is_text(*block))
}

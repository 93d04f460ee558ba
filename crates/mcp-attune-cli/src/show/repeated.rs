//! Data that a result says twice: as text, and as structured content.
//!
//! 1. A text block that is the data as JSON says the same.
//! 2. So does data that is one member around what the texts say, as SDKs write it for tools that give text or a list:
//!    `{"result": "text"}` beside `text`, `{"result": [1, 2]}` beside `1` and `2`.

use std::borrow::Cow;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

use super::text_member;

/// How many elements are compared with as many blocks.
const MAX_COMPARED: usize = 1000;

/// Whether a block is the data again, as JSON in text.
pub(crate) fn is_json_copy(block: SpannedValue<'_>, data: SpannedValue<'_>) -> bool {
    let written = text_member(block, "text").filter(|text| text.trim_start().starts_with(['{', '[']));
    written.is_some_and(|text| is_json_of(&text, data))
}

/// Whether the texts of a result say all that is in its data, but for a wrapper around it.
pub(crate) fn texts_repeat_data(blocks: &[SpannedValue<'_>], data: SpannedValue<'_>) -> bool {
    let Some(inner) = only_member(data) else { return false };
    let texts: Option<Vec<String>> = blocks.iter().map(|block| text_member(*block, "text")).collect();
    let Some(texts) = texts.filter(|texts| !texts.is_empty() && texts.len() <= MAX_COMPARED) else {
        return false;
    };
    match texts.as_slice() {
        [one] if text_is_value(one, inner) => true,
        texts if inner.kind() == JsonKind::Array => {
            let elements: Vec<_> = inner.elements().take(MAX_COMPARED + 1).collect();
            elements.len() == texts.len()
                && texts.iter().zip(elements).all(|(text, data)| text_is_value(text, data))
        }
        texts => decoded(inner).is_some_and(|inner| *inner == texts.join("\n")),
    }
}

/// The value of an object with one member.
fn only_member(data: SpannedValue<'_>) -> Option<SpannedValue<'_>> {
    let mut members = data.members();
    let (_, inner) = members.next()?;
    members.next().is_none().then_some(inner)
}

/// Whether a text is a value: the same text, or the value as JSON.
fn text_is_value(text: &str, value: SpannedValue<'_>) -> bool {
    decoded(value).is_some_and(|value| value == text) || is_json_of(text, value)
}

fn decoded(value: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    value.text().and_then(JsonString::decode)
}

fn is_json_of(text: &str, data: SpannedValue<'_>) -> bool {
    Document::parse(text.as_bytes()).is_ok_and(|read| read.root().json_eq(data))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(content: &str, data: &str) -> bool {
        let result = format!(r#"{{"content":{content},"data":{data}}}"#);
        let result = Document::parse(result.as_bytes()).unwrap().root();
        let blocks: Vec<_> = result.member("content").unwrap().elements().collect();
        texts_repeat_data(&blocks, result.member("data").unwrap())
    }

    #[test]
    fn what_is_json_only_inside_an_object_is_text_of_its_own() {
        assert!(same(r#"[{"type":"text","text":"7"}]"#, r#"{"result":7}"#));
        for text in [r#"7,\"x\":8"#, r#"7}, {\"x\":8"#, "7,", "7}"] {
            let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
            assert!(!same(&content, r#"{"result":7}"#), "{text}");
        }
    }

    #[test]
    fn a_wrapper_around_the_text_says_nothing_new() {
        let text = r#"[{"type":"text","text":"[FILE] a.md"}]"#;
        assert!(same(text, r#"{"content":"[FILE] a.md"}"#));
        assert!(same(r#"[{"type":"text","text":"5.0"}]"#, r#"{"result":5}"#));
        let two = r#"[{"type":"text","text":"1"},{"type":"text","text":"b"}]"#;
        assert!(same(two, r#"{"result":[1,"b"]}"#));
        assert!(same(two, r#"{"result":"1\nb"}"#));
    }

    #[test]
    fn data_that_says_more_or_something_else_is_kept() {
        let text = r#"[{"type":"text","text":"a"}]"#;
        for data in
            [r#"{"content":"b"}"#, r#"{"content":"a","size":1}"#, r#"{"result":["a","b"]}"#, "{}", r#""a""#]
        {
            assert!(!same(text, data), "{data}");
        }
        assert!(!same("[]", r#"{"result":""}"#));
        assert!(!same(r#"[{"type":"image","data":"","mimeType":"image/png"}]"#, r#"{"result":""}"#));
    }
}

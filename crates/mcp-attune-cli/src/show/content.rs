//! The results of `tools/call`, `resources/read` and `prompts/get` for a person.

use std::io::Write;

use mcp_attune_wire::json::{Text, Type, Value};
use mcp_attune_wire::message::Message;

use super::{Form, json, markdown, plain, size};
use crate::text::quoted;

/// A member that is text.
pub(crate) fn text(value: Value<'_>, member: &str) -> Option<String> {
    value.member(member).and_then(Value::text).and_then(Text::decode).map(std::borrow::Cow::into_owned)
}

/// What a tool gave: its blocks, and its data where they do not say the same.
pub(crate) fn result(out: &mut impl Write, result: Value<'_>, form: Form) -> anyhow::Result<()> {
    let data = result.member("structuredContent").filter(|data| data.kind() != Type::Null);
    let blocks = result.member("content").into_iter().flat_map(Value::elements);
    // Servers give data twice for clients that read only one of the two.
    let blocks: Vec<_> = blocks.filter(|block| !data.is_some_and(|data| is_same(*block, data))).collect();
    let mut first = true;
    for block in &blocks {
        between(out, &mut first)?;
        self::block(out, *block, form)?;
    }
    if let Some(data) = data {
        between(out, &mut first)?;
        if !blocks.is_empty() {
            writeln!(out, "structuredContent:")?;
        }
        writeln!(out, "{}", json::indented(data.raw(), is_terminal(form)))?;
    }
    Ok(())
}

/// What a resource holds.
pub(crate) fn resource(out: &mut impl Write, result: Value<'_>, form: Form) -> anyhow::Result<()> {
    let contents: Vec<_> = result.member("contents").into_iter().flat_map(Value::elements).collect();
    let mut first = true;
    for part in &contents {
        between(out, &mut first)?;
        if contents.len() > 1 {
            writeln!(out, "[{}]", named(*part))?;
        }
        self::part(out, *part, form)?;
    }
    Ok(())
}

/// What a prompt says, and who says it.
pub(crate) fn prompt(out: &mut impl Write, result: Value<'_>, form: Form) -> anyhow::Result<()> {
    let mut first = true;
    if let Some(description) = text(result, "description") {
        between(out, &mut first)?;
        words(out, &description, form)?;
    }
    for message in result.member("messages").into_iter().flat_map(Value::elements) {
        between(out, &mut first)?;
        writeln!(out, "{}:", plain::line(&text(message, "role").unwrap_or_default()))?;
        if let Some(content) = message.member("content") {
            block(out, content, form)?;
        }
    }
    Ok(())
}

fn between(out: &mut impl Write, first: &mut bool) -> anyhow::Result<()> {
    if !std::mem::replace(first, false) {
        writeln!(out)?;
    }
    Ok(())
}

fn is_terminal(form: Form) -> bool {
    matches!(form, Form::Terminal { .. } | Form::Json { terminal: true })
}

/// Whether a block is the data again, as JSON in text.
fn is_same(block: Value<'_>, data: Value<'_>) -> bool {
    let Some(text) = text(block, "text").filter(|text| text.trim_start().starts_with(['{', '['])) else {
        return false;
    };
    let framed = crate::server::framed(&text);
    let read = Message::parse(framed.as_bytes());
    read.ok().and_then(|read| Some(read.member("result")?.same(data))).unwrap_or(false)
}

fn block(out: &mut impl Write, block: Value<'_>, form: Form) -> anyhow::Result<()> {
    let kind = text(block, "type").unwrap_or_default();
    match (kind.as_str(), text(block, "text")) {
        ("text", Some(text)) => words(out, &text, form),
        ("image" | "audio", _) => {
            let data = text(block, "data").unwrap_or_default();
            let mime = plain::line(&text(block, "mimeType").unwrap_or_default());
            Ok(writeln!(out, "[{kind}: {mime}, {}]", size(decoded_len(&data)))?)
        }
        ("resource_link", _) => {
            writeln!(out, "[link: {}]", named(block))?;
            match text(block, "description") {
                Some(text) => Ok(writeln!(out, "{}", plain::lines(&text))?),
                None => Ok(()),
            }
        }
        ("resource", _) => match block.member("resource") {
            Some(inside) => {
                writeln!(out, "[resource: {}]", named(inside))?;
                part(out, inside, form)
            }
            None => Ok(()),
        },
        _ => {
            writeln!(
                out,
                "[{}]",
                if kind.is_empty() { "a block without a type".to_owned() } else { quoted(&kind) }
            )?;
            Ok(writeln!(out, "{}", json::indented(block.raw(), is_terminal(form)))?)
        }
    }
}

/// The name of a resource, where it is, and what kind of thing it is.
fn named(resource: Value<'_>) -> String {
    let title = text(resource, "title").or_else(|| text(resource, "name"));
    let parts = [title, text(resource, "uri"), text(resource, "mimeType")];
    parts.into_iter().flatten().map(|part| plain::line(&part)).collect::<Vec<_>>().join(", ")
}

/// The text of a resource by its kind, or how much there is of what is no text.
fn part(out: &mut impl Write, part: Value<'_>, form: Form) -> anyhow::Result<()> {
    let mime = text(part, "mimeType").unwrap_or_default();
    let kind = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match (text(part, "text"), text(part, "blob")) {
        (Some(text), _) if kind == "text/markdown" || kind.is_empty() => words(out, &text, form),
        (Some(text), _) if kind == "application/json" || kind.ends_with("+json") => data(out, &text, form),
        (Some(text), _) => as_it_is(out, &text, form),
        (None, Some(blob)) => Ok(writeln!(out, "[{}, {}]", plain::line(&mime), size(decoded_len(&blob)))?),
        (None, None) => Ok(()),
    }
}

/// Text that may be Markdown, or JSON.
fn words(out: &mut impl Write, text: &str, form: Form) -> anyhow::Result<()> {
    if text.trim_start().starts_with(['{', '[']) {
        return data(out, text, form);
    }
    match form {
        Form::Terminal { styled, .. } => Ok(write!(out, "{}", markdown::show(text, styled))?),
        _ => as_it_is(out, text, form),
    }
}

/// JSON, if it is.
fn data(out: &mut impl Write, text: &str, form: Form) -> anyhow::Result<()> {
    let is_json = Message::parse(crate::server::framed(text).as_bytes()).is_ok();
    match form {
        Form::Terminal { .. } if is_json => Ok(writeln!(out, "{}", json::indented(text, true))?),
        _ => as_it_is(out, text, form),
    }
}

fn as_it_is(out: &mut impl Write, text: &str, form: Form) -> anyhow::Result<()> {
    let text = if is_terminal(form) { plain::lines(text) } else { text.to_owned() };
    Ok(write!(out, "{text}{}", if text.ends_with('\n') { "" } else { "\n" })?)
}

/// How many bytes base64 text stands for.
fn decoded_len(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str, show: impl Fn(&mut Vec<u8>, Value<'_>, Form) -> anyhow::Result<()>) -> String {
        let framed = crate::server::framed(json);
        let message = Message::parse(framed.as_bytes()).unwrap();
        let mut out = Vec::new();
        show(&mut out, message.member("result").unwrap(), Form::Terminal { width: 80, styled: false })
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_block_is_shown_and_nothing_is_obeyed() {
        let json = r##"{"content":[
            {"type":"text","text":"**Bold** \u001b[2J"},
            {"type":"image","data":"AAAAAAAAAAA=","mimeType":"image/png\u001b"},
            {"type":"resource_link","name":"n","title":"A title","uri":"file:///x\u0007","description":"what"},
            {"type":"resource","resource":{"uri":"x:y","mimeType":"text/plain","text":"# as it is"}},
            {"type":"resource","resource":{"uri":"x:z","mimeType":"application/pdf","blob":"AAAA"}},
            {"type":"hologram\u001b","depth":3}
        ],"structuredContent":{"z":1,"a":"\u009b"}}"##;
        insta::assert_snapshot!(shown(json, result), @r#"
        Bold \u{1b}[2J

        [image: image/png\u{1b}, 8 bytes]

        [link: A title, file:///x\u{7}]
        what

        [resource: x:y, text/plain]
        # as it is

        [resource: x:z, application/pdf]
        [application/pdf, 3 bytes]

        [hologram\u{1b}]
        {
          "type": "hologram\u001b",
          "depth": 3
        }

        structuredContent:
        {
          "z": 1,
          "a": "\u009b"
        }
        "#);
    }

    #[test]
    fn data_that_comes_twice_is_shown_once() {
        let json = r#"{"content":[{"type":"text","text":"{ \"a\": 1.0 }"}],"structuredContent":{"a":1}}"#;
        assert_eq!(shown(json, result), "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn messages_of_a_prompt_say_who_speaks() {
        let json = r##"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"- a\n- b"}},
            {"role":"assistant","content":{"type":"audio","data":"","mimeType":"audio/wav"}}]}"##;
        insta::assert_snapshot!(shown(json, prompt), @"
        d

        user:
        - a
        - b

        assistant:
        [audio: audio/wav, 0 bytes]
        ");
    }
}

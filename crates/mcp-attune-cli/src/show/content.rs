//! The results of `tools/call`, `resources/read` and `prompts/get` for a person.

use std::io::Write;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, SpannedValue};
use unicode_width::UnicodeWidthStr;

use super::{
    CliOutputForm, MarkdownDisplay, content_size, json, markdown, plain, repeated, text_member, wrap,
};
use crate::paint;
use crate::text::quoted;

/// What a tool gave: its blocks, and its data where they do not say the same.
pub(crate) fn write_result(
    out: &mut impl Write,
    result: SpannedValue<'_>,
    form: CliOutputForm,
) -> anyhow::Result<()> {
    // A result that failed is not shaped, whatever was asked for.
    let failed = result.member("isError").is_some_and(|failed| failed.raw() == "true");
    let form = if failed && !matches!(form, CliOutputForm::Terminal { markdown: MarkdownDisplay::Never, .. })
    {
        form.with_markdown(MarkdownDisplay::Declared)
    } else {
        form
    };
    let data = result.member("structuredContent").filter(|data| data.kind() != JsonKind::Null);
    let blocks: Vec<_> = result.member("content").into_iter().flat_map(SpannedValue::elements).collect();
    // Servers give data twice for clients that read only one of the two.
    let data = data.filter(|data| !repeated::texts_repeat_data(&blocks, *data));
    let blocks: Vec<_> = blocks
        .into_iter()
        .filter(|block| !data.is_some_and(|data| repeated::is_json_copy(*block, data)))
        .collect();
    let mut first = true;
    for block in &blocks {
        separate(out, &mut first)?;
        write_block(out, *block, form)?;
    }
    if let Some(data) = data {
        separate(out, &mut first)?;
        if !blocks.is_empty() {
            writeln!(out, "structuredContent:")?;
        }
        writeln!(out, "{}", indented(data.raw(), form))?;
    }
    Ok(())
}

/// JSON on lines of its own, as the form wants it.
pub(crate) fn indented(json: &str, form: CliOutputForm) -> String {
    json::indented(json, is_terminal(form), paint::stdout())
}

/// What a resource holds.
pub(crate) fn write_resource(
    out: &mut impl Write,
    result: SpannedValue<'_>,
    form: CliOutputForm,
) -> anyhow::Result<()> {
    let contents: Vec<_> = result.member("contents").into_iter().flat_map(SpannedValue::elements).collect();
    let mut first = true;
    for part in &contents {
        separate(out, &mut first)?;
        if contents.len() > 1 {
            writeln!(out, "[{}]", resource_label(*part))?;
        }
        write_part(out, *part, form)?;
    }
    Ok(())
}

/// What a prompt says, and who says it.
pub(crate) fn write_prompt(
    out: &mut impl Write,
    result: SpannedValue<'_>,
    form: CliOutputForm,
) -> anyhow::Result<()> {
    let mut first = true;
    if let Some(description) = text_member(result, "description") {
        separate(out, &mut first)?;
        writeln!(out, "{}", description_text(&description, form))?;
    }
    for message in result.member("messages").into_iter().flat_map(SpannedValue::elements) {
        separate(out, &mut first)?;
        writeln!(out, "{}:", plain::line(&text_member(message, "role").unwrap_or_default()))?;
        if let Some(content) = message.member("content") {
            write_block(out, content, form)?;
        }
    }
    Ok(())
}

fn separate(out: &mut impl Write, first: &mut bool) -> anyhow::Result<()> {
    if !std::mem::replace(first, false) {
        writeln!(out)?;
    }
    Ok(())
}

fn is_terminal(form: CliOutputForm) -> bool {
    matches!(form, CliOutputForm::Terminal { .. } | CliOutputForm::Json { terminal: true })
}

fn write_block(out: &mut impl Write, block: SpannedValue<'_>, form: CliOutputForm) -> anyhow::Result<()> {
    let kind = text_member(block, "type").unwrap_or_default();
    match (kind.as_str(), text_member(block, "text")) {
        ("text", Some(text)) => write_text(out, &text, form),
        ("image" | "audio", _) => {
            let data = text_member(block, "data").unwrap_or_default();
            let mime = plain::line(&text_member(block, "mimeType").unwrap_or_default());
            Ok(writeln!(out, "[{kind}: {mime}, {}]", content_size(decoded_len(&data)))?)
        }
        ("resource_link", _) => {
            writeln!(out, "[link: {}]", resource_label(block))?;
            match text_member(block, "description") {
                Some(text) => Ok(writeln!(out, "{}", plain::lines(&text))?),
                None => Ok(()),
            }
        }
        ("resource", _) => match block.member("resource") {
            Some(inside) => {
                writeln!(out, "[resource: {}]", resource_label(inside))?;
                write_part(out, inside, form)
            }
            None => Ok(()),
        },
        _ => {
            writeln!(
                out,
                "[{}]",
                if kind.is_empty() { "a block without a type".to_owned() } else { quoted(&kind) }
            )?;
            Ok(writeln!(out, "{}", indented(block.raw(), form))?)
        }
    }
}

/// The name of a resource, where it is, and what kind of thing it is.
fn resource_label(resource: SpannedValue<'_>) -> String {
    let title = text_member(resource, "title").or_else(|| text_member(resource, "name"));
    let parts = [title, text_member(resource, "uri"), text_member(resource, "mimeType")];
    parts.into_iter().flatten().map(|part| plain::line(&part)).collect::<Vec<_>>().join(", ")
}

/// The text of a resource by its kind, or how much there is of what is no text.
fn write_part(out: &mut impl Write, part: SpannedValue<'_>, form: CliOutputForm) -> anyhow::Result<()> {
    let mime = text_member(part, "mimeType").unwrap_or_default();
    let kind = mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match (text_member(part, "text"), text_member(part, "blob")) {
        (Some(text), _) if kind == "text/markdown" => declared_markdown(out, &text, form),
        (Some(text), _) if kind.is_empty() => write_text(out, &text, form),
        (Some(text), _) if kind == "application/json" || kind.ends_with("+json") => {
            write_data(out, &text, form)
        }
        (Some(text), _) => write_verbatim(out, &text, form),
        (None, Some(blob)) => {
            Ok(writeln!(out, "[{}, {}]", plain::line(&mime), content_size(decoded_len(&blob)))?)
        }
        (None, None) => Ok(()),
    }
}

/// A resource that says that it is Markdown.
fn declared_markdown(out: &mut impl Write, text: &str, form: CliOutputForm) -> anyhow::Result<()> {
    match form {
        CliOutputForm::Terminal { width, paint, markdown } if markdown != MarkdownDisplay::Never => {
            Ok(write!(out, "{}", markdown::render_markdown(text, paint, width))?)
        }
        _ => write_verbatim(out, text, form),
    }
}

/// The text of a result: as it came, unless it is known to be something else.
fn write_text(out: &mut impl Write, text: &str, form: CliOutputForm) -> anyhow::Result<()> {
    if text.trim_start().starts_with(['{', '[']) {
        return write_data(out, text, form);
    }
    match form {
        CliOutputForm::Terminal { width, paint, markdown: MarkdownDisplay::Results } => {
            Ok(write!(out, "{}", markdown::render_markdown(text, paint, width))?)
        }
        _ => write_verbatim(out, text, form),
    }
}

/// What a server says about something, for a person: broken at blanks, and else as it came.
pub(crate) fn description_text(text: &str, form: CliOutputForm) -> String {
    match form {
        CliOutputForm::Terminal { width, .. } => wrap::wrapped(plain::lines(text).trim_end(), width, 0),
        _ => text.trim_end().to_owned(),
    }
}

/// JSON, if it is: in colours, and on lines of its own where its server wrote one that is too long.
fn write_data(out: &mut impl Write, text: &str, form: CliOutputForm) -> anyhow::Result<()> {
    let CliOutputForm::Terminal { width, paint, markdown } = form else {
        return write_verbatim(out, text, form);
    };
    let is_json = || Document::parse(text.as_bytes()).is_ok();
    if markdown == MarkdownDisplay::Never || !is_json() {
        return write_verbatim(out, text, form);
    }
    let line = text.trim_end();
    if !line.contains('\n') && line.width() > width {
        return Ok(writeln!(out, "{}", json::indented(line, true, paint))?);
    }
    Ok(writeln!(out, "{}", json::coloured(line, paint))?)
}

fn write_verbatim(out: &mut impl Write, text: &str, form: CliOutputForm) -> anyhow::Result<()> {
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
    use crate::paint::Paint;

    const TERMINAL: CliOutputForm =
        CliOutputForm::Terminal { width: 80, paint: Paint::NONE, markdown: MarkdownDisplay::Declared };

    fn shown(
        json: &str,
        show: impl Fn(&mut Vec<u8>, SpannedValue<'_>, CliOutputForm) -> anyhow::Result<()>,
    ) -> String {
        let result = Document::parse(json.as_bytes()).unwrap().root();
        let mut out = Vec::new();
        show(&mut out, result, TERMINAL).unwrap();
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
        insta::assert_snapshot!(shown(json, write_result), @r#"
        **Bold** \u{1b}[2J

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

    fn shown_as(markdown: MarkdownDisplay, json: &str, resource: bool) -> String {
        let (mut out, result) = (Vec::new(), Document::parse(json.as_bytes()).unwrap().root());
        let form = TERMINAL.with_markdown(markdown);
        let written = if resource {
            write_resource(&mut out, result, form)
        } else {
            write_result(&mut out, result, form)
        };
        written.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_shown_as_it_came_unless_it_is_known_to_be_markdown() {
        let diff = "diff --git a/x.py b/x.py\n def __init__(self):\n+    return a * b * c * d\n-   x\n1) &amp; <a@b>\n# Title?\n===";
        let json = serde_json::json!({ "content": [{ "type": "text", "text": diff }] }).to_string();
        assert_eq!(shown(&json, write_result), format!("{diff}\n"));
        assert_eq!(shown_as(MarkdownDisplay::Never, &json, false), format!("{diff}\n"));
        assert_ne!(shown_as(MarkdownDisplay::Results, &json, false), format!("{diff}\n"));
        // An error is the server's own text, whatever was asked for.
        let failed = json.replacen('{', r#"{"isError":true,"#, 1);
        assert_eq!(shown_as(MarkdownDisplay::Results, &failed, false), format!("{diff}\n"));
        for (kind, markdown, expected) in [
            ("text/markdown; charset=utf-8", MarkdownDisplay::Declared, "x\n"),
            ("text/markdown", MarkdownDisplay::Never, "**x**\n"),
            ("text/plain", MarkdownDisplay::Declared, "**x**\n"),
            ("", MarkdownDisplay::Declared, "**x**\n"),
        ] {
            let contents =
                serde_json::json!({ "contents": [{ "uri": "x:y", "mimeType": kind, "text": "**x**" }] });
            assert_eq!(shown_as(markdown, &contents.to_string(), true), expected, "{kind} {markdown:?}");
        }
    }

    #[test]
    fn only_json_on_one_line_that_is_too_long_is_laid_out() {
        let check = |text: &str, expected: &str| {
            let json = serde_json::json!({ "content": [{ "type": "text", "text": text }] }).to_string();
            assert_eq!(shown(&json, write_result), expected);
            assert_eq!(shown_as(MarkdownDisplay::Never, &json, false), format!("{text}\n"));
        };
        check(r#"{"b":1.0, "a":[]}"#, "{\"b\":1.0, \"a\":[]}\n");
        check("{\n \"a\": 1}", "{\n \"a\": 1}\n");
        check(
            "[not json, however long it is, and however much it looks as if it were, is left alone]x",
            "[not json, however long it is, and however much it looks as if it were, is left alone]x\n",
        );
        let long = "x".repeat(80);
        check(&format!("{{\"a\":\"{long}\"}}"), &format!("{{\n  \"a\": \"{long}\"\n}}\n"));
    }

    #[test]
    fn data_that_only_wraps_the_text_is_not_shown_beside_it() {
        let json = r#"{"content":[{"type":"text","text":"[FILE] a.md"}],"structuredContent":{"content":"[FILE] a.md"}}"#;
        assert_eq!(shown(json, write_result), "[FILE] a.md\n");
    }

    #[test]
    fn data_that_comes_twice_is_shown_once() {
        let json = r#"{"content":[{"type":"text","text":"{ \"a\": 1.0 }"}],"structuredContent":{"a":1}}"#;
        assert_eq!(shown(json, write_result), "{\n  \"a\": 1\n}\n");
    }

    #[test]
    fn messages_of_a_prompt_say_who_speaks() {
        let json = r##"{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"- a\n- b"}},
            {"role":"assistant","content":{"type":"audio","data":"","mimeType":"audio/wav"}}]}"##;
        insta::assert_snapshot!(shown(json, write_prompt), @"
        d

        user:
        - a
        - b

        assistant:
        [audio: audio/wav, 0 bytes]
        ");
    }
}

//! HTML and Markdown of a resource: never a panic, an answer that stays a message, and in the Markdown nothing that acts.
#![no_main]

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::Tag;
use mcp_attune::shaping::ShapeRequest;
use mcp_attune_shape::{OperatorContent, ResultSchema, ShapePlan};
use mcp_attune_wire::json::JsonQuoted;
use mcp_attune_wire::message::Message;
use pulldown_cmark::{Event, Options, Parser, Tag as Part};

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"doc://a"}}"#;

fuzz_target!(|document: &str| {
    for (kind, format) in
        [("text/html", "format=text"), ("text/html", "format=markdown"), ("text/markdown", "format=text")]
    {
        let Some(text) = written(document, kind, format) else { continue };
        if format == "format=markdown" {
            nothing_acts(&text);
        }
    }
});

/// The text of the resource as the caller gets it; None where the answer stays as it came.
fn written(document: &str, kind: &str, format: &str) -> Option<String> {
    let request = Message::parse(REQUEST.as_bytes()).expect("a message");
    let content = OperatorContent::default();
    let request = ShapeRequest::of(&request, true, &content);
    let values =
        || mcp_attune_format::formatters(&Tag::parse("en").expect("a tag")).for_locales([], TimeZone::UTC);
    let shape = ShapePlan::new(
        request,
        FeaturePreferences::read([format]),
        Arc::new(content),
        values,
        Timestamp::UNIX_EPOCH,
    )?;
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"contents":[{{"uri":"doc://a","mimeType":"{kind}","text":{}}}]}}}}"#,
        JsonQuoted(document)
    );
    let shaped = shape.with_schema(ResultSchema::None).adapt(answer.as_bytes(), None)?;
    let message = Message::parse(shaped.text.as_bytes()).expect("an answer stays a message");
    let contents = message.member("result")?.member("contents")?.elements().next()?;
    contents.member("text")?.text()?.decode().map(Into::into)
}

fn nothing_acts(page: &str) {
    for event in
        Parser::new_ext(page, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM)
    {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => panic!("{event:?} in {page}"),
            Event::Start(Part::Link { dest_url, .. } | Part::Image { dest_url, .. }) => {
                let scheme =
                    dest_url.split_once(':').map_or("", |(scheme, _)| scheme).trim().to_ascii_lowercase();
                assert!(
                    !matches!(scheme.as_str(), "javascript" | "vbscript" | "data"),
                    "{dest_url} in {page}"
                );
            }
            _ => {}
        }
    }
}

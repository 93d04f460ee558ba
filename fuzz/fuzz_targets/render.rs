//! A schema and data: never a panic, a page that ends, nothing in it that acts, and compact data that stay JSON.
//!
//! The input is the schema and the data, with a line `--` between them; without such a line it is data only.
#![no_main]

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use mcp_attune::features::Verbosity;
use mcp_attune::format::ValueFormatter;
use mcp_attune::language::Tag;
use mcp_attune_shape::CompiledSchema;
use mcp_attune_shape::render::{DefaultLabels, RenderOptions, compact, markdown, text};
use mcp_attune_wire::message::Message;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag as Part};

const ROOM: usize = 4096;

static FORMAT: LazyLock<ValueFormatter> = LazyLock::new(|| {
    let zone = TimeZone::get("Europe/Zurich").unwrap();
    mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap()).for_locales([], zone)
});

fuzz_target!(|input: &str| {
    let (schema, data) = input.split_once("\n--\n").unwrap_or(("{}", input));
    let Ok(message) = Message::parse(data.as_bytes()) else { return };
    let output = CompiledSchema::read(schema);
    let low_priority = ["b".to_owned()];
    for verbosity in Verbosity::ALL {
        let how = RenderOptions {
            output: output.as_ref().map(CompiledSchema::root),
            values: &FORMAT,
            verbosity,
            low_priority: &low_priority,
            labels: &DefaultLabels::new("de"),
            room: ROOM,
        };
        let page = markdown(message.body(), &how).text;
        // Titles and descriptions of the schema are written whole, and so is an entry that was begun.
        let most = 8 * (ROOM + input.len()) + 4096;
        assert!(page.len() < most && text(message.body(), &how).text.len() < most);
        nothing_acts(&page);
    }
    let compacted = compact(message.body(), output.as_ref(), &low_priority);
    Message::parse(compacted.text.as_bytes()).expect("what is compact stays JSON");
});

fn nothing_acts(page: &str) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    for event in Parser::new_ext(page, options) {
        match event {
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {
                panic!("{event:?} in {page}");
            }
            Event::Start(Part::Link { link_type, dest_url, .. }) => {
                assert_eq!(link_type, LinkType::Autolink, "{page}");
                assert!(dest_url.starts_with("http") || dest_url.starts_with("mailto:"), "{page}");
            }
            Event::Start(Part::Image { .. } | Part::Emphasis | Part::Strikethrough | Part::BlockQuote(_)) => {
                panic!("{event:?} in {page}");
            }
            _ => {}
        }
    }
}

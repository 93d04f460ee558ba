//! Whatever data hold: they are seen as they are and nothing in them acts, they are laid out by what they say and not by
//! how they are spelled, and a page ends.

use std::sync::LazyLock;

use jiff::Timestamp;
use mcp_attune::features::{FeaturePreferences, Verbosity};
use mcp_attune::format::ValueFormatter;
use mcp_attune_shape::CompiledSchema;
use mcp_attune_shape::render::{DefaultLabels, RenderOptions, RenderedPage, compact, markdown, text};
use mcp_attune_shape::template::{Template, TemplateContext};
use mcp_attune_wire::document::Document;
use mcp_attune_wire::message::Message;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use serde_json::{Value, json};

use super::render::format;

static ENGLISH_LABELS: LazyLock<DefaultLabels> = LazyLock::new(|| DefaultLabels::new("en"));
static ENGLISH: LazyLock<ValueFormatter> = LazyLock::new(|| format("en-US", "America/New_York"));

/// What Markdown, HTML and terminals act on, and what only looks like it.
const PIECES: [&str; 66] = [
    "*",
    "**",
    "_",
    "__",
    "`",
    "```",
    "~",
    "~~",
    "~~~",
    "[",
    "]",
    "(",
    ")",
    "](",
    "<",
    ">",
    "</",
    "<!--",
    "<?",
    "<b>",
    "<script>",
    "&",
    "&lt;",
    "&#42;",
    "&copy;",
    "|",
    "|-|",
    "\\",
    "\\|",
    "# ",
    "#",
    "- ",
    "-",
    "--",
    "---",
    "+ ",
    "+",
    "1. ",
    "2) ",
    "> ",
    "===",
    "=",
    ":--",
    "!",
    "![x](y)",
    "[a](javascript:x)",
    "[a]: http://x.example",
    "[^1]",
    "[^1]: ",
    "[x] ",
    "http://x.example/",
    "<http://x.example>",
    "a@b.example",
    "a",
    "b",
    "é",
    "世界",
    " ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\u{202e}",
    "\0",
];

fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 1..10).prop_map(|pieces| pieces.concat())
}

fn hostile_line() -> impl Strategy<Value = String> {
    hostile().prop_map(|text| text.replace(['\n', '\r'], " "))
}

fn rendering(room: usize, verbosity: Verbosity) -> RenderOptions<'static> {
    RenderOptions {
        output: None,
        values: &ENGLISH,
        verbosity,
        low_priority: &[],
        labels: &*ENGLISH_LABELS,
        room,
    }
}

fn pages(data: &str, how: &RenderOptions<'_>) -> [RenderedPage; 2] {
    let message = Message::parse(data.as_bytes()).unwrap();
    [markdown(message.body(), how), text(message.body(), how)]
}

fn pages_of(data: &Value) -> [RenderedPage; 2] {
    pages(&data.to_string(), &rendering(RenderOptions::MAX_PAGE_BYTES, Verbosity::Standard))
}

/// What there is to see, without blanks.
fn seen(text: &str) -> String {
    let unseen =
        |char: char| char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().filter(|char| !char.is_whitespace());
    shown.map(|char| if unseen(char) { '\u{fffd}' } else { char }).collect()
}

/// What a reader of Markdown sees, without blanks; and how many blocks of a kind there are. Panics where something acts.
#[derive(Default, Debug)]
struct Read {
    text: String,
    items: usize,
    rows: usize,
    cells: usize,
    headings: usize,
    strong: usize,
    links: usize,
}

fn read(page: &str) -> Read {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM;
    let mut read = Read::default();
    for event in Parser::new_ext(page, options) {
        match event {
            Event::Text(text) | Event::Code(text) => read.text.push_str(&seen(&text)),
            Event::Start(
                Tag::Paragraph | Tag::CodeBlock(_) | Tag::Table(_) | Tag::TableHead | Tag::List(None),
            ) => {}
            Event::Start(Tag::Item) => read.items += 1,
            Event::Start(Tag::TableRow) => read.rows += 1,
            Event::Start(Tag::TableCell) => read.cells += 1,
            Event::Start(Tag::Heading { .. }) => read.headings += 1,
            Event::Start(Tag::Strong) => read.strong += 1,
            Event::Start(Tag::Link { link_type: LinkType::Autolink, dest_url, .. }) => {
                assert!(dest_url.starts_with("http"), "{dest_url} is a link in:\n{page}");
                read.links += 1;
            }
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {}
            event => panic!("{event:?} in:\n{page}"),
        }
    }
    read
}

/// A value in every place that a template has for one: a heading, bold, plain, and a cell.
fn templated(value: &str) -> String {
    const PLACES: &str = "# {{ v }}\n\n- **x{{ v }}x** {{ v }}\n\n| a |\n|---|\n| {{ v }} |\n";
    static TEMPLATE: LazyLock<Template> = LazyLock::new(|| Template::compile("md", PLACES).unwrap());
    let data = json!({ "v": value }).to_string();
    let data = Document::parse(data.as_bytes()).unwrap();
    let wanted = FeaturePreferences::default();
    let context = TemplateContext::new(data.root(), &wanted, &ENGLISH, Timestamp::UNIX_EPOCH);
    TEMPLATE.render(&context).unwrap()
}

/// A value as it is seen; there is a word for one that is blank.
fn value(text: &str) -> String {
    let seen = seen(text);
    if seen.is_empty() { "none".to_owned() } else { seen }
}

fn any_json(leaf: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    leaf.prop_recursive(6, 40, 6, |inner| {
        let name = prop_oneof![
            4 => prop::sample::select(&["name", "id", "a_b", "priceChf", "currency", "timezone", "items", "x"][..])
                .prop_map(str::to_owned),
            1 => hostile(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        hostile().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(
            &[
                "2024-09-10",
                "2024-09-10T23:37:20Z",
                "PT2H30M",
                "16:30",
                "https://x.example/a_b",
                "CHF",
                "9999-12-31T23:59:60Z"
            ][..]
        )
        .prop_map(Value::from),
    ]
}

/// The same data, every string spelled in escapes, and blanks wherever they may be.
fn respelled(value: &Value, out: &mut String) {
    let string = |text: &str, out: &mut String| {
        out.push('"');
        text.encode_utf16().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
        out.push('"');
    };
    match value {
        Value::String(text) => string(text, out),
        Value::Array(values) => {
            out.push_str("[ ");
            for (at, value) in values.iter().enumerate() {
                out.push_str(if at > 0 { " ,\n" } else { "\t" });
                respelled(value, out);
            }
            out.push_str(" ]");
        }
        Value::Object(members) => {
            out.push_str("{ ");
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { " ,\r\n" } else { " " });
                string(name, out);
                out.push_str(" : ");
                respelled(value, out);
            }
            out.push_str(" }");
        }
        other => out.push_str(&other.to_string()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(7), ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn fields_are_seen_as_they_are(values in prop::collection::vec(hostile_line(), 1..4)) {
        let data: serde_json::Map<_, _> =
            values.iter().enumerate().map(|(at, text)| (format!("f{at}"), Value::from(text.clone()))).collect();
        let [page, plain] = pages_of(&data.into());
        let read = read(&page.text);
        let expected: String = values.iter().enumerate().map(|(at, text)| format!("F{at}:{}", value(text))).collect();
        prop_assert_eq!(&read.text, &expected, "{}", page.text);
        prop_assert_eq!((read.items, read.strong, read.headings, read.rows), (values.len(), values.len(), 0, 0));
        prop_assert_eq!(seen(&plain.text), expected);
    }

    #[test]
    fn values_in_templates_are_seen_as_they_are(value in hostile_line()) {
        let page = templated(&value);
        let read = read(&page);
        let value = seen(&value);
        prop_assert_eq!(&read.text, &format!("{value}x{value}x{value}a{value}"), "{}", page);
        let counts = (read.headings, read.items, read.strong, read.rows, read.links);
        prop_assert_eq!(counts, (1, 1, 1, 1, 0), "{}", page);
    }

    #[test]
    fn names_are_seen_as_they_are(name in hostile()) {
        let [page, _] = pages_of(&json!({&name: 1, "x y": {&name: {"a": "b"}}}));
        let read = read(&page.text);
        let label = if seen(&name).is_empty() { "\"\"".to_owned() } else { seen(&name) };
        prop_assert!(read.text.to_lowercase().starts_with(&format!("{label}:1xy").to_lowercase())
            || label.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_')), "{}\n{:?}", page.text, read);
        prop_assert_eq!((read.items, read.headings), (2, 2), "{}", page.text);
    }

    #[test]
    fn items_are_seen_as_they_are(values in prop::collection::vec(hostile_line(), 13..16)) {
        let [page, _] = pages_of(&json!(&values));
        let read = read(&page.text);
        let expected: String = values.iter().map(|text| value(text)).collect();
        prop_assert_eq!(&read.text, &expected, "{}", page.text);
        prop_assert_eq!((read.items, read.strong), (values.len(), 0), "{}", page.text);
    }

    #[test]
    fn cells_are_seen_as_they_are(rows in prop::collection::vec((hostile_line(), hostile_line()), 1..4)) {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let data: Vec<_> = rows.iter().map(|(a, b)| json!({"a": short(a), "b|": short(b)})).collect();
        let [page, _] = pages_of(&json!(data));
        let read = read(&page.text);
        let cells: String = rows.iter().map(|(a, b)| value(&short(a)) + &value(&short(b))).collect();
        prop_assert_eq!(&read.text, &format!("Ab|{cells}"), "{}", page.text);
        prop_assert_eq!((read.rows, read.cells), (rows.len(), 2 * rows.len() + 2), "{}", page.text);
    }

    #[test]
    fn lines_are_seen_as_they_are(first in hostile(), second in hostile()) {
        let text = format!("{first}\n{second}");
        let deep = json!({"a": {"b": {"c": {"d": {"e": &text}}}}});
        for data in [json!({"note": &text}), json!(&text), deep] {
            let [page, plain] = pages_of(&data);
            let read = read(&page.text);
            prop_assert!(read.text.ends_with(&value(&text)), "{:?}\n{}", read, page.text);
            prop_assert!(seen(&plain.text).ends_with(&value(&text)), "{}", plain.text);
            prop_assert!(read.headings <= 4 && read.items <= 3, "{}", page.text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(11), ..ProptestConfig::with_cases(400) })]

    #[test]
    fn nothing_acts_in_any_data(data in any_json(leaf())) {
        let [page, _] = pages_of(&data);
        read(&page.text);
        let acts = |char: char| char.is_control() && char != '\n' && char != '\t' || ('\u{202a}'..='\u{202e}').contains(&char);
        for page in pages_of(&data) {
            prop_assert!(!page.text.contains(acts), "{}", page.text);
            prop_assert_eq!((page.left_out, page.not_shown), (0, 0));
        }
    }

    #[test]
    fn spelling_means_nothing(data in any_json(leaf())) {
        let mut other = String::new();
        respelled(&data, &mut other);
        for verbosity in Verbosity::ALL {
            let how = rendering(RenderOptions::MAX_PAGE_BYTES, verbosity);
            prop_assert_eq!(pages(&data.to_string(), &how), pages(&other, &how));
        }
    }

    #[test]
    fn a_page_ends_and_says_what_it_does_not_show(data in any_json(leaf()), room in 0_usize..400) {
        let whole = pages_of(&data);
        for (page, whole) in pages(&data.to_string(), &rendering(room, Verbosity::Standard)).iter().zip(&whole) {
            // One entry may be begun when there is room for one byte, and a table be a few times as wide as its text.
            prop_assert!(page.text.len() <= 4 * room + 2000, "{} {}", page.text.len(), page.text);
            prop_assert_eq!(page.not_shown > 0, page.text.contains("Not shown"), "{}", page.text);
            prop_assert!(page.not_shown > 0 || page.text == whole.text);
        }
    }

    #[test]
    fn what_is_compact_is_valid_if_the_data_were(data in any_json(leaf()), least in 0_usize..4, names in prop::collection::vec(prop::sample::select(&["name", "id", "x", "items"][..]), 0..3)) {
        let schema = json!({"minProperties": least, "required": names.iter().take(1).collect::<Vec<_>>(), "properties": {"x": {"minProperties": 1}}});
        let output = CompiledSchema::read(&schema.to_string()).unwrap();
        let low: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let text = data.to_string();
        let message = Message::parse(text.as_bytes()).unwrap();
        let compacted = compact(message.body(), Some(&output), &low);
        let after: Value = serde_json::from_str(&compacted.text).unwrap();
        prop_assert!(output.is_valid(&after) || !output.is_valid(&data), "{} {}", data, after);
        prop_assert_eq!(compacted.left_out == 0, data == after);
    }
}

#[test]
fn what_is_deeper_than_anyone_reads_is_json() {
    let deep = format!("{}1{}", r#"{"a":["#.repeat(60), "]}".repeat(60));
    for page in pages(&deep, &rendering(RenderOptions::MAX_PAGE_BYTES, Verbosity::Standard)) {
        assert!(page.text.contains(r#"{"a":[{"a":[1]}]}"#), "{}", page.text);
        assert!(page.text.lines().count() < 60, "{}", page.text);
    }
}

#[test]
fn ten_thousand_rows_are_a_table() {
    let rows: Vec<_> =
        (0..10_000).map(|at| json!({"id": at, "name": format!("Row {at}"), "price_chf": 9.5})).collect();
    let [markdown, text] = pages_of(&json!({ "rows": rows }));
    assert_eq!(
        markdown
            .text
            .lines()
            .filter(|line| line.ends_with(" CHF 9.50 |") || line.contains("CHF\u{a0}9.50 |"))
            .count(),
        10_000
    );
    assert_eq!(text.text.lines().count(), 10_004);
    assert_eq!((markdown.not_shown, text.not_shown), (0, 0));
}

#[test]
fn what_has_no_room_is_counted() {
    let rows: Vec<_> = (0..1_000).map(|at| json!({"id": at, "name": "x"})).collect();
    let how = rendering(2_000, Verbosity::Standard);
    for page in pages(&json!({"rows": rows, "after": {"a": 1}}).to_string(), &how) {
        let last = page.text.lines().last().unwrap();
        assert!(page.not_shown > 800 && page.text.len() < 2_100, "{}", page.text);
        assert!(last.starts_with("… Not shown: "), "{last}");
    }
    let [page, _] = pages(&json!({"text": "word ".repeat(1_000)}).to_string(), &how);
    assert!(
        page.text.ends_with("word…\n\n… Not shown: 1") || page.text.contains("…\n\n… Not shown: 1"),
        "{}",
        page.text
    );
}

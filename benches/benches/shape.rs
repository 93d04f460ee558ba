//! What a page costs beside serde_json's reading of the same data into a value, in turn and in short slices, so that a busy
//! machine slows both alike: the ratio of the medians is what counts.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use mcp_attune::features::{FeaturePreferences, Verbosity};
use mcp_attune::format::ValueFormatter;
use mcp_attune::language::Tag;
use mcp_attune::localize::RequestSubject;
use mcp_attune::shaping::ShapeRequest;
use mcp_attune::task::TaskTools;
use mcp_attune_shape::render::{DefaultLabels, RenderOptions, compact, markdown, text};
use mcp_attune_shape::{CompiledSchema, ResultSchema, ShapePlan};
use mcp_attune_wire::json::JsonQuoted;
use mcp_attune_wire::message::Message;
use serde_json::Value;

const SLICES: usize = 301;
const SLICE: Duration = Duration::from_millis(1);

const SCHEMA: &str = r#"{"title":"Connections","type":"object","required":["from","to"],"properties":{
    "from":{"type":"string","title":"From"},"to":{"type":"string","title":"To"},
    "trains":{"type":"array","items":{"type":"object","properties":{
        "train":{"type":"string","title":"Train"},"departs":{"type":"string","format":"date-time"},
        "seats":{"type":"integer"},"price_chf":{"type":"number","title":"Price"}}}}}}"#;

/// A table: rows of texts, an instant, a count and a price.
fn table(size: usize) -> String {
    let rows = (0..).map(|at| {
        format!(
            r#"{{"train":"IC {at}","to":"Zürich, platform {}","departs":"2026-11-15T08:{:02}:00Z","seats":{},"price_chf":{}.50,"note":null}}"#,
            at % 18,
            at % 60,
            at * 37 % 1400,
            at % 90,
        )
    });
    filled(r#"{"from":"Bern","to":"Locarno","found":1234,"trains":["#, rows, "]}", size)
}

/// Records: fields with texts of all kinds, one after another, and something nested in each.
fn records(size: usize) -> String {
    let records = (0..).map(|at| {
        format!(
            r#"{{"name":"Place {at}","summary":"Take the second door on the left; mind the step, and *do not* run in the hall of the old station.","open":true,"visits":{},"url":"https://places.example/{at}?a=1&b=2","hours":{{"from":"08:00","to":"18:30","days":["mon","tue","wed"]}}}}"#,
            at * 1237,
        )
    });
    filled(r#"{"places":["#, records, "]}", size)
}

fn filled(begin: &str, parts: impl Iterator<Item = String>, end: &str, size: usize) -> String {
    let mut data = begin.to_owned();
    for (at, part) in parts.enumerate() {
        if data.len() + part.len() > size {
            break;
        }
        data += if at > 0 { "," } else { "" };
        data += &part;
    }
    data + end
}

fn main() {
    // `cargo test --benches` runs this too; there is nothing to test.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let swiss = mcp_attune_format::formatters(&Tag::parse("de-CH").unwrap())
        .for_locales([], TimeZone::get("Europe/Zurich").unwrap());
    let output = CompiledSchema::read(SCHEMA).unwrap();
    println!("| data | bytes | made | serde_json | ratio |\n|---|---:|---:|---:|---:|");
    for (shape, make) in [("table", table as fn(usize) -> String), ("records", records)] {
        for kib in [4, 256] {
            let data = make(kib * 1024);
            let message = Message::parse(data.as_bytes()).unwrap();
            let how = RenderOptions {
                output: Some(output.root()),
                values: &swiss,
                verbosity: Verbosity::Standard,
                low_priority: &[],
                labels: &DefaultLabels::new("de-CH"),
                room: RenderOptions::MAX_PAGE_BYTES,
            };
            let pages: [(&str, &dyn Fn()); 3] = [
                ("as Markdown", &|| drop(black_box(markdown(black_box(message.body()), &how)))),
                ("as text", &|| drop(black_box(text(black_box(message.body()), &how)))),
                ("compact, as JSON", &|| {
                    drop(black_box(compact(black_box(message.body()), Some(&output), &[])));
                }),
            ];
            let read = || drop(black_box(serde_json::from_str::<Value>(black_box(&data)).unwrap()));
            let told = |kind: &str, page: &dyn Fn(), bytes: usize, read: &dyn Fn()| {
                let (ours, theirs) = medians(page, read);
                println!(
                    "| {shape} {kib} KiB {kind} | {bytes} | {:.1} µs | {:.1} µs | {:.2} |",
                    ours / 1e3,
                    theirs / 1e3,
                    ours / theirs
                );
            };
            for (kind, page) in pages {
                told(kind, page, data.len(), &read);
            }
            // Whole answers, in which the data come twice, as servers send them.
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":{}}}],"structuredContent":{data}}}}}"#,
                JsonQuoted(&data)
            );
            let whole = || drop(black_box(serde_json::from_str::<Value>(black_box(&answer)).unwrap()));
            for (kind, tags) in
                [("in an answer, once as JSON", &["agent"][..]), ("in an answer, as Markdown", &["human"])]
            {
                let shape = shape_of(tags, &swiss).expect("something is asked for");
                assert!(shape.adapt(answer.as_bytes(), None).is_some());
                told(
                    kind,
                    &|| drop(black_box(shape.adapt(black_box(answer.as_bytes()), None))),
                    answer.len(),
                    &whole,
                );
            }
            told(
                "in an answer that nobody asked for otherwise",
                &|| drop(black_box(shape_of(&[], &swiss))),
                answer.len(),
                &whole,
            );
        }
    }
}

/// What becomes of the answer to a call for a caller with these tags.
fn shape_of(tags: &[&str], values: &ValueFormatter) -> Option<ShapePlan> {
    let request = ShapeRequest {
        asked: RequestSubject::new("tools/call"),
        arguments: None,
        modern: true,
        about_tasks: false,
        tasks: TaskTools::default(),
    };
    let wanted = FeaturePreferences::read(tags.iter().copied());
    let values = || values.clone();
    let shape = ShapePlan::new(request, wanted, Arc::default(), values, jiff::Timestamp::UNIX_EPOCH);
    shape.map(|shape| shape.with_schema(ResultSchema::None))
}

/// The median time of one round of each, in nanoseconds, measured in turn.
fn medians(one: &dyn Fn(), other: &dyn Fn()) -> (f64, f64) {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..SLICES {
        ones.push(slice(one));
        others.push(slice(other));
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    (median(ones), median(others))
}

fn slice(run: &dyn Fn()) -> f64 {
    let start = Instant::now();
    let mut rounds = 0u32;
    while start.elapsed() < SLICE {
        run();
        rounds += 1;
    }
    start.elapsed().as_nanos() as f64 / f64::from(rounds)
}

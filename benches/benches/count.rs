//! One thing, so many times: for counting instructions under callgrind. `cargo xtask count` runs it.
//!
//! Arguments: the name of what to run and how often. Two runs with different counts give the cost of one.

use std::hint::black_box;
use std::sync::Arc;

use benches::results::{Results, TOOL};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::{AcceptLanguage, Tag, lookup};
use mcp_attune::localize::RequestSubject;
use mcp_attune::shaping::ShapeRequest;
use mcp_attune::task::TaskTools;
use mcp_attune_shape::{CompiledSchema, ResultSchema, ShapePlan};
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::schema::DeclaredHeaders;

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(what), Some(times)) = (arguments.next(), arguments.next().and_then(|times| times.parse().ok()))
    else {
        return;
    };
    let (name, size) = match what.rsplit_once('/') {
        Some((name, kib)) if kib.parse::<usize>().is_ok() => (name, kib.parse().unwrap_or(1) * 1024),
        _ => (what.as_str(), 1024),
    };
    match name {
        "read/rows/attune" => attune(&benches::rows(size), times),
        "read/rows/serde_json" => serde(&benches::rows(size), times),
        "read/prose/attune" => attune(&benches::prose(size), times),
        "read/prose/serde_json" => serde(&benches::prose(size), times),
        "agree/three" => agree(Some(&benches::declared()), times),
        "agree/none" => agree(None, times),
        "negotiate/usual" => negotiate(0, times),
        "negotiate/tie" => negotiate(1, times),
        "negotiate/relative" => negotiate(2, times),
        "answer/parse" => attune(Results::new(1).result(b"", 1).as_bytes(), times),
        "answer/agent" => shape(&["agent", "verbosity=compact"], "en", "UTC", times),
        "answer/human" => shape(&["human"], "en", "UTC", times),
        "answer/human/de-CH" => shape(&["human"], "de-CH", "Europe/Zurich", times),
        other => eprintln!("there is nothing called {other} to count"),
    }
}

fn attune(body: &[u8], times: usize) {
    for _ in 0..times {
        black_box(Message::parse(black_box(body)).is_ok());
    }
}

fn serde(body: &[u8], times: usize) {
    for _ in 0..times {
        black_box(serde_json::from_slice::<benches::Plain<'_>>(black_box(body)).is_ok());
    }
}

fn agree(declared: Option<&DeclaredHeaders>, times: usize) {
    let body = benches::rows(1024);
    let policy = HeaderPolicy::default();
    for _ in 0..times {
        let message = Message::parse(&body).unwrap();
        let headers = MirroredHeaders::new(black_box(benches::HEADERS));
        let Ok(HeaderAgreement::NeedsSchema(open)) = agree::begin(&headers, message, &policy) else { return };
        black_box(open.finish_with_schema(declared).is_ok());
    }
}

fn negotiate(which: usize, times: usize) {
    let languages = benches::languages();
    let accept = AcceptLanguage::parse(benches::PREFERENCES[which].1).unwrap();
    for _ in 0..times {
        black_box(lookup(black_box(&accept), &languages));
    }
}

/// What becomes of a result of some 8 KB, from what its caller declares to the bytes that they get.
fn shape(tags: &[&str], locale: &str, zone: &str, times: usize) {
    let tool: serde_json::Value = serde_json::from_str(TOOL).unwrap();
    let schema = CompiledSchema::read(&tool["outputSchema"].to_string()).unwrap();
    let schema = ResultSchema::Known(Arc::new(schema));
    let (formatters, locale) = (mcp_attune_format::english(), Tag::parse(locale).unwrap());
    let zone = TimeZone::get(zone).unwrap();
    let answer = Results::new(1).result(b"", 1);
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find_trains"}}"#;
    let request = Message::parse(request).unwrap();
    for _ in 0..times {
        let asked = ShapeRequest {
            asked: RequestSubject::of(&request),
            arguments: None,
            modern: true,
            about_tasks: false,
            tasks: TaskTools::default(),
        };
        let wanted = FeaturePreferences::read(tags.iter().copied());
        let values = || formatters.for_locales([&locale], zone.clone());
        let plan = ShapePlan::new(asked, wanted, Arc::default(), values, Timestamp::UNIX_EPOCH).unwrap();
        let plan = plan.with_schema(schema.clone());
        black_box(plan.adapt(black_box(answer.as_bytes()), None).unwrap());
    }
}

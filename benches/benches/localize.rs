//! What translating costs: a long listing beside one plain reading of it, and one message among thousands.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::tz::TimeZone;
use mcp_attune::catalog::{CompiledLocale, LocaleChain};
use mcp_attune::language::Tag;
use mcp_attune::localize::{LocalizeOptions, RequestSubject, TranslationScope, adapt};

const TOOLS: usize = 1000;
const MESSAGES: usize = 5000;

/// A listing of a thousand tools, about 500 KB.
fn listing() -> String {
    let tools: Vec<_> = (0..TOOLS)
        .map(|at| {
            format!(
                r#"{{"name":"tool_{at}","title":"Tool number {at}","description":"Does what tool number {at} does, and says so in a sentence or two for the model.","inputSchema":{{"type":"object","properties":{{"location":{{"type":"string","description":"City name or postal code of the place."}},"days":{{"type":"integer","minimum":1,"maximum":14,"description":"How many days ahead, from 1 to 14."}},"units":{{"type":"string","enum":["metric","imperial"],"default":"metric"}}}},"required":["location"]}},"annotations":{{"readOnlyHint":true}}}}"#
            )
        })
        .collect();
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, tools.join(","))
}

/// The texts of that listing, and messages that no text is.
fn file(messages: usize) -> String {
    let tools: Vec<_> = (0..TOOLS)
        .map(|at| {
            format!(
                r#""tool_{at}":{{"title":"Werkzeug Nummer {at}","description":"Tut, was Werkzeug Nummer {at} tut, und sagt es dem Modell in ein, zwei Sätzen.","arguments":{{"location":{{"description":"Ort oder Postleitzahl."}},"days":{{"description":"Wie viele Tage im Voraus."}}}}}}"#
            )
        })
        .collect();
    let nouns = ["pages", "rows", "files", "seats", "trains", "records", "hits"];
    let messages: Vec<_> = (0..messages)
        .map(|at| {
            let noun = nouns[at % nouns.len()];
            format!(
                r#""m{at}":{{"source":"Step {at}: fetched {{count}} of {{total}} {noun} for job {at}","text":"Schritt {at}: {{ $count }} von {{ $total }} geladen"}}"#
            )
        })
        .collect();
    format!(r#"{{"tools":{{{}}},"messages":{{{}}}}}"#, tools.join(","), messages.join(","))
}

fn chain(messages: usize) -> LocaleChain {
    let [en, de] = ["en", "de"].map(|tag| Tag::parse(tag).unwrap());
    let (locale, findings) = CompiledLocale::read(de.clone(), file(messages).as_bytes()).unwrap();
    assert!(findings.is_empty());
    let formatters = mcp_attune_format::formatters(&en);
    LocaleChain::new(&de, [Arc::new(locale)], &formatters, formatters.for_locales([&de], TimeZone::UTC))
}

fn listings(c: &mut Criterion) {
    let (listing, chain, en) = (listing(), chain(10), Tag::parse("en").unwrap());
    let asked = RequestSubject::new("tools/list");
    let how = |model| LocalizeOptions {
        asked: &asked,
        chain: Some(&chain),
        translate: TranslationScope { display: true, model, logs: false },
        default: Some(&en),
        spoken: None,
    };
    assert!(adapt(listing.as_bytes(), &how(false)).text.len() > listing.len());
    let mut group = c.benchmark_group(format!("listing of {} KB", listing.len() / 1000));
    group.bench_function("read by serde_json as a value", |b| {
        b.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(listing.as_bytes())).unwrap());
    });
    group.bench_function("skimmed by serde_json", |b| {
        b.iter(|| serde_json::from_slice::<serde::de::IgnoredAny>(black_box(listing.as_bytes())).unwrap());
    });
    for (name, model) in [("display translated", false), ("display and model translated", true)] {
        group.bench_function(name, |b| b.iter(|| adapt(black_box(listing.as_bytes()), &how(model))));
    }
    group.finish();
}

fn messages(c: &mut Criterion) {
    let chain = chain(MESSAGES);
    let mut group = c.benchmark_group(format!("one of {MESSAGES} messages"));
    let fits = "Step 4321: fetched 1,200 of 5,000 rows for job 4321";
    let noun = ["pages", "rows", "files", "seats", "trains", "records", "hits"][4321 % 7];
    let fits = fits.replace("rows", noun);
    assert_eq!(chain.translate_text(&fits).unwrap(), "Schritt 4321: 1.200 von 5.000 geladen");
    let (fails, other) =
        (fits.replace("job", "jo"), "Everything is in order, and nothing more is to be said of it.");
    for (name, text, found) in [
        ("found and rendered", &*fits, true),
        ("nearly fits", &fails, false),
        ("is another text", other, false),
    ] {
        assert_eq!(chain.translate_text(text).is_some(), found);
        group.bench_function(name, |b| b.iter(|| chain.translate_text(black_box(text))));
    }
    let (locale, _) = CompiledLocale::read(Tag::parse("de").unwrap(), file(MESSAGES).as_bytes()).unwrap();
    group.bench_function("found", |b| b.iter(|| locale.messages().matches_source(black_box(&fits))));
    group.finish();
    let mut group = c.benchmark_group("a locale file");
    group.sample_size(20);
    let (file, tag) = (file(1000), Tag::parse("de").unwrap());
    group.bench_function(format!("of {} KB read", file.len() / 1000), |b| {
        b.iter(|| CompiledLocale::read(tag.clone(), black_box(file.as_bytes())).unwrap());
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = listings, messages
}
criterion_main!(benches);

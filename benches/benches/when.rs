//! What an expression of time costs: read and resolved, in a zone whose clocks change.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use mcp_attune::when::{ExpressionLanguage, ReferenceTime, When};

const EXPRESSIONS: [(&str, ExpressionLanguage); 7] = [
    ("today", ExpressionLanguage::English),
    ("last week", ExpressionLanguage::English),
    ("last 30 days", ExpressionLanguage::English),
    ("2026-10-01..2026-12-31", ExpressionLanguage::English),
    ("in den letzten sieben Tagen", ExpressionLanguage::German),
    ("last week", ExpressionLanguage::German),
    ("過去3か月間", ExpressionLanguage::Japanese),
];

fn resolve(c: &mut Criterion) {
    let now = ReferenceTime {
        instant: "2026-11-12T14:23:00+01:00".parse().unwrap(),
        zone: TimeZone::get("Europe/Zurich").unwrap(),
        first_day: Weekday::Monday,
    };
    let mut group = c.benchmark_group("when");
    for (text, language) in EXPRESSIONS {
        group.bench_function(format!("{text} ({language:?})"), |b| {
            b.iter(|| When::parse(black_box(text), language).unwrap().resolve(black_box(&now)).unwrap());
        });
    }
    group.bench_function("last week (English), read before", |b| {
        let when = When::parse("last week", ExpressionLanguage::English).unwrap();
        b.iter(|| black_box(&when).resolve(black_box(&now)).unwrap());
    });
    group.bench_function("what is no expression (German)", |b| {
        let text = "am letzten Wochenende bis morgen Abend to whatever";
        b.iter(|| When::parse(black_box(text), ExpressionLanguage::German).unwrap_err());
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = resolve
}
criterion_main!(benches);

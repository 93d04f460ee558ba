//! What formatting costs with formatters that are kept, and what a locale costs that nobody asked for before.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::civil::date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::Date};
use mcp_attune::format::{Currency, DecimalNumber, FormatLength, FractionDigits, RelativeTimeUnit};
use mcp_attune::language::Tag;

const DAY: Date = date(2024, 9, 10);

fn format(c: &mut Criterion) {
    let (english, swiss) = (Tag::parse("en").unwrap(), Tag::parse("de-CH").unwrap());
    let formatters = mcp_attune_format::formatters(&english);
    let zone = TimeZone::get("Europe/Zurich").unwrap();
    let format = formatters.for_locales([&swiss], zone.clone());
    let instant: Timestamp = "2024-09-10T21:37:20Z".parse().unwrap();
    let (number, francs) = (DecimalNumber::parse("1234567.891").unwrap(), Currency::parse("CHF").unwrap());

    let mut group = c.benchmark_group("format");
    group.bench_function("a locale read", |b| {
        b.iter(|| formatters.for_locales([black_box(&swiss)], zone.clone()));
    });
    group.bench_function("date", |b| b.iter(|| format.date(black_box(DAY), FormatLength::Long)));
    group.bench_function("zoned", |b| b.iter(|| format.zoned(black_box(instant), FormatLength::Long)));
    group.bench_function("number", |b| {
        b.iter(|| format.number(black_box(&number), FractionDigits::default()));
    });
    group.bench_function("currency", |b| b.iter(|| format.currency(black_box(&number), francs)));
    group.bench_function("relative", |b| {
        b.iter(|| format.relative(black_box(3), RelativeTimeUnit::Day, FormatLength::Long));
    });
    group.bench_function("date, formatter made", |b| {
        b.iter_batched(
            || mcp_attune_format::formatters(&swiss).for_locales([], TimeZone::UTC),
            |format| format.date(black_box(DAY), FormatLength::Long),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("zoned, formatter made", |b| {
        b.iter_batched(
            || mcp_attune_format::formatters(&swiss).for_locales([], zone.clone()),
            |format| format.zoned(black_box(instant), FormatLength::Long),
            criterion::BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = format
}
criterion_main!(benches);

//! What a template costs: a result of 4 KB printed as a whole, beside what serde_json takes to read the same text.
//!
//! The bound that we hold is six times as much; the ratio is that of the medians of one run, taken in turns.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::Tag;
use mcp_attune_shape::template::{Template, TemplateContext};
use mcp_attune_wire::message::Message;

/// How often both are done before their times are compared.
const ROUNDS: usize = 2000;

/// A day and a half of weather, about 4 KB.
fn result() -> String {
    let hour = |number: u32| {
        format!(
            r#"{{"at":"2026-11-15T{:02}:00:00Z","temperature_c":{}.5,"wind":{{"speed_kmh":{},"from":"NW"}},"sky":"partly cloudy"}}"#,
            number % 24,
            number % 9,
            10 + number
        )
    };
    let hours: Vec<_> = (0..36).map(hour).collect();
    format!(r#"{{"location":"Bern","updated":"2026-11-15T09:30:00Z","hours":[{}]}}"#, hours.join(","))
}

/// All of it, as it is.
const PLAIN: &str = "# {{ location }}\n\n{{ updated }}\n\n| at | °C | wind | from | sky |\n|---|---|---|---|---|\n\
{% for hour in hours %}\n| {{ hour.at }} | {{ hour.temperature_c }} | {{ hour.wind.speed_kmh }} | {{ hour.wind.from }} | {{ hour.sky }} |\n{% endfor %}\n";

/// All of it, as its reader writes it.
const FORMATTED: &str = "# {{ location }}\n\n{{ updated | datetime }}\n\n| at | °C | wind | from | sky |\n|---|---|---|---|---|\n\
{% for hour in hours %}\n| {{ hour.at | time }} | {{ hour.temperature_c | number(1) }} | {{ hour.wind.speed_kmh | unit('kilometer-per-hour') }} | {{ hour.wind.from }} | {{ hour.sky }} |\n{% endfor %}\n";

fn templates(c: &mut Criterion) {
    let text = result();
    let data = Message::parse(text.as_bytes()).unwrap();
    let wanted = FeaturePreferences::read(["human"]);
    let zone = TimeZone::get("Europe/Zurich").unwrap();
    let values = mcp_attune_format::english().for_locales([&Tag::parse("de-CH").unwrap()], zone);
    let scene = TemplateContext::new(data.body(), &wanted, &values, Timestamp::UNIX_EPOCH);
    let [plain, formatted] = [PLAIN, FORMATTED].map(|source| Template::compile("md", source).unwrap());
    let mut group = c.benchmark_group(format!("a result of {} bytes", text.len()));
    group.bench_function("read by serde_json", |b| {
        b.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
    });
    group.bench_function("printed by a template", |b| b.iter(|| plain.render(black_box(&scene)).unwrap()));
    group.bench_function("formatted by a template", |b| {
        b.iter(|| formatted.render(black_box(&scene)).unwrap());
    });
    group.finish();

    // One after the other in turns, so that whatever else the machine does strikes both.
    let (mut reads, mut prints) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        reads.push(time(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap()));
        prints.push(time(|| plain.render(black_box(&scene)).unwrap()));
    }
    let (read, printed) = (median(reads), median(prints));
    let ratio = printed.as_secs_f64() / read.as_secs_f64();
    println!("reading {read:?}, printing {printed:?}: {ratio:.2} times as long; the bound is 6");
}

fn time<T>(run: impl FnOnce() -> T) -> Duration {
    let begun = Instant::now();
    black_box(run());
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = templates
}
criterion_main!(benches);

//! What choosing a language costs: a preference of four ranges against twenty languages, without a cache.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_attune::language::{AcceptLanguage, lookup};

fn negotiate(c: &mut Criterion) {
    let languages = benches::languages();
    let mut group = c.benchmark_group("negotiate");
    for (name, text) in benches::PREFERENCES {
        let accept = AcceptLanguage::parse(text).unwrap();
        group.bench_function(name, |b| b.iter(|| lookup(black_box(&accept), black_box(&languages))));
        group.bench_function(format!("{name}, parsing included"), |b| {
            b.iter(|| lookup(&AcceptLanguage::parse(black_box(text)).unwrap(), black_box(&languages)).why);
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = negotiate
}
criterion_main!(benches);

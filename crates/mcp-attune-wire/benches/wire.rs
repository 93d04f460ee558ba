//! What reading and agreeing cost. Ratios count, not times: serde_json runs in the same process, in turn.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcp_attune_wire::message::Message;

mod support;

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read");
    for (shape, body) in [("rows", support::rows as fn(usize) -> Vec<u8>), ("prose", support::prose)] {
        for kib in [1, 16, 256] {
            let body = body(kib * 1024);
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_with_input(BenchmarkId::new(format!("{shape}/serde_json"), kib), &body, |b, body| {
                b.iter(|| serde_json::from_slice::<support::Plain<'_>>(black_box(body)).unwrap());
            });
            group.bench_with_input(BenchmarkId::new(format!("{shape}/attune"), kib), &body, |b, body| {
                b.iter(|| Message::parse(black_box(body)).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = read
}
criterion_main!(benches);

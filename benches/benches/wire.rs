//! What reading and agreeing cost. Ratios count, not times: serde_json runs in the same process, in turn.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read");
    for (shape, body) in [("rows", benches::rows as fn(usize) -> Vec<u8>), ("prose", benches::prose)] {
        for kib in [1, 16, 256] {
            let body = body(kib * 1024);
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_with_input(BenchmarkId::new(format!("{shape}/serde_json"), kib), &body, |b, body| {
                b.iter(|| serde_json::from_slice::<benches::Plain<'_>>(black_box(body)).unwrap());
            });
            group.bench_with_input(BenchmarkId::new(format!("{shape}/attune"), kib), &body, |b, body| {
                b.iter(|| Message::parse(black_box(body)).unwrap());
            });
        }
    }
    group.finish();
}

/// What agreeing adds to a message that was read: without a schema, and with three declared arguments.
fn agree(c: &mut Criterion) {
    let body = benches::rows(1024);
    let message = Message::parse(&body).unwrap();
    let declared = benches::declared();
    let policy = HeaderPolicy::default();
    let mut group = c.benchmark_group("agree");
    for (name, declared) in [("standard headers", None), ("and three arguments", Some(&declared))] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let headers = MirroredHeaders::new(black_box(benches::HEADERS));
                let Ok(HeaderAgreement::NeedsSchema(open)) = agree::begin(&headers, message.clone(), &policy)
                else {
                    unreachable!("the call has arguments")
                };
                open.finish_with_schema(declared).unwrap()
            });
        });
    }
    group.bench_function("clone alone", |b| b.iter(|| black_box(&message).clone()));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = read, agree
}
criterion_main!(benches);

//! What reading a context costs, once the message that it stands in has been read.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use mcp_attune::context::ClientContext;
use mcp_attune_wire::message::Message;

/// The fullest example of the proposal, and the zone and locale that most clients will send.
const CONTEXTS: [(&str, &str); 3] = [
    ("none", ""),
    ("zone and locale", r#","clientContext":{"timezone":"Europe/Vienna","locale":"de-AT"}"#),
    (
        "full",
        r#","clientContext":{"timezone":"America/Los_Angeles","currentTimestamp":"2025-11-12T06:23:00-08:00","locale":"en-US","userLocation":{"city":"Los Angeles","region":"California","country":"US","coordinates":{"latitude":34.0522,"longitude":-118.2437}}}"#,
    ),
];

fn reading(c: &mut Criterion) {
    let mut group = c.benchmark_group("reading a context");
    for (name, context) in CONTEXTS {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":103,"method":"tools/call","params":{{"name":"query_activity","arguments":{{"query":"user logins in the last week"}}}}{context}}}"#
        );
        let message = Message::parse(body.as_bytes()).unwrap();
        group.bench_function(name, |b| b.iter(|| ClientContext::read(black_box(&message))));
        let (context, _) = ClientContext::read(&message);
        group.bench_function(format!("{name}, what now is"), |b| {
            b.iter(|| black_box(&context).now(black_box(jiff::Timestamp::UNIX_EPOCH)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = reading
}
criterion_main!(benches);

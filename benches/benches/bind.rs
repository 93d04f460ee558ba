//! What binding arguments to the context adds to a call, and to a listing.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use jiff::Timestamp;
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune::caller::Caller;
use mcp_attune::context::CoordinatePrecision;
use mcp_attune::plan::{Offer, negotiate};
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::message::Message;

fn bindings(names: &[&str]) -> Bindings {
    let context = |from| Binding { fills: ArgumentFill::Context { from, default: None }, hide: true };
    let end = |part| {
        let fills =
            ArgumentFill::Interval { named: "period".to_owned(), part, written: InstantNotation::Date };
        Binding { fills, hide: false }
    };
    let all = [
        ("tz", context(BoundContextPart::Timezone)),
        ("day", context(BoundContextPart::Now(InstantNotation::Date))),
        ("from", end(IntervalEdge::Start)),
        ("to", end(IntervalEdge::Last)),
    ];
    let bound = all.into_iter().filter(|(name, _)| names.contains(name));
    let bound: BTreeMap<_, _> = bound.map(|(name, binding)| (name.to_owned(), binding)).collect();
    Bindings::new(BTreeMap::from([("query_activity".to_owned(), bound)]), CoordinatePrecision::Off)
}

/// The onward call as it is made without bindings, and with those that are named.
fn calls(c: &mut Criterion) {
    let mut group = c.benchmark_group("binding a call");
    let body = r#"{"jsonrpc":"2.0","id":103,"method":"tools/call","params":{"name":"query_activity","arguments":{"query":"user logins","period":"last week"}},"clientContext":{"timezone":"Europe/Vienna","currentTimestamp":"2026-11-12T14:23:00+01:00","locale":"de-AT"}}"#;
    let agreed =
        agree::check_without_headers(Message::parse(body.as_bytes()).unwrap(), &HeaderPolicy::default())
            .unwrap();
    let caller = Caller::read(&agreed);
    let plan = negotiate(&caller, &Offer::default());
    for (name, names) in [
        ("none", &[][..]),
        ("a zone", &["tz"]),
        ("a zone and a day", &["tz", "day"]),
        ("an interval", &["from", "to"]),
        ("all of these", &["tz", "day", "from", "to"]),
    ] {
        let bindings = bindings(names);
        group.bench_function(name, |b| {
            b.iter(|| {
                let filled =
                    bindings.fill(agreed.message(), &caller, black_box(Timestamp::UNIX_EPOCH)).unwrap();
                plan.forward_filled(black_box(agreed.message()), &filled)
            });
        });
    }
    group.finish();
}

fn listings(c: &mut Criterion) {
    let mut group = c.benchmark_group("showing a listing");
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"Reports what happened","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string"}},"tz":{{"type":"string"}},"day":{{"type":"string","format":"date"}},"from":{{"type":"string"}},"to":{{"type":"string"}}}},"required":["query","tz","from","to"]}}}}"#
        )
    };
    let tools: Vec<_> =
        (0..19).map(|number| tool(&format!("other_{number}"))).chain([tool("query_activity")]).collect();
    let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}"#, tools.join(","));
    let answer = Message::parse(answer.as_bytes()).unwrap();
    let bindings = bindings(&["tz", "day", "from", "to"]);
    group.bench_function("20 tools, one of them bound", |b| {
        b.iter(|| bindings.edits_for_listing(black_box(&answer)));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = calls, listings
}
criterion_main!(benches);

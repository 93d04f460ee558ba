//! A call and a listing against a fixed set of bindings: never a panic, what comes of them can be read, and what is
//! hidden is not shown.
//!
//! The input is the arguments of a call and the schema of a tool at the same time.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune::caller::Caller;
use mcp_attune::context::CoordinatePrecision;
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::json::JsonKind;
use mcp_attune_wire::message::Message;

static BINDINGS: LazyLock<Bindings> = LazyLock::new(|| {
    let context = |from, hide| Binding { fills: ArgumentFill::Context { from, default: None }, hide };
    let end = |part, written, hide| Binding {
        fills: ArgumentFill::Interval { named: "p".into(), part, written },
        hide,
    };
    let bound = [
        ("tz", context(BoundContextPart::Timezone, true)),
        ("now", context(BoundContextPart::Now(InstantNotation::DateTime), false)),
        ("c", context(BoundContextPart::Country, false)),
        ("lat", context(BoundContextPart::Latitude, true)),
        ("a", end(IntervalEdge::Start, InstantNotation::Date, true)),
        ("b", end(IntervalEdge::After, InstantNotation::Unix, false)),
        ("d", end(IntervalEdge::Last, InstantNotation::Utc, false)),
    ];
    let bound: BTreeMap<_, _> = bound.into_iter().map(|(name, binding)| (name.to_owned(), binding)).collect();
    Bindings::new(BTreeMap::from([("t".to_owned(), bound)]), CoordinatePrecision::Coarse)
});

fuzz_target!(|input: &str| {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{input}}},"clientContext":{{"timezone":"Europe/Zurich"}}}}"#
    );
    if let Ok(message) = Message::parse(call.as_bytes())
        && let Ok(agreed) = agree::check_without_headers(message, &HeaderPolicy::default())
        && let Ok(filled) = BINDINGS.fill(agreed.message(), &Caller::read(&agreed), Timestamp::UNIX_EPOCH)
    {
        let onward = agreed.message().splice(&filled.edits()).expect("edits keep apart");
        let onward = Message::parse(onward.as_bytes()).expect("what goes on can be read");
        if !filled.is_empty() {
            assert!(onward.arguments().all(|(name, _)| !name.is("p")));
        }
    }
    let answer =
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"t","inputSchema":{input}}}]}}}}"#);
    let Ok(answer) = Message::parse(answer.as_bytes()) else { return };
    let edits = BINDINGS.edits_for_listing(&answer);
    let edits: Vec<_> = edits.iter().map(|(place, text)| (*place, text.as_str())).collect();
    let shown = answer.splice(&edits).expect("edits keep apart");
    let shown = Message::parse(shown.as_bytes()).expect("what is shown can be read");
    // The input may close its own place and open others; where it did not, what is hidden is gone.
    let tools = shown.member("result").and_then(|result| result.member("tools"));
    for tool in tools.into_iter().flat_map(|tools| tools.elements()) {
        let bound = tool.member("name").and_then(|name| name.text()).is_some_and(|name| name.is("t"));
        let properties = tool.member("inputSchema").and_then(|schema| schema.member("properties"));
        if let Some(properties) = properties.filter(|value| bound && value.kind() == JsonKind::Object) {
            assert!(properties.member("tz").is_none() && properties.member("p").is_some());
        }
    }
    for finding in BINDINGS.check(&[answer], true) {
        let _ = finding.to_string();
    }
});

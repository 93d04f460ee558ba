//! A context, read and let on: never a panic, no value in what is shown, and what goes on reads the same again.
//!
//! The input is the context as it stands in a body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::caller::Caller;
use mcp_attune::context::{
    ClientContext, ClientContextField, ContextForwarding, ContextPlacement, CoordinatePrecision,
};
use mcp_attune::plan::{Offer, negotiate};
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::context::has_conflicting_contexts;
use mcp_attune_wire::message::Message;

fuzz_target!(|input: &str| {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","clientContext":{input},"params":{{"_meta":{{"io.modelcontextprotocol/clientContext":{input}}}}}}}"#
    );
    let Ok(message) = Message::parse(body.as_bytes()) else { return };
    // The input may close its own place and open others; then the two need not be equal.
    let Ok(agreed) = agree::check_without_headers(message, &HeaderPolicy::default()) else { return };
    assert!(!has_conflicting_contexts(agreed.message()));
    let caller = Caller::read(&agreed);
    let context = caller.context();
    let _ = context.now(jiff::Timestamp::UNIX_EPOCH).civil();
    assert!(caller.warnings().len() < 20);
    for placement in [ContextPlacement::Meta, ContextPlacement::Beside] {
        let fields = vec![
            ClientContextField::Timezone,
            ClientContextField::CurrentTimestamp,
            ClientContextField::Locale,
            ClientContextField::UserLocation,
        ];
        let forward = ContextForwarding { fields, placement, precision: CoordinatePrecision::Exact };
        let plan = negotiate(&caller, &Offer { forward, ..Offer::default() });
        let onward = plan.forward(agreed.message());
        let onward = Message::parse(onward.as_bytes()).expect("what goes on can be read");
        let (again, warnings) = ClientContext::read(&onward);
        if agreed.message().member("params").is_some_and(|params| params.raw().starts_with('{')) {
            assert_eq!(again.field_names().collect::<Vec<_>>(), context.field_names().collect::<Vec<_>>());
            assert!(warnings.is_empty());
        }
    }
});

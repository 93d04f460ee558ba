//! Answers on their way back: what is adapted stays JSON, and nothing changes but the language report.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcp_attune::caller::Caller;
use mcp_attune::language::Languages;
use mcp_attune::plan::{Offer, Plan, negotiate};
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use serde_json::Value;

static PLAN: LazyLock<Plan> = LazyLock::new(|| {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;
    let policy = HeaderPolicy::default();
    let Ok(HeaderAgreement::Done(agreed)) =
        agree::begin(&MirroredHeaders::default(), Message::parse(body).unwrap(), &policy)
    else {
        unreachable!()
    };
    let languages = Some(Languages::new("en", []).unwrap());
    negotiate(&Caller::read(&agreed), &Offer { languages, ..Offer::default() })
});

const KEY: &str = "io.modelcontextprotocol/contentLanguage";

fuzz_target!(|answer: &[u8]| {
    let adapted = PLAN.adapt(answer);
    if *adapted.text == *answer {
        return;
    }
    let mut after: Value = match serde_json::from_slice(&adapted.text) {
        Ok(after) => after,
        // Half a surrogate pair, which serde_json reads neither before nor after.
        Err(_) => return assert!(serde_json::from_slice::<Value>(answer).is_err()),
    };
    let before: Value = serde_json::from_slice(answer).unwrap();
    let meta = after["result"]["_meta"].as_object_mut().unwrap();
    assert_eq!(meta.remove(KEY), Some("en".into()));
    if meta.is_empty() && before["result"].get("_meta").is_none() {
        after["result"].as_object_mut().unwrap().remove("_meta");
    }
    assert_eq!(before, after);
});

//! The message reader against serde_json: the same verdict on validity, duplicate names and depth aside.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::message::{JsonFault, Message};
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|body: &[u8]| {
    let theirs = serde_json::from_slice::<&RawValue>(body);
    match Message::parse(body) {
        Ok(message) => {
            assert!(theirs.is_ok(), "serde_json refuses what we read");
            compare(body, &message);
        }
        // Found later than serde_json's fault, or not a fault to it at all.
        Err(error) if matches!(error.fault, JsonFault::RepeatedName | JsonFault::TooDeep) => {}
        Err(error) => assert!(theirs.is_err(), "serde_json reads what we refuse: {error}"),
    }
});

/// What was found is what serde_json finds, where it can: it reads no half surrogate pairs.
fn compare(body: &[u8], message: &Message<'_>) {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return };
    let read = |raw: &str| serde_json::from_str::<Value>(raw).unwrap();
    if value.is_object() {
        for name in ["jsonrpc", "id", "method", "params", "clientContext"] {
            assert_eq!(message.member(name).map(|found| read(found.raw())).as_ref(), value.get(name));
        }
        let params = value.get("params").filter(|params| params.is_object());
        for name in ["name", "uri", "taskId", "arguments", "_meta"] {
            let theirs = params.and_then(|params| params.get(name));
            assert_eq!(message.param(name).map(|found| read(found.raw())).as_ref(), theirs);
        }
        let arguments = params.and_then(|params| params.get("arguments")).and_then(Value::as_object);
        let ours: serde_json::Map<_, _> = message
            .arguments()
            .map(|(name, value)| (name.decode().unwrap().into_owned(), read(value.raw())))
            .collect();
        assert_eq!(Some(&ours).filter(|ours| !ours.is_empty()), arguments.filter(|map| !map.is_empty()));
    }
    if let Some(params) = message.member("params") {
        let again: Vec<_> = params.members().map(|(name, _)| name.decode().unwrap().into_owned()).collect();
        let theirs = value["params"].as_object().map(|map| map.len()).unwrap_or_default();
        assert_eq!(again.len(), theirs);
        let spliced = message.splice(&[(params.span(), "null")]).unwrap();
        assert_eq!(read(&spliced)["params"], Value::Null);
    }
    assert_eq!(message.splice(&[]).unwrap().as_bytes(), body);
}

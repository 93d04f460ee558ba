//! What ids carry: whatever bytes come out of a seal, what is read from them would be written so, and no longer than
//! it says. What a message declares always fits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::session::{ClientFeatures, EventIdPayload, SessionIdPayload, TaskIdPayload};
use mcp_attune_wire::message::Message;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(session) = SessionIdPayload::decode(bytes) {
        assert_eq!(session.encode(), bytes);
        assert!(bytes.len() <= SessionIdPayload::MAX_LEN);
    }
    if let Ok(event) = EventIdPayload::decode(bytes) {
        assert_eq!(event.encode(), bytes);
        assert!(bytes.len() <= EventIdPayload::MAX_LEN);
    }
    if let Ok(task) = TaskIdPayload::decode(bytes) {
        assert_eq!(task.encode(), bytes);
        assert!(bytes.len() <= TaskIdPayload::MAX_LEN);
    }
    if let Ok(message) = Message::parse(bytes) {
        let declared = ClientFeatures::from_initialize(&message);
        let session = SessionIdPayload::new(None, declared.features.into()).unwrap();
        assert_eq!(SessionIdPayload::decode(&session.encode()), Ok(session));
    }
});

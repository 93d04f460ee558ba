//! What ids carry: whatever bytes come out of a seal, what is read from them would be written so, and no longer than
//! it says. What a message declares always fits.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::session::{Event, Features, Session, Task};
use mcp_attune_wire::message::Message;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(session) = Session::decode(bytes) {
        assert_eq!(session.encode(), bytes);
        assert!(bytes.len() <= Session::MAX_LEN);
    }
    if let Ok(event) = Event::decode(bytes) {
        assert_eq!(event.encode(), bytes);
        assert!(bytes.len() <= Event::MAX_LEN);
    }
    if let Ok(task) = Task::decode(bytes) {
        assert_eq!(task.encode(), bytes);
        assert!(bytes.len() <= Task::MAX_LEN);
    }
    if let Ok(message) = Message::parse(bytes) {
        let declared = Features::declared(&message);
        let session = Session::new(None, declared.features).unwrap();
        assert_eq!(Session::decode(&session.encode()), Ok(session));
    }
});

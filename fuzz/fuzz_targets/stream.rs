//! The event splitter: however the bytes come, the same bytes and the same events go on. The first byte of the input
//! says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_tower::sse::{SsePiece, SseSplitter, event_data, replace_event_data};

fuzz_target!(|input: &[u8]| {
    let Some((length, stream)) = input.split_first() else { return };
    let whole = split(stream, stream.len().max(1));
    let pieces = split(stream, usize::from(*length).max(1));
    assert_eq!(whole, pieces);
    assert_eq!(whole.0, stream);
    for event in &whole.1 {
        // Other event_data in an event reads back as it was put in; a CR would be a line end of its own.
        let changed = replace_event_data(event, b"{\"a\":1}");
        if event_data(event).is_some() {
            assert_eq!(event_data(&changed).as_deref(), Some(&b"{\"a\":1}"[..]));
        } else {
            assert_eq!(&changed, event);
        }
    }
});

/// All bytes in order, and the events with their line ends made one.
fn split(stream: &[u8], length: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut splitter = SseSplitter::new(usize::MAX);
    let (mut bytes, mut events) = (Vec::new(), Vec::new());
    for piece in stream.chunks(length) {
        for piece in splitter.push(piece).unwrap() {
            match piece {
                SsePiece::Raw(raw) => bytes.extend_from_slice(&raw),
                SsePiece::Event(event) => {
                    bytes.extend_from_slice(&event);
                    // The LF of a last CRLF may come apart from its event.
                    let event = event.strip_suffix(b"\r\n").or(event.strip_suffix(b"\r")).unwrap_or(&event);
                    events.push(event.to_vec());
                }
            }
        }
    }
    bytes.extend(splitter.finish().unwrap_or_default());
    (bytes, events)
}

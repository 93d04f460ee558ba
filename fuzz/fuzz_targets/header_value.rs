//! The header codec: what decodes encodes to something that decodes to the same, and plain text stays plain.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::header::{decode, encode, needs_no_encoding};

fuzz_target!(|value: &[u8]| {
    if let Ok(text) = decode(value) {
        let canonical = encode(&text);
        assert_eq!(decode(canonical.as_bytes()).unwrap(), text);
        assert_eq!(needs_no_encoding(&text), canonical == text);
        // Base64 has one spelling: an encoded value that decodes is what encoding gives.
        if value.starts_with(b"=?base64?") && &*text.as_bytes() != value && canonical != text {
            assert_eq!(canonical.as_bytes(), value);
        }
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let encoded = encode(text);
        assert!(encoded.bytes().all(|byte| matches!(byte, b' '..=b'~')));
        assert_eq!(decode(encoded.as_bytes()).unwrap(), text);
    }
});

//! Other spellings of a path: what is canonical_path has no more to undo, and whatever is written, finding out ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::endpoint::{canonical_path, is_alias};

fuzz_target!(|path: &str| {
    let canonical_path = canonical_path(path);
    assert!(canonical_path.is_empty() || canonical_path.starts_with('/'));
    assert!(canonical_path.split('/').skip(1).all(|segment| !["", ".", ".."].contains(&segment)));
    assert!(
        !canonical_path.contains(['\\', ';', '?', '#', ' '])
            && !canonical_path.chars().any(|char| char.is_ascii_uppercase())
    );
    assert!(!is_alias(path, path));
    let shouted = path.to_ascii_uppercase();
    assert!(shouted == path || is_alias(&shouted, path), "{path}");
});

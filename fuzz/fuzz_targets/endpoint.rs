//! Other spellings of a path: what is canonical has no more to undo, and whatever is written, finding out ends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::endpoint::{canonical, is_alias};

fuzz_target!(|path: &str| {
    let canonical = canonical(path);
    assert!(canonical.is_empty() || canonical.starts_with('/'));
    assert!(canonical.split('/').skip(1).all(|segment| !["", ".", ".."].contains(&segment)));
    assert!(
        !canonical.contains(['\\', ';', '?', '#', ' '])
            && !canonical.chars().any(|char| char.is_ascii_uppercase())
    );
    assert!(!is_alias(path, path));
    let shouted = path.to_ascii_uppercase();
    assert!(shouted == path || is_alias(&shouted, path), "{path}");
});

//! Archives of bundles: whatever the bytes are, they are opened in one way or refused in words that are fit to be shown; of what
//! is opened every file is read or refused, within its bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::language::Tag;
use mcp_attune_files::bundle::Bundle;

const MOST: u64 = 1 << 20;

fn fit(said: &str, hint: &str) {
    assert!(!said.is_empty() && !hint.is_empty());
    assert!(said.len() < 2000 && hint.len() < 2000, "{said}: {hint}");
    assert!(said.chars().chain(hint.chars()).all(|c| !c.is_control()), "{said:?}: {hint:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let opened = Bundle::from_archive(bytes);
    let again = Bundle::from_archive(bytes);
    let bundle = match (opened, again) {
        (Ok(bundle), Ok(again)) => {
            assert_eq!(bundle.names(), again.names());
            bundle
        }
        (Err(why), Err(again)) => {
            assert_eq!(why, again);
            fit(&why.to_string(), &why.hint());
            return;
        }
        (one, other) => panic!("{one:?} and then {other:?}"),
    };
    let names = bundle.names();
    assert!(names.is_sorted() && names.iter().any(|name| name.as_str() == "manifest.json"));
    for name in &names {
        match bundle.read(name, MOST) {
            Ok(read) => assert!(read.len() as u64 <= MOST),
            Err(why) => fit(&why.to_string(), &why.hint()),
        }
        if let Err(why) = bundle.picture(name) {
            fit(&why.to_string(), &why.hint());
        }
    }
    let locale = Tag::parse("de-CH").unwrap();
    assert_eq!(bundle.resolve(&locale), bundle.resolve(&locale));
    if let Some(signature) = bundle.signature() {
        assert!(signature.der.len() < bytes.len());
    }
});

//! Bundles with a signature. `fixtures/signed.mcpb` was packed and signed with the official tool, version 2.1.2, by a
//! certificate that another one signed, both made for it with openssl; nobody trusts them.

use mcp_attune_bundle::BundleFileName;
use mcp_attune_files::bundle::{Bundle, BundleOpenError};

use crate::zipped::{archive, manifest};

const OFFICIAL: &[u8] = include_bytes!("fixtures/signed.mcpb");

fn block(der: &[u8]) -> Vec<u8> {
    let length = u32::try_from(der.len()).unwrap().to_le_bytes();
    [b"MCPB_SIG_V1", &length[..], der, b"MCPB_SIG_END"].concat()
}

#[test]
fn what_the_official_tool_signed_is_opened_and_told() {
    let bundle = Bundle::from_archive(OFFICIAL).unwrap();
    assert_eq!(bundle.manifest().name.as_deref(), Some("signed"));
    assert_eq!(bundle.read(&BundleFileName::parse("index.js").unwrap(), 9), Ok(b"\n".to_vec()));
    let signature = bundle.signature().unwrap();
    assert!(OFFICIAL.ends_with(&block(&signature.der)));
    let signed = signature.signed.unwrap();
    assert_eq!(signed.signers, 1);
    let mut subjects = signed.subjects;
    subjects.sort();
    assert_eq!(subjects, ["C=CH,O=Example,CN=Example Publisher", "O=Example,CN=Example Root"]);
}

#[test]
fn a_signature_that_says_nothing_is_kept() {
    let plain = archive(&[manifest()]);
    assert_eq!(Bundle::from_archive(plain.clone()).unwrap().signature(), None);
    for der in [&b""[..], b"\x30\x80", &[0x30; 300]] {
        let bundle = Bundle::from_archive([plain.clone(), block(der)].concat()).unwrap();
        let signature = bundle.signature().unwrap();
        assert_eq!((&*signature.der, signature.signed), (der, None));
    }
}

#[test]
fn a_signature_that_does_not_fit_is_refused() {
    let plain = archive(&[manifest()]);
    let mut long = block(b"123");
    long[11] += 1;
    let large = block(&vec![0; 300 << 10]);
    for end in [&long[..], b"MCPB_SIG_END", &large] {
        let found = Bundle::from_archive([&plain, end].concat()).unwrap_err();
        assert_eq!(found.to_string(), "ends as signed bundles do, but not with a signature that fits");
    }
    let signature = Bundle::from_archive(OFFICIAL).unwrap().signature().unwrap();
    let unsigned = OFFICIAL.len() - block(&signature.der).len();
    for length in (0..OFFICIAL.len()).filter(|length| *length != unsigned) {
        let found = Bundle::from_archive(&OFFICIAL[..length]);
        assert!(matches!(found, Err(BundleOpenError::Archive(_))), "{length}");
    }
    assert_eq!(Bundle::from_archive(&OFFICIAL[..unsigned]).unwrap().signature(), None);
}

//! Archives: honest ones are read and unpacked, others refused.

use mcp_attune::language::Tag;
use mcp_attune_bundle::BundleFileName;
use mcp_attune_files::bundle::{Bundle, BundleOpenError, BundleReadError};

use crate::place::{Folder, tree};
use crate::zipped::{Entry, archive, manifest};

fn inside(name: &str) -> BundleFileName {
    BundleFileName::parse(name).unwrap()
}

#[test]
fn an_archive_is_read_resolved_and_unpacked() {
    let place = Folder::new("archive");
    let text = r#"{"manifest_version": "0.3", "name": "a", "description": "The weather",
        "localization": {"resources": "r/${locale}.json", "default_locale": "en"}}"#;
    let mut program = Entry::deflated("server/run.sh", b"#!/bin/sh\n");
    program.mode = 0o100_755;
    let mut folder = Entry::stored("empty/", b"");
    folder.mode = 0o040_755;
    let path = place.write(
        "a.mcpb",
        archive(&[
            Entry::stored("manifest.json", text.as_bytes()),
            Entry::deflated("r/es.json", br#"{"description": "El tiempo"}"#),
            Entry::deflated("r/fr.json", b"broken"),
            program,
            folder,
        ]),
    );
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.manifest_bytes(), text.as_bytes());
    let names: Vec<String> = bundle.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["manifest.json", "r/es.json", "r/fr.json", "server/run.sh"]);
    assert!(bundle.resolve(&Tag::parse("es-MX").unwrap()).text.contains("El tiempo"));
    assert!(bundle.resolve(&Tag::parse("fr").unwrap()).text.contains("The weather"));
    assert_eq!(bundle.read(&inside("server/run.sh"), 10), Ok(b"#!/bin/sh\n".to_vec()));
    assert_eq!(bundle.read(&inside("server/run.sh"), 9), Err(BundleReadError::TooLarge { most: 9 }));
    assert_eq!(bundle.read(&inside("server"), 9), Err(BundleReadError::Missing));
    assert_eq!(bundle.read(&inside("empty"), 9), Err(BundleReadError::NoFile));

    let into = place.path().join("deep/er");
    bundle.unpack(&into).unwrap();
    let found: Vec<String> = tree(&into).into_keys().collect();
    assert_eq!(
        found,
        ["empty/", "manifest.json", "r/", "r/es.json", "r/fr.json", "server/", "server/run.sh"]
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| into.join(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("server/run.sh"), mode("manifest.json")), (0o755, 0o644));
    }
    let before = place.tree();
    assert_eq!(bundle.unpack(&into).unwrap_err().to_string(), "is there already, and is no empty folder");
    assert_eq!(place.tree(), before);
}

#[test]
fn an_archive_of_the_folder_itself_is_told() {
    let found = Bundle::from_archive(archive(&[Entry::stored("weather/manifest.json", b"{}")])).unwrap_err();
    assert_eq!(found, BundleOpenError::NoManifest { elsewhere: Some("weather".into()) });
    assert_eq!(found.to_string(), "has no manifest.json at its top");
    assert_eq!(found.hint(), "there is one in \"weather\": pack what is in that folder, not the folder");
}

#[test]
fn a_folder_does_not_unpack_and_an_archive_has_no_folder() {
    let place = Folder::new("folder-unpack");
    place.write("manifest.json", "{}");
    let bundle = Bundle::open(place.path()).unwrap();
    assert_eq!(bundle.unpack(place.path().join("x")).unwrap_err().to_string(), "is a folder already");
    assert!(Bundle::from_archive(archive(&[manifest()])).unwrap().folder().is_none());
}

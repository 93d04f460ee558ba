//! Bundles that are folders.

use mcp_attune::language::Tag;
use mcp_attune_bundle::{BundleFileName, ManifestError};
use mcp_attune_files::bundle::{Bundle, BundleOpenError, BundleReadError};

use crate::place::Folder;

const MANIFEST: &str = r#"{"manifest_version": "0.3", "name": "a", "display_name": "A",
    "localization": {"resources": "r/${locale}.json", "default_locale": "en"}}"#;

fn tag(text: &str) -> Tag {
    Tag::parse(text).unwrap()
}

#[test]
fn a_folder_and_its_manifest_are_the_same_bundle() {
    let place = Folder::new("folder");
    let manifest = place.write("manifest.json", MANIFEST);
    place.write("r/es.json", r#"{"display_name": "E"}"#);
    place.write("server/index.js", "");
    for path in [place.path(), &manifest] {
        let bundle = Bundle::open(path).unwrap();
        let names: Vec<String> = bundle.names().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["manifest.json", "r/es.json", "server/index.js"]);
        assert!(bundle.resolve(&tag("es")).text.contains(r#""display_name": "E""#));
        assert_eq!(bundle.folder(), Some(&*place.path().canonicalize().unwrap()));
    }
}

#[test]
fn a_locale_file_is_read_once_and_others_never() {
    let place = Folder::new("once");
    place.write("manifest.json", MANIFEST);
    let everything = r#"{"display_name": "b", "description": "c", "long_description": "d", "keywords": ["e"],
        "author": {"name": "f"}}"#;
    for locale in ["de", "fr", "en", "it"] {
        place.write(&format!("r/{locale}.json"), everything);
    }
    let bundle = Bundle::open(place.path()).unwrap();
    assert_eq!((bundle.read_count(), bundle.locales().files.len()), (1, 4));
    let first = bundle.resolve(&tag("de"));
    assert_eq!(bundle.read_count(), 2);
    place.write("r/de.json", "{}");
    assert_eq!(bundle.resolve(&tag("de")), first);
    assert_eq!(bundle.read_count(), 2);
    let _ = bundle.resolve(&tag("fr-CA"));
    assert_eq!(bundle.read_count(), 3);
}

#[test]
fn a_broken_locale_file_is_read_once_too() {
    let place = Folder::new("broken");
    place.write("manifest.json", MANIFEST);
    place.write("r/de.json", "{");
    let bundle = Bundle::open(place.path()).unwrap();
    for _ in 0..3 {
        assert_eq!(bundle.resolve(&tag("de")).text, MANIFEST);
    }
    assert_eq!(bundle.read_count(), 2);
}

#[test]
fn what_is_no_bundle_is_told() {
    let place = Folder::new("none");
    let check = |path: &str, expected: BundleOpenError, said: &str| {
        let found = Bundle::open(place.path().join(path)).unwrap_err();
        assert_eq!((&found, found.to_string().as_str()), (&expected, said), "{path}");
        assert!(!found.hint().is_empty());
    };
    place.write("empty/x", "");
    place.write("array/manifest.json", "[]");
    std::fs::create_dir_all(place.path().join("nested/manifest.json")).unwrap();
    place.write("large/manifest.json", "");
    let large = std::fs::File::create(place.path().join("large/manifest.json")).unwrap();
    large.set_len(100 << 20).unwrap();
    check("nowhere", BundleOpenError::Unreadable(std::io::ErrorKind::NotFound), "is not there");
    check("empty", BundleOpenError::NoManifest { elsewhere: None }, "has no manifest.json at its top");
    check(
        "array",
        BundleOpenError::Manifest { why: ManifestError::NoObject, file: (*b"[]").into() },
        "its manifest.json is no manifest: no JSON object; a manifest begins with { and ends with }",
    );
    check("nested", BundleOpenError::Unavailable(BundleReadError::NoFile), "its manifest.json is no file");
    check(
        "large",
        BundleOpenError::Manifest { why: ManifestError::TooLarge, file: Box::default() },
        "its manifest.json is no manifest: too large for a manifest; at most 4 MiB are read",
    );
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_and_refused_outside() {
    use std::os::unix::fs::symlink;
    let place = Folder::new("links");
    place.write("secret/de.json", r#"{"display_name": "stolen"}"#);
    place.write("secret/manifest.json", "{}");
    place.write("b/manifest.json", MANIFEST);
    place.write("b/texts/es.json", r#"{"display_name": "E"}"#);
    let root = place.path().join("b");
    let link = |to: &str, from: &str| symlink(to, root.join(from)).unwrap();
    std::fs::create_dir(root.join("r")).unwrap();
    link("../../secret/de.json", "r/de.json");
    link("../texts/es.json", "r/es.json");
    link("../texts/none.json", "r/it.json");
    link("../secret", "out");
    link("texts", "in");
    let bundle = Bundle::open(&root).unwrap();
    assert_eq!(bundle.resolve(&tag("de")).text, MANIFEST);
    assert!(bundle.resolve(&tag("es")).text.contains(r#""display_name": "E""#));
    let check = |name: &str, expected: Result<usize, BundleReadError>| {
        let found = bundle.read(&BundleFileName::parse(name).unwrap(), 100);
        assert_eq!(found.map(|bytes| bytes.len()), expected, "{name}");
    };
    check("r/de.json", Err(BundleReadError::Outside));
    check("out/de.json", Err(BundleReadError::Outside));
    check("in/es.json", Ok(21));
    check("in", Err(BundleReadError::NoFile));
    check("r/it.json", Err(BundleReadError::Missing));
    check("manifest.json/x", Err(BundleReadError::Missing));
    let names: Vec<String> = bundle.names().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["manifest.json", "r/es.json", "texts/es.json"]);

    std::fs::create_dir(place.path().join("c")).unwrap();
    symlink("../secret/manifest.json", place.path().join("c/manifest.json")).unwrap();
    for path in ["c", "c/manifest.json"] {
        let found = Bundle::open(place.path().join(path)).unwrap_err();
        assert_eq!(found.to_string(), "its manifest.json is a link that leads out of the bundle", "{path}");
    }
    symlink("../secret", root.join("l")).unwrap();
    std::fs::write(root.join("manifest.json"), MANIFEST.replace("r/$", "l/$")).unwrap();
    assert!(Bundle::open(&root).unwrap().locales().files.is_empty());
}

#[test]
fn only_the_folder_of_locale_files_is_listed() {
    let place = Folder::new("listed");
    let check = |resources: &str, expected: &[&str]| {
        place.write("manifest.json", MANIFEST.replace("r/${locale}.json", resources));
        let bundle = Bundle::open(place.path()).unwrap();
        let names: Vec<&str> = bundle.locales().files.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, expected, "{resources}");
    };
    for name in ["r/de.json", "r/fr/x.json", "r/it/y.json", "de.json", "t-de/z/x.json", "r/es.json/x"] {
        place.write(name, "{}");
    }
    check("r/${locale}.json", &["r/de.json"]);
    check("./r/${locale}/x.json", &["r/fr/x.json"]);
    check("${locale}.json", &["de.json"]);
    check("t-${locale}/z/x.json", &["t-de/z/x.json"]);
    check("none/${locale}.json", &[]);
    check("../r/${locale}.json", &[]);
}

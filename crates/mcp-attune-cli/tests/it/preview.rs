//! `attune bundle preview`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::attune;

/// A folder of its own, until this is dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-preview-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bundle/r")).expect("a folder");
        let place = Self(folder.canonicalize().expect("a folder"));
        place.write(
            "bundle/manifest.json",
            r#"{"name": "a", "description": "b", "icon": "icon.png", "localization": {"resources": "r/${locale}.json"}}"#,
        );
        place.write("bundle/r/de.json", r#"{"description": "Das ist b"}"#);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file");
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn writes_a_page_with_every_locale_and_those_asked_for() {
    let place = Place::new("page");
    let (page, bundle) = (place.path("page.html"), place.path("bundle"));
    let shown = attune(&["bundle", "preview", "--locale", "de-AT", "--out", &page, &bundle]);
    assert_eq!(shown, format!("exit: 0\n--- stdout\n{page}: 3 locales, 1 icon\n--- stderr\n"));
    let text = fs::read_to_string(&page).expect("a page");
    for tag in ["en-US", "de", "de-AT"] {
        assert_eq!(text.matches(&format!("<section class=\"store\" id=\"{tag}\"")).count(), 1, "{tag}");
    }
    assert_eq!(text.matches(">Das ist b<").count(), 2);
    assert!(text.contains("not shown: it is not there"));
    let printed = attune(&["bundle", "preview", "--locale", "de-AT", "--out", "-", &bundle]);
    assert_eq!(printed, format!("exit: 0\n--- stdout\n{text}--- stderr\n"));
}

#[test]
fn says_what_is_wrong_and_what_to_do() {
    let place = Place::new("wrong");
    let bundle = place.path("bundle");
    let check = |arguments: &[&str], error: &str, hint: &str| {
        let shown = attune(&[&["bundle", "preview"], arguments].concat());
        assert!(shown.starts_with("exit: 2\n--- stdout\n--- stderr\nerror: "), "{shown}");
        assert!(shown.contains(error) && shown.contains(&format!("hint: {hint}")), "{shown}");
    };
    let nowhere = place.path("nowhere");
    check(&["--out", "-", &nowhere], "is not there", "name the folder of a bundle");
    check(&["--out", "-", &place.path("bundle/r")], "has no manifest.json", "name the folder");
    check(&["--out", &bundle, &bundle], "is there and no file", "name a file for the page");
    check(&["--out", "-", "--locale", "es_UY", &bundle], "--locale es_UY", "write a language tag");
    place.write("bundle/manifest.json", "[]");
    check(
        &["--out", "-", &bundle],
        "its manifest.json is no manifest: no JSON object",
        "make it one JSON object",
    );
    assert!(!Path::new(&nowhere).exists());
}

#[test]
#[cfg(unix)]
fn shows_nothing_from_outside_the_bundle() {
    let place = Place::new("outside");
    place.write("secret", r#"{"description": "a secret"}"#);
    std::os::unix::fs::symlink(place.0.join("secret"), place.0.join("bundle/r/fr.json")).expect("a link");
    std::os::unix::fs::symlink(place.0.join("secret"), place.0.join("bundle/icon.png")).expect("a link");
    let shown = attune(&["bundle", "preview", "--locale", "fr", "--out", "-", &place.path("bundle")]);
    assert!(shown.starts_with("exit: 0") && !shown.contains("a secret"), "{shown}");
    assert!(shown.contains("it is a link that leads out of the bundle"), "{shown}");
}

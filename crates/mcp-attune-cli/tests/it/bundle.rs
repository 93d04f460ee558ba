//! `attune bundle`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::attune;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bundle");

/// What is there and no file stays, whichever command would write a file in its place.
#[cfg(unix)]
#[test]
fn no_command_puts_a_file_in_the_place_of_what_is_none() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let pipe = at("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    symlink(&pipe, at("link")).expect("a link");
    symlink(at("nowhere"), at("dangling")).expect("a link");
    fs::create_dir(at("catalog")).expect("a folder");
    symlink(at("nowhere"), at("catalog/en.json")).expect("a link");
    let demo = ["--", env!("CARGO_BIN_EXE_attune"), "demo", "--bare", "--stdio"];
    for out in [&pipe, &at("link"), &at("dangling")] {
        for command in [
            vec!["bundle", "pack", EXAMPLE, out],
            vec!["bundle", "preview", "--out", out, EXAMPLE],
            [&["audit", "--html", out][..], &demo].concat(),
            [&["check", "--junit", out][..], &demo].concat(),
        ] {
            let shown = attune(&command);
            assert!(shown.starts_with("exit: 2\n--- stdout\n--- stderr\nerror: "), "{command:?}: {shown}");
            let expected = format!("{out} is there and no file\nhint: name a file for the ");
            assert!(shown.contains(&expected), "{command:?}: {shown}");
        }
    }
    let shown = attune(&[&["catalog", "extract", "--out", &at("catalog")][..], &demo].concat());
    assert!(shown.starts_with("exit: 2\n") && shown.contains("it is there and no file"), "{shown}");
    assert!(fs::symlink_metadata(&pipe).expect("a pipe").file_type().is_fifo());
    for link in ["link", "dangling", "catalog/en.json"] {
        assert!(fs::symlink_metadata(at(link)).expect("a link").is_symlink(), "{link}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 4);
}

#[test]
fn resolves_the_texts_of_40_000_tools() {
    const TOOLS: usize = 40_000;
    let folder = tempfile::tempdir().expect("a folder");
    let tools: Vec<_> = (0..TOOLS)
        .map(|index| serde_json::json!({ "name": format!("tool-{index}"), "description": format!("own {index}") }))
        .collect();
    let german: serde_json::Map<_, _> = (0..TOOLS)
        .step_by(2)
        .map(|index| {
            (format!("tool-{index}"), serde_json::json!({ "description": format!("deutsch {index}") }))
        })
        .collect();
    let manifest = serde_json::json!({
        "name": "many", "tools": tools,
        "prompts": [{ "name": "tool-1", "description": "a prompt" }],
        "localization": { "resources": "r/${locale}.json", "default_locale": "en" },
    });
    fs::write(folder.path().join("manifest.json"), manifest.to_string()).expect("a manifest");
    fs::create_dir(folder.path().join("r")).expect("a folder");
    let locale = serde_json::json!({ "tools": german }).to_string();
    fs::write(folder.path().join("r/de.json"), locale).expect("a locale file");
    let shown = attune(&["bundle", "resolve", "--locale", "de", folder.path().to_str().expect("UTF-8")]);
    let lines = (0..TOOLS).map(|index| match index % 2 {
        0 => format!("tools.tool-{index}.description (de): deutsch {index}\n"),
        _ => format!("tools.tool-{index}.description (manifest): own {index}\n"),
    });
    let expected: String =
        lines.chain(["prompts.tool-1.description (manifest): a prompt\n".to_owned()]).collect();
    let (head, _) = shown.split_once("--- stderr").expect("the standard error");
    assert!(
        head == format!("exit: 0\n--- stdout\n{expected}"),
        "{}",
        head.chars().take(2000).collect::<String>()
    );
}

/// A copy of the example with some files changed, gone when the test is over.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-bundle-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        copy(Path::new(EXAMPLE), &folder);
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file");
        }
        Self(folder)
    }

    /// Changes the manifest.
    fn with(self, from: &str, to: &str) -> Self {
        let path = self.0.join("manifest.json");
        let text = fs::read_to_string(&path).expect("a manifest");
        assert!(text.contains(from), "{from}");
        fs::write(path, text.replacen(from, to, 1)).expect("a manifest");
        self
    }

    /// Runs `attune bundle validate`, and shows it without the folder, which is another one each time.
    fn validate(&self, options: &[&str]) -> String {
        let folder = self.0.to_str().expect("UTF-8");
        attune(&[&["bundle", "validate", folder], options].concat()).replace(folder, "B")
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file");
        }
    }
}

fn printed(shown: &str) -> Value {
    let (_, rest) = shown.split_once("--- stdout\n").expect("output");
    serde_json::from_str(rest.split_once("--- stderr").expect("an end").0).expect("JSON")
}

#[test]
fn the_example_is_valid_without_a_warning() {
    insta::assert_snapshot!(Copy::new("fine", &[]).validate(&[]), @"
    exit: 0
    --- stdout
    valid: 0 errors, 0 warnings
    the official tool says: valid; wanted were 100 % of the texts in each locale, and icons with a contrast of 3 to 1
    --- stderr
    ");
}

#[test]
fn errors_come_first_with_their_place_and_a_hint() {
    let bundle =
        Copy::new("wrong", &[("locales/fr.json", "{\n  \"display_name\": \"Météo\",\n  \"colour\": 1\n}")])
            .with("\"keywords\"", "\"keyword\"")
            .with("64x64", "64x46")
            .with("\"default_locale\": \"en-US\"", "\"x\": 1");
    insta::assert_snapshot!(bundle.validate(&[]));
    assert!(bundle.validate(&["--at-least", "10"]).contains("wanted were 10 %"));
}

#[test]
fn the_verdict_of_the_official_tool_stands_apart() {
    let bundle = Copy::new("apart", &[]).with("\"platforms\":", "\"my_client\": \">=1\", \"platforms\":");
    insta::assert_snapshot!(bundle.validate(&[]));
    let only = bundle.validate(&["--official-only"]);
    assert!(only.starts_with("exit: 1\n") && only.contains("compatibility.my_client"), "{only}");
    let broken = Copy::new("ours", &[("locales/de.json", "{")]);
    assert!(broken.validate(&[]).starts_with("exit: 1\n"));
    assert!(broken.validate(&["--official-only"]).starts_with("exit: 0\n"));
}

#[test]
fn programs_get_json() {
    let bundle = Copy::new("json", &[("locales/fr.json", "{}")]);
    let shown = printed(&bundle.validate(&["--json"]));
    assert_eq!((&shown["valid"], &shown["officially_valid"]), (&true.into(), &true.into()));
    assert_eq!(shown["manifest_version"], "0.3");
    let problem = &shown["problems"][0];
    assert_eq!(
        (&problem["file"], &problem["kind"], &problem["level"]),
        (&"locales/fr.json".into(), &"untranslated".into(), &"warning".into())
    );
    let covered = shown["coverage"].as_array().expect("a list");
    let percent =
        |tag: &str| covered.iter().find(|it| it["locale"] == tag).expect("a locale")["percent"].clone();
    assert_eq!((percent("es-UY"), percent("fr")), (100.into(), 0.into()));
    assert_eq!(shown, printed(&bundle.validate(&["--format", "json"])));
}

#[test]
fn github_shows_problems_beside_their_lines() {
    let bundle = Copy::new("github", &[("locales/fr.json", "{\n \"a,b:c\": \"50 %\"}")])
        .with("\"author\"", "\"autor\"");
    insta::assert_snapshot!(bundle.validate(&["--format", "github"]));
}

#[test]
fn what_is_no_bundle_cannot_be_judged() {
    let missing = attune(&["bundle", "validate", "/nowhere"]);
    assert!(missing.starts_with("exit: 2\n"), "{missing}");
    let none = attune(&["bundle", "validate", env!("CARGO_MANIFEST_DIR")]);
    assert!(none.starts_with("exit: 2\n") && none.contains("has no manifest.json at its top"), "{none}");
}

//! `attune bundle`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{attune, code, text};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bundle");

/// What is there and no file stays, whichever command would write a file in its place.
#[cfg(unix)]
#[test]
fn no_command_puts_a_file_in_the_place_of_what_is_none() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let pipe = at("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
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
fn without_a_locale_the_systems_counts() {
    let first = |variables: &[(&str, &str)], options: &[&str]| {
        let mut attune = Command::new(env!("CARGO_BIN_EXE_attune"));
        for name in ["LC_ALL", "LC_MESSAGES", "LANG"] {
            attune.env_remove(name);
        }
        let arguments = [&["bundle", "resolve"], options, &[EXAMPLE]].concat();
        let output = attune.envs(variables.iter().copied()).args(arguments).output().expect("attune starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(first(&[("LANG", "es_UY.UTF-8")], &[]), "display_name (es-MX): El tiempo");
    assert_eq!(
        first(&[("LC_ALL", "es_MX"), ("LANG", "fr_CH.UTF-8")], &[]),
        "display_name (es-MX): El tiempo"
    );
    // What the command line says comes first; without either, the manifest's own language.
    let own = first(&[], &[]);
    assert!(own.starts_with("display_name (manifest): ") || own.starts_with("display_name (en"), "{own}");
    assert_eq!(first(&[("LANG", "es_UY.UTF-8")], &["--locale", "en-US"]), own);
    assert_eq!(first(&[("LC_ALL", "C")], &[]), own);
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
    The official tool, mcpb validate, accepts it too.
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
    let lenient = bundle.validate(&["--at-least", "10"]);
    assert!(lenient.contains("warnings\n") && !lenient.contains("% is wanted"), "{lenient}");
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

/// A copy of a bundle's manifest, where files can be written beside it.
fn beside(manifest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("manifest.json"), manifest).expect("a file");
    folder
}

#[test]
fn info_tells_what_is_in_a_bundle() {
    insta::assert_snapshot!(attune(&["bundle", "info", EXAMPLE]), @r"
    exit: 0
    --- stdout
    name          weather
    display name  Weather
    version       1.0.0
    author        The Attune authors
    manifest      0.3
    server        python
    tools         current_weather, forecast
    prompts       pack_for
    settings      units, days
    locales       ar, de, es-MX, es-UY, ja (the manifest is in en-US)
    icons         4
    screenshots   0
    files         12
    signed        no
    --- stderr
    ");
    let folder = tempfile::tempdir().expect("a folder");
    let packed = folder.path().join("weather.mcpb").to_str().expect("UTF-8").to_owned();
    let shown = attune(&["bundle", "pack", EXAMPLE, &packed]);
    assert!(shown.starts_with("exit: 0\n") && shown.contains(" kB in "), "{shown}");
    let shown = attune(&["bundle", "info", "--json", &packed]);
    let text = shown.split("--- stdout\n").nth(1).and_then(|rest| rest.split("--- stderr").next());
    let shown: Value = serde_json::from_str(text.expect("output")).expect("JSON");
    assert_eq!((&shown["name"], &shown["files"]), (&"weather".into(), &12.into()));
    assert_eq!(shown["bytes"], fs::metadata(&packed).expect("a file").len());
    let required = r#"{"name": "a", "user_config": {"key": {"type": "string", "required": true}, "days": {"type": "number"}}}"#;
    let shown = attune(&["bundle", "info", beside(required).path().to_str().expect("UTF-8")]);
    assert!(shown.contains("\nsettings      key*, days\n"), "{shown}");
    assert!(shown.contains("\n* has to be filled in\n"), "{shown}");
    let shown = attune(&["bundle", "info", SIGNED]);
    assert!(shown.contains("\nsigned        yes\n"), "{shown}");
}

/// A bundle that was packed and signed with the official tool.
const SIGNED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp-attune-files/tests/it/fixtures/signed.mcpb");

#[test]
fn a_bundle_that_is_packed_gets_no_new_locale() {
    let shown = attune(&["bundle", "new-locale", SIGNED, "fr"]);
    assert!(shown.starts_with("exit: 2\n") && shown.contains("signed.mcpb is packed\n"), "{shown}");
}

#[test]
fn a_new_locale_is_gaps_to_fill_and_no_file_is_written_over() {
    let manifest = fs::read_to_string(Path::new(EXAMPLE).join("manifest.json")).expect("a manifest");
    let folder = beside(&manifest);
    let path = folder.path().to_str().expect("UTF-8");
    let run = |tag: &str| attune(&["bundle", "new-locale", path, tag]).replace(path, "FOLDER");
    insta::assert_snapshot!(run("fr"), @r"
    exit: 0
    --- stdout
    FOLDER/locales/fr.json: 8 gaps to fill; the texts stand in manifest.json, in en-US
    --- stderr
    ");
    insta::assert_snapshot!(fs::read_to_string(folder.path().join("locales/fr.json")).expect("a file"), @r#"
    {
      "display_name": "",
      "description": "",
      "long_description": "",
      "keywords": [],
      "author": { "name": "" },
      "tools": {
        "current_weather": { "description": "" },
        "forecast": { "description": "" }
      },
      "prompts": {
        "pack_for": { "description": "" }
      }
    }
    "#);
    let validated = attune(&["bundle", "coverage", path]);
    assert!(validated.contains("fr      ░░░░░░░░░░░░░░░░░░░░   0 %        8"), "{validated}");
    insta::assert_snapshot!(run("fr"), @r"
    exit: 1
    --- stdout
    --- stderr
    error: there is a file for fr already, and nothing was written
    hint: `attune bundle coverage --list` names what is missing in it
    ");
    insta::assert_snapshot!(run("en-US"), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the manifest itself is in en-US
    hint: name another language; the texts of this one stand in manifest.json
    ");
}

#[test]
fn a_new_locale_stays_inside_the_bundle() {
    let manifest = r#"{"name": "a", "description": "b", "localization": {"resources": "../${locale}.json", "default_locale": "en"}}"#;
    let folder = beside(manifest);
    let shown = attune(&["bundle", "new-locale", folder.path().to_str().expect("UTF-8"), "fr"]);
    assert!(shown.starts_with("exit: 2\n") && shown.contains("leads out of the bundle"), "{shown}");
    assert!(!folder.path().with_file_name("fr.json").exists());
}

#[test]
fn a_manifest_without_localization_is_told_what_to_write() {
    let folder = beside(r#"{"name": "a", "description": "b"}"#);
    let path = folder.path().to_str().expect("UTF-8");
    let shown = attune(&["bundle", "new-locale", path, "fr"]);
    assert!(shown.starts_with("exit: 2\n"), "{shown}");
    let line = shown.split("hint: add ").nth(1).and_then(|rest| rest.split(", with the").next());
    let mended = format!(r#"{{"name": "a", "description": "b", {}}}"#, line.expect("a line to add"));
    fs::write(folder.path().join("manifest.json"), mended).expect("a file");
    assert!(attune(&["bundle", "new-locale", path, "fr"]).starts_with("exit: 0\n"));
}

#[test]
fn texts_of_settings_are_told_apart_because_nobody_can_translate_them() {
    let shown = attune(&["bundle", "coverage", EXAMPLE]);
    assert!(shown.contains("4 texts of settings (user_config) cannot be translated"), "{shown}");
    let folder = beside(r#"{"name": "a", "description": "b"}"#);
    let shown = attune(&["bundle", "coverage", folder.path().to_str().expect("UTF-8")]);
    assert!(!shown.contains("settings"), "{shown}");
}

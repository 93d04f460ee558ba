//! `attune config`.

use std::path::{Path, PathBuf};

use crate::attune;

/// A folder of its own for each test, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Checks a file with this text, and shows it without the folder, which is another one each time.
    fn check(&self, text: &[u8]) -> String {
        let file = self.0.join("attune.toml");
        std::fs::write(&file, text).expect("a file");
        let folder = format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR);
        attune(&["config", "check", file.to_str().expect("UTF-8")]).replace(&folder, "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_that_is_fine_exits_with_0() {
    let folder = Folder::new("fine");
    insta::assert_snapshot!(folder.check(b"[upstream]\nurl = 'http://127.0.0.1:9000/mcp'\n"), @"
    exit: 0
    --- stdout
    attune.toml is fine
    --- stderr
    ");
}

#[test]
fn everything_that_is_wrong_is_told_and_exits_with_1() {
    let folder = Folder::new("wrong");
    let text = "defualt_language = 'en'\n\n[limits]\nbody = '4 MB'\n\n[upstream]\nurl = 'localhost:9000'\ncommand = ['npx']\n";
    insta::assert_snapshot!(folder.check(text.as_bytes()), @r#"
    exit: 1
    --- stdout
    attune.toml:1:1: there is no key `defualt_language` at the top
      1 | defualt_language = …
        | ^^^^^^^^^^^^^^^^
    hint: did you mean `default_language`?

    attune.toml:4:8: `limits.body` is no size
      4 | body = '4 MB'
        |        ^^^^^^
    hint: units are B, KiB (1024 B), MiB and GiB, such as "4 MiB"

    attune.toml:7:7: `upstream.url` is no URL
      7 | url = 'localhost:9000'
        |       ^^^^^^^^^^^^^^^^
    hint: write a whole URL, such as "http://127.0.0.1:9000/mcp"

    attune.toml:8:11: `upstream.command` stands beside `url`
      8 | command = ['npx']
        |           ^^^^^^^
    hint: keep one of the two
    --- stderr
    "#);
}

#[test]
fn what_is_no_toml_and_what_is_no_text_exit_with_1_too() {
    let folder = Folder::new("no-toml");
    insta::assert_snapshot!(folder.check(b"log = info\n"), @"
    exit: 1
    --- stdout
    attune.toml:1:7: this is no TOML: invalid float, expected `inf`
      1 | log = info
        |       ^^^^
    hint: see https://toml.io for how it is written; strings stand in quotes
    --- stderr
    ");
    insta::assert_snapshot!(folder.check(b"# caf\xe9\n"), @"
    exit: 1
    --- stdout
    attune.toml:1:6: this is no UTF-8
    hint: save the file as UTF-8
    --- stderr
    ");
}

#[test]
fn a_file_that_cannot_be_read_exits_with_2() {
    insta::assert_snapshot!(attune(&["config", "check", "gone/attune.toml"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: could not read gone/attune.toml: No such file or directory (os error 2)
    hint: name a file that can be read; `attune config example` prints one to begin with
    ");
}

#[test]
fn without_a_name_the_file_is_attune_toml() {
    // The tests run in the folder of the crate, which has none.
    insta::assert_snapshot!(attune(&["config", "check"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: could not read attune.toml: No such file or directory (os error 2)
    hint: name a file that can be read; `attune config example` prints one to begin with
    ");
}

#[test]
fn the_example_is_printed_as_it_stands_in_the_tree() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/attune.toml");
    let example = std::fs::read_to_string(example).expect("the example");
    let shown = attune(&["config", "example"]);
    assert_eq!(shown, format!("exit: 0\n--- stdout\n{example}--- stderr\n"));
    assert!(Folder::new("example").check(example.as_bytes()).contains("attune.toml is fine"));
}

#[test]
fn the_schema_is_printed_as_json() {
    let shown = attune(&["config", "schema"]);
    let schema =
        shown.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
    let schema: serde_json::Value = serde_json::from_str(schema.expect("exit 0")).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["properties"]["limits"]["properties"]["body"]["default"], "4 MiB");
}

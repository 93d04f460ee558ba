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

#[test]
fn bindings_that_cannot_be_meant_are_told_with_line_and_hint() {
    let folder = Folder::new("bindings");
    let text = r#"[tools.a.context]
tz = { from = "timezon", hide = true }
zone = { from = "timezone", default = "Europe/Zurch" }
day = { from = "today", as = "unix" }
lat = { from = "latitude" }
start = { interval = "zone", part = "start" }
end = { interval = "when" }
end = { from = "now" }
"#;
    insta::assert_snapshot!(folder.check(text.as_bytes()), @r#"
    exit: 1
    --- stdout
    attune.toml:1:1: `tools.a.context` fills `start` from `zone`, which is filled itself
      1 | [tools.a.context]
        | ^^^^^^^^^^^^^^^^^
    hint: name an argument that the tool does not have; Attune adds it

    attune.toml:2:15: `tools.a.context.tz.from` is none of its 11 values
      2 | tz = { from = "timezon", hide = true }
        |               ^^^^^^^^^
    hint: did you mean "timezone"?

    attune.toml:3:39: `tools.a.context.zone.default` is not a time zone
      3 | zone = { from = "timezone", default = "Europe/Zurch" }
        |                                       ^^^^^^^^^^^^^^
    hint: write a name of the IANA database, such as Europe/Vienna

    attune.toml:4:30: `tools.a.context.day.as` says how an instant is written
      4 | day = { from = "today", as = "unix" }
        |                              ^^^^^^
    hint: take it out, or write `from = "now"`

    attune.toml:5:16: `tools.a.context.lat.from` would never be filled: coordinates are off
      5 | lat = { from = "latitude" }
        |                ^^^^^^^^^^
    hint: set `coordinates = "coarse"` in [context], or bind to `city`

    attune.toml:7:1: [tools.a.context.end] has no `part`
      7 | end = { interval = "when" }
        | ^^^
    hint: add `part = "start"` or `part = "end"`

    attune.toml:8:1: this is no TOML: duplicate key
      8 | end = { from = "now" }
        | ^^^
    hint: take one of them out
    --- stderr
    "#);
}

#[test]
fn what_only_the_server_can_say_is_said_to_be_open() {
    let folder = Folder::new("bound");
    let text = "[tools.a.context]\ntz = { from = 'timezone' }\n";
    assert!(folder.check(text.as_bytes()).contains("is looked at when it is served"));
}

//! `attune template render`.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::{code, text};

/// A folder with templates, gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-template-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file");
        }
        Self(folder)
    }

    /// Renders in the folder, with this data on standard input.
    fn render(&self, data: &str, arguments: &[&str]) -> String {
        use std::io::Write;
        let mut attune = Command::new(env!("CARGO_BIN_EXE_attune"))
            .args(["template", "render"])
            .args(arguments)
            .args(["--data", "-"])
            .current_dir(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("attune starts");
        attune.stdin.take().expect("a pipe").write_all(data.as_bytes()).expect("it reads");
        let output = attune.wait_with_output().expect("it ends");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        format!("exit: {}\n--- stdout\n{out}--- stderr\n{err}", code(&output))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const DATA: &str = r#"{"total": 1234.5, "at": "2026-11-15T13:30:00Z", "city": "*Bern*"}"#;

#[test]
fn a_template_is_rendered_for_its_caller() {
    let folder = Folder::new(
        "caller",
        &[(
            "orders.md",
            "{{ city }}: {{ total | currency('CHF') }}, {{ at | datetime }}, {{ arguments.day }}",
        )],
    );
    let options = ["--locale", "de-CH", "--timezone", "Europe/Zurich", "--arguments", r#"{"day":"today"}"#];
    insta::assert_snapshot!(folder.render(DATA, &[&["orders.md"], &options[..]].concat()), @r"
    exit: 0
    --- stdout
    \*Bern\*: CHF 1'234.50, 15.11.2026, 14:30:00, today
    --- stderr
    ");
    // The whole result of a call is taken apart.
    let result = format!(r#"{{"content":[],"structuredContent":{DATA}}}"#);
    insta::assert_snapshot!(folder.render(&result, &["orders.md", "--language", "fr, en;q=0.5", "--now", "2026-11-15T13:30:00+01:00"]), @r"
    exit: 1
    --- stdout
    --- stderr
    error: orders.md: line 1: `arguments.day` has no value; ask for it with `if`, or give a `default`
    ");
}

#[test]
fn what_has_no_value_is_named_with_its_line() {
    let folder = Folder::new(
        "wrong",
        &[
            ("printed.md", "one\n{{ dya }}"),
            ("member.txt", "{{ city.name.first }}"),
            ("filter.md", "\n\n{{ city | number }}"),
            ("broken.md", "{{ total | numbr }}"),
            ("shape.json", "{{ city | raw }}"),
        ],
    );
    for (name, expected) in [
        (
            "printed.md",
            "error: printed.md: line 2: `dya` has no value; ask for it with `if`, or give a `default`\n",
        ),
        ("member.txt", "error: member.txt: line 1: `city.name.first` has no value"),
        ("filter.md", "error: filter.md: line 3: `number` "),
        ("broken.md", "error: broken.md:1:12: there is no filter `numbr`\nhint: did you mean `number`?\n"),
        ("shape.json", "error: shape.json: what it gives is no JSON"),
    ] {
        let shown = folder.render(DATA, &[name]);
        assert!(shown.starts_with("exit: 1\n--- stdout\n--- stderr\n"), "{shown}");
        assert!(shown.contains(expected), "{shown}");
    }
}

#[test]
fn names_are_held_against_the_schema_of_the_tool() {
    let folder = Folder::new(
        "schema",
        &[
            ("orders.md", "{% if totl %}{{ totl }}{% endif %}{{ total }}"),
            ("schema.json", r#"{"type":"object","properties":{"total":{"type":"number"}}}"#),
        ],
    );
    insta::assert_snapshot!(folder.render(DATA, &["orders.md", "--schema", "schema.json"]), @r"
    exit: 1
    --- stdout
    1234.5
    --- stderr
    error: orders.md:1:7: `totl` is not in the output schema; did you mean `total`?
    error: orders.md:1:17: `totl` is not in the output schema; did you mean `total`?
    ");
    insta::assert_snapshot!(folder.render(DATA, &["orders.md"]), @r"
    exit: 0
    --- stdout
    1234.5
    --- stderr
    ");
}

#[test]
fn of_several_templates_the_one_is_taken_that_the_caller_gets() {
    let folder = Folder::new(
        "stem",
        &[
            ("orders.md", "all"),
            ("orders.compact.md", "short"),
            ("orders.txt", "plain"),
            ("files.read.md", "dots"),
        ],
    );
    for (options, expected) in [
        (&["orders"][..], "all\n"),
        (&["orders", "--feature", "verbosity=compact"], "short\n"),
        (&["orders", "--feature", "format=text"], "plain\n"),
        (&["files.read"], "dots\n"),
    ] {
        let shown = folder.render(DATA, options);
        assert!(shown.starts_with(&format!("exit: 0\n--- stdout\n{expected}")), "{shown}");
    }
    let shown = folder.render(DATA, &["orders", "--feature", "format=json"]);
    assert!(shown.starts_with("exit: 1\n") && shown.contains("no template is for a caller"), "{shown}");
    insta::assert_snapshot!(folder.render(DATA, &["nothing"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: there is no template nothing
    hint: name a file, such as templates/get_weather.md, or what the names of several begin with, such as templates/get_weather
    ");
    insta::assert_snapshot!(folder.render("{", &["orders"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: standard input is no JSON that can be used: the body ends inside a value, at byte 1
    hint: give the data as JSON, such as the structuredContent of a result, or the whole result
    ");
}

#[test]
fn messages_come_from_the_locale_files() {
    let folder = Folder::new("words", &[("seats.txt", "{{ 'left' | t(count=n) }} ({{ language }})")]);
    fs::create_dir(folder.0.join("locales")).expect("a folder");
    let de = r#"{"messages":{"left":{"source":"{count} left","text":"noch { $count }"}}}"#;
    fs::write(folder.0.join("locales/de.json"), de).expect("a file");
    let shown = folder.render(r#"{"n":3}"#, &["seats.txt", "--locales", "locales", "--language", "de-AT"]);
    assert!(shown.starts_with("exit: 0\n--- stdout\nnoch 3 (de"), "{shown}");
}

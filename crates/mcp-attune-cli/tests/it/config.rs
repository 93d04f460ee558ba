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
        self.run(text, &[])
    }

    fn run(&self, text: &[u8], options: &[&str]) -> String {
        let file = self.0.join("attune.toml");
        std::fs::write(&file, text).expect("a file");
        let folder = format!("{}{}", self.0.display(), std::path::MAIN_SEPARATOR);
        let arguments = [&["config", "check", file.to_str().expect("UTF-8")], options].concat();
        attune(&arguments)
            .replace(&folder, "")
            .replace(folder.trim_end_matches(std::path::MAIN_SEPARATOR), ".")
    }

    fn write(&self, name: &str, text: &str) {
        let file = self.0.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
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
    // Beside it are the files that it names.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/attune.toml");
    let checked = attune(&["config", "check", file.to_str().expect("UTF-8")]);
    assert!(
        checked.starts_with("exit: 0\n") && checked.contains("attune.toml is fine, with a warning"),
        "{checked}"
    );
}

#[test]
fn the_schema_is_printed_as_json() {
    let shown = attune(&["config", "schema"]);
    let schema =
        shown.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
    let schema: serde_json::Value = serde_json::from_str(schema.expect("exit 0")).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$id"], "urn:mcp-attune:attune.toml");
    assert_eq!(schema["properties"]["limits"]["properties"]["body"]["default"], "4 MiB");
}

#[test]
fn the_schema_beside_the_example_is_the_one_that_is_printed() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let schema = std::fs::read_to_string(examples.join("attune.schema.json")).expect("the schema");
    assert_eq!(attune(&["config", "schema"]), format!("exit: 0\n--- stdout\n{schema}--- stderr\n"));
    let example = std::fs::read_to_string(examples.join("attune.toml")).expect("the example");
    assert_eq!(example.lines().next(), Some("#:schema ./attune.schema.json"));
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

/// A certificate and its key, and the key of another.
fn pem() -> [String; 3] {
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (ours, other) = (made(), made());
    [ours.cert.pem(), ours.signing_key.serialize_pem(), other.signing_key.serialize_pem()]
}

#[test]
fn every_file_that_the_configuration_names_is_looked_at() {
    let folder = Folder::new("names");
    folder.write("templates/report.md", "{{ total | numbr }}");
    folder.write("templates/orders_today.md", "{{ total }}");
    folder.write("locales/de.json", "{\"tools\":");
    let [cert, _, _] = pem();
    folder.write("tls/cert.pem", &cert);
    let text = r#"
default_language = "en"
server.tls = { cert = "tls/cert.pem", key = "tls/cert.pem" }

[upstream]
command = ["no-such-program-here"]

[locales]
path = "locales/${locale}.json"

[content]
enabled = true

[tools.report]
templates = "templates/report"
hints = "templates/report.hints"

[tools.orders]
templates = "templates/order_today"
"#;
    insta::assert_snapshot!(folder.check(text.as_bytes()), @"
    exit: 1
    --- stdout
    attune.toml:3:45: tls/cert.pem holds a certificate, and no private key
    hint: `cert` is the chain of certificates, `key` the private key, both PEM files

    attune.toml:6:11: the program no-such-program-here was not found
    hint: is it installed, and is its folder in PATH?

    locales/de.json: ends inside a value, at byte 9
    hint: close what is open

    attune.toml:19:13: no template is there: templates/order_today.md, .txt or .json
    hint: did you mean templates/orders_today?

    templates/report.md:1:12: there is no filter `numbr`
    hint: did you mean `number`?

    attune.toml:16:9: the file templates/report.hints is not there
    hint: paths begin at the folder of the configuration

    --- stderr
    ");
    let folder = Folder::new("nowhere");
    let text = b"[upstream]\nurl = 'http://127.0.0.1:9/mcp'\n[locales]\npath = 'local/${locale}.json'\n";
    insta::assert_snapshot!(folder.check(text), @"
    exit: 1
    --- stdout
    attune.toml:4:8: the folder local is not there
    hint: paths begin at the folder of the configuration; mend it, or make the folder

    --- stderr
    ");
    folder.write("local/readme.txt", "nothing");
    insta::assert_snapshot!(folder.check(text), @"
    exit: 0
    --- stdout
    attune.toml:4:8: warning: no locale file is there: local/${locale}.json
    hint: `attune catalog extract` makes the first one from a running server

    attune.toml is fine, with a warning
    --- stderr
    ");
}

#[test]
fn what_is_wrong_with_locale_files_is_told_with_its_place() {
    let folder = Folder::new("locales");
    let keys: Vec<_> = (0..12).map(|number| format!("\"key{number}\":1")).collect();
    folder.write("locales/de.json", &format!("{{{}}}", keys.join(",")));
    folder.write("locales/klein deutsch.json", "{}");
    let checked =
        folder.check(b"upstream.url = 'http://127.0.0.1:9/mcp'\nlocales.path = 'locales/${locale}.json'\n");
    assert!(checked.starts_with("exit: 0\n"), "{checked}");
    for told in [
        "attune.toml: warning: there are locale files, and nothing says what language the server itself speaks\n",
        "klein deutsch.json: warning: the name stands where ",
        "locales/de.json:1:9: warning: key0: ",
        "locales/de.json: warning: and 2 more\nhint: `attune catalog lint` tells all\n",
    ] {
        assert!(checked.contains(told), "{told}: {checked}");
    }
    assert!(checked.contains(": key9: ") && !checked.contains(": key10: "), "{checked}");
}

#[test]
fn what_is_wrong_with_certificates_is_told_before_they_are_served() {
    let folder = Folder::new("pem");
    let [cert, key, other] = pem();
    for (name, text) in [("cert.pem", &cert), ("key.pem", &key), ("other.pem", &other)] {
        folder.write(name, text);
    }
    let check = |cert: &str, key: &str| {
        let url = "upstream.url = 'http://127.0.0.1:9/mcp'";
        folder.check(format!("{url}\n[server]\ntls = {{ cert = '{cert}', key = '{key}' }}\n").as_bytes())
    };
    assert!(check("cert.pem", "key.pem").contains("attune.toml is fine"));
    for (cert, key, says) in [
        ("cert.pem", "other.pem", "do not belong together"),
        ("gone.pem", "key.pem", "gone.pem cannot be read"),
        ("key.pem", "key.pem", "key.pem holds a private key, and no certificate"),
        ("cert.pem", "cert.pem", "cert.pem holds a certificate, and no private key"),
    ] {
        let checked = check(cert, key);
        assert!(checked.starts_with("exit: 1\n") && checked.contains(says), "{checked}");
        assert!(checked.contains("attune.toml:3:"), "{checked}");
    }
}

#[test]
fn findings_are_printed_as_json_for_programs() {
    let folder = Folder::new("json");
    let findings = |text: &str, code: u8| -> serde_json::Value {
        let shown = folder.run(text.as_bytes(), &["--json"]);
        assert!(shown.starts_with(&format!("exit: {code}\n")), "{shown}");
        let shown = shown.split("--- stdout\n").nth(1).and_then(|rest| rest.strip_suffix("--- stderr\n"));
        serde_json::from_str(shown.expect("JSON")).expect("JSON")
    };
    let found = findings("[prompts.p]\ntemplates = 'nowhere/p'\n", 1);
    assert_eq!(
        found,
        serde_json::json!({ "findings": [
            {
                "what": "upstream", "where": "attune.toml", "level": "warning", "says": "no server is named",
                "hint": "add [upstream] with a `url` or a `command`, or name the server on the command line",
            },
            {
                "what": "templates", "where": "attune.toml:2:13", "level": "error",
                "says": "no template is there: nowhere/p.md, .txt or .json",
                "hint": "paths begin at the folder of the configuration; docs/templates.md says what files are called",
            },
            {
                "what": "templates", "where": "attune.toml", "level": "warning",
                "says": "templates are named, and no answer is shaped",
                "hint": "set `enabled = true` in [content], or take the templates out",
            },
        ] })
    );
    let fine = findings("upstream.url = 'http://127.0.0.1:9/mcp'\n", 0);
    assert_eq!(fine, serde_json::json!({ "findings": [] }));
    let wrong = findings("lg = 'info'\n", 1);
    assert_eq!(wrong["findings"][0]["what"], "configuration");
    assert_eq!(wrong["findings"][0]["where"], "attune.toml:1:1");
    assert_eq!(wrong["findings"][0]["hint"], "did you mean `log`?");
}

#[cfg(unix)]
#[test]
fn a_running_server_says_whether_it_has_what_the_file_names() {
    use crate::serving::{FREE, Served};
    let mut bare = Served::start(&[&["demo", "--bare"], &FREE[..2]].concat());
    let url = format!("http://{}/mcp", bare.address("http://"));
    let folder = Folder::new("against");
    folder.write("weather.md", "{{ locaton }}");
    let text = "[upstream]\nurl = 'http://127.0.0.1:9/mcp'\n\n[tools.get_wether.context]\ntz = { from = 'timezone' }\n\n\
                [tools.find_trains]\nlanguage_argument = 'tongue'\n\n[tools.local_time]\nlanguage_argument = 'tongue'\n\n\
                [tools.get_weather]\ntemplates = 'weather'\n\n[content]\nenabled = true\n";
    let checked = folder.run(text.as_bytes(), &["--against", &url]);
    assert!(checked.starts_with("exit: 1\n"), "{checked}");
    for told in [
        "attune.toml:4:19: the server lists no tool `get_wether`",
        "attune.toml:8:21: the server lists no tool `find_trains`",
        "attune.toml:11:21: the tool has no argument `tongue`",
        "`locaton` is not in the output schema",
    ] {
        assert!(checked.contains(told), "{told}: {checked}");
    }
    let checked = folder.run(b"[upstream]\nurl = 'http://127.0.0.1:9/mcp'\n", &["--against", &url]);
    assert!(checked.contains("attune.toml is fine\n"), "{checked}");
}

#[test]
fn entries_for_clients_that_cannot_count_are_a_warning() {
    let folder = Folder::new("clients");
    let text = "[upstream]\nurl = 'http://127.0.0.1:9000/mcp'\n\n[callers.clients.acme]\nreads = 'both'\n";
    insta::assert_snapshot!(folder.check(text.as_bytes()), @r#"
    exit: 0
    --- stdout
    attune.toml:4:10: warning: there are entries for clients, and no profile counts
    hint: set `profile = "auto"` in [callers], or take the entries out

    attune.toml is fine, with a warning
    --- stderr
    "#);
}

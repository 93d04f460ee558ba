//! `attune catalog`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::attune;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp-attune-demo/locales");
const WORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp-attune/src/words");

/// A folder of locale files, gone when the test is over.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-catalog-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in files {
            fs::write(folder.join(name), text).expect("a file");
        }
        Self(folder)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("a file")
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }

    /// Runs `attune catalog COMMAND FOLDER …`, and shows it without the folder, which is another one each time.
    fn run(&self, command: &str, options: &[&str]) -> String {
        self.shown(&[&["catalog", command, self.path()], options].concat())
    }

    fn shown(&self, arguments: &[&str]) -> String {
        attune(arguments).replace(&format!("{}/", self.path()), "").replace(self.path(), "FOLDER")
    }

    /// Extracts the texts of a server that is a few lines of shell.
    #[cfg(unix)]
    fn extract(&self, options: &[&str], tools: &str) -> String {
        let server = SERVER.replace("TOOLS", tools);
        let start = ["catalog", "extract", "--out", self.path()];
        self.shown(&[&start, options, &["--", "sh", "-c", &server]].concat())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What JSON a command printed.
fn printed(shown: &str) -> Value {
    let text = shown.split("--- stdout\n").nth(1).and_then(|rest| rest.split("--- stderr").next());
    serde_json::from_str(text.expect("output")).expect("JSON")
}

const EN: &str = r#"{
  "tools": {
    "fetch_page": { "title": "Fetch a page", "description": "Fetches what find_pages gave" },
    "count": { "title": "Count" }
  },
  "messages": {
    "pages": { "source": "{count} of {total} pages", "text": "{ $count } of { $total } pages" }
  }
}"#;

#[test]
fn the_demo_and_our_own_words_are_translated_and_nothing_is_wrong_with_them() {
    for folder in [DEMO, WORDS] {
        let shown = attune(&["catalog", "status", folder, "--at-least", "100", "--json"]);
        assert!(shown.starts_with("exit: 0\n"), "{shown}");
        let locales = printed(&shown)["locales"].clone();
        assert!(locales.as_array().is_some_and(|locales| locales.len() >= 8), "{shown}");
        for locale in locales.as_array().into_iter().flatten() {
            let counts = ["missing", "stale", "surplus"].map(|what| locale[what].as_array().map(Vec::len));
            assert_eq!(counts, [Some(0); 3], "{locale}");
        }
        let shown = attune(&["catalog", "lint", folder]);
        assert!(shown.starts_with("exit: 0\n"), "{shown}");
    }
}

#[test]
fn status_counts_what_is_missing_stale_surplus_or_lent() {
    let files = [
        ("en.json", EN),
        (
            "de.json",
            r#"{"tools":{"fetch_page":{"title":"Seite holen","description":"x","translated_from":{"title":"Get a page"}},"gone":{"title":"weg"}}}"#,
        ),
        ("de-CH.json", r#"{"tools":{"count":{"title":"Zählen"}}}"#),
        ("fr.json", "{}"),
    ];
    let place = Place::new("status", &files);
    insta::assert_snapshot!(place.run("status", &["--list", "--at-least", "75"]), @"
    exit: 1
    --- stdout
    4 texts in en

    locale  translated                  missing  stale  surplus
    de      ███████████████░░░░░  75 %        1      1        1
    de-CH   ███████████████░░░░░  75 %        1      0        0
    fr      ░░░░░░░░░░░░░░░░░░░░   0 %        4      0        0

    de: missing: messages.pages.text
    de: stale: tools.fetch_page.title
    de: surplus: tools.gone.title
    de-CH: missing: messages.pages.text
    fr: missing: tools.fetch_page.title
    fr: missing: tools.fetch_page.description
    fr: missing: tools.count.title
    fr: missing: messages.pages.text
    --- stderr
    ");
    let shown = printed(&place.run("status", &["--json"]));
    assert_eq!(shown["locales"][0]["locale"], "de");
    assert_eq!(shown["locales"][1]["inherited"], 2);
    assert_eq!(shown["total"], 4);
    assert!(place.run("status", &[]).starts_with("exit: 0\n"));
    assert!(place.run("status", &["--at-least", "0"]).starts_with("exit: 0\n"));
    fs::write(place.0.join("fr.json"), "{").expect("a file");
    insta::assert_snapshot!(place.run("status", &[]), @"
    exit: 2
    --- stdout
    --- stderr
    error: fr.json is no locale file: ends inside a value, at byte 1; close what is open
    hint: `attune catalog lint` tells what is wrong
    ");
}

#[test]
fn a_folder_without_its_first_file_or_none_exits_with_2() {
    let place = Place::new("none", &[("de.json", "{}")]);
    for command in ["status", "lint", "pseudo"] {
        let shown = place.run(command, &[]);
        assert!(shown.starts_with("exit: 2\n") && shown.contains("hint: name the language"), "{shown}");
        let shown = attune(&["catalog", command, "nowhere"]);
        assert!(shown.starts_with("exit: 2\n") && shown.contains("there is no folder nowhere"), "{shown}");
    }
    assert!(place.run("status", &["--default-language", "de"]).starts_with("exit: 0\n"));
}

#[test]
fn lint_finds_mistakes_and_says_where() {
    let files = [
        ("en.json", EN),
        (
            "de.json",
            r#"{
  "tools": {
    "hole_seite": { "title": "Seite holen" },
    "count": { "title": " Zählen" }
  },
  "messages": {
    "pages": {
      "source": "{count} of {total} pages",
      "text": "{ $count ->\n    [few] Ein paar Seiten\n   *[other] { $count } Seiten\n}"
    },
    "more": { "text": "{ $count" }
  }
}"#,
        ),
        (
            "ru.json",
            r#"{"tools":{"fetch_page":{"title":"Cтраница","description":"Загружает то, что дал поиск_страниц"},"count":{"title":""}}}"#,
        ),
        ("de_CH.json", "{}"),
        ("fr.json", "{\"tools\": {}, \"tools\": {}}"),
        ("PT-br.json", "{}"),
    ];
    let place = Place::new("lint", &files);
    insta::assert_snapshot!(place.run("lint", &[]), @r#"
    exit: 1
    --- stdout
    de_CH.json:1:1: the name is no language
    hint: name it such as de-CH.json, or move it away

    PT-br.json:1:1: the file: the language is better called pt-BR
    hint: rename the file

    de.json:3:30: tools.hole_seite.title: the default language has no `hole_seite`, and another is missing
    hint: names are not translated: write the server's own; if the server no longer has it, take it out

    de.json:4:25: tools.count.title: a blank at the beginning or the end
    hint: take it out

    de.json:9:15: messages.pages.text: this language has no plural form [few]
    hint: take it out: no number chooses it

    de.json:9:15: messages.pages.text: the plural form [one] is missing, which 1 needs
    hint: add a text for it, or the wrong one is shown

    de.json:9:15: messages.pages.text: the variable $total is lost
    hint: put it where the value belongs in your sentence, or choose by it

    de.json:11:23: messages.more.text: no Fluent pattern: Expected a token starting with "}"
    hint: write a Fluent pattern; a brace itself is {"{"}, and so is [, * or . at the start of a line

    fr.json:1:1: a name stands twice in one object, the second time at byte 14; keep one of the two
    hint: nothing in this file is used until that is mended

    ru.json:1:33: tools.fetch_page.title: the word `Cтраница` has letters of two alphabets
    hint: type the word again with one keyboard layout: some letters only look right

    ru.json:1:58: tools.fetch_page.description: `find_pages` is not here as it was
    hint: machines read it: copy it from the default language, letter by letter

    ru.json:1:114: tools.count.title: no text
    hint: translate it, or take it out so that the server's own text stands

    6 files, 12 findings
    --- stderr
    "#);
    let shown = place.run("lint", &["--json"]);
    assert!(shown.starts_with("exit: 1\n"), "{shown}");
    let findings = printed(&shown)["findings"].clone();
    let kinds: Vec<_> = findings.as_array().into_iter().flatten().map(|it| it["kind"].clone()).collect();
    insta::assert_snapshot!(kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "), @"tag tag translated-name untrimmed unknown-form missing-form lost-variable unusable refused mixed-scripts lost-name unusable");
}

#[test]
fn a_pseudo_locale_is_a_whole_translation_that_nothing_is_wrong_with() {
    let place = Place::new(
        "pseudo",
        &[("en.json", &fs::read_to_string(Path::new(DEMO).join("en.json")).expect("a file"))],
    );
    insta::assert_snapshot!(place.run("pseudo", &[]), @"
    exit: 0
    --- stdout
    en-XA.json: 281 texts
    --- stderr
    ");
    assert!(place.run("pseudo", &["--locale", "ar-XB"]).starts_with("exit: 0\n"));
    let shown = place.run("status", &["--at-least", "100"]);
    assert!(shown.starts_with("exit: 0\n") && shown.contains("ar-XB") && shown.contains("en-XA"), "{shown}");
    let shown = place.run("lint", &[]);
    assert!(shown.starts_with("exit: 0\n"), "{shown}");
    let made: Value = serde_json::from_str(&place.read("en-XA.json")).expect("JSON");
    assert_eq!(made["tools"]["get_weather"]["title"], "⟦Çûûŕŕééñţ ŵééååţĥééŕ⟧");
    assert_eq!(made["messages"]["pages-fetched"]["text"], "⟦Ƒééţçĥééð { $page } ööƒ { $pages } þååĝééš⟧");
    insta::assert_snapshot!(place.run("pseudo", &["--locale", "de"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: de is no pseudo-locale
    hint: write --locale en-XA, or ar-XB for words that are turned round
    ");
}

/// The demo's own file is what its server says, to the byte, and nothing in the translations has to change for it.
#[test]
fn the_file_of_the_demo_is_what_the_bare_demo_says() {
    let place = Place::new("demo", &[]);
    for file in fs::read_dir(DEMO).expect("a folder").map(|file| file.expect("a file")) {
        fs::copy(file.path(), place.0.join(file.file_name())).expect("a copy");
    }
    let start = [
        "catalog",
        "extract",
        "--out",
        place.path(),
        "--",
        env!("CARGO_BIN_EXE_attune"),
        "demo",
        "--bare",
        "--stdio",
    ];
    insta::assert_snapshot!(place.shown(&start), @"
    exit: 0
    --- stdout
    en.json: 281 texts, 0 new, 0 changed, 0 gone
    --- stderr
    ");
    let mut count = 0;
    for file in fs::read_dir(DEMO).expect("a folder").map(|file| file.expect("a file")) {
        let name = file.file_name().into_string().expect("UTF-8");
        assert_eq!(place.read(&name), fs::read_to_string(file.path()).expect("a file"), "{name}");
        count += 1;
    }
    assert!(count >= 9 && fs::read_dir(&place.0).expect("a folder").count() == count);
}

/// A server with one tool, whose schema lists some of what its result can hold.
#[cfg(unix)]
const WEATHER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"notifications/'*) ;;
    *'"tools/list"'*) say '"result":{"tools":[{"name":"w","title":"Weather","inputSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},"outputSchema":{"type":"object","properties":{"wind":{"type":"string","enum":["north","south"]},"station":{"type":"string","format":"uri"}}}}]}' ;;
    *'"tools/call"'*) say '"result":{"content":[],"structuredContent":{"id":"w-1","wind":"west","station":"urn:x","until":"2026-11-15","days":[{"sky":"Sunny {odd}"}]}}' ;;
    *) say '"error":{"code":-32601,"message":"no"}' ;;
  esac
done"#;

#[cfg(unix)]
#[test]
fn words_of_results_are_collected_from_schemas_and_from_calls() {
    let place = Place::new("values", &[]);
    let extract = |calls: &[&str]| {
        let start = ["catalog", "extract", "--out", place.path()];
        place.shown(&[&start, calls, &["--", "sh", "-c", WEATHER]].concat())
    };
    assert!(extract(&[]).contains("en.json: 3 texts, 3 new, 0 changed, 0 gone"));
    let called = extract(&["--call", r#"w={"city": "Bern"}"#]);
    assert!(called.contains("en.json: 5 texts, 2 new, 0 changed, 0 gone"), "{called}");
    // What a call found stays when nobody calls.
    assert!(extract(&[]).contains("en.json: 5 texts, 0 new, 0 changed, 0 gone"));
    insta::assert_snapshot!(place.read("en.json"), @r#"
    {
      "tools": {
        "w": {
          "title": "Weather",
          "output": {
            "wind": {
              "values": {
                "north": "north",
                "south": "south",
                "west": "west"
              }
            },
            "days[].sky": {
              "values": {
                "Sunny {{odd}}": "Sunny {\"{\"}odd{\"}\"}"
              }
            }
          }
        }
      }
    }
    "#);
    insta::assert_snapshot!(extract(&["--call", "w"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: `w` cannot be called: it needs `city`, for which its schema has no value
    hint: write --call 'w={"city": …}'
    "#);
    assert!(extract(&["--call", "v"]).contains("the server has no tool `v`"));
    let german = r#"{"tools":{"w":{"title":"Wetter","output":{"wind":{"values":{"north":"Nord"}}}}}}"#;
    fs::write(place.0.join("de.json"), german).expect("a file");
    let status = place.run("status", &["--list"]);
    assert!(status.contains("5 texts in en"), "{status}");
    assert!(status.contains("de: missing: tools.w.output.wind.values.south"), "{status}");
    let lint = place.run("lint", &[]);
    assert!(lint.contains("`south` is not translated, and other values of this field are"), "{lint}");
    assert!(lint.starts_with("exit: 1") && lint.contains("2 files, 2 findings"), "{lint}");
}

/// A server of the older era with two pages of tools, resources whose templates it does not know, and no prompts.
#[cfg(unix)]
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) say '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1","title":"Shell"},"instructions":"Ask."}' ;;
    *'"notifications/'*) ;;
    *'"tools/list"'*'"cursor":"2"'*) say '"result":{"tools":[{"name":"zip","title":"Zip","inputSchema":{"type":"object","properties":{"z":{"title":"Z"},"a":{"title":"A"}}}}]}' ;;
    *'"tools/list"'*) say '"result":{"tools":TOOLS,"nextCursor":"2"}' ;;
    *'"resources/list"'*) say '"result":{"resources":[{"uri":"a://b","name":"b","title":"B"}]}' ;;
    *) say '"error":{"code":-32601,"message":"no"}' ;;
  esac
done"#;

#[test]
#[cfg(unix)]
fn extract_follows_pages_and_writes_what_the_server_says_in_its_order() {
    let place = Place::new("pages", &[]);
    let tools = r#"[{"name":"list","title":"List","description":"Lists."},{"name":"bare","description":"Has no title."}]"#;
    insta::assert_snapshot!(place.extract(&[], tools), @"
    exit: 0
    --- stdout
    en.json: 9 texts, 9 new, 0 changed, 0 gone
    1 without a title: people see a bare name until you write one into en.json
    --- stderr
    ");
    insta::assert_snapshot!(place.read("en.json"), @r#"
    {
      "server": {
        "title": "Shell",
        "instructions": "Ask."
      },
      "tools": {
        "list": {
          "title": "List",
          "description": "Lists."
        },
        "bare": {
          "description": "Has no title."
        },
        "zip": {
          "title": "Zip",
          "arguments": {
            "z": {
              "title": "Z"
            },
            "a": {
              "title": "A"
            }
          }
        }
      },
      "resources": {
        "a://b": {
          "title": "B"
        }
      }
    }
    "#);
    // Asked again, it is the same file.
    let before = place.read("en.json");
    place.extract(&[], tools);
    assert_eq!(place.read("en.json"), before);
}

#[test]
#[cfg(unix)]
fn extract_marks_what_changed_and_keeps_what_people_wrote() {
    let german = r#"{ "tools": {"list": {"title": "Liste", "description": "Listet."},
  "gone": {"title": "Weg"}} }"#;
    let before = r#"{"tools":{"list":{"title":"Old list","description":"Lists."},"gone":{"title":"Gone"}},
 "messages": {"m": {"source": "Done", "text": "Done",  "note": "at the end"}}}"#;
    let place = Place::new("marks", &[("en.json", before), ("de.json", german), ("fr.json", "{\"tools\":")]);
    let tools = r#"[{"name":"list","title":"List","description":"Lists."}]"#;
    insta::assert_snapshot!(place.extract(&[], tools), @"
    exit: 0
    --- stdout
    en.json: 9 texts, 6 new, 1 changed, 1 gone
    de: 1 now stale
    --- stderr
    warning: fr.json is no locale file; see `attune catalog lint`
    ");
    insta::assert_snapshot!(place.read("de.json"), @r#"
    { "tools": {"list": {"translated_from": {"title": "Old list"}, "title": "Liste", "description": "Listet."},
      "gone": {"title": "Weg"}} }
    "#);
    assert!(
        place
            .read("en.json")
            .contains(r#""messages": {"m": {"source": "Done", "text": "Done",  "note": "at the end"}}"#)
    );
    assert!(!place.read("en.json").contains("Gone"));
    assert_eq!(place.read("fr.json"), "{\"tools\":");
    fs::remove_file(place.0.join("fr.json")).expect("a file");
    let shown = printed(&place.run("status", &["--json"]));
    assert_eq!(shown["locales"][0]["stale"], serde_json::json!(["tools.list.title"]));
    assert_eq!(shown["locales"][0]["surplus"], serde_json::json!(["tools.gone.title"]));
    // The text that was translated stays in the mark, however often it changes.
    let shown = place.extract(&["--json"], &tools.replace("List\"", "Directory\""));
    assert_eq!(printed(&shown)["changed"], serde_json::json!(["tools.list.title"]));
    assert!(place.read("de.json").contains(r#""translated_from": {"title": "Old list"}"#));
}

#[test]
#[cfg(unix)]
fn the_language_is_the_one_that_the_server_says_or_the_user() {
    let place = Place::new("language", &[]);
    let tools = r#"[],"_meta":{"io.modelcontextprotocol/contentLanguage":"de-AT"}"#;
    assert!(place.extract(&[], tools).contains("\nde-AT.json: "));
    let shown = place.extract(&["--default-language", "de"], tools);
    assert!(
        shown.contains("\nde.json: ")
            && shown.contains("warning: the server says that its texts are in de-AT"),
        "{shown}"
    );
}

#[test]
#[cfg(unix)]
fn what_cannot_be_extracted_exits_with_2_and_writes_nothing() {
    let place = Place::new("refused", &[]);
    let server = SERVER
        .replace("TOOLS", r#"[{"name":"a","title":"A"}]"#)
        .replace(r#"*'"cursor":"2"'*) say"#, "*never*) say");
    let start = ["catalog", "extract", "--out", place.path()];
    insta::assert_snapshot!(place.shown(&[&start[..], &["--", "sh", "-c", &server]].concat()), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has a page of `tools/list` that leads back to one before it
    hint: see whether it gives the same page again and again
    ");
    let twice = place.extract(&[], r#"[{"name":"a","name":"b"}]"#);
    assert!(twice.starts_with("exit: 2\n") && twice.contains("cannot be read in one way"), "{twice}");
    insta::assert_snapshot!(place.shown(&start), @"
    exit: 2
    --- stdout
    --- stderr
    error: no server is named
    hint: give its URL, or the program to start after `--`
    ");
    insta::assert_snapshot!(place.shown(&[&start[..], &["--default-language", "de_CH", "--", "true"]].concat()), @"
    exit: 2
    --- stdout
    --- stderr
    error: de_CH is not a language tag; write one by BCP 47, such as en, de-CH or zh-Hant-TW
    hint: write a tag of BCP 47, such as en or de-CH
    ");
    assert_eq!(fs::read_dir(&place.0).expect("a folder").count(), 0);
    fs::write(place.0.join("en.json"), "[]").expect("a file");
    let shown = place.extract(&[], "[]");
    assert!(shown.starts_with("exit: 2\n") && place.read("en.json") == "[]", "{shown}");
}

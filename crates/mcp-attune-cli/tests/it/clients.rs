//! `attune clients`.

use std::fs;

use serde_json::{Value, json};

use crate::attune;

/// What a command that ends well prints as JSON.
fn printed(arguments: &[&str]) -> Value {
    let shown = attune(arguments);
    let shown =
        shown.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
    serde_json::from_str(shown.expect("only data")).expect("JSON")
}

#[test]
fn every_client_is_listed_with_all_that_is_known() {
    let listed = printed(&["clients", "--json"]);
    let clients = listed["clients"].as_array().expect("a list");
    assert!(clients.len() >= 10, "{listed}");
    let gemini = clients.iter().find(|client| client["name"] == "gemini-cli-mcp-client").expect("Gemini CLI");
    let measured = gemini["measured"].as_str().expect("a date").to_owned();
    assert_eq!(
        *gemini,
        json!({
            "name": "gemini-cli-mcp-client", "product": "Gemini CLI", "versions": ">=0.61.0", "era": "legacy",
            "reads": "content", "falls_back": false, "validates": true, "shows_titles": false,
            "limit_tokens": null, "limit_characters": 30000, "declares": ["roots"],
            "tags": ["agent", "format=markdown"], "measured": measured, "package": "@google/gemini-cli 0.61.0",
            "source": "built in",
        })
    );
    let shown = attune(&["clients"]);
    for client in clients {
        let name = client["name"].as_str().expect("a name");
        assert!(shown.contains(name), "{name} in {shown}");
    }
}

#[test]
fn a_client_is_explained() {
    // Whoever measures again changes the day and the version, and nothing else of this.
    let listed = printed(&["clients", "--json"]);
    let codex =
        listed["clients"].as_array().expect("a list").iter().find(|client| client["product"] == "Codex");
    let codex = codex.expect("Codex");
    let (day, package) =
        (codex["measured"].as_str().expect("a day"), codex["package"].as_str().expect("a package"));
    let shown = attune(&["clients", "explain", "codex-mcp-client", "99.0.0"]);
    insta::assert_snapshot!(shown.replace(day, "DAY").replace(package, "PACKAGE"), @r#"
    exit: 0
    --- stdout
    profile  Codex
    from     built in
    tags     agent
    result   structuredContent
    It hands `structuredContent` to its model, and `content` where there is none (measured DAY with PACKAGE).
    The tags make each result come once, as structured content; text that repeats it is left out (F5).
    Results of up to 40000 characters reach its model whole; longer ones are cut.
    The limit depends on the model; it was measured with one that Codex knows, and is 10,000 characters with others.
    --- stderr
    "#);
    let explained = printed(&["clients", "explain", "opencode", "--json"]);
    assert_eq!(explained["client"], "opencode");
    assert_eq!(explained["version"], Value::Null);
    assert_eq!(explained["profile"], "OpenCode");
    assert_eq!(explained["tags"], json!(["agent", "format=markdown"]));
    assert_eq!(explained["result"], "content");
}

#[test]
fn a_client_without_an_entry_is_a_finding() {
    insta::assert_snapshot!(attune(&["clients", "explain", "nobody\u{1b}", "1.0"]), @r#"
    exit: 1
    --- stdout
    profile  none
    tags     none
    result   as it came
    No entry is for the name nobody\u{1b}; `attune clients` lists them.
    --- stderr
    "#);
    insta::assert_snapshot!(attune(&["clients", "explain", "opencode", "0.1.0", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "client": "opencode",
      "version": "0.1.0",
      "profile": null,
      "source": null,
      "tags": [],
      "result": "as it came",
      "why": [
        "The entry for OpenCode holds for the versions >=1.18.33."
      ]
    }
    --- stderr
    "#);
}

#[test]
fn entries_of_ones_own_come_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clients.toml");
    let own = "[[client]]\nproduct = \"Ours\"\nnames = [\"opencode\", \"ours-*\"]\nfrom = \"1.20\"\ntags = [\"human\"]\n";
    fs::write(&file, own).expect("written");
    let file = file.to_str().expect("UTF-8");
    let profile = |name, version| {
        printed(&["clients", "explain", name, version, "--json", "--file", file])["profile"].clone()
    };
    assert_eq!(profile("opencode", "1.20.0"), "Ours");
    assert_eq!(profile("opencode", "1.19.9"), "OpenCode");
    assert_eq!(profile("ours-desktop", "2"), "Ours");
    assert_eq!(printed(&["clients", "--json", "--file", file])["clients"][0]["product"], "Ours");
}

/// Writes a file of entries, and shows what `attune clients` says of it, without the folder it is in.
fn complain(text: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clients.toml");
    fs::write(&file, text).expect("written");
    let said = attune(&["clients", "--file", file.to_str().expect("UTF-8")]);
    said.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn a_file_with_errors_says_where_they_are() {
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\nreads = \"text\"\n"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: clients.toml: TOML parse error at line 4, column 9
      |
    4 | reads = "text"
      |         ^^^^^^
    unknown variant `text`, expected one of `content`, `structuredContent`, `both`
    hint: spec/clients.toml of Attune says how entries are written
    "#);
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\ntags = [\"agent\", \"loud\"]\n"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: clients.toml: entry 1 (It): tag 2 of `tags` is malformed, unknown, or contradicts one before it
    hint: spec/clients.toml of Attune says how entries are written
    "#);
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\nfrom = \"new\"\n"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: clients.toml: entry 1: `from` is no version such as "1.2.3"
    hint: spec/clients.toml of Attune says how entries are written
    "#);
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"*\"]\n"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: clients.toml: entry 1 (It): `names` has 1 to 16 names of up to 256 bytes each; a `*` may stand at the end of at least 3 bytes
    hint: spec/clients.toml of Attune says how entries are written
    "#);
    insta::assert_snapshot!(attune(&["clients", "--file", "no/such/file.toml"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: could not open no/such/file.toml: No such file or directory (os error 2)
    "#);
}

/// Writes a configuration, and shows what the command says with it, without the folder it is in.
fn with_config(text: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("attune.toml");
    fs::write(&file, text).expect("written");
    let said = attune(&[arguments, &["--config", file.to_str().expect("UTF-8")]].concat());
    said.replace(&format!("{}/", folder.path().display()), "")
}

const CONFIG: &str = "[callers]\nprofile = 'auto'\n[callers.clients.acme]\nname = 'acme-*'\nversions = '>=2 <3'\nreads = 'content'\n\
                      [callers.clients.opencode]\nfeatures = []\n";

#[test]
fn entries_of_a_configuration_come_first_and_say_where_they_are_from() {
    let listed = with_config(CONFIG, &["clients"]);
    let first: Vec<_> = listed.lines().take(9).map(str::trim_end).collect();
    insta::assert_snapshot!(first.join("\n"), @r#"
    exit: 0
    --- stdout
    From attune.toml:
    NAME      VERSIONS        HANDS ON  TAGS TO ASSUME
    opencode  all             -         none
    acme-*    >=2.0.0 <3.0.0  content   agent format=markdown

    Built in:
    NAME                   VERSIONS   HANDS ON           TAGS TO ASSUME
    "#);
    insta::assert_snapshot!(with_config(CONFIG, &["clients", "explain", "acme-desktop", "2.1"]), @r#"
    exit: 0
    --- stdout
    profile  acme
    from     attune.toml
    tags     agent format=markdown
    result   content
    It hands `content` to its model, and `structuredContent` never.
    The tags make each result come once, as text; structured content and `outputSchema` are left out (F6, F7, F13).
    --- stderr
    "#);
    insta::assert_snapshot!(with_config(CONFIG, &["clients", "explain", "opencode", "1.18.33", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "client": "opencode",
      "version": "1.18.33",
      "profile": "opencode",
      "source": "attune.toml",
      "tags": [],
      "result": "as it came",
      "why": [
        "The entry says which tags to assume, and not what it hands to its model.",
        "No tags that ask for a form are assumed, so results stay as they came (F4)."
      ]
    }
    --- stderr
    "#);
    let codex = with_config(CONFIG, &["clients", "explain", "codex-mcp-client", "1.0"]);
    assert!(codex.contains("profile  Codex\nfrom     built in\n"), "{codex}");
}

#[test]
fn a_configuration_whose_profiles_are_off_says_so() {
    let off = CONFIG.replace("'auto'", "'off'");
    insta::assert_snapshot!(with_config(&off, &["clients", "explain", "acme-desktop", "2.1"]), @r#"
    exit: 0
    --- stdout
    profile  acme
    from     attune.toml
    tags     agent format=markdown
    result   content
    It hands `content` to its model, and `structuredContent` never.
    The tags make each result come once, as text; structured content and `outputSchema` are left out (F6, F7, F13).
    Nothing of it counts: `profile` in [callers] of attune.toml is "off".
    --- stderr
    "#);
    let said = "Nothing of it counts: `profile` in [callers] of attune.toml is \"off\".\n\nBuilt in:\n";
    assert!(with_config(&off, &["clients"]).contains(said));
    assert!(!with_config(CONFIG, &["clients"]).contains("Nothing of it counts"));
}

#[test]
fn a_mount_is_named_where_their_entries_differ() {
    let mount =
        |name: &str| format!("[mounts.{name}]\npath = '/{name}'\nupstream.url = 'http://127.0.0.1:1/'\n");
    let own = "callers.clients.here = { name = 'acme-*', reads = 'both' }\n";
    let file = [CONFIG, &mount("a"), &mount("b"), own].concat();
    insta::assert_snapshot!(with_config(&file, &["clients"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: could not use attune.toml: its mounts have different entries
    hint: add --mount a or --mount b
    "#);
    insta::assert_snapshot!(with_config(&file, &["clients", "--mount", "c"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: could not use attune.toml: there is no such mount
    hint: add --mount a or --mount b
    "#);
    let explain =
        |mount| with_config(&file, &["clients", "explain", "acme-desktop", "2.1", "--mount", mount]);
    assert!(explain("a").contains("profile  acme\n") && explain("b").contains("profile  here\n"));
    let same = [CONFIG, &mount("a"), &mount("b")].concat();
    assert!(with_config(&same, &["clients"]).starts_with("exit: 0"));
}

#[test]
fn a_configuration_with_errors_says_where_they_are() {
    let wrong = "[callers.clients.acme]\nversions = '^2'\nreads = 'text'\n";
    insta::assert_snapshot!(with_config(wrong, &["clients"]), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: could not use attune.toml: attune.toml:2:12: `callers.clients.acme.versions` is no range of versions
      2 | versions = '^2'
        |            ^^^^
    hint: write ">=1.2", "<2", ">=1.2 <2" or "all"

    attune.toml:3:9: `callers.clients.acme.reads` is none of its 3 values
      3 | reads = 'text'
        |         ^^^^^^
    hint: write "content", "structuredContent" or "both"
    "#);
}

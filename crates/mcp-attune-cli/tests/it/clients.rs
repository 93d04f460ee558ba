//! `attune clients`.

use std::fs;

use serde_json::{Value, json};

use crate::attune;

/// What a command that ends well prints as JSON.
fn printed(arguments: &[&str]) -> Value {
    let shown = attune(arguments);
    let shown = shown.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
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
        })
    );
    let shown = attune(&["clients"]);
    for client in clients {
        let name = client["name"].as_str().expect("a name");
        assert!(shown.contains(&name[..name.len().min(14)]), "{name} in {shown}");
    }
}

#[test]
fn a_client_is_explained() {
    insta::assert_snapshot!(attune(&["clients", "explain", "codex-mcp-client", "0.170.0"]), @"");
    let explained = printed(&["clients", "explain", "opencode", "--json"]);
    assert_eq!(explained["client"], "opencode");
    assert_eq!(explained["version"], Value::Null);
    assert_eq!(explained["profile"], "OpenCode");
    assert_eq!(explained["tags"], json!(["agent", "format=markdown"]));
    assert_eq!(explained["result"], "content");
}

#[test]
fn a_client_without_an_entry_is_a_finding() {
    insta::assert_snapshot!(attune(&["clients", "explain", "nobody\u{1b}", "1.0"]), @"");
    insta::assert_snapshot!(attune(&["clients", "explain", "opencode", "0.1.0", "--json"]), @"");
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
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\nreads = \"text\"\n"), @"");
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\ntags = [\"agent\", \"loud\"]\n"), @"");
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"it\"]\nfrom = \"new\"\n"), @"");
    insta::assert_snapshot!(complain("[[client]]\nproduct = \"It\"\nnames = [\"*\"]\n"), @"");
    insta::assert_snapshot!(attune(&["clients", "--file", "no/such/file.toml"]), @"");
}

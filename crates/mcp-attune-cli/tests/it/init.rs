//! `attune init`, and what it writes in use.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use crate::attune;
use crate::serving::{FREE, Served};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("attune-init-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("UTF-8").to_owned()
    }

    /// What `attune init` prints for the bare demo, without the folder and the binary.
    fn init(&self, more: &[&str]) -> String {
        let out = self.path("");
        let binary = env!("CARGO_BIN_EXE_attune");
        let server = ["--", binary, "demo", "--bare", "--stdio"];
        let shown = attune(&[&["init", "--out", &out], more, &server].concat());
        shown.replace(&out, "FOLDER/").replace(binary, "attune")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Serves a configuration, and asks for the time in Tokyo without naming it, and for the tools.
fn served(config: &str) -> (String, String) {
    let checked = attune(&["config", "check", config]);
    assert!(checked.starts_with("exit: 0\n"), "{checked}");
    let mut gateway = Served::start(&[&["serve", "--config", config], &FREE[..]].concat());
    let url = format!("http://{}/mcp", gateway.address("serves"));
    let time = attune(&["call", &url, "local_time", "--timezone", "Asia/Tokyo", "--json"]);
    let tools = attune(&["tools", &url, "--language", "de", "--json"]);
    (time, tools)
}

#[test]
fn a_program_is_served_with_what_init_writes() {
    let folder = Folder::new("program");
    insta::assert_snapshot!(folder.init(&[]));
    let config = fs::read_to_string(folder.path("attune.toml")).expect("a file");
    insta::assert_snapshot!(config.replace(env!("CARGO_BIN_EXE_attune"), "attune"));
    fs::write(folder.path("locales/de.json"), r#"{"tools":{"local_time":{"title":"Ortszeit"}}}"#)
        .expect("a file");
    let (time, tools) = served(&folder.path("attune.toml"));
    assert!(time.contains("Asia/Tokyo"), "{time}");
    assert!(tools.contains("Ortszeit"), "{tools}");
}

#[test]
fn a_server_over_http_is_served_with_what_init_writes() {
    let folder = Folder::new("http");
    let mut bare = Served::start(&["demo", "--bare", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}/mcp", bare.address("without Attune"));
    let shown = attune(&["init", &url, "--out", &folder.path("")]);
    assert!(shown.starts_with("exit: 0\n"), "{shown}");
    let config = fs::read_to_string(folder.path("attune.toml")).expect("a file");
    assert!(config.contains(&format!("url = \"{url}\"")), "{config}");
    fs::write(folder.path("locales/de.json"), r#"{"tools":{"local_time":{"title":"Ortszeit"}}}"#)
        .expect("a file");
    let (time, tools) = served(&folder.path("attune.toml"));
    assert!(time.contains("Asia/Tokyo"), "{time}");
    assert!(tools.contains("Ortszeit"), "{tools}");
}

#[test]
fn files_that_are_there_are_left_alone_unless_forced() {
    let folder = Folder::new("force");
    fs::create_dir_all(folder.path("locales")).expect("a folder");
    let en = r#"{"messages":{"mine":{"source":"Done","text":"Done"}}}"#;
    fs::write(folder.path("locales/en.json"), en).expect("a file");
    insta::assert_snapshot!(folder.init(&[]), @r"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/locales/en.json is there already, and nothing was written
    hint: write over it with --force, or choose another folder with --out DIR
    ");
    assert!(!folder.0.join("attune.toml").exists(), "nothing is written");
    assert_eq!(fs::read_to_string(folder.path("locales/en.json")).expect("a file"), en);
    fs::write(folder.path("attune.toml"), "log = \"trace\"\n").expect("a file");
    insta::assert_snapshot!(folder.init(&[]), @r"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/attune.toml is there already, and nothing was written
    hint: write over it with --force, or choose another folder with --out DIR
    ");
    assert!(folder.init(&["--force"]).starts_with("exit: 0\n"));
    let config = fs::read_to_string(folder.path("attune.toml")).expect("a file");
    assert!(config.contains("[upstream]") && !config.contains("trace"), "{config}");
    let forced = fs::read_to_string(folder.path("locales/en.json")).expect("a file");
    assert!(forced.contains("\"mine\"") && forced.contains("get_weather"), "{forced}");
}

#[test]
fn a_server_that_cannot_be_asked_leaves_no_file() {
    let folder = Folder::new("unasked");
    let shown = attune(&["init", "--out", &folder.path(""), "--", "false"]);
    assert!(shown.starts_with("exit: 2\n"), "{shown}");
    assert!(!folder.0.exists());
}

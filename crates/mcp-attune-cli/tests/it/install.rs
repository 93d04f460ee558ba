//! `attune install` and `attune uninstall`: what they write, what they leave, and what they refuse.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::{attune, code, text};

/// A settings file in a folder of its own.
struct Settings {
    folder: TempDir,
    path: PathBuf,
}

impl Settings {
    fn new(name: &str, content: &str) -> Self {
        let settings = Self::missing(name);
        fs::write(&settings.path, content).expect("a file");
        settings
    }

    fn missing(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        Self { folder, path }
    }

    /// What a command prints, without the folder.
    fn run(&self, command: &[&str], more: &[&str]) -> String {
        let file = self.path.to_str().expect("UTF-8");
        let folder = self.folder.path().to_str().expect("UTF-8");
        attune(&[command, &["--file", file], more].concat()).replace(folder, "FOLDER")
    }

    fn install(&self, client: &str, name: &str, more: &[&str]) -> String {
        self.run(&["install", client, name, "--program", "attune"], more)
    }

    fn uninstall(&self, client: &str, name: &str, more: &[&str]) -> String {
        self.run(&["uninstall", client, name], more)
    }

    fn content(&self) -> String {
        fs::read_to_string(&self.path).expect("a file")
    }

    /// The names in the folder.
    fn files(&self) -> Vec<String> {
        let files = fs::read_dir(self.folder.path()).expect("a folder");
        let mut names: Vec<_> =
            files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

const MCP_JSON: &str = r#"{
  // Mine.
  "mcpServers": {
    "time": {
      "command": "uvx", // from Python
      "args": [
        "mcp-server-time",
      ],
      "env": { "TOKEN": "t" },
    },
    "docs": { "url": "https://example.com/mcp" },
  },
}
"#;

#[test]
fn a_server_is_wrapped_and_the_old_file_stays_beside_it() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    insta::assert_snapshot!(settings.install("cursor", "time", &["--dry-run"]), @r#"
    exit: 0
    --- stdout
    --- FOLDER/mcp.json
    +++ FOLDER/mcp.json
    @@ -2,8 +2,13 @@
       // Mine.
       "mcpServers": {
         "time": {
    -      "command": "uvx", // from Python
    +      "command": "attune", // from Python
           "args": [
    +        "stdio",
    +        "--caller",
    +        "system",
    +        "--",
    +        "uvx",
             "mcp-server-time",
           ],
           "env": { "TOKEN": "t" },
    --- stderr
    "#);
    assert_eq!((settings.content().as_str(), settings.files()), (MCP_JSON, vec!["mcp.json".to_owned()]));
    insta::assert_snapshot!(settings.install("cursor", "time", &[]), @"
    exit: 0
    --- stdout
    FOLDER/mcp.json: `time` goes through Attune now
    The file as it was: FOLDER/mcp.json.before-attune
    Next: restart Cursor
    --- stderr
    ");
    assert_eq!(settings.files(), ["mcp.json", "mcp.json.before-attune"]);
    let backup = settings.folder.path().join("mcp.json.before-attune");
    assert_eq!(fs::read_to_string(backup).expect("a file"), MCP_JSON);
    insta::assert_snapshot!(settings.uninstall("cursor", "time", &[]), @"
    exit: 0
    --- stdout
    FOLDER/mcp.json: `time` is started without Attune again
    The file as it was: FOLDER/mcp.json.before-attune
    Next: restart Cursor
    --- stderr
    ");
    assert_eq!(settings.content(), MCP_JSON);
}

#[test]
fn what_is_done_already_is_left_alone() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    assert!(settings.install("cursor", "time", &[]).starts_with("exit: 0\n"));
    let (once, files) = (settings.content(), settings.files());
    insta::assert_snapshot!(settings.install("cursor", "time", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: the server `time` goes through Attune already, and nothing was written
    hint: to start it with other options, `attune uninstall` it first
    ");
    insta::assert_snapshot!(settings.install("cursor", "time", &["--", "uvx", "mcp-server-time"]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: the server `time` goes through Attune already, and nothing was written
    hint: to start it with other options, `attune uninstall` it first
    ");
    insta::assert_snapshot!(settings.install("cursor", "time", &["--", "uvx", "another"]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: the server `time` is there already, with another command
    hint: leave `-- COMMAND` out to put Attune before it, or choose another name
    ");
    assert_eq!((settings.content(), settings.files()), (once, files));
    assert!(settings.uninstall("cursor", "time", &[]).starts_with("exit: 0\n"));
    insta::assert_snapshot!(settings.uninstall("cursor", "time", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: the server `time` does not go through Attune, and nothing was written
    hint: `attune install` puts Attune before it
    ");
    assert_eq!(settings.content(), MCP_JSON);
}

#[test]
fn a_server_that_is_not_there_is_named_with_those_that_are() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    insta::assert_snapshot!(settings.install("cursor", "tiem", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: there is no server `tiem`
    hint: did you mean `time`?
    ");
    insta::assert_snapshot!(settings.uninstall("cursor", "calendar", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: there is no server `calendar`
    hint: there are time, docs
    ");
    assert_eq!(settings.files(), ["mcp.json"]);
    let missing = Settings::missing("mcp.json");
    insta::assert_snapshot!(missing.install("cursor", "time", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: there is no FOLDER/mcp.json, and no server `time` in it
    hint: name the settings file of Cursor with --file; `attune install cursor time -- COMMAND` adds one
    ");
    assert!(missing.files().is_empty());
    let empty = Settings::new("mcp.json", "");
    insta::assert_snapshot!(empty.uninstall("cursor", "time", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: there is no server `time`
    hint: there is none at all; `attune install cursor time -- COMMAND` adds one
    ");
}

#[test]
fn a_server_that_the_client_connects_to_is_said_to_be_one() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    insta::assert_snapshot!(settings.install("cursor", "docs", &[]), @"
    exit: 1
    --- stdout
    --- stderr
    error: FOLDER/mcp.json: Cursor connects to `docs` by its URL; Attune can only be put before servers that are started by a command
    hint: run `attune serve --upstream URL` with that URL, and write http://127.0.0.1:8808/mcp in its place
    ");
    for (client, file, remote) in [
        ("gemini-cli", "settings.json", r#"{"mcpServers":{"docs":{"httpUrl":"https://example.com/mcp"}}}"#),
        ("vscode", "mcp.json", r#"{"servers":{"docs":{"type":"http","url":"https://example.com/mcp"}}}"#),
        (
            "opencode",
            "opencode.json",
            r#"{"mcp":{"docs":{"type":"remote","url":"https://example.com/mcp"}}}"#,
        ),
        ("codex", "config.toml", "[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\n"),
    ] {
        let settings = Settings::new(file, remote);
        let shown = settings.install(client, "docs", &[]);
        assert!(shown.starts_with("exit: 1\n") && shown.contains("by its URL"), "{shown}");
        assert_eq!(settings.content(), remote);
    }
}

/// Each client's file, before and after, with a server that is added.
#[test]
fn every_client_gets_its_own_form() {
    let mut forms = String::new();
    for (client, file) in [
        ("claude-desktop", "claude_desktop_config.json"),
        ("vscode", "mcp.json"),
        ("cursor", "mcp.json"),
        ("opencode", "opencode.json"),
        ("codex", "config.toml"),
        ("gemini-cli", "settings.json"),
    ] {
        let settings = Settings::missing(file);
        let shown = settings.install(client, "time", &["--", "uvx", "mcp-server-time"]);
        assert!(shown.starts_with("exit: 0\n"), "{shown}");
        assert_eq!(settings.files(), [file], "there was no file to keep");
        forms += &format!("{client}: {file}\n{}", settings.content());
        let shown = settings.uninstall(client, "time", &[]);
        assert!(shown.starts_with("exit: 0\n"), "{shown}");
        forms += &format!("and without Attune\n{}\n", settings.content());
    }
    insta::assert_snapshot!(forms);
}

#[test]
fn what_was_done_is_told_as_json() {
    let settings = Settings::new("config.toml", "[mcp_servers.time]\ncommand = \"uvx\"\n");
    insta::assert_snapshot!(settings.install("codex", "time", &["--json", "--dry-run"]), @r#"
    exit: 0
    --- stdout
    {
      "file": "FOLDER/config.toml",
      "changed": false,
      "backup": null,
      "diff": "--- FOLDER/config.toml\n+++ FOLDER/config.toml\n@@ -1,2 +1,3 @@\n [mcp_servers.time]\n-command = \"uvx\"\n+command = \"attune\"\n+args = [\"stdio\", \"--caller\", \"system\", \"--\", \"uvx\"]\n"
    }
    --- stderr
    "#);
    insta::assert_snapshot!(settings.install("codex", "time", &["--json"]), @r#"
    exit: 0
    --- stdout
    {
      "file": "FOLDER/config.toml",
      "changed": true,
      "backup": "FOLDER/config.toml.before-attune",
      "diff": "--- FOLDER/config.toml\n+++ FOLDER/config.toml\n@@ -1,2 +1,3 @@\n [mcp_servers.time]\n-command = \"uvx\"\n+command = \"attune\"\n+args = [\"stdio\", \"--caller\", \"system\", \"--\", \"uvx\"]\n"
    }
    --- stderr
    "#);
    insta::assert_snapshot!(settings.install("codex", "time", &["--json"]), @r#"
    exit: 1
    --- stdout
    {
      "file": "FOLDER/config.toml",
      "changed": false,
      "backup": null,
      "diff": ""
    }
    --- stderr
    error: FOLDER/config.toml: the server `time` goes through Attune already, and nothing was written
    hint: to start it with other options, `attune uninstall` it first
    "#);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place_and_left_alone() {
    let mut shown = String::new();
    for (client, file, content) in [
        ("cursor", "mcp.json", "{\n  \"mcpServers\": {\n    \"time\" {}\n  }\n}\n"),
        ("cursor", "mcp.json", "not JSON"),
        ("cursor", "mcp.json", "[]"),
        ("cursor", "mcp.json", "// nothing\n"),
        ("cursor", "mcp.json", r#"{"mcpServers": []}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": 1}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"args": []}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": ["uvx"]}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": " "}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": "x", "args": "y"}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": "x", "args": ["y", 1]}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": "x", "command": "y"}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {"time": {"command": "x"}, "time": {"command": "y"}}}"#),
        ("cursor", "mcp.json", r#"{"mcpServers": {}, "mcp\u0053ervers": {}}"#),
        ("opencode", "opencode.json", r#"{"mcp": {"time": {"type": "local", "command": "x"}}}"#),
        ("opencode", "opencode.json", r#"{"mcp": {"time": {"type": "local", "command": []}}}"#),
        ("codex", "config.toml", "mcp_servers = 1"),
        ("codex", "config.toml", "[mcp_servers.time]\ncommand = \"x\"\ncommand = \"y\"\n"),
        ("codex", "config.toml", "[mcp_servers.time]\nargs = []\n"),
        ("codex", "config.toml", "[mcp_servers.time]\ncommand = \"x\"\nargs = \"y\"\n"),
    ] {
        let settings = Settings::new(file, content);
        let printed = settings.install(client, "time", &[]);
        assert!(printed.starts_with("exit: 2\n--- stdout\n--- stderr\n"), "{printed}");
        assert_eq!(settings.uninstall(client, "time", &[]), printed, "both say the same");
        assert_eq!((settings.content().as_str(), settings.files()), (content, vec![file.to_owned()]));
        let printed = printed.trim_start_matches("exit: 2\n--- stdout\n--- stderr\nerror: FOLDER/");
        shown += printed.split("hint:").next().unwrap_or_default();
    }
    insta::assert_snapshot!(shown);
    let deep = Settings::new("mcp.json", &"[".repeat(100_000));
    assert!(deep.install("cursor", "time", &[]).contains("nesting depth"));
    let deep = Settings::new("config.toml", &format!("a = {}", "[".repeat(100_000)));
    assert!(deep.install("codex", "time", &[]).starts_with("exit: 2\n"));
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let settings = Settings::missing("nowhere/mcp.json");
    insta::assert_snapshot!(settings.install("cursor", "time", &["--", "uvx", "mcp-server-time"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: there is no folder FOLDER/nowhere to write to
    hint: is Cursor installed? Start it once, or make the folder
    ");
    assert!(settings.files().is_empty());
}

/// Runs `attune` with a home folder of its own.
#[cfg(unix)]
fn at_home(home: &TempDir, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(arguments)
        .env("HOME", home.path())
        .env("PATH", "/usr/bin:/bin")
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(home.path())
        .output()
        .expect("attune starts");
    let shown = format!("exit: {}\n{}{}", code(&output), text(&output.stdout), text(&output.stderr));
    shown.replace(home.path().to_str().expect("UTF-8"), "HOME")
}

#[test]
#[cfg(all(unix, not(target_os = "macos")))]
fn the_clients_own_file_is_found() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |path: &str| home.path().join(path);
    for folder in [".config/opencode", ".cursor", ".vscode"] {
        fs::create_dir_all(at(folder)).expect("a folder");
    }
    let server = r#"{"mcp":{"time":{"type":"local","command":["uvx","mcp-server-time"]}}}"#;
    fs::write(at(".config/opencode/opencode.jsonc"), "{}").expect("a file");
    fs::write(at(".config/opencode/opencode.json"), server).expect("a file");
    let shown = at_home(&home, &["install", "opencode", "time"]);
    assert!(shown.starts_with("exit: 0\nHOME/.config/opencode/opencode.json: "), "{shown}");
    // Where no file has the server, the one that counts for the client gets it.
    let shown = at_home(&home, &["install", "opencode", "new", "--dry-run", "--", "new"]);
    assert!(shown.starts_with("exit: 0\n--- HOME/.config/opencode/opencode.jsonc\n"), "{shown}");
    let shown = at_home(&home, &["install", "cursor", "time", "--", "uvx", "mcp-server-time"]);
    assert!(shown.starts_with("exit: 0\nHOME/.cursor/mcp.json: "), "{shown}");
    // Nothing on PATH is this program, so it is written with its whole path.
    let written = fs::read_to_string(at(".cursor/mcp.json")).expect("a file");
    assert!(written.contains(&format!("\"command\": \"{}\"", env!("CARGO_BIN_EXE_attune"))), "{written}");
    fs::write(at(".vscode/mcp.json"), r#"{"servers":{"time":{"command":"uvx"}}}"#).expect("a file");
    insta::assert_snapshot!(at_home(&home, &["install", "vscode", "time"]), @"
    exit: 1
    error: there is no HOME/.config/Code/User/mcp.json, and no server `time` in it
    hint: there is .vscode/mcp.json: name it with --file .vscode/mcp.json
    ");
}

#[test]
#[cfg(unix)]
fn a_link_on_path_is_written_rather_than_what_it_leads_to() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    let link = settings.folder.path().join("attune");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_attune"), &link).expect("a link");
    let output = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["install", "cursor", "time", "--file"])
        .arg(&settings.path)
        .env("PATH", format!("relative:{}", settings.folder.path().display()))
        .output()
        .expect("attune starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let written = format!("\"command\": \"{}\", // from Python", link.display());
    assert!(settings.content().contains(&written), "{}", settings.content());
}

/// What is written works: the words of the file are started, with its variables, and answer.
#[test]
#[cfg(unix)]
fn a_server_answers_through_what_was_written() {
    let binary = env!("CARGO_BIN_EXE_attune");
    let server = format!(
        r#"{{"mcpServers":{{"demo":{{"command":"sh","args":["-c","test \"$PLACE\" = Bern && exec \"$0\" demo --bare --stdio","{binary}"]}}}}}}"#
    );
    let settings = Settings::new("mcp.json", &server);
    let config = settings.folder.path().join("attune.toml");
    let bound = "[tools.local_time.context]\ntz = { from = 'timezone', hide = true }\n";
    fs::write(&config, bound).expect("a file");
    let config = config.to_str().expect("UTF-8");
    let shown = settings.run(&["install", "cursor", "demo", "--config", config], &[]);
    assert!(shown.starts_with("exit: 0\n"), "{shown}");
    let written: serde_json::Value = serde_json::from_str(&settings.content()).expect("JSON");
    let entry = &written["mcpServers"]["demo"];
    let arguments: Vec<_> =
        entry["args"].as_array().expect("a list").iter().filter_map(serde_json::Value::as_str).collect();
    let ask = |what: &str| {
        let output = Command::new(binary)
            .args([what, "local_time", "--", entry["command"].as_str().expect("a program")])
            .args(&arguments)
            .envs([("PLACE", "Bern"), ("TZ", "Asia/Kathmandu")])
            .output()
            .expect("attune starts");
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let answer = ask("call");
    assert!(answer.contains("Asia/Kathmandu"), "{answer}");
    let tool = ask("tools");
    assert!(tool.contains("date-time") && !tool.contains("\"tz\""), "the file counts: {tool}");
}

#[test]
fn what_an_option_names_is_written_by_its_whole_path() {
    let settings = Settings::new("mcp.json", MCP_JSON);
    let locales = settings.folder.path().join("locales");
    fs::create_dir(&locales).expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["install", "cursor", "time", "--locales", "locales", "--file"])
        .arg(&settings.path)
        .current_dir(settings.folder.path())
        .output()
        .expect("attune starts");
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    // The folder may be found through a link.
    let whole = locales.canonicalize().expect("a path");
    let written: String = settings.content().split_whitespace().collect();
    let is_there =
        |path: &std::path::Path| written.contains(&format!("\"--locales\",\"{}\"", path.display()));
    assert!(is_there(&whole) || is_there(&locales), "{written}");
    let missing = settings.install("cursor", "time", &["--config", "gone.toml"]);
    assert!(
        missing.starts_with("exit: 2\n") && missing.contains("--config: gone.toml is not there"),
        "{missing}"
    );
}

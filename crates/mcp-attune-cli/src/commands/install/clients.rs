//! Desktop clients: where their settings are, and how servers are written there.
//!
//! What is here was read in public documentation; Codex, Gemini CLI and opencode were asked themselves, by letting them list what was written:
//!
//! 1. Claude Desktop: `Claude/claude_desktop_config.json` in the folder where programs of the system keep their settings;
//!    `mcpServers`, strict JSON.
//! 2. VS Code: `Code/User/mcp.json` in that folder for the user, `.vscode/mcp.json` for a workspace; JSON with comments, `servers`, each
//!    with a `type`. The format that it shares with other tools, in `.mcp.json`, has `mcpServers`.
//! 3. Cursor: `~/.cursor/mcp.json`, or `.cursor/mcp.json` in a project; `mcpServers`.
//! 4. opencode: `opencode.jsonc` or `opencode.json` in `$XDG_CONFIG_HOME/opencode` on every system, or in a project; JSON with comments. Servers
//!    are in `mcp`, from its second version on also in `mcp.servers`, and `command` is a list that begins with the program.
//! 5. Codex: `$CODEX_HOME/config.toml`, else `~/.codex/config.toml`, or `.codex/config.toml` in a project; `[mcp_servers.NAME]`.
//! 6. Gemini CLI: `~/.gemini/settings.json`, or `.gemini/settings.json` in a project; JSON with comments, `mcpServers`, and
//!    `$GEMINI_CLI_HOME` in place of the home folder.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that starts MCP servers, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DesktopClient {
    ClaudeDesktop,
    Vscode,
    Cursor,
    Opencode,
    Codex,
    GeminiCli,
}

/// How a client writes servers into its settings.
#[derive(Clone, Copy, Debug)]
pub(super) enum SettingsFormat {
    Json(JsonLayout),
    /// Tables below `mcp_servers`.
    Toml,
}

/// Servers in a JSON file.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonLayout {
    /// Where the object of all servers may be; the first that is there is taken.
    pub(super) paths: &'static [&'static [&'static str]],
    /// The member that is written where no such object is there.
    pub(super) new_member: &'static str,
    /// Whether `command` is a list with the arguments in it.
    pub(super) command_is_list: bool,
    /// The `type` of a server that the client starts, where one is written.
    pub(super) kind: Option<&'static str>,
}

/// The folders that settings are in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UserFolders {
    home: PathBuf,
    /// Where programs of this system keep their settings.
    application_data: PathBuf,
    /// The folder of the XDG specification, which some programs use on every system.
    xdg_config: PathBuf,
    codex_home: Option<PathBuf>,
    gemini_home: Option<PathBuf>,
}

impl UserFolders {
    /// The folders by the environment of an operating system, named as [`std::env::consts::OS`] does. `None` where there is no home folder.
    pub(super) fn read(system: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = folder(if system == "windows" { "USERPROFILE" } else { "HOME" })?;
        // A relative folder is invalid by the XDG specification.
        let xdg_config = folder("XDG_CONFIG_HOME").filter(|folder| folder.is_absolute());
        let xdg_config = xdg_config.unwrap_or_else(|| home.join(".config"));
        let application_data = match system {
            "windows" => folder("APPDATA").unwrap_or_else(|| home.join("AppData").join("Roaming")),
            "macos" => home.join("Library").join("Application Support"),
            _ => xdg_config.clone(),
        };
        let (codex_home, gemini_home) = (folder("CODEX_HOME"), folder("GEMINI_CLI_HOME"));
        Some(Self { home, application_data, xdg_config, codex_home, gemini_home })
    }
}

impl DesktopClient {
    /// What the client is called.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Opencode => "opencode",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
        }
    }

    pub(super) fn format(self) -> SettingsFormat {
        let (paths, new_member): (&'static [&'static [&'static str]], _) = match self {
            Self::Vscode => (&[&["servers"], &["mcpServers"]], "servers"),
            Self::Opencode => (&[&["mcp", "servers"], &["mcp"]], "mcp"),
            Self::ClaudeDesktop | Self::Cursor | Self::GeminiCli => (&[&["mcpServers"]], "mcpServers"),
            Self::Codex => return SettingsFormat::Toml,
        };
        let kind = match self {
            Self::Vscode => Some("stdio"),
            Self::Opencode => Some("local"),
            _ => None,
        };
        SettingsFormat::Json(JsonLayout { paths, new_member, command_is_list: self == Self::Opencode, kind })
    }

    /// The files of the user's own settings. The first that is there counts, and the last is the one that is made.
    pub(super) fn user_files(self, folders: &UserFolders) -> Vec<PathBuf> {
        let UserFolders { home, application_data, xdg_config, codex_home, gemini_home } = folders;
        let file = match self {
            Self::ClaudeDesktop => application_data.join("Claude").join("claude_desktop_config.json"),
            Self::Vscode => application_data.join("Code").join("User").join("mcp.json"),
            Self::Cursor => home.join(".cursor").join("mcp.json"),
            Self::Opencode => {
                let folder = xdg_config.join("opencode");
                return vec![folder.join("opencode.jsonc"), folder.join("opencode.json")];
            }
            Self::Codex => codex_home.clone().unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            Self::GeminiCli => gemini_home.as_ref().unwrap_or(home).join(".gemini").join("settings.json"),
        };
        vec![file]
    }

    /// The files of a project's settings, seen from its folder.
    pub(super) fn project_files(self) -> &'static [&'static str] {
        match self {
            Self::ClaudeDesktop => &[],
            Self::Vscode => &[".vscode/mcp.json", ".mcp.json"],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::Opencode => &["opencode.jsonc", "opencode.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::GeminiCli => &[".gemini/settings.json"],
        }
    }

    /// What makes the client read its settings again.
    pub(super) fn next_step(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "quit Claude Desktop, closing the window is not enough, and open it again",
            Self::Vscode => "restart the server with `MCP: List Servers` in VS Code",
            Self::Cursor => "restart Cursor",
            Self::Opencode => "start opencode again",
            Self::Codex => "start Codex again",
            Self::GeminiCli => "start Gemini CLI again",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn folders(system: &str, variables: &[(&str, &str)]) -> UserFolders {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        UserFolders::read(system, find).expect("a home folder")
    }

    fn check(client: DesktopClient, folders: &UserFolders, expected: &[&str]) {
        // On Windows the folders are joined with another separator.
        let files = client.user_files(folders);
        let files: Vec<_> = files.iter().map(|file| file.to_string_lossy().replace('\\', "/")).collect();
        assert_eq!(files, expected, "{client:?}");
    }

    #[test]
    fn the_names_are_those_of_the_command_line() {
        let names: Vec<_> = DesktopClient::value_variants()
            .iter()
            .filter_map(|client| Some(client.to_possible_value()?.get_name().to_owned()))
            .collect();
        assert_eq!(names, ["claude-desktop", "vscode", "cursor", "opencode", "codex", "gemini-cli"]);
    }

    #[test]
    fn settings_are_where_each_system_keeps_them() {
        let linux = folders("linux", &[("HOME", "/h")]);
        check(DesktopClient::ClaudeDesktop, &linux, &["/h/.config/Claude/claude_desktop_config.json"]);
        check(DesktopClient::Vscode, &linux, &["/h/.config/Code/User/mcp.json"]);
        check(DesktopClient::Cursor, &linux, &["/h/.cursor/mcp.json"]);
        check(DesktopClient::Codex, &linux, &["/h/.codex/config.toml"]);
        check(DesktopClient::GeminiCli, &linux, &["/h/.gemini/settings.json"]);
        let mac = folders("macos", &[("HOME", "/h")]);
        let claude = "/h/Library/Application Support/Claude/claude_desktop_config.json";
        check(DesktopClient::ClaudeDesktop, &mac, &[claude]);
        check(DesktopClient::Vscode, &mac, &["/h/Library/Application Support/Code/User/mcp.json"]);
        let opencode = ["/h/.config/opencode/opencode.jsonc", "/h/.config/opencode/opencode.json"];
        check(DesktopClient::Opencode, &mac, &opencode);
        let windows = folders("windows", &[("USERPROFILE", "C:/h"), ("APPDATA", "C:/h/Roam")]);
        check(DesktopClient::ClaudeDesktop, &windows, &["C:/h/Roam/Claude/claude_desktop_config.json"]);
        check(DesktopClient::Cursor, &windows, &["C:/h/.cursor/mcp.json"]);
    }

    #[test]
    #[cfg(unix)]
    fn variables_of_the_clients_move_their_settings() {
        let moved =
            [("HOME", "/h"), ("XDG_CONFIG_HOME", "/x"), ("CODEX_HOME", "/c"), ("GEMINI_CLI_HOME", "/g")];
        let moved = folders("linux", &moved);
        check(DesktopClient::Vscode, &moved, &["/x/Code/User/mcp.json"]);
        check(DesktopClient::Codex, &moved, &["/c/config.toml"]);
        check(DesktopClient::GeminiCli, &moved, &["/g/.gemini/settings.json"]);
        let odd = folders("linux", &[("HOME", "/h"), ("XDG_CONFIG_HOME", "x"), ("CODEX_HOME", "")]);
        check(DesktopClient::Vscode, &odd, &["/h/.config/Code/User/mcp.json"]);
        check(DesktopClient::Codex, &odd, &["/h/.codex/config.toml"]);
        assert_eq!(UserFolders::read("linux", |_| None), None);
    }

    #[test]
    fn the_page_for_users_names_every_file() {
        let page = include_str!("../../../../../docs/desktop.md");
        let folders = folders("linux", &[("HOME", "~")]);
        for client in DesktopClient::value_variants() {
            let name = client.to_possible_value().expect("a name");
            let line = page.lines().find(|line| line.starts_with(&format!("{} ", name.get_name())));
            let line = line.unwrap_or_else(|| panic!("{client:?} has no line"));
            for file in client.user_files(&folders) {
                let file = file.to_string_lossy().replace('\\', "/");
                let (folder, name) = file.rsplit_once('/').expect("a folder");
                let folder = match folder.strip_prefix("~/.config") {
                    Some(below) if *client == DesktopClient::Opencode => format!("CONFIG{below}"),
                    Some(below) => format!("DATA{below}"),
                    None => folder.to_owned(),
                };
                assert!(line.contains(&format!("{folder}/")) && line.contains(name), "{file}: {line}");
            }
            for file in client.project_files() {
                assert!(line.ends_with(file) || line.contains(&format!(" {file} or ")), "{file}: {line}");
            }
            assert!(page.contains(client.title()), "{client:?}");
        }
    }
}

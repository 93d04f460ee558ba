//! The text of a configuration that somebody reads for the first time.

use mcp_attune_gateway::config::{Config, ConfigFindings};

use super::proposals::ToolBindingProposal;
use super::toml::{basic, key};
use crate::show::plain;

/// How wide a comment is at most.
const MAX_COMMENT_WIDTH: usize = 100;
/// Where a comment beside a value begins.
const COMMENT_COLUMN: usize = 40;

/// What a configuration says of a server.
pub(super) struct InitConfig {
    pub(super) name: Option<String>,
    pub(super) tools: usize,
    pub(super) language: String,
    pub(super) upstream: InitUpstream,
}

/// Where the server is.
pub(super) enum InitUpstream {
    Url(String),
    Command(Vec<String>),
}

impl InitConfig {
    /// Whether it can be used without any binding.
    pub(super) fn check(&self) -> Result<(), ConfigFindings> {
        Config::parse(&self.write(&[]), "attune.toml").map(drop)
    }

    /// The proposals that can be used together with it. What a server calls its tools may be refused.
    pub(super) fn usable_proposals(&self, proposals: Vec<ToolBindingProposal>) -> Vec<ToolBindingProposal> {
        let usable = |mut proposal: ToolBindingProposal| {
            let fits = |binding: &super::proposals::ProposedBinding| {
                let text = format!("{}\n{}\n", header(&proposal.tool), binding.lines.join("\n"));
                Config::parse(&text, "attune.toml").is_ok()
            };
            let fits: Vec<bool> = proposal.bindings.iter().map(fits).collect();
            let mut fits = fits.into_iter();
            proposal.bindings.retain(|_| fits.next().unwrap_or(false));
            proposal
        };
        let usable = proposals.into_iter().map(usable);
        usable.filter(|proposal| !proposal.bindings.is_empty()).collect()
    }

    pub(super) fn write(&self, proposals: &[ToolBindingProposal]) -> String {
        let name = self.name.as_deref().map_or_else(|| "an MCP server".to_owned(), plain::line);
        let tools = if self.tools == 1 { "1 tool".to_owned() } else { format!("{} tools", self.tools) };
        let mut text =
            comment("", &format!("Attune in front of {name} ({tools}), written by `attune init`."));
        text += "# `attune config check` looks for mistakes in this file, and `attune config example` shows every setting.\n\n";
        text += &setting_line(
            &format!("default_language = {}", basic(&self.language)),
            "the language of the server's own texts",
        );
        text += "\n[upstream]\n";
        match &self.upstream {
            InitUpstream::Url(url) => {
                text += &setting_line(
                    &format!("url = {}", basic(url)),
                    "the server; callers connect to http://127.0.0.1:8808/mcp",
                );
            }
            InitUpstream::Command(command) => {
                let words = command.iter().map(|word| basic(word)).collect::<Vec<_>>().join(", ");
                text += &setting_line(&format!("command = [{words}]"), "the program that is the server");
                text +=
                    &setting_line("#env = { API_TOKEN = \"…\" }", "more that it finds in its environment");
            }
        }
        text += "\n[locales]\n";
        text += &setting_line(
            "path = \"locales/${locale}.json\"",
            "one file for each language, beside this file",
        );
        for proposal in proposals {
            text += &section(proposal);
        }
        text
    }
}

/// The bindings of one tool; lines that are not active are comments.
fn section(proposal: &ToolBindingProposal) -> String {
    let has_active = proposal.bindings.iter().any(|binding| binding.active);
    let mark = |active: bool| if active { "" } else { "#" };
    let mut text = format!("\n{}{}\n", mark(has_active), header(&proposal.tool));
    for binding in &proposal.bindings {
        text += &comment("", &binding.note);
        for line in &binding.lines {
            text += &format!("{}{line}\n", mark(binding.active));
        }
    }
    text
}

fn header(tool: &str) -> String {
    format!("[tools.{}.context]", key(tool))
}

/// A setting, and what it means.
fn setting_line(setting: &str, meaning: &str) -> String {
    let width = COMMENT_COLUMN - 1;
    format!("{setting:<width$} # {meaning}\n")
}

/// A comment on as many lines as it needs.
fn comment(indent: &str, text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + word.chars().count() < MAX_COMMENT_WIDTH => {
                *line += &format!(" {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| format!("{indent}# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::init::proposals::propose;
    use serde_json::json;

    #[test]
    fn whatever_a_server_calls_itself_and_its_tools_the_file_can_be_used() {
        let names =
            ["a.b", "", "\"]\n[server]\nlisten = \"0.0.0.0:80\"", "é\u{7f}\u{1b}[31m", "x\r\n#", "'''"];
        let schema = json!({ "properties": {
            "tz": { "type": "string", "default": "Europe/Zurich" }, "language": { "type": "string" } } });
        let tools: Vec<_> = names.map(|name| json!({ "name": name, "inputSchema": schema })).into();
        for name in names {
            let configuration = InitConfig {
                name: Some(name.to_owned()),
                tools: tools.len(),
                language: "en".to_owned(),
                upstream: InitUpstream::Command(vec!["server".to_owned(), name.to_owned()]),
            };
            let proposals = configuration.usable_proposals(propose(&tools));
            let text = configuration.write(&proposals);
            let config =
                Config::parse(&text, "attune.toml").unwrap_or_else(|findings| panic!("{findings}\n{text}"));
            assert_eq!(config.server, Config::default().server, "{text}");
            assert!(config.mounts[0].bindings().binds_tool("a.b"), "{text}");
            // Comments are bindings too, once somebody takes the mark away.
            let uncommented = text.replace("\n#language", "\nlanguage");
            assert!(Config::parse(&uncommented, "attune.toml").is_ok(), "{uncommented}");
        }
    }
}

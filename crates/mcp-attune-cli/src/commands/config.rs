//! `attune config check|schema|example`: is a configuration fine, and what can it say?

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use mcp_attune_gateway::config::{
    Config as File, ConfigFinding, ConfigLoadError, MountConfig, SettingPositions, UpstreamTarget, schema,
};
use mcp_attune_gateway::inspect::{self, ConfigIssue, InspectionDepth, IssueSeverity};
use mcp_attune_rmcp::{Connection, ConnectionOptions};
use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;
use serde::Serialize;

use crate::exit::{Exit, hinted};
use crate::running::single_thread_runtime;
use crate::server::{for_each_page, parse_headers, parse_target, wrap_in_answer};
use crate::text::print_json;

/// Check a configuration, or see what it can say
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune config check examples/attune.toml\n  $ attune config example | head -n 20"
)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(clap::Subcommand)]
enum ConfigCommand {
    Check(ConfigCheckArgs),
    Schema(ConfigSchemaArgs),
    Example(ConfigExampleArgs),
}

impl ConfigArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            ConfigCommand::Check(check) => check.run(out),
            ConfigCommand::Schema(schema) => schema.run(out),
            ConfigCommand::Example(example) => example.run(out),
        }
    }
}

/// Check a configuration and every file that it names
///
/// Locale files and templates are read, certificates and keys are tried, and programs are looked for. Nothing is
/// started, and no server is asked but with --against. Exit 0: it can be served, perhaps with warnings; 1: it cannot, or
/// not as it says.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune config check examples/attune.toml\n  $ attune config check --json examples/attune.toml\n\nAgainst the server behind, while it runs:\n  attune config check --against http://127.0.0.1:9000/mcp attune.toml"
)]
struct ConfigCheckArgs {
    /// The file
    #[arg(default_value = "attune.toml")]
    file: PathBuf,
    /// Ask the server behind at this URL whether it has the tools and arguments that the file names
    #[arg(long, value_name = "URL")]
    against: Option<String>,
    /// A header of every request to that server
    #[arg(long, value_name = "NAME:VALUE", requires = "against")]
    header: Vec<String>,
    /// Print JSON: `findings`, each with `what`, `where`, `level`, `says` and `hint`
    #[arg(long)]
    json: bool,
}

/// One finding as it is printed.
#[derive(Serialize)]
struct ConfigFindingOutput {
    what: String,
    r#where: String,
    level: &'static str,
    says: String,
    hint: String,
}

#[derive(Serialize)]
struct ConfigCheckOutput {
    findings: Vec<ConfigFindingOutput>,
}

impl ConfigCheckArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let file = self.file.display();
        let config = match File::load(&self.file) {
            Ok(config) => config,
            Err(ConfigLoadError::Wrong(findings)) => {
                if self.json {
                    print_json(
                        out,
                        &ConfigCheckOutput { findings: findings.iter().map(file_finding_output).collect() },
                    )?;
                } else {
                    write!(out, "{findings}")?;
                }
                return Ok(Exit::Findings);
            }
            Err(error) => {
                let hint = "name a file that can be read; `attune config example` prints one to begin with";
                return Err(hinted(error.to_string(), hint))
                    .with_context(|| format!("could not read {file}"));
            }
        };
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let positions = SettingPositions::new(&text);
        let mut issues =
            inspect::inspect(&config, Some(&positions), InspectionDepth::Contents, SystemTime::now());
        if let Some(url) = &self.against {
            issues.extend(self.check_against(&config, url)?);
        }
        let errors = issues.iter().filter(|issue| issue.severity == IssueSeverity::Error).count();
        let findings: Vec<ConfigFindingOutput> =
            issues.into_iter().map(|issue| issue_output(issue, &self.file, &positions)).collect();
        if self.json {
            print_json(out, &ConfigCheckOutput { findings })?;
        } else {
            self.tell(out, &config, &findings, errors)?;
        }
        Ok(if errors == 0 { Exit::Fine } else { Exit::Findings })
    }

    fn tell(
        &self,
        out: &mut impl Write,
        config: &File,
        findings: &[ConfigFindingOutput],
        errors: usize,
    ) -> anyhow::Result<()> {
        let file = self.file.display();
        for ConfigFindingOutput { r#where: place, level, says, hint, .. } in findings {
            let level = if *level == "warning" { "warning: " } else { "" };
            writeln!(out, "{place}: {level}{says}\nhint: {hint}\n")?;
        }
        match (errors, findings.len()) {
            (0, 0) => writeln!(out, "{file} is fine")?,
            (0, 1) => writeln!(out, "{file} is fine, with a warning")?,
            (0, warnings) => writeln!(out, "{file} is fine, with {warnings} warnings")?,
            _ => {}
        }
        let names_tools = |mount: &MountConfig| {
            !mount.bindings().is_empty() || mount.tools.values().any(|tool| tool.language_argument.is_some())
        };
        if self.against.is_none() && errors == 0 && config.mounts.iter().any(names_tools) {
            writeln!(
                out,
                "Whether the server has the tools and arguments that [tools] names is looked at when it is served, \
                 or now with --against URL."
            )?;
        }
        Ok(())
    }

    /// Asks the server behind for its tools.
    fn check_against(&self, config: &File, url: &str) -> anyhow::Result<Vec<ConfigIssue>> {
        let mount = mount_at(config, url)?;
        let target = parse_target(Some(url), &[])?;
        let mut options = ConnectionOptions::default();
        options.headers = parse_headers(&self.header)?;
        let listed = single_thread_runtime()?.block_on(async {
            let connection = Connection::open(&target, &options).await?;
            let mut all = Vec::new();
            let take = |result: SpannedValue<'_>| {
                all.push(wrap_in_answer(result.raw()));
                Ok(())
            };
            let asked = for_each_page(&connection, method::TOOLS_LIST, |_| {}, take).await;
            connection.close().await;
            asked.map(|()| all)
        })?;
        let messages: Vec<_> =
            listed.iter().filter_map(|page| Message::parse(page.as_bytes()).ok()).collect();
        Ok(inspect::inspect_tools(config, mount, &messages))
    }
}

/// The mount whose server is at a URL: the only one, the one that names the URL, or the one with its path.
fn mount_at<'c>(config: &'c File, url: &str) -> anyhow::Result<&'c MountConfig> {
    if let [mount] = config.mounts.as_slice() {
        return Ok(mount);
    }
    let named = |mount: &&MountConfig| {
        let target = mount.upstream.as_ref().map(|upstream| &upstream.target);
        matches!(target, Some(UpstreamTarget::Http(uri)) if *uri == *url)
    };
    config.mounts.iter().find(named).ok_or_else(|| {
        let urls = config.mounts.iter().filter_map(|mount| match &mount.upstream.as_ref()?.target {
            UpstreamTarget::Http(uri) => Some(uri.to_string()),
            UpstreamTarget::Stdio(_) => None,
        });
        let urls: Vec<_> = urls.collect();
        hinted(format!("--against: no mount has {url}"), format!("the file names {}", urls.join(", ")))
    })
}

/// What is wrong with the file itself.
fn file_finding_output(finding: &ConfigFinding) -> ConfigFindingOutput {
    let ConfigFinding { file, line, column, what, hint, .. } = finding;
    ConfigFindingOutput {
        what: "configuration".to_owned(),
        r#where: format!("{file}:{line}:{column}"),
        level: "error",
        says: what.clone(),
        hint: hint.clone(),
    }
}

fn issue_output(issue: ConfigIssue, file: &Path, positions: &SettingPositions<'_>) -> ConfigFindingOutput {
    let ConfigIssue { what, key, place, severity, says, hint, .. } = issue;
    let file = file.display();
    // What a mount does not set itself stands at the top.
    let at =
        positions.find(&key).or_else(|| positions.find(key.get(2..)?)).or_else(|| positions.nearest(&key));
    let r#where = place.unwrap_or_else(|| match at {
        Some((line, column)) => format!("{file}:{line}:{column}"),
        None => file.to_string(),
    });
    ConfigFindingOutput { what: what.to_owned(), r#where, level: severity.as_str(), says, hint }
}

/// Print the JSON Schema of the configuration
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune config schema | head -n 20")]
struct ConfigSchemaArgs {}

impl ConfigSchemaArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        print_json(out, &schema())?;
        Ok(Exit::Fine)
    }
}

/// Print a complete configuration with comments, to begin with
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune config example")]
struct ConfigExampleArgs {}

impl ConfigExampleArgs {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        write!(out, "{}", File::example())?;
        Ok(Exit::Fine)
    }
}

//! `attune config check|schema|example`: is a configuration fine, and what can it say?

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use mcp_attune_gateway::config::{Config as File, Unusable, schema};

use crate::exit::{Exit, hinted};
use crate::text::json;

/// Check a configuration, or see what it can say
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune config check examples/attune.toml\n  $ attune config example | head -n 20"
)]
pub(crate) struct Config {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Check(Check),
    Schema(Schema),
    Example(Example),
}

impl Config {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        match self.command {
            Command::Check(check) => check.run(out),
            Command::Schema(schema) => schema.run(out),
            Command::Example(example) => example.run(out),
        }
    }
}

/// Check a configuration as a whole: exit 0 if it is fine, 1 with everything that is wrong if not
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune config check examples/attune.toml")]
struct Check {
    /// The file
    #[arg(default_value = "attune.toml")]
    file: PathBuf,
}

impl Check {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let file = self.file.display();
        match File::load(&self.file) {
            Ok(config) => {
                writeln!(out, "{file} is fine")?;
                if config.mounts.iter().any(|mount| !mount.bindings().is_empty()) {
                    writeln!(
                        out,
                        "Whether the server has the tools and arguments that [tools] binds is looked at when it is served."
                    )?;
                }
                Ok(Exit::Fine)
            }
            Err(Unusable::Wrong(findings)) => {
                write!(out, "{findings}")?;
                Ok(Exit::Findings)
            }
            Err(error) => {
                let hint = "name a file that can be read; `attune config example` prints one to begin with";
                Err(hinted(error.to_string(), hint)).with_context(|| format!("could not read {file}"))
            }
        }
    }
}

/// Print the JSON Schema of the configuration
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune config schema | head -n 20")]
struct Schema {}

impl Schema {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        json(out, &schema())?;
        Ok(Exit::Fine)
    }
}

/// Print a complete configuration with comments, to begin with
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune config example")]
struct Example {}

impl Example {
    fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        write!(out, "{}", File::example())?;
        Ok(Exit::Fine)
    }
}

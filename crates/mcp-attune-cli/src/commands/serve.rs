//! `attune serve`: the gateway in front of a server.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune_gateway::config::{Config, Unusable, Upstream};
use mcp_attune_gateway::gateway::{Gateway, NotStarted};
use mcp_attune_gateway::stack::Unservable;
use mcp_attune_gateway::workers::Workers;

use crate::bundled::Bundled;
use crate::exit::{Exit, hinted};
use crate::log::Log;
use crate::running::{controls, make_room, runtime};
use crate::speech::{Speech, only_mount};

/// Serve an MCP server to callers, with the rules of Attune around it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\nIn front of a server that runs already:\n  attune serve --upstream http://127.0.0.1:9000/mcp\nIn front of a program that speaks MCP on its standard input and output:\n  attune serve -- npx -y some-server\nThe server of a desktop bundle, with its translations:\n  attune serve --bundle weather.mcpb --setting api_key=…\nWith everything from a file (see `attune config example`):\n  attune serve --config attune.toml\n\nSIGHUP makes it look at its configuration and certificate now. SIGTERM ends it after `shutdown_delay`, Ctrl-C without\nthat delay; both let running calls finish, and sent again they wait no longer."
)]
pub(crate) struct Serve {
    /// The configuration; without it, ./attune.toml where there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where callers connect
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Where health and counts are told
    #[arg(long, value_name = "ADDR")]
    admin: Option<SocketAddr>,
    /// The server behind
    #[arg(long, value_name = "URL", conflicts_with = "bundle")]
    upstream: Option<String>,
    #[command(flatten)]
    bundled: Bundled,
    /// A program that is the server behind, with its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "upstream")]
    command: Vec<String>,
    #[command(flatten)]
    speech: Speech,
}

/// The file that is read where none is named.
const USUAL: &str = "attune.toml";

impl Serve {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let file = self.config.clone().or_else(|| Some(PathBuf::from(USUAL)).filter(|file| file.exists()));
        let mut config = self.config(file.as_deref())?;
        let bundle = self.bundled.ready()?;
        if let Some(ready) = &bundle {
            only_mount(&mut config, "--bundle")?.upstream = Some(ready.upstream.clone());
            ready.speak(&mut config, self.speech.has_locales());
        }
        let log = Log::start(&format!("{:?}", config.log).to_lowercase());
        make_room(config.limits.connections, config.limits.upstream_connections());
        runtime()?.block_on(async move {
            tokio::spawn(log.clone().tell());
            let path =
                config.mounts.first().map_or_else(|| "/mcp".to_owned(), |mount| mount.path.to_string());
            let controls = controls()?;
            let workers = Workers::start().context("there are no threads")?;
            let gateway = Gateway::bind(config).await.map_err(|why| not_started(&why))?.on(workers);
            writeln!(out, "Attune serves http://{}{path}", gateway.address()?)?;
            let admin = gateway.admin_address()?;
            writeln!(out, "Health is at http://{admin}/healthz, counts at http://{admin}/metrics")?;
            out.flush()?;
            // What the command line said would be gone after a reload, so only a plain file is followed.
            let follow = file.filter(|_| !self.overrides());
            gateway.run_controlled(follow, controls).await;
            log.tell_now();
            Ok(Exit::Fine)
        })
    }

    fn overrides(&self) -> bool {
        self.listen.is_some()
            || self.admin.is_some()
            || self.upstream.is_some()
            || self.bundled.is_some()
            || !self.command.is_empty()
            || self.speech.is_some()
    }

    /// The file, with what the command line says on top.
    fn config(&self, file: Option<&Path>) -> anyhow::Result<Config> {
        let mut config = match file {
            Some(file) => read(file)?,
            None => Config::default(),
        };
        config.server.listen = self.listen.unwrap_or(config.server.listen);
        config.server.admin = self.admin.unwrap_or(config.server.admin);
        self.speech.put(&mut config)?;
        if let Some(url) = &self.upstream {
            let hint = "such as --upstream http://127.0.0.1:9000/mcp";
            let upstream = Upstream::http(url).map_err(|why| hinted(format!("{url} {why}"), hint))?;
            only_mount(&mut config, "--upstream")?.upstream = Some(upstream);
        }
        if let [program, arguments @ ..] = self.command.as_slice() {
            only_mount(&mut config, "a command")?.upstream = Some(Upstream::stdio(program, arguments));
        }
        Ok(config)
    }
}

/// A configuration that can be used, or what is wrong with it.
pub(crate) fn read(file: &Path) -> anyhow::Result<Config> {
    Config::load(file).map_err(|unusable| match unusable {
        Unusable::Wrong(findings) => hinted(
            format!("{} cannot be used\n{findings}", file.display()),
            "mend it, and try `attune config check`",
        ),
        other => hinted(format!("{}: {other}", file.display()), "is it the right file?"),
    })
}

fn not_started(why: &NotStarted) -> anyhow::Error {
    let hint = match why {
        NotStarted::Listen { .. } => "another program may hold it: choose another with --listen and --admin",
        NotStarted::Tls { .. } => "name PEM files with `tls = { cert = …, key = … }`",
        NotStarted::Unservable(Unservable::Program { .. }) => {
            "try it by itself first; a program that is not in PATH is named by its path"
        }
        _ => "name the server with --upstream URL, after --, or in the file under [upstream]",
    };
    hinted(why.to_string(), hint)
}

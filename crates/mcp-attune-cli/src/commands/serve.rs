//! `attune serve`: the gateway in front of a server.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::error::ErrorKind;
use mcp_attune_gateway::config::{Config, ConfigLoadError, UpstreamConfig};
use mcp_attune_gateway::gateway::{Gateway, GatewayStartError};
use mcp_attune_gateway::stack::StackError;
use mcp_attune_gateway::workers::Workers;

use crate::address;
use crate::banner::banner;
use crate::bundled::BundleServerArgs;
use crate::child_env::ChildEnv;
use crate::exit::{Exit, hinted};
use crate::language_args::{ServerLanguageArgs, only_mount};
use crate::log::ThrottledLog;
use crate::running::{controls, raise_file_limit, runtime};

/// Serve an MCP server to callers, with the rules of Attune around it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\nIn front of a server that runs already:\n  attune serve --upstream http://127.0.0.1:9000/mcp\nIn front of a program that speaks MCP on its standard input and output:\n  attune serve -- npx -y some-server\nWith a variable that only the program gets:\n  attune serve --env API_KEY=… -- npx -y some-server\nThe server of a desktop bundle, with its translations:\n  attune serve --bundle weather.mcpb --setting api_key=…\nWith everything from a file (see `attune config example`):\n  attune serve --config attune.toml\n\nSIGHUP makes it look at its configuration, certificate, locale files and templates now. SIGTERM ends it after\n`shutdown_delay`, Ctrl-C without that delay; both let running calls finish, and sent again they wait no longer."
)]
pub(crate) struct ServeArgs {
    /// The configuration; without it, ./attune.toml where there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where callers connect: an address and a port, or a port of this machine alone
    #[arg(long, value_name = "ADDR", value_parser = address::parse_listen_address)]
    listen: Option<SocketAddr>,
    /// Address of the admin listener: health and metrics
    #[arg(long, value_name = "ADDR", value_parser = address::parse_listen_address)]
    admin: Option<SocketAddr>,
    /// The server behind
    #[arg(long, value_name = "URL", conflicts_with = "bundle")]
    upstream: Option<String>,
    #[command(flatten)]
    bundled: BundleServerArgs,
    #[command(flatten)]
    env: ChildEnv,
    #[command(flatten)]
    speech: ServerLanguageArgs,
    /// What was meant for the end, and stands before `--`.
    #[arg(hide = true)]
    stray: Vec<String>,
    /// A program that is the server behind, with its arguments, after `--`
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "upstream")]
    command: Vec<String>,
}

/// The file that is read where none is named.
const DEFAULT_CONFIG_FILE: &str = "attune.toml";

impl ServeArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        refuse_stray(&self.stray, "serve")?;
        let file = self
            .config
            .clone()
            .or_else(|| Some(PathBuf::from(DEFAULT_CONFIG_FILE)).filter(|file| file.exists()));
        let mut config = self.config(file.as_deref())?;
        let bundle = self.bundled.prepare()?;
        if let Some(ready) = &bundle {
            only_mount(&mut config, "--bundle")?.upstream = Some(ready.upstream.clone());
            ready.apply_locales(&mut config, self.speech.has_locales());
        }
        if self.env.is_some() {
            self.env.apply_env(only_mount(&mut config, "--env")?.upstream.as_mut())?;
        }
        let log = ThrottledLog::from_config(&config);
        raise_file_limit(config.limits.connections, config.limits.upstream_connections());
        let calls = log.start_access_log().context("there is no thread for the log")?;
        let served = runtime()?.block_on(async {
            tokio::spawn(log.clone().report_periodically());
            let controls = controls()?;
            let workers = Workers::start().context("there are no threads")?;
            let told = config.clone();
            let gateway =
                Gateway::bind_with_access_log(config, calls).await.map_err(|why| not_started(&why))?;
            let follows = log.clone();
            let gateway =
                gateway.with_workers(workers).with_probes().on_reload(move |next| follows.follow(next));
            write!(out, "{}", banner(&told, gateway.address()?, gateway.admin_address()?))?;
            out.flush()?;
            // What the command line said would be gone after a reload, so only a plain file is followed.
            let follow = file.filter(|_| !self.overrides_file());
            gateway.run_controlled(follow, controls).await;
            Ok(Exit::Fine)
        });
        log.finish();
        served
    }

    fn overrides_file(&self) -> bool {
        self.listen.is_some()
            || self.admin.is_some()
            || self.upstream.is_some()
            || self.bundled.has_bundle()
            || !self.command.is_empty()
            || self.env.is_some()
            || self.speech.is_some()
    }

    /// The file, with what the command line says on top.
    fn config(&self, file: Option<&Path>) -> anyhow::Result<Config> {
        let mut config = match file {
            Some(file) => load_config(file)?,
            None => Config::default(),
        };
        config.server.listen = self.listen.unwrap_or(config.server.listen);
        config.server.admin = self.admin.unwrap_or(config.server.admin);
        self.speech.apply_languages(&mut config)?;
        if let Some(url) = &self.upstream {
            let hint = "such as --upstream http://127.0.0.1:9000/mcp";
            let upstream = UpstreamConfig::http(url).map_err(|why| hinted(format!("{url} {why}"), hint))?;
            only_mount(&mut config, "--upstream")?.upstream = Some(upstream);
        }
        if let [program, arguments @ ..] = self.command.as_slice() {
            only_mount(&mut config, "a command")?.upstream = Some(UpstreamConfig::stdio(program, arguments));
        }
        Ok(config)
    }
}

/// Says where a program stands, to somebody whose program's own options were taken for ours: `attune serve npx -y server`.
pub(crate) fn hint_at_dashes(error: &clap::Error) {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [command, rest @ ..] = words.as_slice() else { return };
    let starts = ["serve", "stdio"].contains(&command.as_str()) && !rest.contains(&"--".to_owned());
    if starts && error.kind() == ErrorKind::UnknownArgument {
        eprintln!(
            "\nhint: a program stands after `--`, with its options: attune {command} -- npx -y some-server"
        );
    }
}

/// Says what was meant by words that stand where nothing belongs.
pub(crate) fn refuse_stray(stray: &[String], command: &str) -> anyhow::Result<()> {
    let Some(first) = stray.first() else { return Ok(()) };
    let what = format!("`{}` stands where nothing belongs", crate::text::quoted(first));
    if first.starts_with("http://") || first.starts_with("https://") {
        return Err(hinted(
            what,
            format!("a server that runs is named with --upstream {}", crate::text::quoted(first)),
        ));
    }
    let words: Vec<_> = stray.iter().map(|word| crate::text::quoted(word)).collect();
    Err(hinted(what, format!("a program stands after `--`: attune {command} -- {}", words.join(" "))))
}

/// A configuration that can be used, or what is wrong with it.
pub(crate) fn load_config(file: &Path) -> anyhow::Result<Config> {
    Config::load(file).map_err(|unusable| match unusable {
        ConfigLoadError::Wrong(findings) => hinted(
            format!("{} cannot be used\n{findings}", file.display()),
            "mend it, and try `attune config check`",
        ),
        other => hinted(format!("{}: {other}", file.display()), "is it the right file?"),
    })
}

fn not_started(why: &GatewayStartError) -> anyhow::Error {
    let hint = match why {
        GatewayStartError::Listen { .. } => {
            "another program may hold it: choose another with --listen and --admin"
        }
        GatewayStartError::Tls { .. } => {
            "name PEM files with `tls = { cert = …, key = … }`; `attune config check` says more"
        }
        GatewayStartError::Unservable(StackError::Program { .. }) => {
            "try it by itself first; a program that is not in PATH is named by its path"
        }
        _ => "name the server with --upstream URL, after --, or in the file under [upstream]",
    };
    hinted(why.to_string(), hint)
}

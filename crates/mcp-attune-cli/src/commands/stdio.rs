//! `attune stdio`: the rules between a client and the server that it starts.

use std::path::PathBuf;
use std::process::ExitStatus;

use mcp_attune_gateway::config::{ChildConfig, Config, UpstreamConfig, UpstreamTarget};
use mcp_attune_gateway::stdio::{self, Signal};
use mcp_attune_process::process;
use tokio::sync::mpsc;

use crate::bundled::{BundleServerArgs, RunnableBundle};
use crate::child_env::ChildEnv;
use crate::commands::serve::{load_config, refuse_stray};
use crate::exit::{Exit, hinted};
use crate::language_args::ServerLanguageArgs;
use crate::log::ThrottledLog;
use crate::running::single_thread_runtime;
use crate::stdio_caller::StdioCallerArgs;

/// Stand between a client and a server that speak over pipes, with the rules of Attune
///
/// In a client's settings, put `attune stdio --` before the command that starts the server.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\nInstead of `npx -y some-server`:\n  attune stdio --default-language en -- npx -y some-server\nWith a variable that only the server gets:\n  attune stdio --env API_KEY=… -- npx -y some-server\nIn your language and time zone, whatever the client says:\n  attune stdio --caller system -- npx -y some-server\nThe server of a desktop bundle, with its translations:\n  attune stdio --bundle weather.mcpb"
)]
pub(crate) struct StdioArgs {
    /// The configuration; without it, none
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    speech: ServerLanguageArgs,
    #[command(flatten)]
    bundled: BundleServerArgs,
    #[command(flatten)]
    caller: StdioCallerArgs,
    #[command(flatten)]
    env: ChildEnv,
    /// What was meant for the end, and stands before `--`.
    #[arg(hide = true)]
    stray: Vec<String>,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

const HINT: &str = "name the server after `--`, as in `attune stdio -- npx -y some-server`";

impl StdioArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        refuse_stray(&self.stray, "stdio")?;
        let mut config = match &self.config {
            Some(file) => load_config(file)?,
            None => Config::default(),
        };
        self.speech.apply_languages(&mut config)?;
        let bundle = self.bundled.prepare()?;
        if let Some(ready) = &bundle {
            ready.apply_locales(&mut config, self.speech.has_locales());
        }
        let system = self.caller.apply_caller(&mut config)?;
        let server = self.server(&config, bundle.as_ref())?;
        let log = ThrottledLog::from_config(&config);
        let runtime = single_thread_runtime()?;
        let status = runtime.block_on(async {
            tokio::spawn(log.clone().report_periodically());
            // Where both are pipes, and on Linux, no thread has to wait for them.
            let (input, output) = rmcp::transport::stdio_pipes();
            let ended = stdio::run(&config, &server, system, input, output, signals()?).await;
            ended.map_err(|why| hinted(why.to_string(), HINT))
        });
        log.report_left_out();
        // Somebody may still wait for a line of the client.
        runtime.shutdown_background();
        Ok(Exit::As(status?.map_or(1, code)))
    }

    /// What the command line says, or else the file.
    fn server(&self, config: &Config, bundle: Option<&RunnableBundle>) -> anyhow::Result<ChildConfig> {
        let named = self.command.split_first().map(|(program, rest)| UpstreamConfig::stdio(program, rest));
        let named = named.or_else(|| bundle.map(|ready| ready.upstream.clone()));
        let upstream = named.or_else(|| config.mounts.first()?.upstream.clone());
        let mut upstream = upstream;
        self.env.apply_env(upstream.as_mut())?;
        match upstream.map(|upstream| upstream.target) {
            Some(UpstreamTarget::Stdio(child)) => Ok(child),
            _ => Err(hinted("there is no server to start", HINT)),
        }
    }
}

/// The exit code that stands for how a program ended.
fn code(status: ExitStatus) -> u8 {
    process::exit_code(status).and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The signals that are the server's rather than ours.
fn signals() -> anyhow::Result<mpsc::UnboundedReceiver<Signal>> {
    let (tell, told) = mpsc::unbounded_channel();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for (kind, meant) in [
            (SignalKind::hangup(), Signal::HangUp),
            (SignalKind::interrupt(), Signal::Interrupt),
            (SignalKind::terminate(), Signal::Term),
        ] {
            let (mut came, tell) = (signal(kind)?, tell.clone());
            tokio::spawn(async move { while came.recv().await.is_some() && tell.send(meant).is_ok() {} });
        }
    }
    #[cfg(not(unix))]
    drop(tell);
    Ok(told)
}

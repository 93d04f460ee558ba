//! `attune demo`: a small server, and the gateway in front of it.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};

use jiff::Timestamp;
use mcp_attune::language::Tag;
use mcp_attune_demo::DemoOptions;
use mcp_attune_gateway::config::{
    BindingConfig, BindingSourceSetting, Config, ContextFieldSetting, FieldBinding, ToolConfig,
    UpstreamConfig,
};
use mcp_attune_gateway::gateway::Gateway;
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::header::PROTOCOL_VERSION;
use mcp_attune_wire::protocol::meta;
use mcp_attune_wire::protocol::version::MODERN;
use tokio::net::TcpListener;

use crate::exit::{Exit, hinted};
use crate::log::ThrottledLog;
use crate::running::{runtime, shutdown_signal, single_thread_runtime};

/// Serve a small Swiss travel service, with the rules of Attune around it
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\nThe demo, and then the same server without Attune:\n  attune demo\n  attune demo --bare\nWhat to try, byte by byte, and a clock that stands still:\n  attune demo --curl --now 2026-11-12T14:23:00+01:00\nThe same server as a program behind Attune:\n  attune serve -- attune demo --bare --stdio"
)]
pub(crate) struct DemoArgs {
    /// Where callers connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8808")]
    listen: SocketAddr,
    /// Address of the admin listener: health and metrics
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8809")]
    admin: SocketAddr,
    /// Serve the server alone, to compare
    #[arg(long)]
    bare: bool,
    /// With --bare: serve it on standard input and output instead of a port
    #[arg(long, requires = "bare")]
    stdio: bool,
    /// Stop the clock of the server at this moment, by RFC 3339 with an offset
    #[arg(long, value_name = "TS", value_parser = parse_timestamp)]
    now: Option<Timestamp>,
    /// Print what to try as raw requests for curl
    #[arg(long, conflicts_with = "bare")]
    curl: bool,
}

impl DemoArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let log = ThrottledLog::start("warn");
        let options = DemoOptions { now: self.now, ..DemoOptions::default() };
        let runtime = if self.stdio { single_thread_runtime() } else { runtime() };
        runtime?.block_on(async move {
            tokio::spawn(log.report_periodically());
            if self.stdio {
                mcp_attune_demo::serve_stdio(&options).await?;
                return Ok(Exit::Fine);
            }
            if self.bare {
                let listener = bind(self.listen).await?;
                let address = listener.local_addr()?;
                writeln!(out, "The demo server, without Attune, is at http://{address}/mcp")?;
                out.flush()?;
                mcp_attune_demo::serve(listener, options, shutdown_signal()).await?;
                return Ok(Exit::Fine);
            }
            let inner = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
            let behind = inner.local_addr()?;
            let server = tokio::spawn(mcp_attune_demo::serve(inner, options, shutdown_signal()));
            let mut config = Config::default();
            config.server.listen = self.listen;
            config.server.admin = self.admin;
            config.default_language = Some(Tag::parse("en").map_err(|why| anyhow::anyhow!("{why}"))?);
            let upstream = UpstreamConfig::http(&format!("http://{behind}/mcp"))
                .map_err(|why| anyhow::anyhow!("{why}"))?;
            for mount in &mut config.mounts {
                mount.upstream = Some(upstream.clone());
                mount.locales.carried = mcp_attune_demo::LOCALES;
                mount.content.enabled = true;
                mount.content.carried = mcp_attune_demo::TEMPLATES;
                // A tool that needs the caller's zone and knows nothing of callers gets it as an argument.
                let mut local_time = ToolConfig::default();
                local_time.context.insert(
                    "tz".to_owned(),
                    BindingConfig::Field(FieldBinding::new(BindingSourceSetting::Timezone)),
                );
                mount.tools.insert("local_time".to_owned(), local_time);
                // Some of its tools know what to do with it.
                mount.context.forward = vec![
                    ContextFieldSetting::Timezone,
                    ContextFieldSetting::Locale,
                    ContextFieldSetting::CurrentTimestamp,
                    ContextFieldSetting::UserLocation,
                ];
            }
            let gateway = Gateway::bind(config).await.map_err(|why| {
                hinted(
                    why.to_string(),
                    "another program may hold the address: choose others with --listen and --admin",
                )
            })?;
            write!(out, "{}", welcome(gateway.address()?, gateway.admin_address()?, &own_name(), self.curl))?;
            out.flush()?;
            gateway.run(None, shutdown_signal()).await;
            server.await??;
            Ok(Exit::Fine)
        })
    }
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|why| {
        hinted(
            format!("cannot listen on {address}: {why}"),
            "another program may hold it: choose another with --listen",
        )
    })
}

/// What to try, ready to be pasted into another terminal. `attune` is how this program was started.
fn welcome(address: SocketAddr, admin: SocketAddr, attune: &str, curl: bool) -> String {
    let beginning = format!(
        "A small Swiss travel service, with Attune in front of it, is at http://{address}/mcp\n\
         Health is at http://{admin}/healthz, counts at http://{admin}/metrics. Stop it with Ctrl-C.\n\n\
         Try, in another terminal:\n\n"
    );
    if curl {
        return beginning + &curl_lines(address, attune);
    }
    let call = format!("{attune} call http://{address}/mcp");
    beginning
        + &format!(
            "# The weather for a person who reads German. The server speaks English only.\n\
             {call} get_weather location=Bern --language de-CH --feature human\n\n\
             # What time is it? Attune fills the argument `tz` with the caller's zone.\n\
             {call} local_time --timezone Asia/Kathmandu\n\n\
             # \"This month\" is the caller's month, in their language and their format.\n\
             {call} query_sales 'query=sales this month' --timezone Europe/Vienna --locale de-AT\n\n\
             With --curl the demo prints raw requests instead, right and wrong ones.\n"
        )
}

/// The same on the wire, for those who want to see every byte.
fn curl_lines(address: SocketAddr, attune: &str) -> String {
    let capable =
        |capabilities: &str, headers: &str, tool: &str, arguments: &str, meta: &str, context: &str| {
            format!(
                "curl -si http://{address}/mcp -H 'Content-Type: application/json' \\\n  \
             -H 'Accept: application/json, text/event-stream' -H '{PROTOCOL_VERSION}: {MODERN}' \\\n  \
             -H 'Mcp-Method: tools/call' -H 'Mcp-Name: {tool}' {headers}\\\n  \
             -d '{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\
             \"arguments\":{arguments},\"_meta\":{{\
             \"{}\":\"{MODERN}\",\
             \"{}\":{capabilities}{meta}}}}}{context}}}'",
                meta::PROTOCOL_VERSION,
                meta::CLIENT_CAPABILITIES,
            )
        };
    let call = |headers: &str, tool: &str, arguments: &str, meta: &str, context: &str| {
        capable("{}", headers, tool, arguments, meta, context)
    };
    let weather = |tag: &str, meta: &str| {
        let capabilities = format!(
            "{{\"extensions\":{{\"{CONTENT_NEGOTIATION}\":{{\"version\":\"1.0\",\"features\":[\"{tag}\"]}}}}}}"
        );
        capable(&capabilities, "", "get_weather", "{\"location\":\"Bern\"}", meta, "")
    };
    let prefers = |languages: &str| format!(",\"{}\":\"{languages}\"", meta::ACCEPT_LANGUAGE);
    let query = "{\"query\":\"SELECT 1\",\"region\":\"eu-west1\"}";
    format!(
        "# A header that does not say what the body says: 400, and why.\n{}\n\n\
         # The same, agreeing, from a caller who prefers German: the answer says which language it is in.\n{}\n\n\
         # A caller in Vienna asks for \"this month\": it is their month, in their language and their format.\n{}\n\n\
         # The weather for a person who reads German, and then for an agent: text without data, and data without text.\n{}\n\n{}\n\n\
         # Why was the first one refused?\n{attune} explain H6\n",
        call("-H 'Mcp-Param-Region: us-west1' ", "execute_sql", query, "", ""),
        call("-H 'Mcp-Param-Region: eu-west1' ", "execute_sql", query, &prefers("de-CH, en;q=0.5"), "",),
        call(
            "",
            "query_sales",
            "{\"query\":\"sales this month\"}",
            "",
            ",\"clientContext\":{\"timezone\":\"Europe/Vienna\",\"locale\":\"de-AT\"}",
        ),
        weather("human", &prefers("de-CH")),
        weather("agent", ""),
    )
}

/// How the program was started, where that is more than its name: `cargo run` starts one that is on no path.
fn own_name() -> String {
    let started = std::env::args().next().filter(|name| name.contains(std::path::MAIN_SEPARATOR));
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '/' | '.' | '-' | '_');
    match started {
        Some(path) if path.chars().all(plain) => path,
        // Quotes for a shell, and a quote in the name by itself.
        Some(path) => format!("'{}'", path.replace('\'', "'\\''")),
        None => "attune".to_owned(),
    }
}

fn parse_timestamp(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| {
        "this is no moment with an offset; write one such as 2026-11-12T14:23:00+01:00".to_owned()
    })
}

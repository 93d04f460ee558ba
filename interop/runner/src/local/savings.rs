//! What reaches the models of known clients of the results of local servers, with `profile = "auto"` and without it.
//!
//! 1. The clients are those of `spec/clients.toml` for which tags are assumed, with the `clientInfo` that was seen of them, which the
//!    table of `docs/clients.md` has.
//! 2. The calls are those that `attune audit` makes of a server. They go over the pipes of `attune stdio`, with `[content]` on, in a
//!    legacy session that begins with that `clientInfo`: once with profiles off, and once with profiles on.
//! 3. Counted are the tokens of what the client hands to its model: of `content` the texts, of `structuredContent` the JSON as it is
//!    written, of both each. A client that hands on the one where the other is missing does so here, too.
//! 4. No client may get a result with nothing in it that it hands on, where there was something without its profile.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;

use super::list::{self, Server};
use super::{audit, shared_server};
use crate::cell::Cell;
use crate::servers::Ours;
use kit::running::Running;
use kit::shell;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The part of the page that is written by this.
const MARKS: [&str; 2] = ["<!-- begin: cargo xtask interop savings -->\n", "<!-- end -->"];

/// The tokens of each server's results by client, without and with its profile.
static SAVINGS: Mutex<BTreeMap<String, Vec<ClientSaving>>> = Mutex::new(BTreeMap::new());

/// The part of `spec/clients.toml` that is of interest here.
#[derive(Deserialize)]
struct AtlasFile {
    client: Vec<AtlasClient>,
}

#[derive(Clone, Deserialize)]
struct AtlasClient {
    product: String,
    names: Vec<String>,
    tags: Vec<String>,
    reads: Option<String>,
    #[serde(default)]
    falls_back: bool,
    #[serde(default)]
    protocol: String,
    /// Its name and version in `clientInfo`, as they were seen.
    #[serde(skip)]
    implementation: (String, String),
}

/// What a client's model gets of one server's results, in tokens.
struct ClientSaving {
    product: String,
    without: usize,
    with: usize,
}

/// One cell a server.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let entries = if quick { Vec::new() } else { list::read()? };
    let cell = |entry: list::Entry| {
        let (name, server) = (entry.name.clone(), shared_server(entry));
        Cell::new(name, move || measure(Ours::get()?, server.get()?))
    };
    Ok(entries.into_iter().map(cell).collect())
}

/// Measures a server with every client, and returns what is wrong.
fn measure(ours: &Ours, server: &Server) -> Result<Vec<String>> {
    let report = audit::audit(ours, server)?;
    let rows = report["results"].as_array().context("a report without results")?;
    let rows = rows.iter().filter(|row| row["outcome"] != "failed");
    let calls: Vec<Value> =
        rows.map(|row| json!({ "name": row["tool"], "arguments": row["arguments"] })).collect();
    let (mut savings, mut faults) = (Vec::new(), Vec::new());
    for client in clients()? {
        let without = ask(ours, server, &client, "off", &calls)?;
        let with = ask(ours, server, &client, "auto", &calls)?;
        for ((call, without), with) in calls.iter().zip(&without).zip(&with) {
            if *without > 0 && *with == 0 {
                let (server, product) = (&server.entry.name, &client.product);
                faults.push(format!("savings: {server}: {product} gets nothing of {}", call["name"]));
            }
        }
        let (without, with) = (without.iter().sum(), with.iter().sum());
        println!("    {}, {}: {without} tokens, {with} with its profile", server.entry.name, client.product);
        savings.push(ClientSaving { product: client.product, without, with });
    }
    let mut all = SAVINGS.lock().unwrap_or_else(PoisonError::into_inner);
    all.insert(server.entry.name.clone(), savings);
    Ok(faults)
}

/// The clients for which tags are assumed.
fn clients() -> Result<Vec<AtlasClient>> {
    let atlas = fs::read_to_string(shell::root().join("spec/clients.toml")).context("spec/clients.toml")?;
    let page = fs::read_to_string(shell::root().join("docs/clients.md")).context("docs/clients.md")?;
    let AtlasFile { client } = toml::from_str(&atlas).context("spec/clients.toml")?;
    let assumed = client.into_iter().filter(|client| !client.tags.is_empty());
    let seen = |client: AtlasClient| {
        let implementation = implementation(&page, &client.names);
        let implementation =
            implementation.with_context(|| format!("docs/clients.md does not have {}", client.product))?;
        Ok(AtlasClient { implementation, ..client })
    };
    assumed.map(seen).collect()
}

/// The name and version of a client in the second column of the table, such as `` `opencode` 1.18.33 ``.
fn implementation(page: &str, names: &[String]) -> Option<(String, String)> {
    let column = |line: &str| {
        let (name, version) = line.split(" | ").nth(1)?.strip_prefix('`')?.split_once("` ")?;
        Some((name.to_owned(), version.to_owned()))
    };
    let is = |known: &String, name: &str| match known.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == known,
    };
    page.lines().filter_map(column).find(|(name, _)| names.iter().any(|known| is(known, name)))
}

/// Makes the calls as a client, and returns the tokens that its model gets of each.
fn ask(
    ours: &Ours,
    server: &Server,
    client: &AtlasClient,
    profile: &str,
    calls: &[Value],
) -> Result<Vec<usize>> {
    server.prepare()?;
    let config = server.seen(&format!("savings-{profile}.toml"));
    fs::write(&config, format!("[content]\nenabled = true\n[callers]\nprofile = \"{profile}\"\n"))?;
    let mut command = Command::new(&ours.attune);
    command.args(["stdio", "--config"]).arg(&config).arg("--").args(server.command());
    // A server that tells its environment would tell another one on each machine.
    let kept = ["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let kept: Vec<_> = kept.collect();
    command.env_clear().envs(kept).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut session = PipeSession::start(&mut command)?;
    let (name, version) = &client.implementation;
    session.ask(
        "initialize",
        &json!({ "protocolVersion": client.protocol, "capabilities": {}, "clientInfo": { "name": name, "version": version } }),
    )?;
    session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
    // Clients list the tools first, and Attune knows their schemas from then on.
    session.ask("tools/list", &json!({}))?;
    let tokens = calls.iter().map(|call| {
        let answer = session.ask("tools/call", call)?;
        let result = answer.result.map(|result| CallResult::read(&result)).transpose()?;
        let texts = result.map(|result| result.handed_on(client)).unwrap_or_default();
        Ok(texts.iter().map(|text| o200k_base_singleton().encode_ordinary(text).len()).sum())
    });
    tokens
        .collect::<Result<_>>()
        .with_context(|| format!("{}, {}, {profile}", server.entry.name, client.product))
}

/// A legacy session over the pipes of a program.
struct PipeSession {
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
    last: u64,
    // Dropped last, so that the program sees the end of its input first.
    _running: Running,
}

#[derive(Deserialize)]
struct SessionMessage {
    id: Option<Value>,
    method: Option<String>,
    result: Option<Box<RawValue>>,
}

impl PipeSession {
    fn start(command: &mut Command) -> Result<Self> {
        let mut running = Running::start(command)?;
        let input = running.input().context("a program without an input")?;
        let output = running.output().context("a program without an output")?;
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { input, lines, last: 0, _running: running })
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.input, "{message}")?)
    }

    /// Sends a request, and returns the answer to it. Nothing that the server asks is answered, as nothing was declared.
    fn ask(&mut self, method: &str, params: &Value) -> Result<SessionMessage> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else { bail!("no answer to {method}") };
            let message: SessionMessage = serde_json::from_str(&line).context("what came is no message")?;
            if message.method.is_none() && message.id == Some(json!(id)) {
                return Ok(message);
            }
        }
    }
}

/// The fields of a result that may reach a model.
#[derive(Deserialize)]
struct CallResult {
    #[serde(default)]
    content: Vec<Value>,
    /// As it is written: blanks are tokens, too.
    #[serde(rename = "structuredContent")]
    structured: Option<Box<RawValue>>,
}

impl CallResult {
    fn read(result: &RawValue) -> Result<Self> {
        serde_json::from_str(result.get()).context("a result that is none")
    }

    /// What a client hands to its model: texts of blocks and of resources inside, and structured content as JSON.
    fn handed_on(&self, client: &AtlasClient) -> Vec<String> {
        let text = |block: &Value| {
            block["text"].as_str().or_else(|| block["resource"]["text"].as_str()).map(str::to_owned)
        };
        let content: Vec<String> = self.content.iter().filter_map(text).collect();
        let structured: Vec<String> = self.structured.iter().map(|data| data.get().to_owned()).collect();
        match client.reads.as_deref() {
            Some("both") => [content, structured].concat(),
            Some("content") if client.falls_back && self.content.is_empty() => structured,
            Some("content") => content,
            Some("structuredContent") if structured.is_empty() && client.falls_back => content,
            Some("structuredContent") => structured,
            _ => Vec::new(),
        }
    }
}

/// Writes the table of all that was measured into `docs/clients.md`. Servers that were not measured are named below it.
pub(crate) fn write() -> Result<()> {
    let savings = SAVINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if savings.is_empty() {
        return Ok(());
    }
    let file = shell::root().join("docs/clients.md");
    let page = fs::read_to_string(&file)?;
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).context("docs/clients.md has no place for the table")?;
    let (_, after) = rest.split_once(end).context("the place for the table has no end")?;
    let names: Vec<String> = list::read()?.into_iter().map(|entry| entry.name).collect();
    Ok(fs::write(&file, format!("{before}{begin}{}{end}{after}", markdown(&names, &savings)))?)
}

/// One row a client, one column a server, and one for all of them.
fn markdown(servers: &[String], savings: &BTreeMap<String, Vec<ClientSaving>>) -> String {
    let (measured, missing): (Vec<&String>, Vec<&String>) =
        servers.iter().partition(|server| savings.contains_key(*server));
    let heads: Vec<String> = measured.iter().map(|server| format!("`{server}`")).collect();
    let mut table = format!(
        "| client | {} | all | saved |\n|---|{}---|---|\n",
        heads.join(" | "),
        "---|".repeat(heads.len())
    );
    let products = measured.first().and_then(|server| savings.get(*server)).into_iter().flatten();
    for product in products.map(|saving| &saving.product) {
        let of_client = measured
            .iter()
            .filter_map(|server| savings.get(*server)?.iter().find(|saving| saving.product == *product));
        let counts: Vec<(usize, usize)> = of_client.map(|saving| (saving.without, saving.with)).collect();
        let all = counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let told = |(without, with): &(usize, usize)| format!("{without} → {with}");
        let cells: Vec<String> = counts.iter().chain([&all]).map(told).collect();
        table += &format!("| {product} | {} | {} |\n", cells.join(" | "), percent(all));
    }
    if !missing.is_empty() {
        let missing: Vec<String> = missing.iter().map(|server| format!("`{server}`")).collect();
        table += &format!("\nNot measured, because they could not be installed: {}.\n", missing.join(", "));
    }
    table
}

/// What is saved, in whole percent; with a minus sign where it costs more.
fn percent((without, with): (usize, usize)) -> String {
    let saved = if without == 0 { 0.0 } else { 100.0 - 100.0 * with as f64 / without as f64 };
    format!("{saved:.0} %").replace("-0 %", "0 %").replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(reads: &str, falls_back: bool) -> AtlasClient {
        AtlasClient {
            product: "It".to_owned(),
            names: vec!["it".to_owned()],
            tags: vec!["agent".to_owned()],
            reads: Some(reads.to_owned()),
            falls_back,
            protocol: String::new(),
            implementation: Default::default(),
        }
    }

    #[test]
    fn what_is_handed_on_is_what_the_atlas_says() {
        let read = |text: &str| serde_json::from_str::<CallResult>(text).unwrap();
        let both = read(
            r#"{"content": [{"type": "text", "text": "a"}, {"type": "image", "data": "x"}, {"type": "resource", "resource": {"text": "b"}}],
                "structuredContent": {"z": 1, "a": [2]}}"#,
        );
        let data = r#"{"z": 1, "a": [2]}"#;
        assert_eq!(both.handed_on(&client("content", true)), ["a", "b"]);
        assert_eq!(both.handed_on(&client("structuredContent", true)), [data]);
        assert_eq!(both.handed_on(&client("both", false)), ["a", "b", data]);
        let data_only = read(r#"{"content": [], "structuredContent": {"z": 1, "a": [2]}}"#);
        assert_eq!(data_only.handed_on(&client("content", true)), [data]);
        assert_eq!(data_only.handed_on(&client("content", false)), [""; 0]);
        let text_only = read(r#"{"content": [{"type": "text", "text": "a"}]}"#);
        assert_eq!(text_only.handed_on(&client("structuredContent", true)), ["a"]);
        assert_eq!(text_only.handed_on(&client("structuredContent", false)), [""; 0]);
    }

    #[test]
    fn every_client_with_tags_is_in_the_table_with_its_client_info() {
        let clients = clients().unwrap();
        assert!(clients.len() >= 8, "{}", clients.len());
        let qwen = clients.iter().find(|client| client.product == "Qwen Code").unwrap();
        assert!(qwen.implementation.0.starts_with("qwen-cli-mcp-client-"), "{:?}", qwen.implementation);
        assert!(clients.iter().all(|client| client.reads.is_some() && !client.protocol.is_empty()));
    }

    #[test]
    fn a_table_has_a_row_for_each_client_and_names_what_is_missing() {
        let saving = |without, with| vec![ClientSaving { product: "It".to_owned(), without, with }];
        let savings = BTreeMap::from([("a".to_owned(), saving(100, 40)), ("b".to_owned(), saving(100, 110))]);
        let servers = ["b", "a", "c"].map(str::to_owned);
        assert_eq!(
            markdown(&servers, &savings),
            "| client | `b` | `a` | all | saved |\n|---|---|---|---|---|\n\
             | It | 100 → 110 | 100 → 40 | 200 → 150 | 25 % |\n\
             \nNot measured, because they could not be installed: `c`.\n"
        );
        assert_eq!(
            (percent((100, 110)), percent((0, 0)), percent((1000, 1001))),
            ("−10 %".into(), "0 %".into(), "0 %".into())
        );
    }
}

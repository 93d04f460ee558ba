//! Callers that declare what they are, with the official TypeScript clients of both generations in both eras: the cases and the
//! scenarios of the proposal, at `attune demo`. What each gets is held against what a client gets from the same server
//! without Attune. The clients keep the schemas that they were shown, and throw where a result breaks one.

mod expected;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use self::expected::{Gets, wrong};
use super::cell::{Cell, Shared};
use super::install;
use super::packages::{LEGACY, MODERN, Packages, Sdk};
use super::servers::ANYWHERE;
use kit::running::Running;
use kit::server::Server;

const PATIENCE: Duration = Duration::from_secs(60);
const EXTENSION: &str = "io.modelcontextprotocol/content-negotiation";
/// When the clock of the demo stands still, so that what is expected of it stays the same.
const NOW: &str = "2026-02-22T08:30:00Z";

const CLIENTS: [(Sdk, &str); 3] =
    [(Sdk::TypeScript1, LEGACY), (Sdk::TypeScript2, LEGACY), (Sdk::TypeScript2, MODERN)];

/// What came of each step, by its name.
type Outcomes = BTreeMap<String, Value>;

/// What a client declares, and what it has to get.
struct Declaration {
    title: &'static str,
    /// None where the extension is not declared at all.
    tags: Option<&'static [&'static str]>,
    gets: Gets,
}

const DECLARATIONS: [Declaration; 9] = [
    Declaration { title: "nothing (case 3, scenario 3)", tags: None, gets: Gets::PLAIN },
    Declaration {
        title: "an agent that asks for JSON (case 1)",
        tags: Some(&["agent", "format=json"]),
        gets: Gets::JSON,
    },
    Declaration {
        title: "a person who asks for Markdown (case 2)",
        tags: Some(&["human", "format=markdown"]),
        gets: Gets::MARKDOWN,
    },
    Declaration {
        title: "tags that are none (case 4)",
        tags: Some(&["@#$%", "format==json"]),
        gets: Gets::PLAIN,
    },
    Declaration {
        title: "an agent with everything (scenario 1)",
        tags: Some(&[
            "agent",
            "mcp-capable",
            "sampling",
            "elicitation",
            "roots",
            "tasks",
            "verbosity=compact",
            "format=json",
        ]),
        gets: Gets {
            hints: true,
            prompt: Some("Plan a trip of 3 days to Bern, step by step:"),
            ..Gets::JSON
        },
    },
    Declaration {
        title: "a person in a chat (scenario 2)",
        tags: Some(&["human", "!mcp-capable", "interactive", "verbosity=standard", "format=markdown"]),
        gets: Gets { prompt: Some("## Plan a trip to Bern\n"), ..Gets::MARKDOWN },
    },
    Declaration {
        title: "an agent that reasons",
        tags: Some(&["agent", "sampling"]),
        gets: Gets { hints: true, ..Gets::JSON },
    },
    Declaration {
        title: "an agent that can ask nobody",
        tags: Some(&["agent", "!interactive"]),
        gets: Gets { briefly: true, ..Gets::JSON },
    },
    Declaration { title: "plain text", tags: Some(&["format=text"]), gets: Gets::TEXT },
];

/// The demo with and without the gateway, and what each client gets without it.
struct ShapedSetup {
    folder: PathBuf,
    demo: Server,
    plain: Vec<Outcomes>,
}

impl ShapedSetup {
    fn new() -> Result<Self> {
        let packages = Packages::get()?;
        let folder = install::folder().join("seen/shaped");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("steps.json"), steps().to_string())?;
        let attune = || Command::new(&packages.ours.attune);
        let demo = Server::start(
            attune().args(["demo", "--now", NOW, "--listen", ANYWHERE, "--admin", ANYWHERE]),
            "shaped",
        )?;
        let bare = Server::start(
            attune().args(["demo", "--bare", "--now", NOW, "--listen", ANYWHERE]),
            "shaped-bare",
        )?;
        let plain = ask(&folder, &bare, "bare", None)?;
        Ok(Self { folder, demo, plain })
    }
}

/// One cell a declaration, which all clients make.
pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(ShapedSetup::new));
    let cell = |(place, declaration): (usize, &'static Declaration)| {
        let setup = setup.clone();
        Cell::new(declaration.title, move || declare(setup.get()?, place, declaration))
    };
    Ok(DECLARATIONS.iter().enumerate().map(cell).collect())
}

fn declare(setup: &ShapedSetup, place: usize, declaration: &Declaration) -> Result<Vec<String>> {
    let Declaration { title, tags, gets } = declaration;
    let came = ask(&setup.folder, &setup.demo, &place.to_string(), *tags)?;
    let (mut told, mut faults) = (Vec::new(), Vec::new());
    for ((sdk, era), (came, plain)) in CLIENTS.iter().zip(came.iter().zip(&setup.plain)) {
        let wrong = wrong(gets, plain, came);
        told.push(format!("{} {era} {} steps, {} wrong", sdk.name(), came.len(), wrong.len()));
        let client = format!("{} {era}", sdk.name());
        faults.extend(wrong.into_iter().map(|wrong| format!("shaped: {title}, {client}: {wrong}")));
    }
    println!("    {title}: {}", told.join("; "));
    Ok(faults)
}

fn ask(folder: &Path, server: &Server, name: &str, tags: Option<&[&str]>) -> Result<Vec<Outcomes>> {
    let packages = Packages::get()?;
    let all = CLIENTS.map(|(sdk, era)| {
        let mut client = packages.client(sdk);
        client.args([server.url.as_str(), era, "--script"]).arg(folder.join("steps.json"));
        if let Some(tags) = tags {
            client.arg(format!("--extensions={}", declared(tags)));
        }
        (client, folder.join(format!("{}-{era}-{name}.jsonl", sdk.name())))
    });
    at_once(all)
}

fn declared(tags: &[&str]) -> Value {
    json!({ EXTENSION: { "version": "1.0", "features": tags } })
}

/// A listing, so that schemas are kept, and then everything that is shaped; and a call that fails, which is not.
fn steps() -> Value {
    let call = |name: &str, tool: &str, arguments: Value| json!({ "name": name, "do": "calls", "what": tool, "arguments": arguments });
    json!([
        { "name": "lists", "do": "lists" },
        call("get_weather", "get_weather", json!({ "location": "Bern" })),
        call("find_connections", "find_connections", json!({ "from": "Zurich", "to": "Bern" })),
        call("sales_report", "sales_report", json!({ "from": "2026-02-01", "to": "2026-02-03" })),
        call("local_time", "local_time", json!({ "tz": "Asia/Tokyo" })),
        call("fails", "get_weather", json!({ "location": "Atlantis" })),
        { "name": "resource", "do": "reads", "what": "map://features/alpine-valley-1" },
        { "name": "prompt", "do": "prompts", "what": "plan_trip", "arguments": { "city": "Bern" } },
    ])
}

/// Runs clients beside each other, and keeps what each printed.
fn at_once<P: AsRef<Path> + Send>(clients: [(Command, P); 3]) -> Result<Vec<Outcomes>> {
    thread::scope(|scope| {
        let running = clients.map(|(client, seen)| scope.spawn(move || outcomes(client, seen.as_ref())));
        let ended =
            running.map(|client| client.join().unwrap_or_else(|_| bail!("a client's thread ended early")));
        ended.into_iter().collect()
    })
}

fn outcomes(mut client: Command, seen: &Path) -> Result<Outcomes> {
    let output = Running::to_its_end(&mut client, PATIENCE)?;
    fs::write(seen, &output.stdout)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).context("a line that is no JSON")?;
        let step = line["step"].as_str().context("a line without a step")?;
        Ok((step.to_owned(), line["outcome"].clone()))
    };
    let all: Outcomes = said.lines().map(read).collect::<Result<_>>()?;
    if all.is_empty() {
        bail!("shaped: a client did nothing: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(all)
}

//! `cargo xtask interop aliases`: web servers that other people wrote, each with a handler at `/mcp` and one at `/admin`,
//! and what of `spec/wire/requests` reaches these handlers.
//!
//! 1. Directly, each server takes spellings for `/mcp`, `POST` or a member's name that others do not: those that
//!    [`Kind::known`] names have to arrive, else the check could not fail.
//! 2. Through the gateway nothing that the data refuses runs a handler, in any setting of `unknown_paths`; a plain call does.
//! 3. `/admin` is reached through the gateway only where the operator lets all paths pass.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::cell::{Cell, Shared};
use super::install::{self, Unavailable};
use super::packages::is_same;
use super::servers::Ours;
use kit::server::Server;
use kit::shell::{self, program};

/// The files of `spec/wire/requests` that are sent.
const TOPICS: [&str; 6] = ["path_aliases", "methods", "connection", "underscores", "bodies", "header_lines"];
/// The values of `unknown_paths`; the first is the default.
const SETTINGS: [&str; 3] = ["default", "pass", "refuse"];
/// How long an answer may take. Some servers wait for more where others refuse.
const PATIENCE: Duration = Duration::from_millis(700);
/// Faults beyond these are only counted.
const TOLD: usize = 40;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What runs a server.
#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    Python,
    Node,
    Go,
}

struct Kind {
    name: &'static str,
    runtime: Runtime,
    /// Whether CI meets it too.
    quick: bool,
    /// Cases that reach its handler directly.
    known: &'static [&'static str],
}

const ESCAPED: &str = "the-endpoint-with-a-letter-as-escape";
const SLASHES: &str = "the-endpoint-with-two-slashes";
const SMALL: &str = "post-in-small-letters-is-no-method-of-the-endpoint";

const fn python(name: &'static str, quick: bool, known: &'static [&'static str]) -> Kind {
    Kind { name, runtime: Runtime::Python, quick, known }
}

const KINDS: [Kind; 11] = [
    python("starlette-uvicorn-h11", true, &[ESCAPED]),
    python("starlette-uvicorn-httptools", false, &[ESCAPED]),
    python("starlette-hypercorn", false, &[ESCAPED, SMALL]),
    python("flask-werkzeug", false, &[ESCAPED, SLASHES, SMALL]),
    python("flask-gunicorn", false, &[ESCAPED, SLASHES]),
    python("flask-waitress", false, &[ESCAPED, SLASHES]),
    python("flask-wsgiref", false, &[ESCAPED, SLASHES, "the-name-header-with-underscores"]),
    python("aiohttp", false, &[ESCAPED]),
    Kind {
        name: "express",
        runtime: Runtime::Node,
        quick: true,
        known: &["the-endpoint-in-capitals", "the-endpoint-with-a-slash-at-its-end"],
    },
    Kind {
        name: "node-http",
        runtime: Runtime::Node,
        quick: true,
        known: &["the-endpoint-with-a-dot-segment", "the-endpoint-with-escaped-parents"],
    },
    Kind {
        name: "go-net-http",
        runtime: Runtime::Go,
        quick: false,
        known: &[ESCAPED, "a-name-that-only-a-folding-reader-sees"],
    },
];

/// A case that nothing may come of.
struct Probe {
    topic: usize,
    name: String,
    bytes: Vec<u8>,
}

/// Sends the cases to a server of a kind, in a setting, and returns what is wrong.
type Trial = fn(&Kind, &Server, &[Probe], &str) -> Result<Vec<String>>;

/// Each server directly, and then through the gateway in every setting.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let probes = Arc::new(probes()?);
    let mut cells = Vec::new();
    for kind in KINDS.iter().filter(|kind| !quick || kind.quick) {
        let server = Arc::new(Shared::new(move || start(kind)));
        let mut add = |way: &str, trial: Trial, setting| {
            let (server, probes) = (server.clone(), probes.clone());
            let test = move || Ok(first_few(trial(kind, server.get()?, &probes, setting)?));
            cells.push(Cell::new(format!("{}, {way}", kind.name), test).in_group(kind.name));
        };
        add("directly", directly, "");
        for setting in SETTINGS {
            add(&format!("unknown_paths {setting}"), behind_gateway, setting);
        }
    }
    Ok(cells)
}

fn start(kind: &Kind) -> Result<Server> {
    static RUNTIMES: LazyLock<Shared<Runtimes>> = LazyLock::new(|| Shared::new(Runtimes::install));
    let mut command = RUNTIMES.get()?.command(kind)?;
    Server::start(&mut command, &format!("aliases-{}", kind.name)).with_context(|| kind.name)
}

/// Faults beyond the first are only counted.
fn first_few(mut faults: Vec<String>) -> Vec<String> {
    let more = faults.len().saturating_sub(TOLD);
    faults.truncate(TOLD);
    faults.extend((more > 0).then(|| format!("aliases: and {more} more")));
    faults
}

/// Sends everything to one server. What it is known to take has to arrive, else the check could not fail.
fn directly(kind: &Kind, server: &Server, probes: &[Probe], _: &str) -> Result<Vec<String>> {
    let address = address(server)?;
    let arrives =
        |probe: &&Probe| ask(address, &probe.bytes).is_some_and(|answer| answer.shows_a_reading(probe));
    let arrived: Vec<&Probe> = probes.iter().filter(arrives).collect();
    let counts = TOPICS.iter().enumerate().map(|(topic, name)| {
        format!("{name} {}", arrived.iter().filter(|probe| probe.topic == topic).count())
    });
    println!("    {}, directly: {}", kind.name, counts.collect::<Vec<_>>().join(", "));
    let missing = kind.known.iter().filter(|known| !arrived.iter().any(|probe| probe.name == **known));
    let fault = |known: &&str| {
        format!("aliases: {}: `{known}` does not reach the handler directly any more", kind.name)
    };
    Ok(missing.map(fault).collect())
}

/// Sends everything through a gateway in front of one server.
fn behind_gateway(kind: &Kind, server: &Server, probes: &[Probe], setting: &str) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let gateway = gateway(Ours::get()?, server, kind, setting)?;
    let ran = through(&gateway, address(server)?, kind, setting, probes, &mut faults)?;
    println!("    {}, unknown_paths {setting}: {ran} ran a handler", kind.name);
    Ok(faults)
}

fn gateway(ours: &Ours, server: &Server, kind: &Kind, setting: &str) -> Result<Server> {
    let folder = install::folder().join("seen/aliases");
    fs::create_dir_all(&folder)?;
    let config = folder.join(format!("{}-{setting}.toml", kind.name));
    let unknown =
        if setting == SETTINGS[0] { String::new() } else { format!("unknown_paths = '{setting}'\n") };
    fs::write(&config, format!("[upstream]\nurl = '{}'\nera = 'modern'\n{unknown}", server.url))?;
    ours.gateway(&["--config", &config.to_string_lossy()], &format!("aliases-{}-{setting}", kind.name))
}

/// Sends everything through a gateway, and returns how many ran a handler.
fn through(
    gateway: &Server,
    server: SocketAddr,
    kind: &Kind,
    setting: &str,
    probes: &[Probe],
    faults: &mut Vec<String>,
) -> Result<usize> {
    let callers = address(gateway)?;
    let mut fault =
        |what: &str| faults.push(format!("aliases: {}, unknown_paths {setting}: {what}", kind.name));
    let before = runs(server)?;
    if ask(callers, &post("/mcp")).is_none_or(|answer| answer.handler != "mcp") || runs(server)? != before + 1
    {
        fault("a plain call does not reach the handler");
    }
    let before = runs(server)?;
    let mut ran = 0;
    for probe in probes {
        if let Some(answer) = ask(callers, &probe.bytes).filter(|answer| !answer.handler.is_empty()) {
            ran += 1;
            fault(&format!("`{}` reaches the handler: {}", probe.name, answer.body));
        }
    }
    // A handler may have run though its caller was told something else.
    let after = runs(server)?;
    if after > before + ran {
        fault(&format!("{} requests ran a handler, and {ran} callers know of it", after - before));
    }
    let passes = setting == "pass";
    for admin in [b"GET /admin HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), post("/admin")] {
        if ask(callers, &admin).is_some_and(|answer| answer.handler == "admin") != passes {
            fault(if passes { "/admin is not reached" } else { "/admin is reached" });
        }
    }
    Ok(ran)
}

fn post(path: &str) -> Vec<u8> {
    let length = PING.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{PING}"
    )
    .into_bytes()
}

/// How often the handlers of a server ran.
fn runs(server: SocketAddr) -> Result<usize> {
    let answer =
        ask(server, b"GET /count HTTP/1.1\r\nHost: localhost\r\n\r\n").context("a server does not count")?;
    // Some send it in a chunk.
    let text =
        answer.body.find('{').zip(answer.body.rfind('}')).and_then(|(from, to)| answer.body.get(from..=to));
    let counts: Value = serde_json::from_str(text.unwrap_or_default())?;
    let count = |handler: &str| counts[handler].as_u64().and_then(|count| usize::try_from(count).ok());
    count("mcp").zip(count("admin")).map(|(mcp, admin)| mcp + admin).context("a server does not count")
}

fn address(server: &Server) -> Result<SocketAddr> {
    let authority = server.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    authority.parse().with_context(|| format!("{} has no address", server.url))
}

/// What a server says.
struct Answer {
    /// The handler that ran; empty where none did.
    handler: String,
    body: String,
}

impl Answer {
    /// Whether a handler ran, and, for what is about names, took the request for another than its headers and the first member
    /// of each name say.
    fn shows_a_reading(&self, probe: &Probe) -> bool {
        let reads_otherwise = match TOPICS[probe.topic] {
            "bodies" | "underscores" => self.body.contains("evil") || self.body.contains("us\""),
            _ => true,
        };
        !self.handler.is_empty() && reads_otherwise
    }
}

/// Sends bytes on a connection of its own, and reads one answer.
fn ask(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut tcp = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    tcp.set_read_timeout(Some(PATIENCE)).ok()?;
    // A server that refuses early closes early.
    let _ = tcp.write_all(bytes);
    let (mut came, mut room) = (Vec::new(), [0; 8192]);
    let begun = Instant::now();
    loop {
        if let Some(answer) = read(&came, false) {
            return Some(answer);
        }
        match tcp.read(&mut room) {
            Ok(size @ 1..) if begun.elapsed() < 4 * PATIENCE => came.extend_from_slice(&room[..size]),
            _ => return read(&came, true),
        }
    }
}

/// The answer in what came; `over` says that no more will.
fn read(came: &[u8], over: bool) -> Option<Answer> {
    let text = String::from_utf8_lossy(came);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let named = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim().to_owned())
    };
    let whole = match header("content-length").and_then(|length| length.parse::<usize>().ok()) {
        Some(length) => body.len() >= length,
        None => body.ends_with("0\r\n\r\n"),
    };
    (whole || over)
        .then(|| Answer { handler: header("x-handler").unwrap_or_default(), body: body.trim().to_owned() })
}

/// All cases of the topics that must reach no server, for a gateway at `/mcp`.
fn probes() -> Result<Vec<Probe>> {
    let mut probes = Vec::new();
    for (topic, stem) in TOPICS.iter().enumerate() {
        let path = format!("spec/wire/requests/{stem}.json");
        let text = fs::read_to_string(shell::root().join(&path))
            .with_context(|| format!("could not read {path}"))?;
        let file: Value = serde_json::from_str(&text)?;
        for case in file["cases"].as_array().context("a file has no cases")? {
            let reaches_nobody = case["upstream"].as_array().is_some_and(Vec::is_empty);
            if reaches_nobody && case["gateway"]["mount"].is_null() {
                let name = case["name"].as_str().context("a case has no name")?.to_owned();
                probes.push(Probe { topic, bytes: bytes(&case["send"])?, name });
            }
        }
    }
    Ok(probes)
}

/// Bytes as `spec/README.md` writes them.
fn bytes(raw: &Value) -> Result<Vec<u8>> {
    match raw {
        Value::String(text) => text
            .chars()
            .map(|c| u8::try_from(u32::from(c)).with_context(|| format!("{c:?} is no byte")))
            .collect(),
        Value::Array(parts) => Ok(parts.iter().map(bytes).collect::<Result<Vec<_>>>()?.concat()),
        part => {
            let times = part["times"].as_u64().and_then(|times| usize::try_from(times).ok());
            Ok(bytes(&part["repeat"])?.repeat(times.context("a part has no number of times")?))
        }
    }
}

/// Where the servers are.
struct Runtimes {
    python: PathBuf,
    node: PathBuf,
    /// Where the scripts of Node.js are: it looks for packages from there.
    scripts: PathBuf,
}

impl Runtimes {
    fn install() -> Result<Self> {
        let folder = install::folder().join("aliases");
        let source = shell::root().join("interop/aliases");
        let python = folder.join("python");
        if !is_same(&source.join("requirements.txt"), &python.join("requirements.txt")) {
            install::environment(&python).context(Unavailable)?;
            let wanted = source.join("requirements.txt");
            install::pip(&python, &["-r", &wanted.to_string_lossy()]).context(Unavailable)?;
            fs::copy(&wanted, python.join("requirements.txt"))?;
        }
        let scripts = folder.join("node");
        fs::create_dir_all(&scripts)?;
        if !is_same(&source.join("package.json"), &scripts.join("installed.json")) {
            fs::copy(source.join("package.json"), scripts.join("package.json"))?;
            let mut npm =
                program("npm", "install --no-audit --no-fund --no-save --no-package-lock --silent --prefix");
            shell::run(npm.arg(&scripts), "npm and its registry are needed for what other people wrote")
                .context(Unavailable)?;
            fs::copy(source.join("package.json"), scripts.join("installed.json"))?;
        }
        fs::copy(source.join("servers.mjs"), scripts.join("servers.mjs"))?;
        Ok(Self { python: python.join("bin/python"), node: install::node()?, scripts })
    }

    fn command(&self, kind: &Kind) -> Result<Command> {
        let mut command = match kind.runtime {
            Runtime::Python => Command::new(&self.python),
            Runtime::Node => Command::new(&self.node),
            Runtime::Go => {
                let built = go(&shell::root().join("interop/aliases"), &install::folder().join("aliases"));
                let missing = || anyhow::anyhow!("Go is not here, and could not be installed");
                return built.map(Command::new).ok_or_else(missing).context(Unavailable);
            }
        };
        let script = match kind.runtime {
            Runtime::Python => shell::root().join("interop/aliases/servers.py"),
            _ => self.scripts.join("servers.mjs"),
        };
        command.arg(script).arg(kind.name).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(command)
    }
}

/// Builds the server in Go, with the system's Go or, where that can be, Debian's.
fn go(source: &Path, folder: &Path) -> Option<PathBuf> {
    let has_go = || shell::succeeds(&mut program("go", "version"));
    if !has_go() {
        let mut apt = program("apt-get", "install --yes --no-install-recommends golang-go");
        shell::succeeds(apt.env("DEBIAN_FRONTEND", "noninteractive"));
    }
    let built = folder.join("go-server");
    let mut build = program("go", "build -o");
    build
        .arg(&built)
        .arg(source.join("go/main.go"))
        .env("GOCACHE", folder.join("go-cache"))
        .env("GO111MODULE", "off");
    (has_go() && shell::run(&mut build, "see what the compiler says").is_ok()).then_some(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_spelling_is_a_case_that_must_reach_nobody() {
        let probes = probes().unwrap();
        for known in KINDS.iter().flat_map(|kind| kind.known) {
            assert!(probes.iter().any(|probe| probe.name == **known), "{known}");
        }
    }

    #[test]
    fn reads_bytes_with_repetitions() {
        let raw = serde_json::json!(["a\u{ff}", {"repeat": "bc", "times": 2}]);
        assert_eq!(bytes(&raw).unwrap(), b"a\xffbcbc");
        assert!(bytes(&serde_json::json!("\u{100}")).is_err());
    }

    #[test]
    fn reads_an_answer_to_its_end() {
        let head = "HTTP/1.1 200 OK\r\nX-Handler: mcp\r\nContent-Length: 2\r\n\r\n";
        assert!(read(head.as_bytes(), false).is_none());
        let answer = read(format!("{head}ab").as_bytes(), false).unwrap();
        assert_eq!((answer.handler.as_str(), answer.body.as_str()), ("mcp", "ab"));
    }
}

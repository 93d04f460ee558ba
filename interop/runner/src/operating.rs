//! `cargo xtask interop operating`: the snippets of docs/operating.md, run by the programs that they are for.
//!
//! 1. The configuration is served as it stands, in front of the demo; only ports and paths are put in.
//! 2. Through nginx, through Caddy and by TLS of the gateway's own, a call is answered, a foreign `Host` is refused, and the events of a stream
//!    come one by one.
//! 3. systemd finds nothing wrong with the unit.
//!
//! A program that is not here is told after all the others had their turn.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::cell::{Cell, Shared};
use super::install::{self, Unavailable};
use super::nginx::{Nginx, free_port, wait_for};
use super::servers::Ours;
use kit::running::Running;
use kit::server::{self, Server};
use kit::shell::{self, program};

const PAGE: &str = "docs/operating.md";
/// The name that the page gives the gateway.
const NAME: &str = "mcp.example.com";
const PAGES: u32 = 6;
/// The demo takes three quarters of a second for the pages after the first.
const APART: Duration = Duration::from_millis(400);

/// One cell a program that a snippet of the page is for.
pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let site = Arc::new(Shared::new(Site::new));
    let cell = |name: &'static str, test: fn(&Site) -> Result<Vec<String>>| {
        let site = site.clone();
        Cell::new(name, move || {
            let found = test(site.get()?).with_context(|| format!("{PAGE}: {name}"))?;
            Ok(found.into_iter().map(|fault| format!("{PAGE}: {name}: {fault}")).collect())
        })
    };
    Ok(vec![
        cell("nginx", nginx),
        cell("caddy", caddy),
        cell("TLS of the gateway's own", own_tls),
        cell("systemd", systemd),
    ])
}

/// What all parts need: a server, the gateway in front of it, and a certificate.
struct Site {
    folder: PathBuf,
    page: String,
    attune: PathBuf,
    upstream: Server,
    gateway: u16,
    _running: Running,
}

impl Site {
    fn new() -> Result<Self> {
        for needed in ["curl", "openssl"] {
            if !shell::succeeds(&mut program(needed, "version"))
                && !shell::succeeds(&mut program(needed, "--version"))
            {
                return Err(anyhow::anyhow!("{needed} is not installed").context(Unavailable));
            }
        }
        let folder = install::folder().join("seen/operating");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let page = fs::read_to_string(shell::root().join(PAGE))?;
        let attune = Ours::get()?.attune.clone();
        let mut demo = Command::new(&attune);
        let upstream =
            Server::start(demo.args(["demo", "--bare", "--listen", "127.0.0.1:0"]), "operating-demo")?;
        let (gateway, admin) = (free_port()?, free_port()?);
        let config = put(block(&page, "toml", 0)?, "127.0.0.1:8808", &format!("127.0.0.1:{gateway}"))?;
        let config = put(&config, "127.0.0.1:8809", &format!("127.0.0.1:{admin}"))?;
        let config = put(&config, "http://127.0.0.1:9000/mcp", &upstream.url)?;
        let running = serve(&attune, &folder.join("attune.toml"), &config, gateway)?;
        let mut key =
            program("openssl", "req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem");
        key.args(["-subj", "/CN=mcp.example.com", "-addext", "subjectAltName=DNS:mcp.example.com"]);
        let made = key.current_dir(&folder).stderr(Stdio::null()).status().context("openssl")?;
        ensure!(made.success(), "openssl made no certificate");
        Ok(Self { folder, page, attune, upstream, gateway, _running: running })
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// Checks a configuration, and serves it.
fn serve(attune: &Path, file: &Path, config: &str, port: u16) -> Result<Running> {
    fs::write(file, config)?;
    let checked = Command::new(attune).args(["config", "check"]).arg(file).output()?;
    ensure!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let log = server::log("operating")?;
    let mut command = Command::new(attune);
    command.args(["serve", "--config"]).arg(file).stdout(Stdio::null()).stderr(log);
    let running = Running::start(&mut command)?;
    wait_for(port)?;
    Ok(running)
}

fn nginx(site: &Site) -> Result<Vec<String>> {
    let port = free_port()?;
    let text = put(block(&site.page, "nginx", 0)?, "127.0.0.1:8808", &format!("127.0.0.1:{}", site.gateway))?;
    let text = put(&text, "listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"))?;
    let text = put(&text, "/etc/ssl/attune/cert.pem", &site.path("cert.pem"))?;
    let text = put(&text, "/etc/ssl/attune/key.pem", &site.path("key.pem"))?;
    // Around it stands what Debian's nginx.conf says around the files of conf.d, as far as it matters here.
    let _nginx = Nginx::start(&site.folder, &format!("gzip on;\n{text}"), port)?;
    through(site, &format!("https://{NAME}:{port}"), port)
}

fn caddy(site: &Site) -> Result<Vec<String>> {
    let caddy = install::debian("caddy", "usr/bin/caddy")?;
    let port = free_port()?;
    let text = put(block(&site.page, "caddy", 0)?, "127.0.0.1:8808", &format!("127.0.0.1:{}", site.gateway))?;
    // No certificate can be had for this name, so there is none.
    let text = put(&text, "mcp.example.com {", &format!("http://{NAME}:{port} {{"))?;
    let file = site.folder.join("Caddyfile");
    fs::write(&file, format!("{{\n\tadmin off\n\tauto_https off\n}}\n{text}"))?;
    let mut command = Command::new(caddy);
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file);
    command.env("HOME", &site.folder).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    let _running = Running::start(command.stdout(Stdio::null()).stderr(server::log("caddy")?))?;
    wait_for(port).context("see caddy.log")?;
    through(site, &format!("http://{NAME}:{port}"), port)
}

fn own_tls(site: &Site) -> Result<Vec<String>> {
    let (port, admin) = (free_port()?, free_port()?);
    let listen = format!("127.0.0.1:{port}\"\nadmin = \"127.0.0.1:{admin}");
    let config = put(block(&site.page, "toml", 1)?, "0.0.0.0:443", &listen)?;
    let config = put(&config, "/etc/ssl/attune/cert.pem", &site.path("cert.pem"))?;
    let config = put(&config, "/etc/ssl/attune/key.pem", &site.path("key.pem"))?;
    let config = format!("{config}\n[upstream]\nurl = \"{}\"\n", site.upstream.url);
    let _running = serve(&site.attune, &site.folder.join("tls.toml"), &config, port)?;
    through(site, &format!("https://{NAME}:{port}"), port)
}

fn systemd(site: &Site) -> Result<Vec<String>> {
    if !shell::succeeds(&mut program("systemd-analyze", "--version")) {
        return Err(anyhow::anyhow!("systemd-analyze is not installed").context(Unavailable));
    }
    let unit =
        put(block(&site.page, "ini", 0)?, "/usr/local/bin/attune", &site.attune.display().to_string())?;
    let file = site.folder.join("attune.service");
    fs::write(&file, unit)?;
    let judged = program("systemd-analyze", "verify --man=no").arg(&file).output()?;
    let said = String::from_utf8_lossy(&judged.stderr);
    let about = |line: &&str| line.contains("attune.service") || line.contains("Unknown");
    let mut faults: Vec<String> = said.lines().filter(about).map(str::to_owned).collect();
    if !judged.status.success() {
        faults.push(format!("systemd-analyze ends with {}", judged.status));
    }
    Ok(faults)
}

/// A call, a foreign host and a stream, by way of a proxy at this address.
fn through(site: &Site, url: &str, port: u16) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let (status, body) = ask(site, url, port, "local_time", &[])?;
    if status != "200" || !body.contains("weekday") {
        faults.push(format!("a call is answered with {status}: {body}"));
    }
    let (status, body) = ask(site, url, port, "local_time", &["-H", "Host: other.example"])?;
    // A proxy that does not know the name may answer first, in its own way; Caddy says nothing, with 200.
    if body.contains("weekday") || (status == "403" && !body.contains("allowed_hosts")) {
        faults.push(format!("a foreign Host is answered with {status}: {body}"));
    }
    let (events, apart) = stream(site, url, port)?;
    println!("      {events} events, {} ms from the first to the last", apart.as_millis());
    if events != PAGES as usize + 1 || apart < APART {
        faults.push(format!("a stream gave {events} events within {} ms", apart.as_millis()));
    }
    Ok(faults)
}

/// curl, with the request of a modern client.
fn curl(site: &Site, url: &str, port: u16, tool: &str, arguments: &serde_json::Value) -> Command {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": { "progressToken": "p",
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {} } } });
    let mut curl = program("curl", "--silent --show-error --no-buffer --max-time 30 --noproxy *");
    curl.arg("--resolve").arg(format!("{NAME}:{port}:127.0.0.1")).arg("--cacert").arg(site.path("cert.pem"));
    for header in [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        &format!("Mcp-Name: {tool}"),
    ] {
        curl.arg("-H").arg(header);
    }
    curl.arg("--data").arg(body.to_string()).arg(format!("{url}/mcp"));
    curl
}

/// The status of an answer, and its body.
fn ask(site: &Site, url: &str, port: u16, tool: &str, more: &[&str]) -> Result<(String, String)> {
    let mut curl = curl(site, url, port, tool, &json!({}));
    let output = curl.args(["--write-out", "\n%{http_code}"]).args(more).output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = said.rsplit_once('\n').context("curl says nothing")?;
    Ok((status.to_owned(), format!("{body}{}", String::from_utf8_lossy(&output.stderr))))
}

/// How many events came, and how long it took from the first to the last.
fn stream(site: &Site, url: &str, port: u16) -> Result<(usize, Duration)> {
    let mut curl = curl(site, url, port, "build_report", &json!({ "pages": PAGES }));
    let mut running = Running::start(curl.stdout(Stdio::piped()).stderr(server::log("operating-curl")?))?;
    let (mut events, mut first, mut last) = (0, None, Instant::now());
    for line in BufReader::new(running.output().context("curl has no output")?).lines() {
        if line?.starts_with("data:") {
            events += 1;
            last = Instant::now();
            first.get_or_insert(last);
        }
    }
    Ok((events, last.duration_since(first.unwrap_or(last))))
}

/// The text of a block of the page.
fn block<'p>(page: &'p str, kind: &str, index: usize) -> Result<&'p str> {
    let fence = format!("\n```{kind}\n");
    let found = page.split(fence.as_str()).nth(index + 1).and_then(|rest| rest.split("\n```").next());
    found.with_context(|| format!("{PAGE} has no block {} of {kind}", index + 1))
}

/// Puts something in the place of what the page says, which has to be there once.
fn put(text: &str, old: &str, new: &str) -> Result<String> {
    ensure!(text.matches(old).count() == 1, "{PAGE} says `{old}` {} times", text.matches(old).count());
    Ok(text.replace(old, new) + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_snippet() {
        let page = fs::read_to_string(shell::root().join(PAGE)).unwrap();
        for (kind, index) in [("toml", 0), ("toml", 1), ("nginx", 0), ("caddy", 0), ("ini", 0)] {
            assert!(block(&page, kind, index).is_ok_and(|text| !text.trim().is_empty()), "{kind} {index}");
        }
        assert!(block(&page, "toml", 9).is_err());
    }

    #[test]
    fn what_is_not_there_or_there_twice_is_not_replaced() {
        assert_eq!(put("a b", "a", "c").unwrap(), "c b\n");
        assert!(put("a b", "x", "c").is_err() && put("a a", "a", "c").is_err());
    }
}

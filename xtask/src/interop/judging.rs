//! Our own referee, `attune check`, at servers of four SDKs and at the demo: directly, and behind the gateway.
//!
//! Directly, a server is what it is, and the table says so. Behind the gateway no rule that applies may be broken.

mod table;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::table::Column;
use super::install;
use super::packages::{Packages, Sdk};
use super::running::Running;
use super::servers::{ANYWHERE, Server};
use crate::shell;

const PATIENCE: Duration = Duration::from_secs(120);

/// What may be called of the small set that all of these servers offer.
const CALLS: [&str; 2] = [r#"add={"a": 1, "b": 2}"#, r#"route={"region": "eu"}"#];

/// What may be called of the demo: arguments in headers, the caller's month, and a result with data.
const CALLS_OF_DEMO: [&str; 3] = [
    r#"execute_sql={"query": "SELECT 1", "region": "eu-west1", "shard": 42, "dry_run": true}"#,
    r#"query_sales={"query": "sales this month"}"#,
    r#"get_weather={"location": "Bern"}"#,
];

/// A gateway that does everything: it translates, and it shapes.
const CONFIG: &str =
    "default_language = \"en\"\n[locales]\npath = \"locales/${locale}.json\"\n[content]\nenabled = true\n";

/// The parts of the page that are written by this.
const MARKS: [&str; 2] = ["<!-- begin: cargo xtask interop check -->\n", "<!-- end -->"];

pub(crate) fn run(quick: bool) -> Result<Vec<String>> {
    Ok(judge(quick)?.1)
}

/// Runs everything, and writes the table into `docs/referee.md`.
pub(crate) fn write() -> Result<()> {
    let (columns, faults) = judge(false)?;
    let file = shell::root().join("docs/referee.md");
    let page = fs::read_to_string(&file)?;
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).context("docs/referee.md has no place for the table")?;
    let (_, after) = rest.split_once(end).context("the place for the table has no end")?;
    fs::write(&file, format!("{before}{begin}\n{}\n{end}{after}", table::markdown(&columns)))?;
    if faults.is_empty() { Ok(()) } else { bail!("interop: {}", faults.join("\n")) }
}

fn judge(quick: bool) -> Result<(Vec<Column>, Vec<String>)> {
    let packages = Packages::install()?.build()?;
    let folder = install::folder().join("seen/judged");
    fs::create_dir_all(folder.join("locales"))?;
    let (config, attune) = (folder.join("attune.toml"), &packages.ours.attune);
    fs::write(&config, CONFIG)?;
    for (language, title) in [("en", "Addition"), ("de", "Addieren"), ("fr", "Additionner")] {
        let texts = serde_json::json!({ "tools": { "add": { "title": title } } });
        fs::write(folder.join(format!("locales/{language}.json")), texts.to_string())?;
    }
    let config = config.to_string_lossy();
    let mut columns = Vec::new();
    let servers = [Sdk::Python, Sdk::TypeScript2, Sdk::TypeScript1, Sdk::Rmcp];
    for sdk in servers.into_iter().filter(|sdk| !quick || *sdk == Sdk::Rmcp) {
        let name = sdk.name();
        let server = Server::start(&mut packages.server(sdk), &format!("judged-{name}"))?;
        let arguments = ["--config", &config, "--upstream", &server.url];
        let gateway = packages.ours.gateway(&arguments, &format!("judged-{name}-gateway"))?;
        columns.push(check(attune, &folder, name, false, &server.url, &CALLS)?);
        columns.push(check(attune, &folder, name, true, &gateway.url, &CALLS)?);
    }
    let demo = |arguments: &[&str], log: &str| {
        Server::start(Command::new(attune).arg("demo").args(arguments).args(["--listen", ANYWHERE]), log)
    };
    let bare = demo(&["--bare"], "judged-bare")?;
    columns.push(check(attune, &folder, "demo", false, &bare.url, &CALLS_OF_DEMO)?);
    let demo = demo(&["--admin", ANYWHERE], "judged-demo")?;
    columns.push(check(attune, &folder, "demo", true, &demo.url, &CALLS_OF_DEMO)?);
    print!("{}", table::markdown(&columns));
    let behind = columns.iter().filter(|column| column.behind);
    let faults = behind.flat_map(|column| {
        let name = &column.name;
        column.broken().map(move |what| format!("our referee: {name} behind the gateway: {what}"))
    });
    let faults = faults.collect();
    Ok((columns, faults))
}

/// One server, judged.
fn check(
    attune: &Path,
    folder: &Path,
    name: &str,
    behind: bool,
    url: &str,
    calls: &[&str],
) -> Result<Column> {
    let mut command = Command::new(attune);
    // Behind the gateway all of Attune's rules hold, and not only what documents ask of every server.
    command
        .args(["check", "--by", "attune", "--json", url])
        .args(calls.iter().flat_map(|call| ["--call", call]));
    let output = Running::to_its_end(&mut command, PATIENCE)?;
    let place = if behind { "behind" } else { "direct" };
    fs::write(folder.join(format!("{name}-{place}.json")), &output.stdout)?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("attune check at {name}, {place}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let report: Value = serde_json::from_slice(&output.stdout).context("what attune check printed")?;
    Ok(Column { name: name.to_owned(), behind, report })
}

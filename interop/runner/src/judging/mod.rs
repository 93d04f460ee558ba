//! Our own referee, `attune check`, at servers of four SDKs and at the demo: directly, and behind the gateway.
//!
//! Directly, a server is what it is, and the table says so. Behind the gateway no rule that applies may be broken.

mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::table::Column;
use super::cell::Cell;
use super::install;
use super::packages::{Packages, Sdk};
use super::servers::{ANYWHERE, Ours};
use kit::running::Running;
use kit::server::Server;
use kit::shell;

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

/// What was judged, in its order.
static COLUMNS: Mutex<Vec<Column>> = Mutex::new(Vec::new());

const SERVERS: [Sdk; 4] = [Sdk::Python, Sdk::TypeScript2, Sdk::TypeScript1, Sdk::Rmcp];

/// One cell a server: what it is directly is told, and behind the gateway it is judged.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let servers = SERVERS.into_iter().filter(|sdk| !quick || *sdk == Sdk::Rmcp);
    let mut cells: Vec<_> =
        servers.map(|sdk| Cell::new(sdk.name(), move || judge(sdk_columns(sdk)?))).collect();
    cells.push(Cell::new("demo", || judge(demo_columns()?)));
    Ok(cells)
}

/// Writes the table of all that was judged into `docs/referee.md`.
pub(crate) fn write() -> Result<()> {
    let columns = COLUMNS.lock().unwrap_or_else(PoisonError::into_inner);
    if columns.is_empty() {
        return Ok(());
    }
    ensure!(
        columns.len() == 2 * (SERVERS.len() + 1),
        "not all servers were judged, so the table stays as it is"
    );
    let file = shell::root().join("docs/referee.md");
    let page = fs::read_to_string(&file)?;
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).context("docs/referee.md has no place for the table")?;
    let (_, after) = rest.split_once(end).context("the place for the table has no end")?;
    Ok(fs::write(&file, format!("{before}{begin}\n{}\n{end}{after}", table::markdown(&columns)))?)
}

/// What is broken behind the gateway.
fn judge(columns: [Column; 2]) -> Result<Vec<String>> {
    print!("{}", table::markdown(&columns));
    let behind = columns.iter().filter(|column| column.behind);
    let faults = behind.flat_map(|column| {
        let name = &column.name;
        column.broken().map(move |what| format!("our referee: {name} behind the gateway: {what}"))
    });
    let faults = faults.collect();
    COLUMNS.lock().unwrap_or_else(PoisonError::into_inner).extend(columns);
    Ok(faults)
}

/// The folder with the configuration of a gateway that does everything.
fn prepare() -> Result<PathBuf> {
    let folder = install::folder().join("seen/judged");
    fs::create_dir_all(folder.join("locales"))?;
    fs::write(folder.join("attune.toml"), CONFIG)?;
    for (language, title) in [("en", "Addition"), ("de", "Addieren"), ("fr", "Additionner")] {
        let texts = serde_json::json!({ "tools": { "add": { "title": title } } });
        fs::write(folder.join(format!("locales/{language}.json")), texts.to_string())?;
    }
    Ok(folder)
}

fn sdk_columns(sdk: Sdk) -> Result<[Column; 2]> {
    let (packages, folder, name) = (Packages::get()?, prepare()?, sdk.name());
    let (config, attune) = (folder.join("attune.toml"), &packages.ours.attune);
    let server = Server::start(&mut packages.server(sdk), &format!("judged-{name}"))?;
    let arguments = ["--config", &config.to_string_lossy(), "--upstream", &server.url];
    let gateway = packages.ours.gateway(&arguments, &format!("judged-{name}-gateway"))?;
    Ok([
        check(attune, &folder, name, false, &server.url, &CALLS)?,
        check(attune, &folder, name, true, &gateway.url, &CALLS)?,
    ])
}

fn demo_columns() -> Result<[Column; 2]> {
    let (attune, folder) = (&Ours::get()?.attune, prepare()?);
    let demo = |arguments: &[&str], log: &str| {
        Server::start(Command::new(attune).arg("demo").args(arguments).args(["--listen", ANYWHERE]), log)
    };
    let bare = demo(&["--bare"], "judged-bare")?;
    let direct = check(attune, &folder, "demo", false, &bare.url, &CALLS_OF_DEMO)?;
    let demo = demo(&["--admin", ANYWHERE], "judged-demo")?;
    Ok([direct, check(attune, &folder, "demo", true, &demo.url, &CALLS_OF_DEMO)?])
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

//! Clients and servers of other people, with the gateway between them.
//!
//! Every server offers the same small set of tools, resources and prompts; every client asks for all of it. Each pair
//! meets directly and through the gateway, in each era that both speak. A check that passes directly and not through
//! the gateway, twice, fails the run. What fails directly is a matter between the two, and is only named.

mod matrix;
mod told;

use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};

use self::matrix::{Cell, Checks};
use super::packages::{LEGACY, MODERN, Packages, Sdk};
use super::servers::Server;

/// A token that servers protected by OAuth want to see.
const TOKEN: &str = "let-me-in";

use Sdk::{ByHand, Python, Rmcp, TypeScript1, TypeScript2};

const SERVERS: [Sdk; 4] = [Python, TypeScript1, TypeScript2, Rmcp];
const CLIENTS: [Sdk; 5] = [Python, TypeScript1, TypeScript2, Rmcp, ByHand];

/// The pairs that CI has time for, with the client first.
const QUICK: [(Sdk, Sdk); 5] = [
    (Python, Python),
    (TypeScript1, TypeScript1),
    (TypeScript2, TypeScript2),
    (Rmcp, Python),
    (ByHand, Python),
];

/// Runs everything, or what CI has time for, and returns what is worse through the gateway than without it.
pub(crate) fn run(quick: bool) -> Result<Vec<String>> {
    let packages = Packages::install()?.build()?;
    let cells = meetings(&packages, quick)?;
    print!("{}", matrix::table(&cells));
    let mut failures: Vec<String> = cells.iter().flat_map(Cell::worse).collect();
    for server in [Python, TypeScript2] {
        failures.extend(strangers(&packages, server, quick)?);
    }
    failures.extend(many_calls(&packages, quick)?);
    Ok(failures)
}

/// Runs a client, prints how it went, and returns what it did not get.
pub(super) fn expect(title: &str, client: &mut Command) -> Result<Vec<String>> {
    Ok(matrix::expect(title, &told::checks(client)?))
}

/// Two servers of a kind, one of them behind the gateway: what one run leaves behind does not disturb the other.
struct Pair {
    direct: Server,
    behind: Server,
    through: Server,
}

impl Pair {
    fn start(packages: &Packages, server: Sdk, options: &[&str]) -> Result<Self> {
        let behind = start(packages, server, "behind", options)?;
        let through = packages.ours.in_front_of(&behind, &format!("{}-gateway", server.name()))?;
        Ok(Self { direct: start(packages, server, "direct", options)?, behind, through })
    }
}

fn start(packages: &Packages, server: Sdk, place: &str, options: &[&str]) -> Result<Server> {
    let log = format!("{}-server-{place}", server.name());
    Server::start(packages.server(server).args(options), &log)
        .with_context(|| format!("the server of {} does not start", server.name()))
}

/// All the pairs. A few may meet at once; of many, some would time out.
fn meetings(packages: &Packages, quick: bool) -> Result<Vec<Cell>> {
    let at_once = if quick { SERVERS.len() } else { 1 };
    let mut cells = Vec::new();
    for servers in SERVERS.chunks(at_once) {
        thread::scope(|scope| {
            let meetings: Vec<_> =
                servers.iter().map(|server| scope.spawn(|| meet(packages, *server, quick))).collect();
            for meeting in meetings {
                cells.extend(meeting.join().unwrap_or_else(|_| ended_early())?);
            }
            anyhow::Ok(())
        })?;
    }
    Ok(cells)
}

/// One server, and every client that is to meet it.
fn meet(packages: &Packages, server: Sdk, quick: bool) -> Result<Vec<Cell>> {
    let wanted = |client: &Sdk| !quick || QUICK.contains(&(*client, server));
    let clients: Vec<Sdk> = CLIENTS.into_iter().filter(wanted).collect();
    let mut cells = Vec::new();
    if clients.is_empty() {
        return Ok(cells);
    }
    let pair = Pair::start(packages, server, &[])?;
    for client in clients {
        for era in [MODERN, LEGACY].into_iter().filter(|era| client.speaks(era) && server.speaks(era)) {
            let (direct, through) = both(packages, client, era, &pair, &[])?;
            let mut cell = Cell::new(client.name(), server.name(), era, direct, through);
            if !cell.worse().is_empty() {
                let (direct, through) = both(packages, client, era, &pair, &[])?;
                cell = cell.again(direct, through);
            }
            cells.push(cell);
        }
    }
    Ok(cells)
}

/// One client at both servers of a pair, at the same time.
fn both(
    packages: &Packages,
    client: Sdk,
    era: &str,
    pair: &Pair,
    options: &[&str],
) -> Result<(Checks, Checks)> {
    let run = |url: &str| {
        let mut command = packages.client(client);
        told::checks(command.args([url, era]).args(options))
            .with_context(|| format!("the client of {} at {url}", client.name()))
    };
    thread::scope(|scope| {
        let direct = scope.spawn(|| run(&pair.direct.url));
        let through = run(&pair.through.url);
        let direct = direct.join().unwrap_or_else(|_| ended_early());
        Ok((direct?, through?))
    })
}

fn ended_early<T>() -> Result<T> {
    bail!("a thread that runs clients ended early")
}

/// A server protected by OAuth: what it tells strangers, and whether it knows those with a token.
fn strangers(packages: &Packages, server: Sdk, quick: bool) -> Result<Vec<String>> {
    let pair = Pair::start(packages, server, &["--token", TOKEN])?;
    let mut judge = packages.rmcp("oauth");
    // The metadata names the server itself, so here the two have to be one.
    let told = told::checks(judge.args([&pair.behind.url, &pair.through.url]))?;
    let title = format!("oauth at {}", server.name());
    let mut failures = matrix::expect(&title, &told);
    for client in SERVERS.into_iter().filter(|client| !quick || *client == server) {
        for era in [MODERN, LEGACY].into_iter().filter(|era| client.speaks(era)) {
            let only = ["--token", TOKEN, "--only", "lists,calls"];
            let (direct, through) = both(packages, client, era, &pair, &only)?;
            let cell = Cell::new(client.name(), &title, era, direct, through);
            println!("{cell}");
            failures.extend(cell.worse());
        }
    }
    Ok(failures)
}

/// What many calls cost a server whose listings are stale at once.
fn many_calls(packages: &Packages, quick: bool) -> Result<Vec<String>> {
    let behind = start(packages, Python, "counting", &[])?;
    let through = packages.ours.in_front_of(&behind, "counting-gateway")?;
    let [good, bad, seconds] = if quick { ["500", "100", "3"] } else { ["10000", "1000", "10"] };
    let mut judge = packages.rmcp("calls");
    let counted = told::checks(judge.args([&behind.url, &through.url, good, bad, seconds]))?;
    Ok(matrix::expect("listings behind the gateway", &counted))
}

//! Clients and servers of other people, with the gateway between them.
//!
//! Every server offers the same small set of tools, resources and prompts; every client asks for all of it. Each pair
//! meets directly and through the gateway, in each era that both speak. A check that passes directly and not through
//! the gateway, twice, fails the run. What fails directly is a matter between the two, and is only named.

mod matrix;
mod told;

use std::process::Command;
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result, bail};

use self::matrix::{Checks, Meeting};
use super::cell::{Cell, Shared};
use super::packages::{LEGACY, MODERN, Packages, Sdk};
use kit::server::Server;

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

/// One cell a client, a server and an era: what is worse through the gateway than without it.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for server in SERVERS {
        let pair = Arc::new(Shared::new(move || Pair::start(Packages::get()?, server, &[])));
        for client in CLIENTS.into_iter().filter(|client| !quick || QUICK.contains(&(*client, server))) {
            for era in [MODERN, LEGACY].into_iter().filter(|era| client.speaks(era) && server.speaks(era)) {
                let pair = pair.clone();
                let name = format!("{} at {}, {era}", client.name(), server.name());
                let test = move || meet(pair.get()?, client, server, era);
                cells.push(Cell::new(name, test).in_group(server.name()));
            }
        }
    }
    Ok(cells)
}

/// Servers that want a token: what they tell strangers, and the clients that have one.
pub(crate) fn cells_with_tokens(quick: bool) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for server in [Python, TypeScript2] {
        let pair = Arc::new(Shared::new(move || Pair::start(Packages::get()?, server, &["--token", TOKEN])));
        let shared = pair.clone();
        let name = format!("strangers at {}", server.name());
        cells.push(Cell::new(name, move || strangers(shared.get()?, server)));
        for client in SERVERS.into_iter().filter(|client| !quick || *client == server) {
            for era in [MODERN, LEGACY].into_iter().filter(|era| client.speaks(era)) {
                let pair = pair.clone();
                let name = format!("{} at {}, {era}", client.name(), server.name());
                cells.push(Cell::new(name, move || with_token(pair.get()?, client, server, era)));
            }
        }
    }
    Ok(cells)
}

pub(crate) fn cells_of_many_calls(quick: bool) -> Result<Vec<Cell>> {
    Ok(vec![Cell::new("listings behind the gateway", move || many_calls(Packages::get()?, quick))])
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

/// One client at one server, and again where it looks worse through the gateway.
fn meet(pair: &Pair, client: Sdk, server: Sdk, era: &str) -> Result<Vec<String>> {
    let packages = Packages::get()?;
    let (direct, through) = both(packages, client, era, pair, &[])?;
    let mut meeting = Meeting::new(client.name(), server.name(), era, direct, through);
    if !meeting.worse().is_empty() {
        let (direct, through) = both(packages, client, era, pair, &[])?;
        meeting = meeting.again(direct, through);
    }
    println!("{meeting}");
    for line in meeting.impossible() {
        println!("  fails directly too: {line}");
    }
    Ok(meeting.worse())
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

/// What a server protected by OAuth tells strangers.
fn strangers(pair: &Pair, server: Sdk) -> Result<Vec<String>> {
    let mut judge = Packages::get()?.rmcp("oauth");
    // The metadata names the server itself, so here the two have to be one.
    let told = told::checks(judge.args([&pair.behind.url, &pair.through.url]))?;
    Ok(matrix::expect(&format!("oauth at {}", server.name()), &told))
}

/// Whether a server protected by OAuth knows those with a token.
fn with_token(pair: &Pair, client: Sdk, server: Sdk, era: &str) -> Result<Vec<String>> {
    let only = ["--token", TOKEN, "--only", "lists,calls"];
    let (direct, through) = both(Packages::get()?, client, era, pair, &only)?;
    let title = format!("oauth at {}", server.name());
    let meeting = Meeting::new(client.name(), &title, era, direct, through);
    println!("{meeting}");
    Ok(meeting.worse())
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

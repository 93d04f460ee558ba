//! `cargo xtask bench`: what the gateway costs, beside what nginx costs in the same place; `cargo xtask bench results`: what
//! it costs to change answers; `cargo xtask bench stdio`: what it costs in front of programs.
//!
//! Everything is measured in one run: each round gives every subject a slice of load in turn, and what is compared is
//! compared within its round, so that a machine that has other work to do troubles all of them alike. Nothing is
//! asserted: a missed target is marked in the table.

mod page;

mod results;
mod stdio;

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};

use crate::release;
use crate::rig::http::{Call, send};
use crate::rig::load::{Load, Slice, Subject};
use crate::rig::servers::{Bench, Server, workers};
use crate::rig::spread::Spread;
use crate::rig::{call, process, streams};
use kit::report::hinted;
use kit::shell::{self, program};
use page::{Block, Bound, Table, Targets};

const ROUNDS: usize = 15;
const CONNECTIONS: [usize; 3] = [1, 16, 64];
/// At how many connections the smaller questions are asked.
const USUAL: usize = 16;
const CATALOG: usize = 10_000;
const IDENTITIES: usize = 1000;
const STREAMS: usize = 5000;
/// Sockets of one process: the streams, and the gateway has two for each.
const FILES: usize = 2 * STREAMS + 500;

/// Measures everything, prints the tables and writes them into the document.
pub(crate) fn run() -> Result<()> {
    needs(&[("wrk", "wrk"), ("nginx", "nginx-light")])?;
    raise_limit()?;
    let bench = build()?;
    let mut targets = Targets::new();
    let through = through(&bench, &mut targets)?;
    let python = python(&bench).unwrap_or_else(|error| format!("Not measured here: {error:#}.\n"));
    catalog(&bench, &mut targets)?;
    let events = events(&bench)?;
    let memory = memory(&bench, &mut targets)?;
    let figures = [
        targets.text(),
        through,
        python,
        format!("### Events of a stream\n\n{events}"),
        format!("### Memory\n\n{memory}"),
    ]
    .join("\n");
    println!("\n{figures}");
    page::write(Block::Gateway, &figures)?;
    changed(&bench)?;
    programs(&bench)
}

/// Measures answers that are changed, and nothing else.
pub(crate) fn results() -> Result<()> {
    needs(&[("wrk", "wrk"), ("nginx", "nginx-light")])?;
    changed(&build()?)
}

/// The same with one build of cargo's own, for a try: what comes out is printed and not written into the document.
pub(crate) fn results_of(profile: Profile) -> Result<()> {
    needs(&[("wrk", "wrk"), ("nginx", "nginx-light")])?;
    let (bench, rounds) = match profile {
        Profile::Release => (Bench::optimized()?, ROUNDS),
        Profile::Debug => (Bench::unoptimized()?, 1),
    };
    println!("\n{}", results::run(&bench, rounds)?);
    Ok(())
}

/// What cargo builds by itself.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    Debug,
    Release,
}

fn changed(bench: &Bench) -> Result<()> {
    let figures = results::run(bench, ROUNDS)?;
    println!("\n{figures}");
    page::write(Block::Results, &figures)
}

/// Measures servers that are programs, and nothing else.
pub(crate) fn stdio() -> Result<()> {
    needs(&[("wrk", "wrk")])?;
    programs(&build()?)
}

/// Attune as it is released, beside what cargo builds by itself.
fn build() -> Result<Bench> {
    let release::Built { plain, trained } = release::build()?;
    Bench::of_two(plain, trained)
}

fn programs(bench: &Bench) -> Result<()> {
    let figures = stdio::run(bench)?;
    println!("\n{figures}");
    page::write(Block::Stdio, &figures)
}

fn needs(programs: &[(&str, &str)]) -> Result<()> {
    for (name, package) in programs {
        if !shell::succeeds(&mut program(name, "-v")) && !shell::succeeds(&mut program("which", name)) {
            let hint = format!("install it: `apt-get install {package}`");
            return Err(hinted(format!("{name} is not here"), hint));
        }
    }
    Ok(())
}

/// The streams need more files at a time than many systems allow at first.
fn raise_limit() -> Result<()> {
    let raised = format!("--pid {} --nofile={FILES}:", std::process::id());
    if shell::succeeds(&mut program("prlimit", &raised)) {
        return Ok(());
    }
    let hint = format!("run it after `ulimit -n {FILES}`, as whoever may do that");
    Err(hinted(format!("{STREAMS} streams need {FILES} open files in a process"), hint))
}

/// A call passes, and one whose header lies about an argument does what is expected.
fn check(address: SocketAddr, call: &Call, lie: u16) -> Result<()> {
    for (call, expected) in [(call.clone(), 200), (call.clone().with("Mcp-Param-Region", "us-west1"), lie)] {
        let answer = send(address, &call)?;
        let status = answer.head.status;
        let body = String::from_utf8_lossy(&answer.whole()?).into_owned();
        if status != expected || (status == 400 && !body.contains("-32020")) {
            bail!("{address} answered {status} where {expected} was expected: {body}");
        }
    }
    Ok(())
}

/// Who is compared: what cargo builds by itself comes last.
const SUBJECTS: [&str; 4] = ["directly", "nginx", "Attune", "Attune, plain build"];

/// Directly, through nginx, through Attune.
fn through(bench: &Bench, targets: &mut Targets) -> Result<String> {
    let demo = bench.demo()?;
    let (nginx, attune, plain) = (bench.nginx(&demo)?, bench.attune(&demo)?, bench.plain(&demo)?);
    let call = call();
    // Attune checks what nobody else does.
    for (server, lie) in [(&demo, 200), (&nginx, 200), (&attune, 400), (&plain, 400)] {
        check(server.address, &call, lie)?;
    }
    let load = Load::new(&bench.folder, "call", &call)?;
    let subjects = [demo.subject(), workers(&nginx)?, attune.subject(), plain.subject()];
    let mut table =
        Table::new(&["connections", "", "requests/s", "of direct", "CPU a request", "latency (median)"]);
    for connections in CONNECTIONS {
        println!("{connections} connections: {}", SUBJECTS.join("; "));
        let rounds = rounds(&load, &subjects, connections, ROUNDS)?;
        for (index, name) in SUBJECTS.into_iter().enumerate() {
            let of =
                |figure: fn(&Slice) -> f64| Spread::of(column(&rounds, index).map(|slice| figure(&slice)));
            table.row(&[
                connections.to_string(),
                name.to_owned(),
                format!("{:.0}", of(|slice| slice.rate).median()),
                compared(&rounds, index, 0, |slice| slice.rate).to_string(),
                format!("{:.0} µs", of(|slice| slice.cpu).median()),
                format!("{:.0} µs", of(|slice| slice.latency).median()),
            ]);
        }
        for (index, whose) in [(2, ""), (3, " (plain build)")] {
            aim(targets, connections, &rounds, index, whose);
        }
    }
    let used = process::memory(attune.pid())?;
    let shown = format!("{:.0} MiB", used.peak);
    targets.add("memory at 64 connections (MiB, the peak)", Bound::AtMost(40.0), used.peak, shown);
    Ok(table.text())
}

/// What is wanted of one of the subjects, beside nginx.
fn aim(targets: &mut Targets, connections: usize, rounds: &[Vec<Slice>], index: usize, whose: &str) {
    if connections == 1 {
        let added = Spread::of(rounds.iter().filter_map(|round| {
            let [direct, nginx, ..] = round.as_slice() else { return None };
            Some((round.get(index)?.latency - direct.latency) / (nginx.latency - direct.latency))
        }));
        let what = format!("latency added at 1 connection, of what nginx adds{whose}");
        return targets.add(&what, Bound::AtMost(1.4), added.median(), added.to_string());
    }
    let rate = compared(rounds, index, 1, |slice| slice.rate);
    let what = format!("requests/s at {connections} connections, of nginx{whose}");
    targets.add(&what, Bound::AtLeast(0.9), rate.median(), rate.to_string());
    let cpu = compared(rounds, index, 1, |slice| slice.cpu);
    let what = format!("CPU a request at {connections} connections, of nginx{whose}");
    targets.add(&what, Bound::AtMost(1.4), cpu.median(), cpu.to_string());
}

/// A round is one slice for each subject, in turn. The first is for warming up, and thrown away.
fn rounds(load: &Load, subjects: &[Subject], connections: usize, count: usize) -> Result<Vec<Vec<Slice>>> {
    let round = |_| subjects.iter().map(|subject| load.slice(subject, connections)).collect();
    let rounds: Result<Vec<_>> = (0..=count).map(round).collect();
    Ok(rounds?.split_off(1))
}

fn column(rounds: &[Vec<Slice>], index: usize) -> impl Iterator<Item = Slice> {
    rounds.iter().filter_map(move |round| round.get(index)).copied()
}

/// One subject's figure over another's, round by round.
fn compared(rounds: &[Vec<Slice>], one: usize, other: usize, figure: fn(&Slice) -> f64) -> Spread {
    let pairs = column(rounds, one).zip(column(rounds, other));
    Spread::of(pairs.map(|(one, other)| figure(&one) / figure(&other)))
}

/// The same tool on a server that checks the headers itself, for orientation.
fn python(bench: &Bench) -> Result<String> {
    let server = bench.python()?;
    let call = call();
    check(server.address, &call, 400)?;
    println!("{USUAL} connections: the Python SDK");
    let load = Load::new(&bench.folder, "call", &call)?;
    let rounds = rounds(&load, &[server.subject()], USUAL, ROUNDS)?;
    let median =
        |figure: fn(&Slice) -> f64| Spread::of(column(&rounds, 0).map(|slice| figure(&slice))).median();
    Ok(format!(
        "For orientation, the same tool on the Python SDK's server, which checks the headers itself, at {USUAL} \
         connections: {:.0} requests/s, {:.0} µs of CPU a request.\n",
        median(|slice| slice.rate),
        median(|slice| slice.cpu)
    ))
}

/// What a large catalog adds to a checked call.
fn catalog(bench: &Bench, targets: &mut Targets) -> Result<()> {
    let behind = [bench.many_tools(1)?, bench.many_tools(CATALOG)?];
    let call = Call::modern("tools/call", r#""name":"tool_0","arguments":{"region":"eu-west1"}"#)
        .with("Mcp-Name", "tool_0")
        .with("Mcp-Param-Region", "eu-west1");
    let mut attunes = Vec::new();
    for server in &behind {
        let attune = bench.attune(server)?;
        check(attune.address, &call, 400)?;
        attunes.push(attune);
    }
    let load = Load::new(&bench.folder, "catalog", &call)?;
    let subjects: Vec<Subject> = attunes.iter().map(Server::subject).collect();
    println!("{USUAL} connections: a catalog of one tool, and one of {CATALOG}");
    let rounds = rounds(&load, &subjects, USUAL, ROUNDS)?;
    let cpu = compared(&rounds, 1, 0, |slice| slice.cpu);
    let what = format!("CPU of a call with {CATALOG} tools, of one with 1");
    targets.add(&what, Bound::AtMost(1.05), cpu.median(), cpu.to_string());
    Ok(())
}

/// How long an event takes, directly and through each.
fn events(bench: &Bench) -> Result<String> {
    println!("Events of a stream: directly, through nginx, through Attune");
    let behind = bench.many_tools(1)?;
    let (nginx, attune) = (bench.nginx(&behind)?, bench.attune(&behind)?);
    let servers = [&behind, &nginx, &attune];
    let mut slices: [Vec<Spread>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (server, slices) in servers.iter().zip(&mut slices) {
            slices.push(streams::times(server.address)?);
        }
    }
    let mut table =
        Table::new(&["from the server to a reader", "median", "p99", "median added", "p99 added"]);
    let of = |slices: &[Spread], part: f64| Spread::of(slices.iter().map(|slice| slice.at(part))).median();
    let [direct, ..] = &slices;
    for (name, own) in ["directly", "through nginx", "through Attune"].into_iter().zip(&slices) {
        let added = |part: f64| {
            let pairs = own.iter().zip(direct);
            Spread::of(pairs.map(|(own, direct)| own.at(part) - direct.at(part))).median()
        };
        let micros = |figure: f64| format!("{figure:.0} µs");
        let cells = [of(own, 0.5), of(own, 0.99), added(0.5), added(0.99)].map(micros);
        table.row(&[&[name.to_owned()], cells.as_slice()].concat());
    }
    Ok(table.text())
}

/// What open streams and many callers hold.
fn memory(bench: &Bench, targets: &mut Targets) -> Result<String> {
    let mut table = Table::new(&["gateway", "resident", "peak"]);
    let mut row = |what: String, used: &process::Memory| {
        table.row(&[what, format!("{:.0} MiB", used.now), format!("{:.0} MiB", used.peak)]);
    };
    let behind = bench.many_tools(CATALOG)?;
    let attune = bench.attune(&behind)?;
    row("just started".to_owned(), &process::memory(attune.pid())?);

    println!("{STREAMS} idle streams");
    let open = streams::idle(attune.address, STREAMS)?;
    let used = process::memory(attune.pid())?;
    drop(open);
    row(format!("{STREAMS} idle streams"), &used);
    let what = format!("memory with {STREAMS} idle streams (MiB)");
    targets.add(&what, Bound::AtMost(250.0), used.now, format!("{:.0} MiB", used.now));
    drop(attune);

    println!("{IDENTITIES} callers who list {CATALOG} tools each");
    let attune = bench.attune(&behind)?;
    let list = Call::modern("tools/list", "");
    for number in 0..IDENTITIES {
        let answer = send(attune.address, &list.clone().with("Authorization", format!("Bearer {number}")))?;
        if answer.head.status != 200 {
            bail!("the tools were not listed: {}", answer.head.status);
        }
        answer.whole().context("the listing broke off")?;
        if let done @ (1 | 10 | 100 | IDENTITIES) = number + 1 {
            let what = format!("callers with {CATALOG} tools of their own: {done}");
            row(what, &process::memory(attune.pid())?);
        }
    }
    Ok(table.text())
}

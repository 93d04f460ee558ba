//! `cargo xtask bench stdio`: servers that are programs, behind `attune serve` and behind `attune stdio`.

use std::time::Instant;

use anyhow::{Result, bail};

use super::page::{Bound, Table, Targets};
use super::{ROUNDS, USUAL, check, column, compared, rounds};
use crate::rig::load::{Load, Slice, Subject};
use crate::rig::pipe::Pipe;
use crate::rig::servers::{Bench, Server};
use crate::rig::spread::Spread;
use crate::rig::{call, process};

/// Calls of one slice over a pipe.
const CALLS: usize = 500;
/// How often a program is started.
const STARTS: usize = 25;
/// What a call may cost, of the same call over HTTP.
const MOST: f64 = 1.5;
const SUBJECTS: [&str; 3] = ["HTTP, directly", "HTTP, through Attune", "program behind Attune"];

/// Measures, and gives the tables.
pub(crate) fn run(bench: &Bench) -> Result<String> {
    let mut targets = Targets::new();
    let behind = behind(bench, &mut targets)?;
    let between = between(bench, &mut targets)?;
    Ok([targets.text(), behind, format!("### Between two pipes\n\n{between}")].join("\n"))
}

/// The demo over HTTP, the same with Attune in front, and the demo as a program behind Attune.
fn behind(bench: &Bench, targets: &mut Targets) -> Result<String> {
    let demo = bench.demo()?;
    let (http, program) = (bench.attune(&demo)?, bench.attune_before_program()?);
    let call = call();
    for (server, lie) in [(&demo, 200), (&http, 400), (&program, 400)] {
        check(server.address, &call, lie)?;
    }
    let load = Load::new(&bench.folder, "call", &call)?;
    let subjects = [demo.subject(), together(&http, &[demo.pid()]), with_children(&program)?];
    let mut table = Table::new(&[
        "connections",
        "",
        "requests/s",
        "of direct",
        "CPU a request, of all processes",
        "of direct",
        "latency (median)",
        "of direct",
    ]);
    for connections in [1, USUAL] {
        println!("{connections} connections: {}", SUBJECTS.join("; "));
        let rounds = rounds(&load, &subjects, connections, ROUNDS)?;
        for (index, name) in SUBJECTS.into_iter().enumerate() {
            let median = |figure: fn(&Slice) -> f64| {
                Spread::of(column(&rounds, index).map(|slice| figure(&slice))).median()
            };
            let of = |figure| compared(&rounds, index, 0, figure).to_string();
            table.row(&[
                connections.to_string(),
                name.to_owned(),
                format!("{:.0}", median(|slice| slice.rate)),
                of(|slice| slice.rate),
                format!("{:.0} µs", median(|slice| slice.cpu)),
                of(|slice| slice.cpu),
                format!("{:.0} µs", median(|slice| slice.latency)),
                of(|slice| slice.latency),
            ]);
        }
        aim(targets, connections, &rounds);
    }
    Ok(table.text())
}

fn aim(targets: &mut Targets, connections: usize, rounds: &[Vec<Slice>]) {
    let mut most = |what: &str, spread: Spread| {
        targets.add(what, Bound::AtMost(MOST), spread.median(), spread.to_string());
    };
    if connections == 1 {
        let latency = compared(rounds, 2, 0, |slice| slice.latency);
        return most("latency of a call to a program behind Attune, of one over HTTP directly", latency);
    }
    let time = compared(rounds, 2, 0, |slice| 1.0 / slice.rate);
    most(&format!("time for each of many calls at {connections} connections, likewise"), time);
    let cpu = compared(rounds, 2, 1, |slice| slice.cpu);
    most("CPU of Attune and the program, of Attune and the server over HTTP", cpu);
}

/// A server, and those behind it.
fn together(server: &Server, more: &[u32]) -> Subject {
    let Subject { address, mut pids } = server.subject();
    pids.extend(more);
    Subject { address, pids }
}

fn with_children(server: &Server) -> Result<Subject> {
    let children = process::children(server.pid())?;
    if children.is_empty() {
        bail!("the gateway has started no program");
    }
    Ok(together(server, &children))
}

/// What `attune stdio` adds to the pipes of a program.
fn between(bench: &Bench, targets: &mut Targets) -> Result<String> {
    println!("Over a pipe: directly, through Attune");
    let open_direct = || Pipe::direct(bench);
    let open_through = || Pipe::through(bench);
    starting(&open_direct, &open_through, targets)?;
    let (mut direct, mut through) = (open_direct()?, open_through()?);
    let call = call();
    for pipe in [&mut direct, &mut through] {
        pipe.times(CALLS, &call)?;
    }
    let mut slices = Vec::new();
    for _ in 0..ROUNDS {
        slices.push((direct.times(CALLS, &call)?, through.times(CALLS, &call)?));
    }
    let of = |part: f64| {
        let parts = |slice: &(Spread, Spread)| (slice.0.at(part), slice.1.at(part));
        let parts: Vec<_> = slices.iter().map(parts).collect();
        let median = |figure: fn(&(f64, f64)) -> f64| Spread::of(parts.iter().map(figure));
        [median(|both| both.0), median(|both| both.1), median(|both| both.1 - both.0)]
    };
    let micros = |spread: &Spread| format!("{:.0} µs", spread.median());
    let mut table = Table::new(&["a call over a pipe", "directly", "through Attune", "added"]);
    for (name, part) in [("median", 0.5), ("p99", 0.99)] {
        let cells = of(part);
        table.row(&[&[name.to_owned()], cells.each_ref().map(micros).as_slice()].concat());
        if let ("median", [.., added]) = (name, &cells) {
            let what = "latency that `attune stdio` adds (µs, the median)";
            let shown = format!("{:.0} ({:.0}–{:.0})", added.median(), added.at(0.25), added.at(0.75));
            targets.add(what, Bound::AtMost(100.0), added.median(), shown);
        }
    }
    let used = process::memory(through.pid())?;
    let what = "memory of `attune stdio` (MiB, the peak)";
    targets.add(what, Bound::AtMost(15.0), used.peak, format!("{:.1} MiB", used.peak));
    Ok(table.text())
}

/// What `attune stdio` adds to the time from the start of a program to its first answer.
fn starting(
    direct: &dyn Fn() -> Result<Pipe>,
    through: &dyn Fn() -> Result<Pipe>,
    targets: &mut Targets,
) -> Result<()> {
    let time = |open: &dyn Fn() -> Result<Pipe>| -> Result<f64> {
        let began = Instant::now();
        let pipe = open()?;
        let took = began.elapsed();
        drop(pipe);
        Ok(took.as_secs_f64() * 1e3)
    };
    let mut added = Vec::new();
    for _ in 0..STARTS {
        added.push(-time(direct)? + time(through)?);
    }
    let added = Spread::of(added);
    let shown = format!("{:.1} ({:.1}–{:.1})", added.median(), added.at(0.25), added.at(0.75));
    targets.add(
        "time that `attune stdio` adds to a start (ms, the median)",
        Bound::AtMost(5.0),
        added.median(),
        shown,
    );
    Ok(())
}

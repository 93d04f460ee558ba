//! What results of other people's servers cost a model, and what they cost as `format=json` with `verbosity=compact`.
//!
//! Everything that a server is asked in the list is asked by `attune audit`, but for what it does not have. What comes twice
//! has to cost half, over all servers.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::list::{self, Server};
use super::shared_server;
use crate::cell::Cell;
use crate::install::Unavailable;
use crate::servers::Ours;
use kit::running::Running;

const PATIENCE: Duration = Duration::from_secs(60);

/// What CI has time for: two from npm and one from PyPI.
const QUICK: [&str; 3] = ["filesystem", "memory", "time"];

/// What asking for the least has to save of results that come twice.
const LEAST: f64 = 0.5;

/// One cell a server, and one for all of them together.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let sums = Arc::new(Mutex::new(Vec::new()));
    let entries = list::read()?.into_iter().filter(|entry| !quick || QUICK.contains(&&*entry.name));
    let cell = |entry: list::Entry| {
        let (name, server, sums) = (entry.name.clone(), shared_server(entry), sums.clone());
        Cell::new(name, move || measured(server.get()?, &sums))
    };
    let mut cells: Vec<_> = entries.map(cell).collect();
    cells.push(Cell::new("all of them", move || together(&sums)));
    Ok(cells)
}

fn measured(server: &Server, sums: &Mutex<Vec<Sum>>) -> Result<Vec<String>> {
    let report = audit(Ours::get()?, server)?;
    fs::write(server.seen("audit.json"), serde_json::to_string_pretty(&report)?)?;
    let name = &server.entry.name;
    let (all, twice) = (Sum::of(&report["total"])?, Sum::of(&report["twice"])?);
    println!("    {name}: all: {}; come twice: {}", all.told(), twice.told());
    sums.lock().unwrap_or_else(PoisonError::into_inner).push(twice);
    Ok(wrong(&report).into_iter().map(|what| format!("audit: {name}: {what}")).collect())
}

/// What comes twice, of all servers that were audited.
fn together(sums: &Mutex<Vec<Sum>>) -> Result<Vec<String>> {
    let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
    if sums.is_empty() {
        return Err(anyhow::anyhow!("no server was audited").context(Unavailable));
    }
    let twice = sums.iter().fold(Sum::default(), |all, one| all.and(one));
    println!("    come twice, over all servers: {}", twice.told());
    let too_much = format!("audit: what comes twice costs too much: {}", twice.told());
    Ok((twice.saving() < LEAST).then_some(too_much).into_iter().collect())
}

/// Audits a server: first by itself, to see what it has, and then with all calls of the list.
pub(super) fn audit(ours: &Ours, server: &Server) -> Result<Value> {
    server.prepare()?;
    let first = attune(ours, server, &[])?;
    let lists = ["results", "not_called"].into_iter().filter_map(|list| first[list].as_array()).flatten();
    let has: BTreeSet<&str> = lists.filter_map(|row| row["tool"].as_str()).collect();
    let calls: Vec<_> =
        server.calls().filter(|(tool, _)| has.contains(tool.as_str())).map(|(_, call)| call).collect();
    server.prepare()?;
    attune(ours, server, &calls)
}

fn attune(ours: &Ours, server: &Server, calls: &[String]) -> Result<Value> {
    let mut command = Command::new(&ours.attune);
    command.args(["audit", "--json"]).args(calls.iter().flat_map(|call| ["--call", call]));
    let output = Running::to_its_end(command.arg("--").args(server.command()), PATIENCE)?;
    // What others do wrong with their schemas is theirs: 1 is an answer too.
    if !matches!(output.status.code(), Some(0 | 1)) {
        bail!("{}: {}", server.entry.name, String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).with_context(|| server.entry.name.clone())
}

/// A call without a result is a fault; a result that says that it is an error is none.
fn wrong(report: &Value) -> Vec<String> {
    let rows = report["results"].as_array().into_iter().flatten();
    let failed = rows.filter(|row| row["outcome"] == "failed");
    failed.map(|row| format!("{} gave no result: {}", row["tool"], row["why"])).collect()
}

/// What some results cost.
#[derive(Default)]
struct Sum {
    results: u64,
    before: u64,
    after: u64,
}

impl Sum {
    fn of(total: &Value) -> Result<Self> {
        let is = |shaped: &&Value| shaped["format"] == "json" && shaped["verbosity"] == "compact";
        let shaped = total["shaped"].as_array().and_then(|all| all.iter().find(is));
        let number =
            |value: Option<&Value>| value.and_then(Value::as_u64).context("a report without its total");
        Ok(Self {
            results: number(total.get("results"))?,
            before: number(total.pointer("/as_they_come/tokens"))?,
            after: number(shaped.and_then(|shaped| shaped.get("tokens")))?,
        })
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            results: self.results + other.results,
            before: self.before + other.before,
            after: self.after + other.after,
        }
    }

    fn saving(&self) -> f64 {
        if self.before == 0 { 0.0 } else { 1.0 - self.after as f64 / self.before as f64 }
    }

    fn told(&self) -> String {
        let Self { results, before, after } = self;
        format!("{results} results, {before} tokens, {after} compact, {:.1} % saved", self.saving() * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_what_reports_say() {
        let total = json!({ "results": 2, "as_they_come": { "tokens": 100 }, "shaped": [
            { "format": "json", "verbosity": "standard", "tokens": 60 },
            { "format": "json", "verbosity": "compact", "tokens": 40 },
        ] });
        let sum = Sum::of(&total).unwrap().and(&Sum { results: 1, before: 100, after: 20 });
        assert_eq!(sum.told(), "3 results, 200 tokens, 60 compact, 70.0 % saved");
        assert!(Sum::of(&json!({})).is_err());
        assert!(Sum::default().saving() < LEAST);
    }

    #[test]
    fn a_call_without_a_result_is_a_fault() {
        let report = json!({ "results": [
            { "tool": "a", "outcome": "result" }, { "tool": "b", "outcome": "error" },
            { "tool": "c", "outcome": "failed", "why": "gone" },
        ] });
        assert_eq!(wrong(&report), [r#""c" gave no result: "gone""#]);
    }
}

//! `cargo xtask ci`: everything that CI checks, in order, up to the first failure.

mod licences;
mod purity;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{release, soak, spec, tidy};
use kit::shell::{self, cargo, output, program};

const WASM: &str = "wasm32-unknown-unknown";

/// How a step ended, when it did not fail.
enum Outcome {
    Passed,
    /// The step, or a part of it, could not run here, and why that is no failure.
    Skipped(&'static str),
}

use Outcome::{Passed, Skipped};

type Step = fn() -> Result<Outcome>;

/// In the order in which a mistake is cheapest to find. Every step uses the dev profile and the same flags, so that
/// what one step built is not built again by the next.
const STEPS: &[(&str, Step)] = &[
    ("format", format),
    ("lints", lints),
    ("tests", tests),
    ("first command", first_command),
    ("each feature", each_feature),
    ("oldest rustc", oldest_compiler),
    ("documentation", documentation),
    ("ledger", || spec::run(true).map(|()| Passed)),
    ("tidy", || tidy::run().map(|()| Passed)),
    ("benches", benches),
    ("training", || release::check().map(|()| Passed)),
    ("soak", || soak::short().map(|()| Passed)),
    ("fuzz targets", fuzz),
    ("wasm", wasm),
    ("purity", || purity::run().map(|()| Passed)),
    ("licences", || licences::run().map(|()| Passed)),
    ("cargo-deny", deny),
];

/// Runs the steps, and prints how long each took.
pub(crate) fn run() -> Result<()> {
    let mut rows = Vec::new();
    for (name, step) in STEPS {
        println!("==> {name}");
        let begun = Instant::now();
        let result = step();
        if let Ok(Skipped(why)) = result {
            println!("    NOTICE: {why}");
        }
        let state = match &result {
            Ok(Passed) => "passed".to_owned(),
            Ok(Skipped(why)) => format!("skipped: {why}"),
            Err(_) => "FAILED".to_owned(),
        };
        rows.push((*name, begun.elapsed(), state));
        if let Err(error) = result {
            print!("{}", table(&rows));
            return Err(error.context(format!("step `{name}` failed")));
        }
    }
    print!("{}", table(&rows));
    Ok(())
}

fn table(rows: &[(&str, Duration, String)]) -> String {
    let mut table = String::from("\n");
    for (name, time, state) in rows {
        table += &format!("{name:<14} {:>7.1} s  {state}\n", time.as_secs_f64());
    }
    let total: Duration = rows.iter().map(|(_, time, _)| *time).sum();
    table + &format!("{:<14} {:>7.1} s\n", "total", total.as_secs_f64())
}

fn format() -> Result<Outcome> {
    shell::run(&mut cargo("fmt --all --check"), "run `cargo fmt --all` and look at what it changed")?;
    Ok(Passed)
}

fn lints() -> Result<Outcome> {
    let hint = "fix what clippy names; silence a lint only with `#[expect(…, reason = \"…\")]`";
    shell::run(&mut cargo("clippy --workspace --all-targets -- -D warnings"), hint)?;
    Ok(Passed)
}

fn tests() -> Result<Outcome> {
    let hint = "run the failed test alone: `cargo test --workspace NAME`";
    shell::run(&mut cargo("test --workspace"), hint)?;
    Ok(Passed)
}

/// The README's first command is `cargo run -- demo`: whatever is added to the workspace, it has to find the program.
fn first_command() -> Result<Outcome> {
    let hint = "`cargo run` at the root must start attune: look at default-members and default-run";
    shell::run(&mut cargo("run --quiet -- demo --help"), hint)?;
    Ok(Passed)
}

/// Each feature of each crate by itself, and each crate without any: a server's author does not want the client's
/// dependencies, nor a client's the server's.
fn each_feature() -> Result<Outcome> {
    let metadata = output(&mut cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("what `cargo metadata` printed")?;
    for check in feature_checks(&metadata.packages) {
        let hint = "something is used that only another feature brings along: name it in this feature too";
        shell::run(&mut cargo(&check), hint)?;
    }
    Ok(Passed)
}

/// The part of `cargo metadata` that is read here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    rust_version: Option<String>,
    features: BTreeMap<String, Vec<String>>,
}

fn feature_checks(packages: &[Package]) -> Vec<String> {
    let mut checks = Vec::new();
    for Package { name, features, .. } in packages.iter().filter(|package| !package.features.is_empty()) {
        let check = format!("check -p {name} --no-default-features");
        let alone = features.keys().filter(|feature| *feature != "default");
        checks.extend(alone.map(|feature| format!("{check} --features {feature}")));
        checks.push(check);
    }
    checks
}

/// Builds with the oldest compiler that is promised, where rustup has it. Where it has not, clippy's `incompatible_msrv`
/// still knows what of the standard library is newer.
fn oldest_compiler() -> Result<Outcome> {
    let metadata = output(&mut cargo("metadata --no-deps --format-version 1"))?;
    let metadata: Metadata = serde_json::from_str(&metadata).context("what `cargo metadata` printed")?;
    let promised = metadata.packages.iter().find_map(|package| package.rust_version.clone());
    let promised = promised.context("no crate says its rust-version")?;
    let run = |arguments: &str| program("rustup", &format!("run {promised} cargo {arguments}"));
    if !shell::succeeds(&mut run("--version")) {
        return Ok(Skipped(
            "rustup does not have the compiler of `rust-version`: IT DID NOT BUILD, and only clippy looked for what is newer",
        ));
    }
    let hint = "what the compiler names is newer than `rust-version` in Cargo.toml: write it otherwise, or promise less";
    shell::run(&mut run("check --workspace --lib --bins --target-dir target/msrv"), hint)?;
    Ok(Passed)
}

fn documentation() -> Result<Outcome> {
    let mut doc = cargo("doc --workspace --no-deps");
    shell::run(
        doc.env("RUSTDOCFLAGS", "-D warnings"),
        "mend the doc comment that rustdoc names; a link to a private item becomes plain code",
    )?;
    Ok(Passed)
}

fn benches() -> Result<Outcome> {
    let hint = "a benchmark no longer compiles: change it together with what it measures";
    shell::run(&mut cargo("check --workspace --benches"), hint)?;
    Ok(Passed)
}

/// `fuzz/` is a workspace of its own, because its targets only link with a fuzzer; checking them does not.
fn fuzz() -> Result<Outcome> {
    if !shell::root().join("fuzz/Cargo.toml").exists() {
        return Ok(Skipped("there is no fuzz/Cargo.toml yet"));
    }
    let hint = "a fuzz target no longer compiles: change it together with the parser it feeds";
    shell::run(&mut cargo("check --manifest-path fuzz/Cargo.toml --bins"), hint)?;
    Ok(Passed)
}

/// The pure crates build where there are no files, sockets or threads.
fn wasm() -> Result<Outcome> {
    if !has_wasm()? {
        if !shell::succeeds(&mut program("rustup", "--version")) {
            return Ok(Skipped(
                "neither rustup nor the target wasm32-unknown-unknown is here: THE PURE CRATES WERE NOT CHECKED FOR WASM",
            ));
        }
        let hint = "the target comes from the network: connect, or install it beforehand with \
                    `rustup target add wasm32-unknown-unknown`";
        shell::run(&mut program("rustup", &format!("target add {WASM}")), hint)?;
    }
    let hint = "the pure crates may not use files, sockets, clocks or threads, nor a dependency that does";
    shell::run(
        &mut cargo(&format!(
            "check -p mcp-attune-wire -p mcp-attune -p mcp-attune-format -p mcp-attune-shape -p mcp-attune-bundle --target {WASM}"
        )),
        hint,
    )?;
    Ok(Passed)
}

/// Whether the compiler has the target's library, whoever installed it.
fn has_wasm() -> Result<bool> {
    let folder = output(&mut program("rustc", &format!("--print target-libdir --target {WASM}")))
        .context("could not ask rustc for its wasm library")?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn deny() -> Result<Outcome> {
    if !shell::succeeds(&mut cargo("deny --version")) {
        return Ok(Skipped("cargo-deny is not installed; the licences were checked by the step before"));
    }
    let hint = "see what deny.toml says about it, and prefer another dependency to another exception";
    shell::run(&mut cargo("deny check bans licenses sources"), hint)?;
    if !shell::succeeds(&mut cargo("deny fetch db")) {
        return Ok(Skipped("the advisories only: their database cannot be had here"));
    }
    let hint = "update the dependency that the advisory names: `cargo update -p NAME`";
    shell::run(&mut cargo("deny check advisories"), hint)?;
    Ok(Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_checked_alone_and_each_crate_without_any() {
        let features = ["client", "default", "server"].map(|name| (name.to_owned(), Vec::new()));
        let package = |name: &str, features| Package { name: name.to_owned(), rust_version: None, features };
        let checks =
            feature_checks(&[package("one", BTreeMap::new()), package("two", BTreeMap::from(features))]);
        let expected = [
            "check -p two --no-default-features --features client",
            "check -p two --no-default-features --features server",
            "check -p two --no-default-features",
        ];
        assert_eq!(checks, expected);
    }

    #[test]
    fn the_table_has_a_row_for_each_step_and_the_total() {
        let rows = [
            ("format", Duration::from_millis(1500), "passed".to_owned()),
            ("wasm", Duration::from_secs(61), "FAILED".to_owned()),
        ];
        let expected = "\nformat             1.5 s  passed\nwasm              61.0 s  FAILED\ntotal             62.5 s\n";
        assert_eq!(table(&rows), expected);
    }
}

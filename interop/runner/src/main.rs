//! `cargo xtask interop`: other people's software against ours, one test a cell.
//!
//! 1. A cell starts servers, lets somebody else's program talk to them directly and through the gateway, and says what
//!    is wrong. Its name is `part::cell`.
//! 2. What several cells need is made when the first of them asks.
//! 3. What cannot be installed here fails, or with `--if-possible` is a skipped cell with a notice of its own, so that CI
//!    can go on without it. It never passes.
//! 4. What came of each cell is in `target/interop/junit.xml`, and what was seen in `target/interop/seen`.

mod install;

mod cell;
mod suite;
mod junit;

mod servers;
mod packages;
mod http;
mod nginx;

mod agents;
mod aliases;
mod bound;
mod bundles;
mod callers;
mod checks;
mod clients;
mod referee;
mod judged;
mod judging;
mod local;
mod operating;
mod preview;
mod replicas;
mod roles;
mod shaped;
mod tokens;
mod when;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use kit::report::{self, hinted};

use suite::{Options, Outcome, Part, Verdict};

const USAGE: &str = "\
Usage: cargo xtask interop [--quick] [--if-possible] [--list] [PART or a piece of a cell's name]…";

const fn part(
    name: &'static str,
    title: &'static str,
    at_once: [usize; 2],
    cells: fn(bool) -> Result<Vec<cell::Cell>>,
) -> Part {
    Part { name, title, at_once, cells }
}

static PARTS: &[Part] = &[
    part("referee", "the official referee", [1, 1], referee::cells),
    part("judged", "our client before the official referee", [1, 1], judged::cells),
    part("abroad", "our client at servers of other people", [4, 4], judged::cells_at_others),
    part("check", "our referee", [1, 1], judging::cells),
    // Of many clients at once, some would time out.
    part("clients", "clients and servers of other people", [4, 1], clients::cells),
    part("oauth", "servers that are protected by OAuth", [1, 1], clients::cells_with_tokens),
    part("calls", "many calls at once", [1, 1], clients::cells_of_many_calls),
    part("aliases", "other spellings at web servers", [4, 4], aliases::cells),
    part("local", "local servers", [2, 2], local::cells),
    part("catalog", "catalogs of local servers", [1, 1], local::catalog::cells),
    part("audit", "what results of local servers cost", [1, 1], local::audit::cells),
    part("savings", "what profiles save the models of known clients", [1, 1], local::savings::cells),
    part("bound", "arguments bound to the context", [1, 1], bound::cells),
    part("desktop", "a desktop whose client says nothing", [1, 1], local::desktop::cells),
    part("shaped", "content negotiation", [1, 1], shaped::cells),
    part("replicas", "replicas behind nginx", [1, 1], replicas::cells),
    part("callers", "callers behind nginx", [1, 1], callers::cells),
    part("tokens", "tokens of an OpenID provider", [1, 1], tokens::cells),
    part("operating", "the page for operators", [1, 1], operating::cells),
    part("preview", "the preview in a browser", [1, 1], preview::cells),
    part("when", "expressions of time in Python", [1, 1], when::cells),
    part("bundles", "bundles beside the official tool", [1, 1], bundles::cells),
    part("roles", "the first hour of eight people", [1, 1], roles::cells),
    part("agents", "the atlas of clients, measured anew", [1, 1], agents::cells),
];

fn main() -> ExitCode {
    match Options::parse(std::env::args().skip(1)) {
        Err(word) => {
            eprintln!("error: there is no option `{word}`\n\n{USAGE}");
            ExitCode::from(2)
        }
        Ok(options) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => report::failure(&error),
        },
    }
}

fn run(options: &Options) -> Result<()> {
    let hint = "`cargo xtask interop --list` prints the names of all cells";
    let selected = suite::select(PARTS, options).map_err(|error| hinted(error.to_string(), hint))?;
    if options.list {
        for (part, cells) in &selected {
            cells.iter().for_each(|cell| println!("{}::{}", part.name, cell.name));
        }
        return Ok(());
    }
    let mut outcomes = Vec::new();
    for (part, cells) in selected {
        outcomes.extend(suite::run(part, cells, options));
    }
    let file = install::folder().join("junit.xml");
    fs::create_dir_all(install::folder())?;
    fs::write(&file, junit::write(&outcomes))
        .with_context(|| format!("could not write {}", file.display()))?;
    if options.write {
        // Each writes its table if its part has run.
        judging::write()?;
        local::savings::write()?;
    }
    conclude(&outcomes)
}

fn conclude(outcomes: &[Outcome]) -> Result<()> {
    let count = |is: fn(&Verdict) -> bool| outcomes.iter().filter(|outcome| is(&outcome.verdict)).count();
    let skipped = count(|verdict| matches!(verdict, Verdict::Skipped(_)));
    let failed = count(|verdict| matches!(verdict, Verdict::Failed(_) | Verdict::Broken(_)));
    let passed = outcomes.len() - skipped - failed;
    println!("interop: {passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 {
        return Ok(());
    }
    let what = if failed == 1 { "1 cell".to_owned() } else { format!("{failed} cells") };
    Err(hinted(
        format!("interop: {what} failed"),
        "target/interop/junit.xml says which, and target/interop/seen has what was seen",
    ))
}

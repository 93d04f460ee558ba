//! What the maintainers run: `cargo xtask COMMAND`.

// What is checked and written,
mod cldr;
mod count;
mod spec;
mod tidy;

// what runs with other people's software, and for long,
mod interop;
mod mutants;

mod soak;

// what is handed out and measured,
mod rig;

mod release;

mod bench;

// and all that CI runs.
mod ci;

use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  ci              everything that CI checks, in order, up to the first failure
  spec [--check]  check the ledger of rules against the tests, and write docs/rules.md (or compare it)
  cldr [--check]  write the tables of languages from Unicode's data (or compare them)
  tidy [--names]  check what the compiler does not: style, links, paths and commands in documents; or print which type
                  names are defined more than once
  count           count the instructions of what docs/performance.md lists
  bench           measure the gateway beside nginx, and write the figures into docs/performance.md
                  (needs wrk, nginx and rustup's llvm-tools)
  bench results [--build debug|release]
                  the part of it that is about answers which are changed: translated, or shaped for agents and for
                  people (needs wrk and nginx); with one build of cargo's own it is a try, and writes no document
  bench stdio     the part of it that is about servers which are programs (needs wrk and llvm-tools)
  release [--check]
                  build attune as it is handed out, trained with callers of all kinds (needs rustup's
                  llvm-tools); or see that what is built for tests answers these callers
  mutants [MODULE]
                  change one thing after another in a module of the core, or in all of `http1`, and see that its
                  tests notice (needs cargo-mutants); without a name, the modules where every change should be noticed
  soak [--calls N] [--seed S]
                  let callers and a server do what they should not while many calls run (a million where no
                  number is given), and see that nobody gets another's answer
  interop [--quick] [--if-possible] [--list] [NAME]...
                  let other people's software talk to ours directly and through the gateway (needs npm
                  and Python); quick is what CI runs, and what cannot be installed can be skipped with a notice instead
                  of failing; a name is that of a part, or a piece of a cell's name, and --list prints all of them;
                  writes target/interop/junit.xml
  interop check   the part of it that is our own referee, and write its table into docs/referee.md
  interop savings the part of it that counts what client profiles save, and write its table into docs/clients.md
  interop aliases the part of it that sends other spellings of the endpoint, of methods, headers and messages to
                  web servers of other people (needs npm and Python, and Go for one of them)
  interop roles   the part of it that is the first hour of the people whom Attune is for, command by command, and how
                  long each takes to a first success (needs npm and Python)
  interop operating
                  the part of it that runs the snippets of docs/operating.md with nginx, Caddy and systemd";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if matches!(words.as_slice(), [] | ["help" | "--help" | "-h"]) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let Some(command) = command(&words) else {
        eprintln!("error: there is no command `cargo xtask {}`\n\n{USAGE}", words.join(" "));
        return ExitCode::from(2);
    };
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => kit::report::failure(&error),
    }
}

/// The one list of commands. `tidy` asks it too, so a document cannot name a command that is gone.
fn command(words: &[&str]) -> Option<fn() -> anyhow::Result<()>> {
    Some(match words {
        ["bench"] => bench::run,
        ["bench", "results"] => bench::results,
        ["bench", "results", "--build", "debug"] => || bench::results_of(bench::Profile::Debug),
        ["bench", "results", "--build", "release"] => || bench::results_of(bench::Profile::Release),
        ["bench", "stdio"] => bench::stdio,
        ["ci"] => ci::run,
        ["spec"] => || spec::run(false),
        ["spec", "--check"] => || spec::run(true),
        ["cldr"] => || cldr::run(false),
        ["cldr", "--check"] => || cldr::run(true),
        ["tidy"] => tidy::run,
        ["tidy", "--names"] => tidy::type_names,
        ["count"] => count::run,
        ["mutants", words @ ..] if mutants::accepts(words) => mutants::run,
        ["release"] => release::run,
        ["release", "--check"] => release::check,
        ["soak", options @ ..] if soak::Options::parse(options).is_some() => soak::run,
        ["interop", words @ ..] if interop::accepts(words) => interop::run,
        _ => return None,
    })
}

//! `cargo xtask count`: instructions, counted by valgrind, which say the same on a busy machine as on an idle one.

use std::path::Path;

use anyhow::{Context, Result};

use kit::report::hinted;
use kit::shell::built;

/// What is counted, and what it is compared with.
const ROWS: &[(&str, Option<&str>)] = &[
    ("read/rows/attune/1", Some("read/rows/serde_json/1")),
    ("read/rows/attune/16", Some("read/rows/serde_json/16")),
    ("read/rows/attune/256", Some("read/rows/serde_json/256")),
    ("read/prose/attune/1", Some("read/prose/serde_json/1")),
    ("read/prose/attune/16", Some("read/prose/serde_json/16")),
    ("read/prose/attune/256", Some("read/prose/serde_json/256")),
    ("agree/none", Some("read/rows/attune/1")),
    ("agree/three", Some("read/rows/attune/1")),
    ("negotiate/usual", None),
    ("negotiate/tie", None),
    ("negotiate/relative", None),
    ("answer/agent", Some("answer/parse")),
    ("answer/human", Some("answer/parse")),
    ("answer/human/de-CH", Some("answer/parse")),
];

/// Prints the table that `docs/performance.md` holds.
pub(crate) fn run() -> Result<()> {
    let binary = built("bench -p benches --bench count --no-run")?;
    println!("| what | instructions | compared with | instructions | ratio |\n|---|---:|---|---:|---:|");
    for (what, other) in ROWS {
        let ours = cost(&binary, what)?;
        match other {
            Some(other) => {
                let theirs = cost(&binary, other)?;
                let ratio = ours as f64 / theirs.max(1) as f64;
                println!("| `{what}` | {ours} | `{other}` | {theirs} | {ratio:.2} |");
            }
            None => println!("| `{what}` | {ours} | | | |"),
        }
    }
    Ok(())
}

/// The instructions of one round: two runs of different length, so that starting the program cancels out.
fn cost(binary: &Path, what: &str) -> Result<u64> {
    let (few, many) = (10, 50);
    Ok((instructions(binary, what, many)? - instructions(binary, what, few)?) / (many - few))
}

fn instructions(binary: &Path, what: &str, times: u64) -> Result<u64> {
    let mut valgrind = std::process::Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(binary)
        .arg(what)
        .arg(times.to_string());
    let missing = || hinted("could not run valgrind", "install it: the package is called valgrind");
    let ran = valgrind.output().map_err(|_| missing())?;
    let told = String::from_utf8_lossy(&ran.stderr);
    total(&told).with_context(|| format!("valgrind did not say how many instructions `{what}` took: {told}"))
}

/// The figure after `refs:`.
fn total(told: &str) -> Option<u64> {
    let line = told.lines().find_map(|line| line.split_once("refs:"))?.1;
    line.replace(',', "").trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_figure_in_what_valgrind_says() {
        let told = "==1== Events    : Ir\n==1== Collected : 1234567\n==1== I   refs:      1,234,567\n";
        assert_eq!(total(told), Some(1_234_567));
        assert_eq!(total("==1== no figures"), None);
    }
}

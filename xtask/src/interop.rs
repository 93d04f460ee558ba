//! `cargo xtask interop`: the suite in `interop/runner`, which lets other people's software talk to ours.

use anyhow::Result;

use kit::shell::{self, cargo};

/// Whether these are options of the suite; what is no option is the name of a part or a piece of a cell's name.
pub(crate) fn accepts(words: &[&str]) -> bool {
    let option =
        |word: &&str| !word.starts_with('-') || matches!(*word, "--quick" | "--if-possible" | "--list");
    words.iter().all(option)
}

/// Runs the cells that the command line names. `interop check` alone also writes its table into `docs/referee.md`, and
/// `interop savings` alone into `docs/clients.md`.
pub(crate) fn run() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(2).collect();
    if words == ["check"] || words == ["savings"] {
        words.push("--write".to_owned());
    }
    let mut runner = cargo("run --quiet --package interop-runner --");
    shell::run(runner.args(words), "target/interop/junit.xml says what came of each cell")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_options_and_names_and_nothing_else() {
        assert!(accepts(&[]) && accepts(&["--quick", "--if-possible"]) && accepts(&["aliases", "roles"]));
        assert!(!accepts(&["--fast"]));
    }
}

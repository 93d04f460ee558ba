//! What the README shows is what happens.

use std::path::Path;
use std::process::Command;

use crate::text;

const README: &str = include_str!("../../../../README.md");

/// The blocks of one language, without their fences.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    README.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

/// Runs a command line in a shell, as it is pasted into one, and returns what it prints.
fn run(line: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let binary = Path::new(env!("CARGO_BIN_EXE_attune")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", line])
        .env("PATH", path)
        .current_dir(root)
        .output()
        .expect("sh starts");
    assert!(output.stderr.is_empty(), "{line}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

#[test]
#[cfg(unix)]
fn commands_of_the_tour_print_what_it_shows() {
    let mut count = 0;
    for block in blocks("console") {
        for example in block.split("$ ").filter(|example| !example.is_empty()) {
            let (line, shown) = example.split_once('\n').expect("a command on its line");
            let printed = run(line);
            assert!(shown.is_empty() && !printed.is_empty() || printed == shown, "{line}\n{printed}");
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} commands found");
}

/// That it runs, and that what it prints works, is seen in `serving.rs`.
#[test]
fn the_first_command_is_the_demo() {
    assert_eq!(blocks("sh")[0].lines().next(), Some("cargo run --release -- demo"));
}

#[test]
fn the_second_command_is_the_one_that_ci_runs() {
    assert_eq!(blocks("sh")[0].lines().nth(1), Some("cargo test --workspace"));
    let ci = include_str!("../../../../xtask/src/ci/mod.rs");
    assert!(ci.contains("cargo(\"test --workspace\")"));
}

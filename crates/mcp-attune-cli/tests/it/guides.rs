//! The guides of `docs/`, done step by step: files are written as they show them, and commands print what they show.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{code, text};

/// Goes through a guide in a folder of its own, and counts the commands.
fn follow(name: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = fs::read_to_string(root.join("docs").join(name)).expect("the guide");
    let folder = std::env::temp_dir().join(format!("attune-guide-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("locales")).expect("a folder");
    let mut count = 0;
    for block in guide.split("\n```").skip(1).step_by(2) {
        let (kind, inside) = block.split_once('\n').expect("a kind of block");
        match kind.split_once(' ').unwrap_or((kind, "")) {
            ("console", "") => {
                for example in format!("\n{inside}\n").split("\n$ ").skip(1) {
                    let (line, shown) = example.split_once('\n').expect("a command on its line");
                    run(line, shown.trim_end_matches('\n'), &folder);
                    count += 1;
                }
            }
            ("toml", "") => fs::write(folder.join("attune.toml"), inside).expect("a file"),
            // A part of a file.
            ("json", "") => {
                let part: Result<serde_json::Value, _> = serde_json::from_str(inside);
                assert!(part.is_ok(), "{name}: {inside}");
            }
            // What is seen elsewhere, in a log or in metrics.
            ("jinja" | "text", "") => {}
            ("json" | "jinja", file) => {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                fs::write(file, inside).expect("a file");
            }
            (other, _) => panic!("{name}: nothing is known to do with a block of {other}"),
        }
    }
    fs::remove_dir_all(folder).expect("a folder");
    count
}

/// A command exits with 0, or with the code in its comment, and prints what is shown.
fn run(line: &str, shown: &str, folder: &Path) {
    let binary = Path::new(env!("CARGO_BIN_EXE_attune")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let expected = line.rsplit_once("# exit ").map_or(0, |(_, code)| code.parse().expect("a code"));
    let output = Command::new("sh").args(["-c", line]).env("PATH", path).current_dir(folder).output();
    let output = output.expect("sh starts");
    assert_eq!(code(&output), expected, "{line}\n{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim_end_matches('\n'), shown, "{line}\n{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{line}: {}", text(&output.stderr));
}

#[test]
fn what_translators_are_shown_is_what_happens() {
    assert!(follow("translating.md") >= 3);
}

#[test]
fn what_authors_of_bundles_are_shown_is_what_happens() {
    assert!(follow("bundles.md") >= 2);
}

#[test]
fn what_operators_are_shown_is_what_happens() {
    assert!(follow("localizing.md") >= 8);
}

#[test]
fn what_is_shown_of_enforcing_is_what_happens() {
    assert!(follow("enforcing.md") >= 2);
}

#[test]
fn what_is_shown_of_templates_is_what_happens() {
    assert!(follow("templates.md") >= 2);
}

#[test]
fn what_is_shown_of_clients_is_what_happens() {
    assert!(follow("clients.md") >= 1);
}

#[test]
fn what_is_shown_of_asking_is_what_happens() {
    assert!(follow("asking.md") >= 3);
}

#[test]
fn what_users_of_desktop_clients_are_shown_is_what_happens() {
    assert!(follow("desktop.md") >= 6);
}

#[test]
fn what_is_shown_of_the_referee_is_what_happens() {
    assert!(follow("referee.md") >= 1);
}

#[test]
#[cfg(feature = "audit")]
fn what_is_shown_of_costs_is_what_happens() {
    assert!(follow("auditing.md") >= 4);
}

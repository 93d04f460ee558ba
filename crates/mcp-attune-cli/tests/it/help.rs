//! What `--help` promises.

use std::path::Path;
use std::process::Command;

use crate::{code, text};

/// The help of a command, and of all commands below it.
fn helps(command: &[String]) -> Vec<(String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(command)
        .arg("--help")
        .output()
        .expect("attune starts");
    assert_eq!(code(&output), 0, "attune {} --help", command.join(" "));
    let help = text(&output.stdout).to_owned();
    // The commands stand indented between the usage and the options; those of `attune` itself in groups.
    let below: Vec<String> = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| *line != "Options:" && *line != "Arguments:")
        // A long description goes on below the name, further to the right.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    let mut helps = vec![(format!("attune {}", command.join(" ")), help)];
    for name in below {
        helps.extend(self::helps(&[command, &[name]].concat()));
    }
    helps
}

/// The lines `$ attune …` and `$ … | attune …` under `Examples:`.
fn examples(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Examples:").map(str::trim);
    let runs = |line: &&str| line.starts_with("attune ") || line.contains("| attune ");
    lines.filter_map(|line| line.strip_prefix("$ ")).filter(runs)
}

/// Examples run in a shell, as they are pasted into one. They exit with 0, or with the code in their comment.
#[test]
#[cfg(unix)]
fn every_example_in_help_runs() {
    let binary = Path::new(env!("CARGO_BIN_EXE_attune")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (command, help) in helps(&[]) {
        assert!(examples(&help).next().is_some(), "`{command} --help` has no example");
        for example in examples(&help) {
            let expected =
                example.rsplit_once("# exit ").map_or(0, |(_, code)| code.parse().expect("a code"));
            let output =
                Command::new("sh").args(["-c", example]).env("PATH", &path).current_dir(&root).output();
            let output = output.expect("sh starts");
            assert_eq!(code(&output), expected, "{example}\n{}", text(&output.stderr));
        }
    }
}

#[test]
fn the_version_says_what_was_built() {
    let printed = crate::attune(&["--version"]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(printed.starts_with(&format!("exit: 0\n--- stdout\nattune {version} (")), "{printed}");
    assert!(printed.contains(std::env::consts::ARCH) && printed.contains(")\n"), "{printed}");
    assert_eq!(crate::attune(&["-V"]), format!("exit: 0\n--- stdout\nattune {version}\n--- stderr\n"));
}

#[test]
fn help_of_every_command_is_found() {
    let mut commands: Vec<String> = helps(&[]).into_iter().map(|(command, _)| command).collect();
    let expected = [
        "attune ",
        "attune audit",
        "attune bundle",
        "attune bundle coverage",
        "attune bundle icon",
        "attune bundle info",
        "attune bundle new-locale",
        "attune bundle pack",
        "attune bundle preview",
        "attune bundle resolve",
        "attune bundle validate",
        "attune call",
        "attune catalog",
        "attune catalog extract",
        "attune catalog status",
        "attune catalog lint",
        "attune catalog pseudo",
        "attune check",
        "attune config",
        "attune config check",
        "attune config schema",
        "attune config example",
        "attune context",
        "attune context check",
        "attune context resolve",
        "attune context show",
        "attune demo",
        "attune discover",
        "attune explain",
        "attune features",
        "attune features parse",
        "attune init",
        "attune language",
        "attune language check",
        "attune language negotiate",
        "attune prompt",
        "attune prompts",
        "attune read",
        "attune resources",
        "attune serve",
        "attune stdio",
        "attune template",
        "attune template render",
        "attune tools",
    ];
    let built = |command: &&str| cfg!(feature = "audit") || *command != "attune audit";
    let mut expected: Vec<_> = expected.into_iter().filter(built).map(str::to_owned).collect();
    expected.sort();
    commands.sort();
    assert_eq!(commands, expected);
}

//! What `--help` promises.

use std::path::Path;
use std::process::Command;

use crate::{code, text};

#[path = "../../build.rs"]
#[allow(dead_code, reason = "it is a program of its own")]
mod build;

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

/// Runs an example in a shell, as it is pasted into one. It exits with 0, or with the code in its comment.
#[cfg(unix)]
fn run(example: &str) {
    let binary = Path::new(env!("CARGO_BIN_EXE_attune")).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let expected = example.rsplit_once("# exit ").map_or(0, |(_, code)| code.parse().expect("a code"));
    let output = Command::new("sh").args(["-c", example]).env("PATH", &path).current_dir(&root).output();
    let output = output.expect("sh starts");
    assert_eq!(code(&output), expected, "{example}\n{}", text(&output.stderr));
}

/// Their examples are not run: some serve until they are stopped, and one writes into a bundle of the reader's.
const NOT_RUN: [&str; 4] = ["attune demo", "attune serve", "attune stdio", "attune bundle new-locale"];

#[test]
#[cfg(unix)]
fn every_example_in_help_runs() {
    for (command, help) in helps(&[]) {
        if NOT_RUN.contains(&command.as_str()) {
            assert!(help.contains("\nExamples"), "`{command} --help` has no example");
        } else {
            assert!(examples(&help).next().is_some(), "`{command} --help` has no example");
        }
        assert!(!help.contains("# exit "), "`{command} --help` shows what fails; FAILING is for that");
        examples(&help).for_each(run);
    }
}

/// Mistakes that people make. They are no examples for help, but they end as they should.
#[cfg(unix)]
const FAILING: [&str; 26] = [
    "attune bundle info examples/nowhere # exit 2",
    "attune bundle new-locale examples/bundle de # exit 1",
    "attune bundle new-locale examples/bundle french- # exit 2",
    "attune features explain loud # exit 2",
    "attune features describe example.com # exit 2",
    "attune catalog pseudo crates/mcp-attune-demo/locales --locale de # exit 2",
    "attune catalog extract --out target/locales-of-help -- no-such-program # exit 2",
    "attune catalog status nowhere # exit 2",
    "echo 'format=json' | attune features parse # exit 2",
    "attune bundle resolve --locale es_UY examples/bundle # exit 2",
    "attune bundle pack examples/nowhere # exit 2",
    "attune bundle validate examples # exit 2",
    "attune bundle preview --out - nowhere # exit 2",
    "attune read map://features/nowhere -- attune demo --bare --stdio # exit 1",
    "attune audit --call no_such_tool -- attune demo --bare --stdio # exit 2",
    "attune call get_wether location=Bern -- attune demo --bare --stdio # exit 2",
    "attune language check 'en;q=1.5' # exit 1",
    "attune discover example.com # exit 2",
    "attune prompt plan_trip -- attune demo --bare --stdio # exit 2",
    "attune context resolve soon # exit 2",
    "attune context show --timezone Mars/Olympus # exit 2",
    "attune context check --timezone +01:00 # exit 1",
    "attune install cursor tiem --file examples/desktop/mcp.json # exit 1",
    "attune install cursor time --file README.md # exit 2",
    "attune uninstall cursor time --file examples/desktop/mcp.json # exit 1",
    "attune check --rule G1 -- attune demo --bare --stdio # exit 2",
];

#[test]
#[cfg(unix)]
fn what_is_asked_wrongly_ends_with_its_code() {
    FAILING.into_iter().for_each(run);
}

#[test]
fn the_version_says_what_was_built() {
    let printed = crate::attune(&["--version"]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(printed.starts_with(&format!("exit: 0\n--- stdout\nattune {version} (")), "{printed}");
    assert!(printed.contains(std::env::consts::ARCH) && printed.contains(")\n"), "{printed}");
    assert_eq!(crate::attune(&["-V"]), format!("exit: 0\n--- stdout\nattune {version}\n--- stderr\n"));
}

/// Nobody builds a release for a test, so the program is asked that tells the version what was built.
#[test]
fn a_release_names_its_commit_and_its_day() {
    assert_eq!(build::built(false, Some(0)), ["debug build"]);
    for (seconds, day) in [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_798_761_599, "2026-12-31")] {
        assert_eq!(build::date(seconds), day);
    }
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(build::packaged(folder.path()), None);
    let packaged = "{\n  \"git\": {\n    \"sha1\": \"0123456789abcdef0123456789abcdef01234567\"\n  }\n}";
    std::fs::write(folder.path().join(".cargo_vcs_info.json"), packaged).expect("a file");
    assert_eq!(build::packaged(folder.path()).as_deref(), Some("0123456789ab"));
    // In a checkout; a copy without one tells the day alone.
    let commit = build::git(&["rev-parse", "--short=12", "HEAD"]);
    let told: Vec<_> = commit.into_iter().chain(["2000-02-29".to_owned()]).collect();
    assert_eq!(build::built(true, Some(951_782_400)), told);
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
        "attune clients",
        "attune clients explain",
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
        "attune features explain",
        "attune features describe",
        "attune init",
        "attune install",
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
        "attune uninstall",
    ];
    let built = |command: &&str| cfg!(feature = "audit") || *command != "attune audit";
    let mut expected: Vec<_> = expected.into_iter().filter(built).map(str::to_owned).collect();
    expected.sort();
    commands.sort();
    assert_eq!(commands, expected);
}

//! Two callers, in Zurich and in Los Angeles, and two servers of other people that know nothing of either: one tells the
//! time in a zone, the other lists commits between two moments. With their arguments bound, each caller gets their own
//! clock and their own day, with `attune stdio` in between and with `attune serve` in front, in both eras.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::cell::{Cell, Shared};
use super::install::{self, Unavailable};
use super::packages::{self, LEGACY, MODERN};
use super::servers::Ours;
use kit::running::Running;
use kit::shell;

const PATIENCE: Duration = Duration::from_secs(60);

/// What of both servers is bound.
pub(crate) const BINDINGS: &str = r#"
[tools.get_current_time.context]
timezone = { from = "timezone", hide = true }
[tools.git_log.context]
start_timestamp = { interval = "period", part = "start", hide = true }
end_timestamp = { interval = "period", part = "end", end = "inclusive", hide = true }
"#;

/// When each commit was made, by its message: the name says on which day it was where.
const COMMITS: [(&str, &str); 3] = [
    ("2026-11-12T05:00:00Z", "12-in-zurich-11-in-los-angeles"),
    ("2026-11-12T12:00:00Z", "12-in-both"),
    ("2026-11-12T23:30:00Z", "13-in-zurich-12-in-los-angeles"),
];
/// A quarter of an hour later.
const NOW: &str = "2026-11-12T23:45:00Z";

/// A caller's zone, its offset in summer and winter, and how many of the commits are of their today and yesterday.
const CALLERS: [(&str, [&str; 2], [usize; 2]); 2] =
    [("Europe/Zurich", ["+02:00", "+01:00"], [1, 2]), ("America/Los_Angeles", ["-07:00", "-08:00"], [2, 1])];

/// What all cells need: programs, a repository, and a configuration.
struct BoundSetup {
    folder: PathBuf,
    python: PathBuf,
    time: PathBuf,
    git: PathBuf,
}

impl BoundSetup {
    fn new() -> Result<Self> {
        let python = packages::python(&install::folder().join("clients/python")).context(Unavailable)?;
        let time = install::pypi("mcp-server-time==2026.10.19", "mcp-server-time")?;
        let git = install::pypi("mcp-server-git==2026.10.19", "mcp-server-git")?;
        let folder = install::folder().join("seen/bound");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let repository = folder.join("repository");
        fs::create_dir_all(&repository)?;
        commit(&repository, &COMMITS)?;
        fs::write(folder.join("attune.toml"), BINDINGS)?;
        Ok(Self { folder, python, time, git })
    }
}

/// Each server in each era, over pipes and over HTTP.
pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(BoundSetup::new));
    let mut cells = Vec::new();
    for name in ["time", "git"] {
        for era in [MODERN, LEGACY] {
            for way in ["stdio", "serve"] {
                let setup = setup.clone();
                cells.push(Cell::new(format!("{name}, {way}, {era}"), move || {
                    ask(setup.get()?, name, way, era)
                }));
            }
        }
    }
    Ok(cells)
}

fn ask(setup: &BoundSetup, name: &str, way: &str, era: &str) -> Result<Vec<String>> {
    let BoundSetup { folder, python, time, git } = setup;
    let ours = Ours::get()?;
    let (repository, config) = (folder.join("repository"), folder.join("attune.toml"));
    let (time, git, place) = (time.to_string_lossy(), git.to_string_lossy(), repository.to_string_lossy());
    let (config, attune) = (config.to_string_lossy(), ours.attune.to_string_lossy());
    let command = if name == "time" { vec![&*time] } else { vec![&*git, "--repository", &*place] };
    let steps = folder.join(format!("{name}.json"));
    fs::write(&steps, steps_of(name, &place).to_string())?;
    let words = [&["--config", &*config, "--"], &command[..]].concat();
    let gateway;
    let target = if way == "serve" {
        gateway = ours.gateway(&words, &format!("bound-{name}-{era}"))?;
        gateway.url.clone()
    } else {
        json!([&[&*attune, "stdio"], &words[..]].concat()).to_string()
    };
    let mut client = Command::new(python);
    client.arg(shell::root().join("interop/python/client.py")).args([&target, era, "--script"]);
    let output = Running::to_its_end(client.arg(&steps), PATIENCE)?;
    fs::write(folder.join(format!("{name}-{way}-{era}.jsonl")), &output.stdout)?;
    let came = outcomes(&output.stdout);
    if came.is_empty() {
        bail!("bound: {name}, {way}, {era}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let wrong = if name == "time" { wrong_times(&came) } else { wrong_days(&came) };
    println!("    {name}, {way}, {era}: {} steps, {} wrong", came.len(), wrong.len());
    Ok(wrong.into_iter().map(|wrong| format!("bound: {name}, {way}, {era}: {wrong}")).collect())
}

/// Makes a repository with commits of these times and messages, which have to be in the order of their times.
pub(crate) fn commit(folder: &Path, commits: &[(&str, &str)]) -> Result<()> {
    let git = |arguments: &[&str], time: &str| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false"]);
        git.env("GIT_AUTHOR_DATE", time).env("GIT_COMMITTER_DATE", time);
        shell::output(git.args(arguments).current_dir(folder))
    };
    git(&["init", "--quiet", "--initial-branch", "main"], "")?;
    for (time, message) in commits {
        git(&["commit", "--quiet", "--allow-empty", "--message", message], time)?;
    }
    Ok(())
}

/// A listing, then what each caller asks.
fn steps_of(server: &str, place: &str) -> Value {
    let mut steps = vec![json!({ "name": "lists", "do": "lists" })];
    for (zone, ..) in CALLERS {
        let context = json!({ "timezone": zone, "currentTimestamp": NOW });
        let mut call = |name: &str, what: &str, arguments: Value, context: &Value| {
            steps.push(json!({ "name": format!("{zone} {name}"), "do": "calls", "what": what,
                "arguments": arguments, "context": context }));
        };
        if server == "time" {
            call("now", "get_current_time", json!({}), &context);
            call("given", "get_current_time", json!({ "timezone": "Asia/Tokyo" }), &context);
        } else {
            for period in ["today", "yesterday", "soon"] {
                call(period, "git_log", json!({ "repo_path": place, "period": period }), &context);
            }
        }
    }
    json!(steps)
}

/// What came of each step, by its name.
fn outcomes(output: &[u8]) -> Vec<(String, String)> {
    let lines = String::from_utf8_lossy(output);
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some((line["step"].as_str()?.to_owned(), line["outcome"].to_string()))
    };
    lines.lines().filter_map(read).collect()
}

/// What came of a step, with the escapes of the texts in it taken away.
fn came(outcomes: &[(String, String)], step: &str) -> String {
    let found = outcomes.iter().find(|(name, _)| name == step);
    found.map(|(_, came)| came.replace('\\', "")).unwrap_or_default()
}

/// The arguments of a tool as it is listed, in the order of their names.
fn arguments(outcomes: &[(String, String)], tool: &str) -> Option<Vec<String>> {
    let (_, listed) = outcomes.iter().find(|(name, _)| name == "lists")?;
    let listed: Value = serde_json::from_str(listed).ok()?;
    let tools = listed["result"]["tools"]["tools"].as_array()?;
    let properties = &tools.iter().find(|listed| listed["name"] == tool)?["inputSchema"]["properties"];
    let mut names: Vec<_> = properties.as_object()?.keys().cloned().collect();
    names.sort();
    Some(names)
}

fn wrong_times(outcomes: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let names = arguments(outcomes, "get_current_time");
    if names != Some(Vec::new()) {
        wrong.push(format!("the tool is listed with {names:?}, which are hidden"));
    }
    for (zone, offsets, _) in CALLERS {
        let now = came(outcomes, &format!("{zone} now"));
        if !now.contains(zone) || !offsets.iter().any(|offset| now.contains(&format!("{offset}\""))) {
            wrong.push(format!("in {zone} it is {now}"));
        }
        let given = came(outcomes, &format!("{zone} given"));
        if !given.contains("Asia/Tokyo") || given.contains(zone) {
            wrong.push(format!("who asks for Tokyo in {zone} gets {given}"));
        }
    }
    wrong
}

fn wrong_days(outcomes: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let names = arguments(outcomes, "git_log");
    if names.as_deref() != Some(&["max_count", "period", "repo_path"].map(str::to_owned)[..]) {
        wrong.push(format!("the tool is listed with {names:?}"));
    }
    for (zone, _, counts) in CALLERS {
        for (period, count) in ["today", "yesterday"].into_iter().zip(counts) {
            let commits = came(outcomes, &format!("{zone} {period}"));
            let found = COMMITS.iter().filter(|(_, message)| commits.contains(message)).count();
            if found != count {
                wrong.push(format!("{found} of {count} commits of {period} in {zone}: {commits}"));
            }
        }
        let soon = came(outcomes, &format!("{zone} soon"));
        if !soon.contains("last N U") || !soon.contains("\"isError\":true") {
            wrong.push(format!("what cannot be read is answered with {soon}"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_as_it_should_be_is_found() {
        assert_eq!(wrong_times(&[]).len(), 5);
        assert_eq!(wrong_days(&[]).len(), 7);
    }
}

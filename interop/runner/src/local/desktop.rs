//! The desktop: a client that says nothing of its caller, `attune stdio --caller system`, and servers of other people. The
//! zone and the language of the system are those of the caller.
//!
//! 1. In each zone one server tells the time there, and the other lists the commits of "today", which begins at another
//!    moment in each. What day it is where is asked of Python before and after: it may change in between.
//! 2. What has a translation is listed in the language of the system.
//! 3. Both are started as a desktop client would: with the command that `attune install` wrote into its settings.
//! 4. Without the option, whatever the system says is of no account.
//!
//! The quick half has the zones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use super::list::{self, Server};
use super::outcomes::Outcomes;
use super::shared_server;
use crate::bound;
use crate::cell::{Cell, Shared};
use crate::install::{self, Unavailable};
use crate::packages::{self, LEGACY, MODERN};
use crate::servers::Ours;
use kit::running::Running;
use kit::shell;

const PATIENCE: Duration = Duration::from_secs(60);
const ZONES: [&str; 3] = ["Asia/Kathmandu", "Pacific/Apia", "America/Los_Angeles"];
const TITLE: &str = "Ein deutscher Titel";
const DESCRIPTION: &str = "Eine deutsche Beschreibung.";
/// A tool of each server whose texts are translated.
const TRANSLATED: [(&str, &str); 3] =
    [("filesystem", "read_text_file"), ("time", "get_current_time"), ("git", "git_log")];
const LOCALES: &str = r#"default_language = "en"

[locales]
path = "locales/${locale}.json"
translate = ["display", "model"]
"#;
/// All that says a language or a zone of a system.
const VARIABLES: [&str; 6] = ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_TIME", "LANG", "TZ"];

/// What stands between a client and its server.
#[derive(Clone, Copy)]
enum Between<'a> {
    Nothing,
    /// `attune stdio` with these options.
    Options(&'a [&'a str]),
    /// What `attune install` makes of the client's settings, with this configuration.
    Installed(&'a str),
}

pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for entry in list::read()? {
        let Some((_, tool)) = TRANSLATED.into_iter().find(|(name, _)| *name == entry.name) else { continue };
        let (name, server) = (entry.name.clone(), shared_server(entry));
        let mut cell = |title: String, test: Test| {
            let server: Arc<Shared<Server>> = server.clone();
            let run = move || Desktop::new(server.get()?, tool)?.with_eras(&test);
            cells.push(Cell::new(format!("{name}, {title}"), run));
        };
        for zone in ZONES {
            match &*name {
                "time" => cell(format!("now in {zone}"), Test::Clock(zone)),
                "git" => cell(format!("today in {zone}"), Test::Today(zone)),
                _ => {}
            }
        }
        if !quick {
            cell("in the system's language".to_owned(), Test::Language(tool));
            cell("without the option".to_owned(), Test::Nothing);
        }
    }
    Ok(cells)
}

#[derive(Clone, Copy)]
enum Test {
    Clock(&'static str),
    Today(&'static str),
    Language(&'static str),
    Nothing,
}

/// A server on a desktop.
struct Desktop<'a> {
    server: &'a Server,
    python: PathBuf,
    folder: PathBuf,
    attune: &'a Path,
}

impl<'a> Desktop<'a> {
    fn new(server: &'a Server, tool: &str) -> Result<Self> {
        let python = packages::python(&install::folder().join("clients/python")).context(Unavailable)?;
        let folder = server.seen("desktop");
        fs::create_dir_all(folder.join("locales"))?;
        fs::write(folder.join("bindings.toml"), bound::BINDINGS)?;
        fs::write(folder.join("locales.toml"), LOCALES)?;
        let german = json!({ "tools": { tool: { "title": TITLE, "description": DESCRIPTION } } });
        fs::write(folder.join("locales/de.json"), german.to_string())?;
        Ok(Self { server, python, folder, attune: &Ours::get()?.attune })
    }

    fn with_eras(&self, test: &Test) -> Result<Vec<String>> {
        let eras: &[&str] = if self.server.entry.modern { &[MODERN, LEGACY] } else { &[LEGACY] };
        let mut faults = Vec::new();
        for era in eras {
            let found = match *test {
                Test::Clock(zone) => self.clock(zone, era)?,
                Test::Today(zone) => self.today(zone, era)?,
                Test::Language(tool) => self.language(tool, era)?,
                Test::Nothing => self.nothing(era)?,
            };
            let name = &self.server.entry.name;
            faults.extend(found.into_iter().map(|fault| format!("desktop: {name}, {era}: {fault}")));
        }
        Ok(faults)
    }

    /// The time server says what time it is here.
    fn clock(&self, zone: &str, era: &str) -> Result<Vec<String>> {
        let steps = json!([{ "name": "now", "do": "calls", "what": "get_current_time" }]);
        let (days, came) = self.with_days(|| self.bound(zone, era, &steps))?;
        let told = &came.get("now")["result"]["structuredContent"];
        let (said, time) = (&told["timezone"], told["datetime"].as_str().unwrap_or_default());
        let fits = |day: &Day| time.starts_with(&day.date) && time.ends_with(&day.offset);
        let right = said == zone && days.iter().any(|days| days.get(zone).is_some_and(fits));
        Ok((!right).then(|| format!("in {zone} it is {}", came.get("now"))).into_iter().collect())
    }

    /// The git server lists the commits of today: shortly before and after midnight in every zone there is one.
    fn today(&self, zone: &str, era: &str) -> Result<Vec<String>> {
        let place = self.server.place();
        let steps = json!([{ "name": "today", "do": "calls", "what": "git_log",
            "arguments": { "repo_path": place, "period": "today", "max_count": 20 } }]);
        let mut commits = Vec::new();
        let (days, came) = self.with_days(|| {
            commits = commits_around(&self.days()?);
            let _ = fs::remove_dir_all(&place);
            fs::create_dir_all(&place)?;
            let dates: Vec<_> = commits.iter().map(|commit| format!("{commit} +0000")).collect();
            let messages: Vec<_> = commits.iter().map(|commit| format!("commit-at-{commit}")).collect();
            let commits: Vec<_> =
                dates.iter().map(String::as_str).zip(messages.iter().map(String::as_str)).collect();
            bound::commit(&place, &commits)?;
            self.bound(zone, era, &steps)
        })?;
        let told = came.get("today").to_string();
        let listed: Vec<_> =
            commits.iter().copied().filter(|commit| told.contains(&format!("commit-at-{commit}"))).collect();
        let expected = days.map(|days| days.get(zone).map(|day| day.of(&commits)).unwrap_or_default());
        let right = !listed.is_empty() && expected.contains(&listed);
        Ok((!right)
            .then(|| format!("today in {zone} has {listed:?} and not {expected:?}: {told}"))
            .into_iter()
            .collect())
    }

    /// A tool has the texts of the system's language where there are some, and its own elsewhere.
    fn language(&self, tool: &str, era: &str) -> Result<Vec<String>> {
        let steps = json!([{ "name": "lists", "do": "lists" }]);
        self.server.prepare()?;
        let own = self.asked(&[], Between::Nothing, era, &steps)?;
        let own = texts(own.get("lists"), tool);
        let mut faults = Vec::new();
        for (variables, is_german) in [
            (&["LANG=de_DE.UTF-8"][..], true),
            (&["LANG=en_US.UTF-8", "LANGUAGE=de_AT:en"], true),
            (&["LANG=fr_FR.UTF-8", "LC_ALL=de_CH.UTF-8@euro"], true),
            (&["LANG=fr_FR.UTF-8"], false),
            // gettext does not look at the list where the locale is none, so we do not either.
            (&["LANG=C.UTF-8", "LANGUAGE=de"], false),
        ] {
            let came = self.asked(variables, Between::Installed("locales.toml"), era, &steps)?;
            let seen = texts(came.get("lists"), tool);
            let expected =
                if is_german { [TITLE, DESCRIPTION].map(|text| Some(text.to_owned())) } else { own.clone() };
            if seen != expected {
                faults.push(format!("with {variables:?} the texts of {tool} are {seen:?}"));
            }
        }
        Ok(faults)
    }

    /// Whatever the system says, everything comes as the server says it; what is bound to nobody's zone is not filled from it.
    fn nothing(&self, era: &str) -> Result<Vec<String>> {
        let system = ["TZ=Asia/Kathmandu", "LANG=de_DE.UTF-8"];
        let ask = |between: Between<'_>| {
            let steps: Value = serde_json::from_slice(&fs::read(self.server.prepare()?)?)?;
            self.asked(&system, between, era, &steps)
        };
        let direct = ask(Between::Nothing)?;
        let mut faults = direct.unexpected(self.server.expected());
        for ours in
            [&[][..], &["--config", "locales.toml"], &["--config", "locales.toml", "--caller", "none"]]
        {
            faults.extend(
                ask(Between::Options(ours))?
                    .other_than(&direct)
                    .into_iter()
                    .map(|other| format!("{ours:?}: {other}")),
            );
        }
        if self.server.entry.name == "time" {
            let steps = json!([{ "name": "now", "do": "calls", "what": "get_current_time" }]);
            let came = self.asked(&system, Between::Options(&["--config", "bindings.toml"]), era, &steps)?;
            let now = came.get("now").to_string();
            if now == "null" || now.contains("Asia/Kathmandu") {
                faults.push(format!("a zone that nobody said: {now}"));
            }
        }
        Ok(faults)
    }

    /// Does the steps with what is bound, in a zone of the system.
    fn bound(&self, zone: &str, era: &str, steps: &Value) -> Result<Outcomes> {
        self.asked(&[&format!("TZ={zone}")], Between::Installed("bindings.toml"), era, steps)
    }

    /// Does the steps, with these variables of the system alone.
    fn asked(&self, variables: &[&str], between: Between<'_>, era: &str, steps: &Value) -> Result<Outcomes> {
        let mut command = vec!["env".to_owned()];
        command.extend(VARIABLES.iter().map(|name| format!("--unset={name}")));
        command.extend(variables.iter().map(|&variable| variable.to_owned()));
        command.extend(self.command(between)?);
        let script = self.folder.join("steps.json");
        fs::write(&script, steps.to_string())?;
        let mut client = Command::new(&self.python);
        client.arg(shell::root().join("interop/python/client.py"));
        client.args([&json!(command).to_string(), era, "--script"]).arg(script);
        let output = Running::to_its_end(&mut client, PATIENCE)?;
        fs::write(self.folder.join("came.jsonl"), &output.stdout)?;
        let outcomes = Outcomes::read(&String::from_utf8_lossy(&output.stdout));
        if outcomes.is_empty() {
            bail!("{}: {}", self.server.entry.name, String::from_utf8_lossy(&output.stderr));
        }
        Ok(outcomes)
    }

    /// What the client starts.
    fn command(&self, between: Between<'_>) -> Result<Vec<String>> {
        let own = self.server.command();
        Ok(match between {
            Between::Nothing => own,
            Between::Options(options) => {
                let path = |word: &str| self.folder.join(word).display().to_string();
                let options = options
                    .iter()
                    .map(|&word| if word.ends_with(".toml") { path(word) } else { word.to_owned() });
                let ours = [self.attune.display().to_string(), "stdio".to_owned()];
                ours.into_iter().chain(options).chain(["--".to_owned()]).chain(own).collect()
            }
            Between::Installed(config) => self.installed(&own, config)?,
        })
    }

    /// What stands in the settings of a client, which had the server's own command, after `attune install`.
    fn installed(&self, own: &[String], config: &str) -> Result<Vec<String>> {
        let (name, settings) = (&self.server.entry.name, self.folder.join("mcp.json"));
        let (program, arguments) = own.split_first().context("a server without a command")?;
        let before = json!({ "mcpServers": { name: { "command": program, "args": arguments } } });
        fs::write(&settings, before.to_string())?;
        let mut install = Command::new(self.attune);
        install.args(["install", "cursor", name, "--file"]).arg(&settings);
        shell::output(install.arg("--config").arg(self.folder.join(config)))?;
        let after: Value = serde_json::from_slice(&fs::read(&settings)?)?;
        started_by(&after["mcpServers"][name]).context("the settings have no command any more")
    }

    /// What came of something, and the days before and after it.
    fn with_days(&self, ask: impl FnOnce() -> Result<Outcomes>) -> Result<([Days; 2], Outcomes)> {
        let before = self.days()?;
        let came = ask()?;
        Ok(([before, self.days()?], came))
    }

    /// The day that it is now in each zone, by Python.
    fn days(&self) -> Result<Days> {
        let mut command = Command::new(&self.python);
        command.arg(shell::root().join("interop/python/days.py")).args(ZONES);
        Ok(serde_json::from_str(&shell::output(&mut command)?)?)
    }
}

/// The command of a server in a client's settings, and its arguments.
fn started_by(server: &Value) -> Option<Vec<String>> {
    let arguments = server["args"].as_array()?.iter();
    let words = std::iter::once(&server["command"]).chain(arguments);
    words.map(|word| Some(word.as_str()?.to_owned())).collect()
}

type Days = BTreeMap<String, Day>;

/// A day in a zone.
#[derive(Deserialize)]
struct Day {
    date: String,
    offset: String,
    /// Its first second since 1970, and that of the next day.
    start: i64,
    end: i64,
}

impl Day {
    fn of(&self, times: &[i64]) -> Vec<i64> {
        times.iter().copied().filter(|time| (self.start..self.end).contains(time)).collect()
    }
}

/// A minute before and after the beginning and the end of each day, in order.
fn commits_around(days: &Days) -> Vec<i64> {
    let mut times: Vec<_> =
        days.values().flat_map(|day| [day.start - 60, day.start + 60, day.end - 60, day.end + 60]).collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// The title and the description of a tool in a listing.
fn texts(listing: &Value, tool: &str) -> [Option<String>; 2] {
    let tools = listing["result"]["tools"]["tools"].as_array();
    let found = tools.and_then(|tools| tools.iter().find(|listed| listed["name"] == tool));
    ["title", "description"].map(|field| found.and_then(|tool| tool[field].as_str()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_has_other_commits_today() {
        let day = |start| Day { date: String::new(), offset: String::new(), start, end: start + 86400 };
        let days = Days::from([("a".to_owned(), day(0)), ("b".to_owned(), day(3600))]);
        let commits = commits_around(&days);
        assert_eq!(commits.len(), 8);
        assert_eq!(days["a"].of(&commits), [60, 3540, 3660, 86340]);
        assert_eq!(days["b"].of(&commits), [3660, 86340, 86460, 89940]);
    }

    #[test]
    fn a_server_is_started_by_its_command_and_arguments() {
        let server = json!({ "command": "attune", "args": ["stdio", "--", "uvx"] });
        assert_eq!(started_by(&server).unwrap(), ["attune", "stdio", "--", "uvx"]);
        assert_eq!(started_by(&json!({ "command": "attune", "args": [7] })), None);
        assert_eq!(started_by(&Value::Null), None);
    }

    #[test]
    fn texts_of_a_tool_that_is_not_there_are_none() {
        let listing = json!({ "result": { "tools": { "tools": [{ "name": "a", "title": "A" }] } } });
        assert_eq!(texts(&listing, "a"), [Some("A".to_owned()), None]);
        assert_eq!(texts(&Value::Null, "a"), [None, None]);
    }
}

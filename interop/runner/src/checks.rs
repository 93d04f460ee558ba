//! What the referee wrote about one run: every check, and how it ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// Checks by `scenario: name (id)`, each with how it ended. A check that comes more than once is numbered.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Checks(BTreeMap<String, Ending>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    /// What the referee says about it, if it does.
    pub(crate) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    Success,
    Failure,
    Warning,
    Skipped,
    /// Something that the referee only writes down.
    Info,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    id: String,
    name: String,
    status: Status,
    error_message: Option<String>,
}

impl Checks {
    /// Reads the results: one folder a scenario, whose name ends with a time.
    pub(crate) fn read(out: &Path) -> Result<Self> {
        let mut checks = Self::default();
        for entry in fs::read_dir(out).into_iter().flatten() {
            let folder = entry?.path();
            let file = folder.join("checks.json");
            let text =
                fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
            let scenario = scenario(&folder.file_name().unwrap_or_default().to_string_lossy());
            checks.add(&scenario, &text).with_context(|| format!("cannot read {}", file.display()))?;
        }
        Ok(checks)
    }

    fn add(&mut self, scenario: &str, text: &str) -> Result<()> {
        let entries: Vec<Entry> = serde_json::from_str(text)?;
        for entry in entries.into_iter().filter(|entry| entry.status != Status::Info) {
            let name = format!("{scenario}: {} ({})", entry.name, entry.id);
            let earlier = (2..).map(|count| format!("{name} no. {count}"));
            let free = std::iter::once(name.clone()).chain(earlier).find(|name| !self.0.contains_key(name));
            let why = entry.error_message.unwrap_or_default();
            self.0.insert(free.unwrap_or(name), Ending { status: entry.status, why });
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The checks of some scenarios only.
    pub(crate) fn of(&self, scenario: &str) -> Self {
        let of_it = self.0.iter().filter(|(name, _)| name.split(':').next() == Some(scenario));
        Self(of_it.map(|(name, ending)| (name.clone(), ending.clone())).collect())
    }

    /// What failed, or earned a warning.
    pub(crate) fn wrong(&self) -> impl Iterator<Item = (&str, &Ending)> {
        let wrong = |status| matches!(status, Status::Failure | Status::Warning);
        self.0
            .iter()
            .filter(move |(_, ending)| wrong(ending.status))
            .map(|(name, ending)| (name.as_str(), ending))
    }

    /// What passed.
    pub(crate) fn passed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, ending)| ending.status == Status::Success).map(|(name, _)| name.as_str())
    }

    /// What passes here and does not there.
    pub(crate) fn better_than(&self, other: &Self) -> Vec<&str> {
        let passes = |ending: Option<&Ending>| ending.is_some_and(|ending| ending.status == Status::Success);
        self.passed().filter(|name| !passes(other.0.get(*name))).collect()
    }

    /// What the referee says about a check.
    pub(crate) fn why(&self, name: &str) -> &str {
        self.0.get(name).map_or("not judged", |ending| ending.why.as_str())
    }

    pub(crate) fn tally(&self) -> String {
        let count = |status| self.0.values().filter(|ending| ending.status == status).count();
        let others =
            [(Status::Failure, "failed"), (Status::Warning, "warned of"), (Status::Skipped, "skipped")];
        let others = others.map(|(status, word)| (count(status), word));
        let others =
            others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!(", {count} {word}"));
        format!("{} passed", count(Status::Success)) + &others.collect::<String>()
    }
}

/// `server-tools-list-2026-11-15T04-06-23-246Z` → `tools-list`.
fn scenario(folder: &str) -> String {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let end = name.rfind('T').and_then(|at| at.checked_sub("-2026-11-15".len())).unwrap_or(name.len());
    name.get(..end).unwrap_or(name).to_owned()
}

/// Checks as the referee would write them: `[scenario, name, status]`, all with the id `id`.
#[cfg(test)]
pub(crate) fn written(list: &[[&str; 3]]) -> Checks {
    let mut checks = Checks::default();
    for [scenario, name, status] in list {
        checks.add(scenario, &entry(name, "id", status)).unwrap();
    }
    checks
}

/// One check with an id.
#[cfg(test)]
pub(crate) fn with_id(id: &str, status: &str) -> Checks {
    let mut checks = Checks::default();
    checks.add("s", &entry("a", id, status)).unwrap();
    checks
}

#[cfg(test)]
fn entry(name: &str, id: &str, status: &str) -> String {
    serde_json::json!([{ "id": id, "name": name, "status": status }]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_got_worse_and_what_got_better() {
        let direct = written(&[
            ["s", "a", "SUCCESS"],
            ["s", "b", "FAILURE"],
            ["s", "c", "SUCCESS"],
            ["s", "d", "SUCCESS"],
        ]);
        let through = written(&[["s", "a", "SUCCESS"], ["s", "b", "SUCCESS"], ["s", "c", "WARNING"]]);
        assert_eq!(direct.better_than(&through), ["s: c (id)", "s: d (id)"]);
        assert_eq!(through.better_than(&direct), ["s: b (id)"]);
    }

    #[test]
    fn a_check_that_comes_twice_is_not_hidden_by_its_second_time() {
        let checks = written(&[["s", "a", "FAILURE"], ["s", "a", "SUCCESS"]]);
        assert_eq!(checks.wrong().map(|(name, _)| name).collect::<Vec<_>>(), ["s: a (id)"]);
        assert_eq!(checks.tally(), "1 passed, 1 failed");
        let other = written(&[["s", "a", "FAILURE"], ["s", "a", "FAILURE"]]);
        assert_eq!(checks.better_than(&other), ["s: a (id) no. 2"]);
    }

    #[test]
    fn what_is_only_written_down_is_no_check() {
        assert!(written(&[["s", "a", "INFO"]]).is_empty());
    }

    #[test]
    fn takes_one_scenario_out() {
        let checks = written(&[["s", "a", "SUCCESS"], ["s-more", "a", "SUCCESS"]]);
        assert_eq!(checks.of("s"), written(&[["s", "a", "SUCCESS"]]));
    }

    #[test]
    fn reads_the_scenario_from_its_folder() {
        assert_eq!(scenario("server-tools-list-2026-11-15T04-06-23-246Z"), "tools-list");
        assert_eq!(scenario("odd"), "odd");
    }
}

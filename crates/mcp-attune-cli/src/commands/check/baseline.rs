//! Known failures of a server, in a file that is committed beside it: one id of a scenario a line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;

use super::outcome::{ScenarioOutcome, ScenarioResult};
use super::scenario::Scenario;
use super::scenarios;
use crate::exit::hinted;
use crate::text::quoted;

/// How large a file may be.
const MAX_BYTES: u64 = 1 << 20;

const FILE_HEADER: &str =
    "# Known failures of this server, for `attune check --baseline`. They do not fail the check.
# `attune check --baseline FILE --update` writes this file anew; what is mended is left out then.
";

/// The failures that are known.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Baseline {
    /// Ids of scenarios, and the lines that they stand on.
    lines: BTreeMap<String, usize>,
}

impl Baseline {
    /// Reads a file; one that is to be written may be absent.
    pub(super) fn load(file: &Path, is_updated: bool) -> anyhow::Result<Self> {
        let place = file.display();
        match std::fs::metadata(file) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound && is_updated => {
                return Ok(Self::default());
            }
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                let hint = "write one with what is broken now: add --update";
                return Err(hinted(format!("there is no baseline {place}"), hint));
            }
            Ok(about) if about.len() > MAX_BYTES => {
                let hint = "name the file that `attune check --update` wrote";
                return Err(hinted(format!("{place} is over {MAX_BYTES} bytes, and no baseline"), hint));
            }
            _ => {}
        }
        let text = std::fs::read_to_string(file).with_context(|| format!("could not read {place}"))?;
        Self::parse(&text).with_context(|| place.to_string())
    }

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut lines = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let id = line.split('#').next().unwrap_or_default().trim();
            if id.is_empty() {
                continue;
            }
            let is_id = |id: &str| {
                let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'/');
                id.matches('/').count() == 1 && id.bytes().all(fits)
            };
            if !is_id(id) {
                let what = format!("line {number}: {} is no id of a scenario", quoted(id));
                return Err(hinted(
                    what,
                    "write ids such as H9/every-fault, one a line; the report has them",
                ));
            }
            lines.entry(id.to_owned()).or_insert(number);
        }
        Ok(Self { lines })
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.lines.contains_key(id)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.lines.keys().map(String::as_str)
    }

    /// Whether this version has a scenario of that id.
    pub(super) fn is_scenario_id(id: &str) -> bool {
        scenarios::all().any(|scenario| scenario.id() == id)
    }

    /// The file with what is broken now. What was not judged this time is kept.
    pub(super) fn updated(&self, checks: &[&ScenarioResult]) -> String {
        let broken = |check: &ScenarioResult| match check.outcome {
            ScenarioOutcome::Failed => true,
            ScenarioOutcome::Passed => false,
            _ => self.contains(&check.id),
        };
        let is_kept = |id: &str| match checks.iter().find(|check| check.id == id) {
            Some(check) => broken(check),
            None => self.contains(id),
        };
        let kept = scenarios::all().filter(|scenario| is_kept(&scenario.id()));
        let line = |scenario: &Scenario| format!("{} # {}\n", scenario.id(), scenario.title);
        kept.fold(FILE_HEADER.to_owned(), |text, scenario| text + &line(scenario))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: &str, outcome: ScenarioOutcome) -> ScenarioResult {
        let scenario = scenarios::all().find(|scenario| scenario.id() == id).unwrap();
        ScenarioResult { outcome, ..ScenarioResult::not_applicable(scenario, "") }
    }

    #[test]
    fn a_baseline_is_ids_with_comments() {
        let read = Baseline::parse("# all\n\nH9/every-fault # because\r\n  C10/harmless-beside\n").unwrap();
        assert_eq!(read.ids().collect::<Vec<_>>(), ["C10/harmless-beside", "H9/every-fault"]);
        for bad in ["H9", "H9/a b", "{\"a\": 1}", "H9/é"] {
            let error = Baseline::parse(&format!("\n{bad}")).unwrap_err().to_string();
            assert!(error.starts_with("line 2: "), "{bad}: {error}");
        }
    }

    #[test]
    fn an_update_adds_what_is_broken_and_leaves_out_what_is_mended() {
        let before = Baseline::parse("H13/batch\nH13/answer\nL2/malformed\nF5/json\nH1/gone").unwrap();
        let checks = [
            check("H13/batch", ScenarioOutcome::Passed),
            check("H13/answer", ScenarioOutcome::Allowed),
            check("H13/neither", ScenarioOutcome::Failed),
            check("H13/too-deep", ScenarioOutcome::Warning),
            check("F5/json", ScenarioOutcome::NotApplicable),
        ];
        let text = before.updated(&checks.iter().collect::<Vec<_>>());
        let after = Baseline::parse(&text).unwrap();
        assert_eq!(after.ids().collect::<Vec<_>>(), ["F5/json", "H13/answer", "H13/neither", "L2/malformed"]);
        assert!(text.contains("H13/neither # what is neither request nor notification"), "{text}");
    }
}

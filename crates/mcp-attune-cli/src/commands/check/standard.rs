//! What a server is judged by, and which of its failures are known.

use serde::Serialize;

use super::baseline::Baseline;
use super::outcome::{Check, Outcome};
use super::selector::Selector;

/// Whose word counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// Published documents, and proposals that the server claims to follow; the rest is a warning
    #[default]
    Spec,
    /// All rules of Attune
    Attune,
}

impl By {
    pub(super) fn told(self) -> &'static str {
        match self {
            Self::Spec => "judged by published documents",
            Self::Attune => "judged by all rules of Attune",
        }
    }
}

/// What a failure counts as.
#[derive(Debug, Default)]
pub(super) struct Standard {
    pub(super) by: By,
    pub(super) allowed: Vec<Selector>,
    pub(super) baseline: Baseline,
}

impl Standard {
    /// Decides what a failure counts as; other outcomes stay.
    pub(super) fn apply(&self, check: &mut Check) {
        if check.outcome != Outcome::Failed {
            return;
        }
        if self.allowed.iter().any(|selector| selector.selects_id(&check.id)) {
            check.outcome = Outcome::Allowed;
            check.why = Some("--allow".to_owned());
        } else if self.baseline.has(&check.id) {
            check.outcome = Outcome::Allowed;
            check.why = Some("in the baseline".to_owned());
        } else if self.by == By::Spec && check.own {
            check.outcome = Outcome::Warning;
            check.why = Some("no document asks for it: it is Attune's own reading".to_owned());
        } else if self.by == By::Spec && !check.claimed {
            check.outcome = Outcome::Warning;
            check.why = Some("a proposal asks for it that the server does not claim to follow".to_owned());
        }
    }

    /// What is allowed and was not needed: `--allow` that selected no failure, and entries of the baseline that passed.
    pub(super) fn stale(&self, checks: &[(&'static str, Check)]) -> Vec<String> {
        let checks = || checks.iter().map(|(_, check)| check);
        let unused = self.allowed.iter().filter(|selector| {
            let mut selected = checks().filter(|check| selector.selects_id(&check.id)).peekable();
            selected.peek().is_some() && selected.all(|check| check.outcome == Outcome::Passed)
        });
        let passed = |id: &&str| checks().any(|check| check.id == **id && check.outcome == Outcome::Passed);
        let mended = self.baseline.ids().filter(|id| passed(id) || !Baseline::is_known(id));
        unused.map(Selector::text).chain(mended.map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check::judge::broken;
    use crate::commands::check::scenarios;
    use crate::rules::Rules;

    fn failed(id: &str, claimed: bool) -> Check {
        let scenario = scenarios::all().find(|scenario| scenario.id() == id).unwrap();
        Check { claimed, ..Check::judged(scenario, &[], Err(broken(0, "x", "y"))) }
    }

    #[track_caller]
    fn counts(standard: &Standard, id: &str, claimed: bool, expected: Outcome) {
        let mut check = failed(id, claimed);
        standard.apply(&mut check);
        assert_eq!(check.outcome, expected, "{id}");
    }

    #[test]
    fn what_no_published_document_asks_is_a_warning_by_spec_and_fails_by_attune() {
        let (spec, attune) = (Standard::default(), Standard { by: By::Attune, ..Standard::default() });
        for (id, claimed, by_spec) in [
            ("H1/name-differs", true, Outcome::Failed),
            ("H13/too-deep", true, Outcome::Warning),
            ("C10/harmless-beside", false, Outcome::Warning),
            ("C10/harmless-beside", true, Outcome::Failed),
        ] {
            counts(&spec, id, claimed, by_spec);
            counts(&attune, id, claimed, Outcome::Failed);
        }
    }

    #[test]
    fn what_is_allowed_is_allowed_and_nothing_else() {
        let rules = Rules::built_in().unwrap();
        let standard = Standard {
            by: By::Attune,
            allowed: vec![Selector::read(&rules, "H9").unwrap()],
            baseline: Baseline::parse("H13/batch # known\n").unwrap(),
        };
        counts(&standard, "H9/every-fault", true, Outcome::Allowed);
        counts(&standard, "H13/batch", true, Outcome::Allowed);
        counts(&standard, "H13/answer", true, Outcome::Failed);
    }

    #[test]
    fn what_was_allowed_for_nothing_is_told() {
        let rules = Rules::built_in().unwrap();
        let standard = Standard {
            by: By::Spec,
            allowed: ["H9", "H13/answer", "H1"].map(|text| Selector::read(&rules, text).unwrap()).to_vec(),
            baseline: Baseline::parse("H13/batch\nH14/no-version\nH14/gone\nL2/malformed").unwrap(),
        };
        let passed = |id: &str| Check { outcome: Outcome::Passed, ..failed(id, true) };
        let checks = vec![
            ("H9", passed("H9/form")),
            ("H9", failed("H9/every-fault", true)),
            ("H13", passed("H13/answer")),
            ("H13", passed("H13/batch")),
            ("H14", failed("H14/no-version", true)),
        ];
        // H1 and L2 were not judged, so nothing is known of them.
        assert_eq!(standard.stale(&checks), ["H13/answer", "H13/batch", "H14/gone"]);
    }

    #[test]
    fn a_rule_that_is_a_decision_of_ours_has_only_scenarios_that_say_so() {
        let rules = Rules::built_in().unwrap();
        for scenario in scenarios::all() {
            let ours = rules.find(scenario.rule).unwrap().source.starts_with("Attune decision");
            assert!(scenario.own || !ours, "{} is a reading of ours", scenario.id());
        }
    }
}

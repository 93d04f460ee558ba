//! What a server is judged by, and which of its failures are known.

use serde::Serialize;

use super::baseline::Baseline;
use super::outcome::{ScenarioOutcome, ScenarioResult};
use super::selector::RuleSelector;

/// Whose word counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum RuleAuthority {
    /// Published documents, and proposals that the server claims to follow; the rest is a warning
    #[default]
    Spec,
    /// All rules of Attune
    Attune,
}

impl RuleAuthority {
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Spec => "judged by published documents",
            Self::Attune => "judged by all rules of Attune",
        }
    }
}

/// What a failure counts as.
#[derive(Debug, Default)]
pub(super) struct CheckPolicy {
    pub(super) by: RuleAuthority,
    pub(super) allowed: Vec<RuleSelector>,
    pub(super) baseline: Baseline,
}

impl CheckPolicy {
    /// Decides what a failure counts as; other outcomes stay.
    pub(super) fn apply(&self, check: &mut ScenarioResult) {
        if check.outcome != ScenarioOutcome::Failed {
            return;
        }
        if self.allowed.iter().any(|selector| selector.selects_id(&check.id)) {
            check.outcome = ScenarioOutcome::Allowed;
            check.why = Some("--allow".to_owned());
        } else if self.baseline.contains(&check.id) {
            check.outcome = ScenarioOutcome::Allowed;
            check.why = Some("in the baseline".to_owned());
        } else if self.by == RuleAuthority::Spec && check.own {
            check.outcome = ScenarioOutcome::Warning;
            check.why = Some("no document asks for it: it is Attune's own reading".to_owned());
        } else if self.by == RuleAuthority::Spec && !check.claimed {
            check.outcome = ScenarioOutcome::Warning;
            check.why = Some("a proposal asks for it that the server does not claim to follow".to_owned());
        }
    }

    /// What is allowed and was not needed: `--allow` that selected no failure, and entries of the baseline that passed.
    pub(super) fn stale_allowances(&self, checks: &[(&'static str, ScenarioResult)]) -> Vec<String> {
        let checks = || checks.iter().map(|(_, check)| check);
        let unused = self.allowed.iter().filter(|selector| {
            let mut selected = checks().filter(|check| selector.selects_id(&check.id)).peekable();
            selected.peek().is_some() && selected.all(|check| check.outcome == ScenarioOutcome::Passed)
        });
        let passed =
            |id: &&str| checks().any(|check| check.id == **id && check.outcome == ScenarioOutcome::Passed);
        let mended = self.baseline.ids().filter(|id| passed(id) || !Baseline::is_scenario_id(id));
        unused.map(RuleSelector::text).chain(mended.map(str::to_owned)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::check::judge::rule_broken;
    use crate::commands::check::scenarios;
    use crate::rules::RuleLedger;

    fn failed(id: &str, claimed: bool) -> ScenarioResult {
        let scenario = scenarios::all().find(|scenario| scenario.id() == id).unwrap();
        ScenarioResult { claimed, ..ScenarioResult::judged(scenario, &[], Err(rule_broken(0, "x", "y"))) }
    }

    #[track_caller]
    fn counts(standard: &CheckPolicy, id: &str, claimed: bool, expected: ScenarioOutcome) {
        let mut check = failed(id, claimed);
        standard.apply(&mut check);
        assert_eq!(check.outcome, expected, "{id}");
    }

    #[test]
    fn what_no_published_document_asks_is_a_warning_by_spec_and_fails_by_attune() {
        let (spec, attune) =
            (CheckPolicy::default(), CheckPolicy { by: RuleAuthority::Attune, ..CheckPolicy::default() });
        for (id, claimed, by_spec) in [
            ("H1/name-differs", true, ScenarioOutcome::Failed),
            ("H13/too-deep", true, ScenarioOutcome::Warning),
            ("C10/harmless-beside", false, ScenarioOutcome::Warning),
            ("C10/harmless-beside", true, ScenarioOutcome::Failed),
        ] {
            counts(&spec, id, claimed, by_spec);
            counts(&attune, id, claimed, ScenarioOutcome::Failed);
        }
    }

    #[test]
    fn what_is_allowed_is_allowed_and_nothing_else() {
        let rules = RuleLedger::built_in().unwrap();
        let standard = CheckPolicy {
            by: RuleAuthority::Attune,
            allowed: vec![RuleSelector::read(&rules, "H9").unwrap()],
            baseline: Baseline::parse("H13/batch # known\n").unwrap(),
        };
        counts(&standard, "H9/every-fault", true, ScenarioOutcome::Allowed);
        counts(&standard, "H13/batch", true, ScenarioOutcome::Allowed);
        counts(&standard, "H13/answer", true, ScenarioOutcome::Failed);
    }

    #[test]
    fn what_was_allowed_for_nothing_is_told() {
        let rules = RuleLedger::built_in().unwrap();
        let standard = CheckPolicy {
            by: RuleAuthority::Spec,
            allowed: ["H9", "H13/answer", "H1"]
                .map(|text| RuleSelector::read(&rules, text).unwrap())
                .to_vec(),
            baseline: Baseline::parse("H13/batch\nH14/no-version\nH14/gone\nL2/malformed").unwrap(),
        };
        let passed = |id: &str| ScenarioResult { outcome: ScenarioOutcome::Passed, ..failed(id, true) };
        let checks = vec![
            ("H9", passed("H9/form")),
            ("H9", failed("H9/every-fault", true)),
            ("H13", passed("H13/answer")),
            ("H13", passed("H13/batch")),
            ("H14", failed("H14/no-version", true)),
        ];
        // H1 and L2 were not judged, so nothing is known of them.
        assert_eq!(standard.stale_allowances(&checks), ["H13/answer", "H13/batch", "H14/gone"]);
    }

    #[test]
    fn a_rule_that_is_a_decision_of_ours_has_only_scenarios_that_say_so() {
        let rules = RuleLedger::built_in().unwrap();
        for scenario in scenarios::all() {
            let ours = rules.find(scenario.rule).unwrap().source.starts_with("Attune decision");
            assert!(scenario.own || !ours, "{} is a reading of ours", scenario.id());
        }
    }
}

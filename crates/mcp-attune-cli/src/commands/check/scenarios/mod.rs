//! The scenarios, a file for each subject.

mod bodies;
mod context;
mod features;
mod headers;
mod language;

use super::scenario::Scenario;

/// All scenarios, in the order of the rules.
pub(super) fn all() -> impl Iterator<Item = &'static Scenario> {
    let files = [language::ALL, headers::ALL, bodies::ALL, features::ALL, context::ALL];
    files.into_iter().flatten()
}

/// The rule of a scenario that is known by its id.
pub(super) fn rule_of(id: &str) -> &'static str {
    all().find(|scenario| scenario.id() == id).map_or("", |scenario| scenario.rule)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rules::RuleLedger;

    #[test]
    fn every_scenario_has_a_rule_and_a_name_of_its_own() {
        let rules = RuleLedger::built_in().unwrap();
        let mut names = BTreeSet::new();
        for scenario in all() {
            assert!(rules.find(scenario.rule).is_ok(), "{}", scenario.id());
            assert!(names.insert(scenario.id()), "{} is there twice", scenario.id());
            assert!(!scenario.hint.is_empty() && !scenario.title.ends_with('.'), "{}", scenario.id());
        }
    }
}

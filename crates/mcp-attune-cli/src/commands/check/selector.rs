//! How rules are named on the command line and in baselines: `H9/every-fault`, `H9` or `H`.

use super::FAMILIES;
use super::scenario::Scenario;
use super::scenarios;
use crate::exit::hinted;
use crate::rules::RuleLedger;
use crate::text::quoted;

/// Selects one scenario (`H9/every-fault`), those of a rule (`H9`), or those of a family of rules (`H`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleSelector {
    Scenario(String),
    Rule(String),
    Family(char),
}

impl RuleSelector {
    /// Reads what a user wrote, in upper or lower case. It has to select something.
    pub(super) fn read(rules: &RuleLedger, text: &str) -> anyhow::Result<Self> {
        let text = text.trim();
        let family =
            FAMILIES.iter().map(|(letter, _)| *letter).find(|it| text.eq_ignore_ascii_case(&it.to_string()));
        if let Some(letter) = family {
            return Ok(Self::Family(letter));
        }
        let (rule, name) = text.split_once('/').map_or((text, None), |(rule, name)| (rule, Some(name)));
        let rule = rules.find(rule)?.id.clone();
        let names: Vec<_> = scenarios::all().filter(|it| it.rule == rule).map(|it| it.name).collect();
        if names.is_empty() {
            let what = format!("no server can be judged by {} from outside", quoted(&rule));
            let judged: Vec<_> = super::judged_rules(rules).collect();
            return Err(hinted(what, format!("the rules that can be seen are {}", judged.join(", "))));
        }
        let Some(name) = name else { return Ok(Self::Rule(rule)) };
        match names.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            Some(known) => Ok(Self::Scenario(format!("{rule}/{known}"))),
            None => {
                let known: Vec<_> = names.iter().map(|name| format!("{rule}/{name}")).collect();
                let what = format!("{rule} has no scenario {}", quoted(name));
                Err(hinted(what, format!("it has {}", known.join(", "))))
            }
        }
    }

    pub(super) fn selects(&self, scenario: &Scenario) -> bool {
        match self {
            Self::Scenario(id) => scenario.id() == *id,
            Self::Rule(id) => scenario.rule == id,
            Self::Family(letter) => scenario.rule.starts_with(*letter),
        }
    }

    /// Whether it selects a scenario by its id.
    pub(super) fn selects_id(&self, id: &str) -> bool {
        scenarios::all().any(|scenario| scenario.id() == id && self.selects(scenario))
    }

    /// As it is written.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Scenario(id) | Self::Rule(id) => id.clone(),
            Self::Family(letter) => letter.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_names_a_scenario_a_rule_or_a_family() {
        let rules = RuleLedger::built_in().unwrap();
        let count = |text: &str| {
            let selector = RuleSelector::read(&rules, text).unwrap();
            scenarios::all().filter(|scenario| selector.selects(scenario)).count()
        };
        assert_eq!((count("h9/EVERY-FAULT"), count("H9")), (1, 2));
        assert!(count("H") > 40 && count("l") > 20);
    }

    #[test]
    fn what_selects_nothing_is_refused_with_what_there_is() {
        let rules = RuleLedger::built_in().unwrap();
        for (text, what) in [
            ("H9/nothing", "H9 has no scenario nothing"),
            ("H99", "there is no rule H99"),
            ("L18", "no server can be judged by L18 from outside"),
            ("G", "there is no rule G"),
        ] {
            assert_eq!(RuleSelector::read(&rules, text).unwrap_err().to_string(), what, "{text}");
        }
    }
}

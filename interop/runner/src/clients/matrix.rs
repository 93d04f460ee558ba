//! What was found, side by side.

use std::collections::BTreeMap;
use std::fmt;

/// How one check ended.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) ok: bool,
    pub(super) detail: String,
}

/// Every check by its name.
pub(super) type Checks = BTreeMap<String, Outcome>;

/// A client, a server and an era, directly and through the gateway.
pub(super) struct Meeting {
    client: String,
    server: String,
    era: String,
    direct: Checks,
    through: Checks,
}

impl Meeting {
    pub(super) fn new(client: &str, server: &str, era: &str, direct: Checks, through: Checks) -> Self {
        let [client, server, era] = [client, server, era].map(str::to_owned);
        Self { client, server, era, direct, through }
    }

    /// A second run: what passes in either of them passes.
    pub(super) fn again(mut self, direct: Checks, through: Checks) -> Self {
        for (first, second) in [(&mut self.direct, direct), (&mut self.through, through)] {
            for (name, outcome) in second {
                let before = first.entry(name.clone()).or_insert_with(|| outcome.clone());
                if outcome.ok && !before.ok {
                    println!(
                        "  flaky: {} → {}, {}: {name}: {}",
                        self.client, self.server, self.era, before.detail
                    );
                    *before = outcome;
                }
            }
        }
        self
    }

    /// What passes directly and not through the gateway.
    pub(super) fn worse(&self) -> Vec<String> {
        let Self { client, server, era, .. } = self;
        let passed = self.direct.iter().filter(|(_, outcome)| outcome.ok).map(|(name, _)| name);
        passed
            .filter(|name| !self.through.get(*name).is_some_and(|outcome| outcome.ok))
            .map(|name| {
                let detail = self.through.get(name).map_or("did not run", |outcome| &outcome.detail);
                format!("{client} → {server}, {era}: {name} fails through the gateway: {detail}")
            })
            .collect()
    }

    /// What does not even pass directly, and why.
    pub(super) fn impossible(&self) -> impl Iterator<Item = String> {
        let Self { client, server, era, direct, .. } = self;
        direct
            .iter()
            .filter(|(_, outcome)| !outcome.ok)
            .map(move |(name, outcome)| format!("{client} → {server}, {era}: {name}: {}", outcome.detail))
    }

    /// How many pass through the gateway, of how many that pass directly.
    fn count(&self) -> String {
        let passed = |checks: &Checks| checks.values().filter(|outcome| outcome.ok).count();
        format!("{}/{}", passed(&self.through), passed(&self.direct))
    }
}

impl fmt::Display for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}, {}: {}", self.client, self.server, self.era, self.count())
    }
}

/// Prints checks that have no other side, and returns those that failed.
pub(super) fn expect(title: &str, checks: &Checks) -> Vec<String> {
    let mut failures = Vec::new();
    for (name, Outcome { ok, detail }) in checks {
        println!("{title}: {name}: {detail}");
        if !ok {
            failures.push(format!("{title}: {name}: {detail}"));
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checks(list: &[(&str, bool)]) -> Checks {
        let outcome = |ok| Outcome { ok, detail: "seen".to_owned() };
        list.iter().map(|(name, ok)| ((*name).to_owned(), outcome(*ok))).collect()
    }

    fn meeting(direct: &[(&str, bool)], through: &[(&str, bool)]) -> Meeting {
        Meeting::new("ts-1", "rmcp", "legacy", checks(direct), checks(through))
    }

    #[test]
    fn finds_what_is_worse_through_the_gateway() {
        let meeting =
            meeting(&[("a", true), ("b", true), ("c", false), ("d", true)], &[("a", true), ("b", false)]);
        let worse = meeting.worse();
        assert_eq!(worse.len(), 2);
        assert_eq!(worse[0], "ts-1 → rmcp, legacy: b fails through the gateway: seen");
        assert_eq!(worse[1], "ts-1 → rmcp, legacy: d fails through the gateway: did not run");
    }

    #[test]
    fn a_second_run_helps_what_failed_once_and_harms_nothing() {
        let first = meeting(&[("a", true), ("b", true)], &[("a", true), ("b", false)]);
        let second = first.again(checks(&[("a", true)]), checks(&[("a", false), ("b", true)]));
        assert!(second.worse().is_empty());
    }

    #[test]
    fn a_meeting_is_told_by_what_passes_and_what_cannot() {
        let meeting = meeting(&[("a", true), ("b", false)], &[("a", true)]);
        assert_eq!(meeting.to_string(), "ts-1 → rmcp, legacy: 1/1");
        assert_eq!(meeting.impossible().collect::<Vec<_>>(), ["ts-1 → rmcp, legacy: b: seen"]);
    }
}

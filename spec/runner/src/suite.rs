//! All cases on one host.

use crate::case::{Case, Cases};

/// What a host did otherwise than a case says.
#[derive(Clone, Debug)]
pub struct Fault(pub String);

/// A host that cases are put to.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Its name in what is said of it.
    pub name: &'static str,
    /// What it cannot do, of what cases need, and why.
    pub lacks: &'static [(&'static str, &'static str)],
    /// The cases that it cannot do although it has all that they need, by name, and why.
    pub except: &'static [(&'static str, &'static str)],
    /// Whether it seals the ids of sessions, events and tasks.
    pub seals: bool,
}

impl Host {
    /// Why a case is skipped here, if it is.
    #[must_use]
    pub fn skips(&self, case: &Case) -> Option<&'static str> {
        let lack = self.lacks.iter().find(|(lack, _)| case.needs.iter().any(|need| need == lack));
        let except = || self.except.iter().find(|(name, _)| case.name == *name);
        lack.or_else(except).map(|(_, why)| *why)
    }
}

/// Puts every case to a host. What is skipped is put to it all the same, and must fail: a skip that is not needed is a
/// fault.
///
/// # Panics
///
/// Where a case fails, with all that failed.
pub fn run(host: &Host, mut put: impl FnMut(&Case) -> Result<(), Fault>) {
    let only = std::env::var("CASE").ok();
    let cases = Cases::read().cases;
    for (name, _) in host.except {
        assert!(cases.iter().any(|case| case.name == *name), "{}: there is no case `{name}`", host.name);
    }
    let chosen = cases.iter().filter(|case| only.as_ref().is_none_or(|only| case.name == *only));
    let (mut ran, mut skipped, mut faults) = (0, 0, Vec::new());
    for case in chosen {
        let steps = (case.input.steps.len(), case.expected.steps.len());
        let fault = if steps.0 == steps.1 { put(case) } else { Err(Fault(format!("steps: {steps:?}"))) };
        match (fault, host.skips(case)) {
            (Ok(()), None) => ran += 1,
            (Err(_), Some(_)) => skipped += 1,
            (Err(Fault(why)), None) => faults.push(format!("{} ({}): {why}", case.name, case.rule)),
            (Ok(()), Some(why)) => faults.push(format!("{}: is skipped ({why}), and need not be", case.name)),
        }
    }
    println!("{}: {ran} cases, {skipped} skipped", host.name);
    assert!(
        faults.is_empty(),
        "{}: {} of {} cases:\n{}",
        host.name,
        faults.len(),
        cases.len(),
        faults.join("\n")
    );
    assert!(only.is_some() || ran > skipped, "{}: most cases are skipped", host.name);
}

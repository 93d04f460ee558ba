//! `cargo xtask spec [--check]`: every rule is proven by tests that exist and run, or says that it is planned.
//! What the ledger says is also written out for reading, as docs/rules.md.

mod cases;
mod ids;
mod ledger;
mod listing;
mod check;
mod page;

use anyhow::{Context, Result};

use kit::report::{Finding, conclude};
use kit::shell::root;

const LEDGER: &str = "spec/rules.toml";
const CASES: &str = "spec/cases";
const WIRE: &str = "spec/wire";
const PAGE: &str = "docs/rules.md";

/// Checks the ledger, then writes the page, or only compares it.
pub(crate) fn run(compare: bool) -> Result<()> {
    let text =
        std::fs::read_to_string(root().join(LEDGER)).with_context(|| format!("could not read {LEDGER}"))?;
    let ledger = ledger::parse(&text)?;
    let tests = listing::of_the_workspace()?;
    let mut cases = cases::read(&root().join(CASES))?;
    cases.extend(cases::read_wire(&root().join(WIRE))?);

    let mut findings = check::check(&ledger, &tests, &cases);
    if findings.is_empty() {
        let page = page::write(&ledger);
        let path = root().join(PAGE);
        if !compare {
            std::fs::write(&path, page).with_context(|| format!("could not write {PAGE}"))?;
        } else if std::fs::read_to_string(&path).ok().as_ref() != Some(&page) {
            findings.push(Finding::new(
                PAGE,
                format!("is not what {LEDGER} says"),
                "run `cargo xtask spec` and commit the file",
            ));
        }
    }
    conclude(
        "the ledger of rules",
        "the head of spec/rules.toml tells how a rule and its tests are written down",
        &findings,
    )
}

//! What an audit found, as one object.

use mcp_attune::features::{ContentFormat, Verbosity};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::found::{AuditFinding, AuditFindingKind};
use super::listing::ListingCost;
pub(super) use super::tokens::AuditTokenCost;
use crate::call_plan::SkippedTool;

/// A result in one of the forms that a caller can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct AuditShapeCost {
    pub(super) format: &'static str,
    pub(super) verbosity: &'static str,
    #[serde(flatten)]
    pub(super) cost: AuditTokenCost,
    /// The part of the tokens that is not there any more; below 0 where there are more.
    #[serde(serialize_with = "rounded")]
    pub(super) saving: f64,
}

fn rounded<S: Serializer>(saving: &f64, to: S) -> Result<S::Ok, S::Error> {
    // Adding 0 makes -0 plain.
    to.serialize_f64((saving * 1000.0).round() / 1000.0 + 0.0)
}

impl AuditShapeCost {
    pub(super) fn new(
        format: ContentFormat,
        verbosity: Verbosity,
        cost: AuditTokenCost,
        before: AuditTokenCost,
    ) -> Self {
        let (now, before) = (cost.tokens as f64, before.tokens as f64);
        let saving = if before > 0.0 { 1.0 - now / before } else { 0.0 };
        Self { format: format.name(), verbosity: verbosity.name(), cost, saving }
    }

    pub(super) fn has_shape(&self, format: ContentFormat, verbosity: Verbosity) -> bool {
        (self.format, self.verbosity) == (format.name(), verbosity.name())
    }

    /// The saving as people read it.
    pub(super) fn percent(&self) -> String {
        format!("{:.0} %", (self.saving * 100.0).round() + 0.0)
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AuditCallOutcome {
    Result,
    /// A result that says that it is an error. It is never shaped, and counts for no total.
    Error,
    /// No result that could be read.
    Failed,
}

#[derive(Debug, Serialize)]
pub(super) struct AuditRow {
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) outcome: AuditCallOutcome,
    /// Why it failed.
    pub(super) why: Option<String>,
    pub(super) as_it_comes: Option<AuditTokenCost>,
    pub(super) shaped: Vec<AuditShapeCost>,
    pub(super) findings: Vec<AuditFinding>,
}

impl AuditRow {
    pub(super) fn shaped(&self, format: ContentFormat, verbosity: Verbosity) -> Option<&AuditShapeCost> {
        self.shaped.iter().find(|shaped| shaped.has_shape(format, verbosity))
    }

    fn comes_twice(&self) -> bool {
        self.findings.iter().any(|finding| finding.kind.is_repetition())
    }
}

/// Some results together.
#[derive(Debug, Serialize)]
pub(super) struct AuditTotal {
    pub(super) results: usize,
    pub(super) as_they_come: AuditTokenCost,
    pub(super) shaped: Vec<AuditShapeCost>,
}

impl AuditTotal {
    fn of<'r>(rows: impl Iterator<Item = &'r AuditRow> + Clone) -> Self {
        let as_they_come = rows
            .clone()
            .filter_map(|row| row.as_it_comes)
            .fold(AuditTokenCost::default(), AuditTokenCost::plus);
        let sum = |format, verbosity| {
            let all = rows.clone().filter_map(|row| row.shaped(format, verbosity));
            let cost = all.map(|shaped| shaped.cost).fold(AuditTokenCost::default(), AuditTokenCost::plus);
            AuditShapeCost::new(format, verbosity, cost, as_they_come)
        };
        let shaped = shapes().map(|(format, verbosity)| sum(format, verbosity)).collect();
        Self { results: rows.count(), as_they_come, shaped }
    }

    pub(super) fn shaped(&self, format: ContentFormat, verbosity: Verbosity) -> Option<&AuditShapeCost> {
        self.shaped.iter().find(|shaped| shaped.has_shape(format, verbosity))
    }
}

/// `1 call`, `2 calls`, `2,140 tokens`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A number with its thousands apart.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// All forms that a caller can ask for.
pub(super) fn shapes() -> impl Iterator<Item = (ContentFormat, Verbosity)> {
    ContentFormat::ALL.into_iter().flat_map(|format| Verbosity::ALL.map(|verbosity| (format, verbosity)))
}

#[derive(Debug, Serialize)]
pub(super) struct AuditReport {
    pub(super) server: String,
    /// The version of MCP that it speaks.
    pub(super) version: String,
    pub(super) tokenizer: &'static str,
    /// How many tools it has.
    pub(super) tools: usize,
    /// What the tools cost before any is called.
    pub(super) listing: ListingCost,
    pub(super) results: Vec<AuditRow>,
    pub(super) not_called: Vec<SkippedTool>,
    pub(super) total: AuditTotal,
    /// Those of the total whose data comes in two forms.
    pub(super) twice: AuditTotal,
}

impl AuditReport {
    pub(super) fn new(
        server: String,
        version: String,
        tokenizer: &'static str,
        listing: ListingCost,
        results: Vec<AuditRow>,
        not_called: Vec<SkippedTool>,
    ) -> Self {
        let counted = results.iter().filter(|row| row.outcome == AuditCallOutcome::Result);
        let total = AuditTotal::of(counted.clone());
        let twice = AuditTotal::of(counted.filter(|row| row.comes_twice()));
        let tools = listing.tools.len();
        Self { server, version, tokenizer, tools, listing, results, not_called, total, twice }
    }

    /// Whether a tool does not keep what it says of itself, or gave no result at all.
    pub(super) fn has_faults(&self) -> bool {
        let faulty =
            |row: &AuditRow| row.findings.iter().map(|finding| finding.kind).any(AuditFindingKind::is_fault);
        self.results.iter().any(|row| row.outcome == AuditCallOutcome::Failed || faulty(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let told = [0, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(told, ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!((count(1, "token").as_str(), count(2140, "token").as_str()), ("1 token", "2,140 tokens"));
    }

    #[test]
    fn a_saving_is_told_once_rounded_and_nothing_is_no_saving() {
        let shaped = |now, before| {
            let cost = |tokens| AuditTokenCost { bytes: 0, tokens };
            AuditShapeCost::new(ContentFormat::Json, Verbosity::Compact, cost(now), cost(before))
        };
        let check = |now, before, percent: &str, json: &str| {
            let shaped = shaped(now, before);
            let written = serde_json::to_value(shaped).unwrap()["saving"].to_string();
            assert_eq!((shaped.percent().as_str(), written.as_str()), (percent, json), "{now} of {before}");
        };
        check(6, 11, "45 %", "0.455");
        check(0, 10, "100 %", "1.0");
        check(10_001, 10_000, "0 %", "0.0");
        check(15, 10, "-50 %", "-0.5");
        check(5, 0, "0 %", "0.0");
    }
}

//! What came of one scenario, and of the calls that it took.

use std::time::Duration;

use serde::Serialize;

use super::judge::{CheckExchange, ScenarioFault, Verdict};
use super::scenario::Scenario;

/// How much of a body is shown.
const MAX_SHOWN_CHARS: usize = 1200;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ScenarioOutcome {
    Passed,
    Failed,
    /// Broken, but no published document asks for it.
    Warning,
    /// Broken, and known to be.
    Allowed,
    NotApplicable,
    Unclear,
}

impl ScenarioOutcome {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Warning => "warning",
            Self::Allowed => "allowed",
            Self::NotApplicable => "not applicable",
            Self::Unclear => "unclear",
        }
    }
}

/// What was sent, and what came back.
#[derive(Debug, Serialize)]
pub(super) struct CheckExchangeOutput {
    pub(super) sent: String,
    pub(super) came: String,
}

impl CheckExchangeOutput {
    pub(super) fn of(seen: &CheckExchange) -> Self {
        let body = |bytes: &[u8]| printable(&String::from_utf8_lossy(bytes));
        let mut sent = String::new();
        for (name, value) in &seen.sent.headers {
            let name = if seen.sent.small { name.to_ascii_lowercase() } else { name.clone() };
            sent += &format!("{name}: {}\n", quoted_long(&String::from_utf8_lossy(value)));
        }
        sent += &body(&seen.sent.body);
        let mut came = String::new();
        if let Some(status) = seen.came.status {
            came += &format!("{status}\n");
        }
        for (name, value) in &seen.came.headers {
            came += &format!("{name}: {}\n", quoted_long(value));
        }
        came += &seen.came.trouble.clone().unwrap_or_else(|| printable(&seen.came.text));
        Self { sent, came }
    }
}

/// A text that a terminal and XML can bear, up to a bound.
fn printable(text: &str) -> String {
    mcp_attune_wire::text::one_line(text, MAX_SHOWN_CHARS)
}

/// The value of a header on one line, up to a bound.
fn quoted_long(text: &str) -> String {
    mcp_attune_wire::text::escape_and_truncate(text, 200)
}

/// One scenario.
#[derive(Debug, Serialize)]
pub(super) struct ScenarioResult {
    /// What it is selected by: `H9/form`.
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) outcome: ScenarioOutcome,
    /// Whether no document asks for it: it is Attune's own reading.
    pub(super) own: bool,
    /// Whether it belongs to the protocol, or to a proposal that the server claims to follow.
    pub(super) claimed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) came: Option<String>,
    /// Why it is not applicable, unclear, allowed, or only a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<&'static str>,
    /// The exchange that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchange: Option<CheckExchangeOutput>,
    /// How long its exchanges took.
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub(super) took: Duration,
}

impl ScenarioResult {
    pub(super) fn not_applicable(scenario: &Scenario, why: &str) -> Self {
        Self { why: Some(why.to_owned()), ..Self::new(scenario, ScenarioOutcome::NotApplicable) }
    }

    pub(super) fn judged(scenario: &Scenario, seen: &[CheckExchange], verdict: Verdict) -> Self {
        match verdict {
            Ok(()) => Self::new(scenario, ScenarioOutcome::Passed),
            Err(ScenarioFault::Unclear(why)) => {
                Self { why: Some(why), ..Self::new(scenario, ScenarioOutcome::Unclear) }
            }
            Err(ScenarioFault::Broken { at, expected, came }) => Self {
                expected: Some(expected),
                came: Some(came),
                hint: Some(scenario.hint),
                exchange: seen.get(at).map(CheckExchangeOutput::of),
                ..Self::new(scenario, ScenarioOutcome::Failed)
            },
        }
    }

    fn new(scenario: &Scenario, outcome: ScenarioOutcome) -> Self {
        let Scenario { name, title, own, .. } = *scenario;
        Self {
            id: scenario.id(),
            name,
            title,
            outcome,
            own,
            claimed: true,
            expected: None,
            came: None,
            why: None,
            hint: None,
            exchange: None,
            took: Duration::ZERO,
        }
    }
}

fn milliseconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// A tool that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CalledToolCount {
    pub(super) tool: String,
    /// How many requests asked for it, those that should be refused included.
    pub(super) times: usize,
    /// How long they took together.
    #[serde(rename = "milliseconds", serialize_with = "milliseconds")]
    pub(super) took: Duration,
}

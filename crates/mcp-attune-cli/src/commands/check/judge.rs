//! What a judge can say, and the questions that many judges ask. Nothing here reaches a server.

use std::time::Duration;

use mcp_attune_wire::message::meta;
use mcp_attune_wire::protocol::code::HEADER_MISMATCH;
use serde_json::Value;

use super::facts::SurveyFacts;
use super::traffic::{CheckWireAnswer, CheckWireRequest};
use crate::text::quoted;

/// One exchange of a scenario.
#[derive(Clone, Debug)]
pub(super) struct CheckExchange {
    pub(super) id: u64,
    pub(super) sent: CheckWireRequest,
    pub(super) came: CheckWireAnswer,
    pub(super) took: Duration,
}

/// Why a scenario is not passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScenarioFault {
    /// The server broke the rule.
    Broken {
        /// Which of the exchanges shows it.
        at: usize,
        expected: String,
        came: String,
    },
    /// What came says nothing about the rule.
    Unclear(String),
}

pub(super) type Verdict = Result<(), ScenarioFault>;

/// A judge: what was seen of a server, held against a rule.
pub(super) type Judge = fn(&SurveyFacts, &[CheckExchange]) -> Verdict;

pub(super) fn rule_broken(at: usize, expected: impl Into<String>, came: impl Into<String>) -> ScenarioFault {
    ScenarioFault::Broken { at, expected: expected.into(), came: came.into() }
}

impl CheckExchange {
    pub(super) fn result(&self) -> Option<&Value> {
        self.came.answer.as_ref()?.get("result")
    }

    pub(super) fn error(&self) -> Option<&Value> {
        self.came.answer.as_ref()?.get("error")
    }

    pub(super) fn code(&self) -> Option<i64> {
        self.error()?.get("code")?.as_i64()
    }

    /// The language that the result reports.
    pub(super) fn language(&self) -> Option<&str> {
        self.result()?.get("_meta")?.get(meta::CONTENT_LANGUAGE)?.as_str()
    }

    /// What came, in one line.
    pub(super) fn describe_answer(&self) -> String {
        let status = self.came.status.map(|status| format!("{status}, ")).unwrap_or_default();
        if let Some(why) = &self.came.trouble {
            return format!("no answer: {why}");
        }
        if let Some(error) = self.error() {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            let code = error.get("code").map(Value::to_string).unwrap_or_else(|| "without a code".to_owned());
            return format!("{status}error {code}: {}", quoted(message));
        }
        match self.result() {
            Some(result) if is_error(result) => format!("{status}a result that is an error"),
            Some(_) => format!("{status}a result"),
            None => format!("{status}no JSON-RPC answer: {}", quoted(&self.came.text)),
        }
    }
}

pub(super) fn is_error(result: &Value) -> bool {
    result.get("isError").and_then(Value::as_bool).unwrap_or(false)
}

/// Each request is refused with this code, over HTTP with this status.
pub(super) fn expect_refused(seen: &[CheckExchange], status: u16, code: i32) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        let stands = seen.came.status.is_none_or(|found| found == status) && seen.code() == Some(code.into());
        if !stands {
            // Pipes have no status.
            let status = seen.came.status.map(|_| format!("{status} and ")).unwrap_or_default();
            return Err(rule_broken(at, format!("{status}{code}"), seen.describe_answer()));
        }
    }
    Ok(())
}

/// Each request is refused because a header does not say what the body says.
pub(super) fn expect_mismatch(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    expect_refused(seen, 400, HEADER_MISMATCH)
}

/// Each request gets a result.
pub(super) fn expect_served(_: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    for (at, seen) in seen.iter().enumerate() {
        if seen.result().is_none_or(is_error) {
            return Err(rule_broken(at, "a result", seen.describe_answer()));
        }
    }
    Ok(())
}

/// The first request is refused as a mismatch; those after it are right, and are served.
pub(super) fn first_refused_others_served(facts: &SurveyFacts, seen: &[CheckExchange]) -> Verdict {
    let Some((first, others)) = seen.split_first() else { return Ok(()) };
    expect_served(facts, others).map_err(|fault| shift_fault(fault, 1))?;
    expect_mismatch(facts, std::slice::from_ref(first))
}

/// A fault of the rest of the exchanges, counted from the first.
pub(super) fn shift_fault(fault: ScenarioFault, by: usize) -> ScenarioFault {
    match fault {
        ScenarioFault::Broken { at, expected, came } => ScenarioFault::Broken { at: at + by, expected, came },
        unclear => unclear,
    }
}

/// The result of one exchange.
pub(super) fn expect_result(seen: &[CheckExchange], at: usize) -> Result<&Value, ScenarioFault> {
    let seen = seen.get(at).ok_or_else(|| ScenarioFault::Unclear("too little was asked".to_owned()))?;
    seen.result()
        .filter(|result| !is_error(result))
        .ok_or_else(|| rule_broken(at, "a result", seen.describe_answer()))
}

/// The result of one exchange without what is not the server's own: the language that it reports.
pub(super) fn without_language(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(all) = result.as_object_mut() {
        if let Some(Value::Object(about)) = all.get_mut("_meta") {
            about.remove(meta::CONTENT_LANGUAGE);
        }
        if all.get("_meta").is_some_and(|about| about.as_object().is_some_and(serde_json::Map::is_empty)) {
            all.remove("_meta");
        }
    }
    result
}

//! What a caller got wrong, in words that help to put it right.

use std::fmt;

use mcp_attune_rmcp::TimeTextError;
use rmcp::model::{CallToolResult, ContentBlock};

use crate::data::CITIES;

/// Why a tool did not do what it was asked to do. The caller sees it as a result with `isError`.
#[derive(Debug)]
pub(crate) enum TravelToolError {
    /// An argument is missing or of another type.
    Arguments(serde_json::Error),
    /// A city that the service does not know.
    UnknownCity(String),
    /// A connection that `find_connections` never gave.
    UnknownConnection(String),
    /// Not a calendar date.
    Date(String),
    /// Not a moment in time.
    Moment(String),
    /// Not the name of a time zone.
    Zone(String),
    /// Not a period that can be read.
    When(TimeTextError),
    /// The first day comes after the last, or they are more than a year apart.
    Range,
    /// Not a number of pages that the report can have.
    Pages,
    /// A shard that is no whole number.
    Shard,
    /// The tool has to ask, and the client offers no way to.
    CannotAsk,
    /// The answer to the question does not fit the form.
    Answer,
    /// The user did not want to choose.
    Declined,
    /// The result could not be written.
    Internal,
}

impl fmt::Display for TravelToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(error) => {
                write!(f, "The arguments do not fit: {}", quoted_input(&error.to_string()))
            }
            Self::UnknownCity(name) => {
                let known = CITIES.map(|city| city.name).join(", ");
                write!(f, "Unknown city: {}. Known cities: {known}", quoted_input(name))
            }
            Self::UnknownConnection(id) => {
                write!(f, "Unknown connection: {}. Take an id from find_connections", quoted_input(id))
            }
            Self::Date(text) => write!(f, "Not a date like 2026-02-22: {}", quoted_input(text)),
            Self::Moment(text) => write!(f, "Not a moment like 2026-02-22T08:30:00Z: {}", quoted_input(text)),
            Self::Zone(name) => write!(f, "Not a time zone like Europe/Zurich: {}", quoted_input(name)),
            Self::When(unclear) => unclear.fmt(f),
            Self::Range => {
                f.write_str("The first day must not come after the last, and at most a year before it")
            }
            Self::Pages => f.write_str("The report has from 1 to 50 pages"),
            Self::Shard => f.write_str("The shard is a whole number"),
            Self::CannotAsk => {
                f.write_str("The seat has to be chosen by the user, and this client cannot ask")
            }
            Self::Answer => f.write_str("The answer does not name a class and a position"),
            Self::Declined => f.write_str("No seat was booked"),
            Self::Internal => f.write_str("The result could not be written"),
        }
    }
}

impl From<TravelToolError> for CallToolResult {
    fn from(problem: TravelToolError) -> Self {
        Self::error(vec![ContentBlock::text(problem.to_string())])
    }
}

/// Something that a caller sent, safe to show: control characters escaped, shortened.
pub(crate) fn quoted_input(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    mcp_attune_wire::text::escape_and_truncate(text, MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_caller_sent_is_escaped_and_shortened() {
        assert_eq!(quoted_input("Z\u{7}rich"), "Z\\u{7}rich");
        assert_eq!(quoted_input(&"x".repeat(1000)).chars().count(), 81);
    }
}

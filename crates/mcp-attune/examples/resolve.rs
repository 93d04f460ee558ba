//! Expressions of time from standard input, a JSON object a line, and the intervals that they name.
//!
//! What comes in: `expression`, `now`, `timezone`, `first_day` and, unless it is English, `language`. What goes out:
//! `start` and `end` in UTC, or the kind of `error`. Another implementation is compared with this one line by line, by
//! `cargo xtask interop`.

use std::io::{self, BufRead, BufWriter, Write};

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use mcp_attune::language::Tag;
use mcp_attune::when::{ExpressionLanguage, Interval, ReferenceTime, When};
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let answer = match answer(&line?) {
            Ok(Interval { start, end }) => json!({"start": start.to_string(), "end": end.to_string()}),
            Err(error) => json!({ "error": error }),
        };
        writeln!(out, "{answer}")?;
    }
    out.flush()
}

fn answer(line: &str) -> Result<Interval, String> {
    let line: Value = serde_json::from_str(line).map_err(told)?;
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let language = Tag::parse(text("language")).map(|tag| ExpressionLanguage::of(&tag)).unwrap_or_default();
    let instant: Timestamp = text("now").parse().map_err(told)?;
    let first_day = weekday(text("first_day")).ok_or("first_day is not a weekday")?;
    let now = ReferenceTime { instant, zone: TimeZone::get(text("timezone")).map_err(told)?, first_day };
    When::parse(text("expression"), language).map_err(told)?.resolve(&now).map_err(told)
}

fn told(error: impl std::fmt::Debug) -> String {
    format!("{error:?}")
}

fn weekday(name: &str) -> Option<Weekday> {
    let days = Weekday::Monday.cycle_forward().take(7);
    days.into_iter().find(|day| format!("{day:?}").eq_ignore_ascii_case(name))
}

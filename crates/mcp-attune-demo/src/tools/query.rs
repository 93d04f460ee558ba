//! `query_sales`, `query_tickets`, `query_activity`: questions in words, answered for whoever asks.
//!
//! These are written as a Rust author writes tools with Attune: `Caller` says when "this month" is, in which zone, and
//! how dates, numbers and money are written there. Where a caller tells nothing, the service's own moment counts, in
//! UTC and in English.

use std::sync::{Arc, LazyLock};

use jiff::civil::Date;
use jiff::{SignedDuration, ToSpan};
use mcp_attune_rmcp::catalog::{EmbeddedLocales, LocaleField, LocaleStore, TextSlot};
use mcp_attune_rmcp::format::{Currency, DecimalNumber, FormatLength, ValueFormatter};
use mcp_attune_rmcp::language::Tag;
use mcp_attune_rmcp::messages::MessageArguments;
use mcp_attune_rmcp::when::Interval;
use mcp_attune_rmcp::{Caller, TimeTextError};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use rmcp::object;
use serde::Deserialize;
use serde_json::{Value, json};

use super::sales_report::{MAX_SALES_DAYS, revenue, tickets};
use super::{TravelToolError, answer_with_text, arguments, read_only, zone_name};
use crate::data;

pub(crate) const SALES: &str = "query_sales";
pub(crate) const TICKETS: &str = "query_tickets";
pub(crate) const ACTIVITY: &str = "query_activity";

/// The words of the answers, in every language of the service.
static WORDS: LazyLock<Option<EmbeddedLocales>> =
    LazyLock::new(|| EmbeddedLocales::new(Tag::parse("en").ok()?, crate::LOCALES).ok());

pub(crate) fn definitions() -> [Tool; 3] {
    let days = json!({
        "from": { "type": "string", "title": "From", "format": "date", "description": "The first day, where the caller is" },
        "to": { "type": "string", "title": "To", "format": "date", "description": "The last day, which counts" },
        "timezone": { "type": "string", "title": "Time zone", "description": "The zone whose days these are" }
    });
    [
        definition(
            SALES,
            "Ask for sales",
            "Counts the tickets sold in a period, named in words at the end: sales this month",
            &days,
            &json!({ "tickets": { "type": "integer", "title": "Tickets" }, "revenue": { "type": "number", "title": "Revenue" }, "currency": { "type": "string", "title": "Currency" } }),
        ),
        definition(
            TICKETS,
            "Ask for support tickets",
            "Counts the support tickets that are open now: tickets submitted as of now",
            &json!({ "as_of": { "type": "string", "title": "As of", "format": "date-time" }, "timezone": { "type": "string", "title": "Time zone" } }),
            &json!({ "open": { "type": "integer", "title": "Open" } }),
        ),
        definition(
            ACTIVITY,
            "Ask for activity",
            "Counts the logins in a period, named in words at the end: user logins last week",
            &days,
            &json!({ "logins": { "type": "integer", "title": "Logins" } }),
        ),
    ]
}

fn definition(name: &'static str, title: &str, says: &'static str, when: &Value, what: &Value) -> Tool {
    let input = object!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "title": "Question",
                "description": "The question in words, with its period last: today, last week, 2026-01"
            }
        },
        "required": ["query"]
    });
    let members = || [when, what].into_iter().filter_map(Value::as_object).flatten();
    let properties: JsonObject = members().map(|(name, schema)| (name.clone(), schema.clone())).collect();
    let required: Vec<&String> = members().map(|(name, _)| name).collect();
    let output = object!({ "type": "object", "properties": properties, "required": required });
    Tool::new(name, says, input)
        .with_title(title)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(read_only(title))
}

#[derive(Deserialize)]
struct QueryArguments {
    query: String,
}

pub(crate) fn sales(given: JsonObject, caller: &Caller) -> Result<CallToolResult, TravelToolError> {
    let period = QueryPeriod::parse_query(given, caller)?;
    let sold: i64 = period.days().map(tickets).sum();
    let revenue = revenue(sold);
    let format = format(caller);
    let money = DecimalNumber::try_from(revenue).ok().zip(Currency::parse("CHF").ok());
    let money = money.map_or_else(String::new, |(amount, francs)| format.currency(&amount, francs));
    let (from, to) = period.format_days(&format);
    let said = MessageArguments::new()
        .text("from", from)
        .text("to", to)
        .number("tickets", sold)
        .text("money", money);
    let text = localized_text(caller, "sales-answer", &said);
    let QueryPeriod { from, to, zone } = period;
    let value = json!({ "from": from, "to": to, "timezone": zone,
        "tickets": sold, "revenue": revenue, "currency": "CHF" });
    answer_with_text(text, &value)
}

pub(crate) fn support(given: JsonObject, caller: &Caller) -> Result<CallToolResult, TravelToolError> {
    let QueryArguments { query: _ } = arguments(given)?;
    let now = caller.now();
    // A few come with every hour of the day and are done by midnight.
    let open = i64::from(now.hour()) * 3 + 4;
    let moment = format(caller).zoned(now.timestamp(), FormatLength::Medium);
    let text = localized_text(
        caller,
        "tickets-answer",
        &MessageArguments::new().text("moment", moment).number("open", open),
    );
    let value = json!({ "as_of": data::format_rfc3339(&now), "timezone": zone_name(&now), "open": open });
    answer_with_text(text, &value)
}

pub(crate) fn activity(given: JsonObject, caller: &Caller) -> Result<CallToolResult, TravelToolError> {
    let period = QueryPeriod::parse_query(given, caller)?;
    let logins: i64 = period.days().map(|day| tickets(day) / 7).sum();
    let (from, to) = period.format_days(&format(caller));
    let said = MessageArguments::new().text("from", from).text("to", to).number("logins", logins);
    let text = localized_text(caller, "activity-answer", &said);
    let QueryPeriod { from, to, zone } = period;
    answer_with_text(text, &json!({ "from": from, "to": to, "timezone": zone, "logins": logins }))
}

/// The sentence in the caller's language, which is reported without our doing.
fn localized_text(caller: &Caller, key: &str, arguments: &MessageArguments<'_>) -> String {
    WORDS.as_ref().map_or_else(|| key.to_owned(), |words| caller.text(words, key, arguments))
}

/// What the service is called in the language that an answer is in. Returns `None` where it chose none by itself.
pub(crate) fn service_title(caller: &Caller) -> Option<String> {
    let (words, spoken) = (WORDS.as_ref()?, caller.chosen_languages()?);
    let files = words.load(spoken.tags().next()?);
    let title = files.iter().find_map(|file| file.find(TextSlot::Server(LocaleField::Title)))?;
    serde_json::from_str(title).ok()
}

/// Dates and money inside the sentence are in its language, where the caller told no locale.
fn format(caller: &Caller) -> ValueFormatter {
    if let Some(words) = WORDS.as_ref() {
        caller.language(words.locale_index().languages());
    }
    caller.format()
}

/// The days that a question is about.
struct QueryPeriod {
    from: Date,
    to: Date,
    zone: String,
}

impl QueryPeriod {
    fn parse_query(given: JsonObject, caller: &Caller) -> Result<Self, TravelToolError> {
        let QueryArguments { query } = arguments(given)?;
        let interval = interval(&query, |text| caller.when(text)).map_err(TravelToolError::When)?;
        let now = caller.now();
        let day = |instant| now.time_zone().to_datetime(instant).date();
        let last =
            interval.end.checked_sub(SignedDuration::from_nanos(1)).map_err(|_| TravelToolError::Range)?;
        let (from, to) = (day(interval.start), day(last));
        if from > to || (to - from).get_days() >= MAX_SALES_DAYS {
            return Err(TravelToolError::Range);
        }
        Ok(Self { from, to, zone: zone_name(&now) })
    }

    fn days(&self) -> impl Iterator<Item = Date> {
        let to = self.to;
        self.from.series(1.day()).take_while(move |day| *day <= to)
    }

    fn format_days(&self, format: &ValueFormatter) -> (String, String) {
        (format.date(self.from, FormatLength::Long), format.date(self.to, FormatLength::Long))
    }
}

/// Questions end with their period: the longest end that can be read is it.
fn interval(
    query: &str,
    when: impl Fn(&str) -> Result<Interval, TimeTextError>,
) -> Result<Interval, TimeTextError> {
    let words: Vec<&str> = query.split_whitespace().collect();
    let end = |start: usize| words.get(start..).unwrap_or_default().join(" ");
    let found = (0..words.len()).find_map(|start| Some((start, when(&end(start)).ok()?)));
    // `the last week` is another time than `last week`: what it means is not decided here.
    let article = found.and_then(|(start, _)| start.checked_sub(1));
    let article = article.filter(|at| words.get(*at).is_some_and(|word| word.eq_ignore_ascii_case("the")));
    match (found, article) {
        (Some((_, interval)), None) => Ok(interval),
        (_, Some(at)) => when(&end(at)),
        (None, None) => when(query),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &str) -> JsonObject {
        object!({ "query": query })
    }

    #[track_caller]
    fn check(result: Result<CallToolResult, TravelToolError>, text: &str, value: Value) {
        let result = result.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, text);
        assert_eq!(result.structured_content, Some(value));
    }

    #[test]
    fn this_month_is_the_callers_and_money_looks_as_they_read_it() {
        // Half past eleven at the end of January in New York is February in Vienna.
        let caller =
            Caller::for_test().timezone("Europe/Vienna").locale("de-AT").now("2026-01-31T23:30:00-05:00");
        check(
            sales(asked("sales this month"), &caller.caller()),
            "Vom 1. Februar 2026 bis zum 28. Februar 2026 wurden 33\u{a0}279 Billette für CHF\u{a0}780\u{a0}392,55 verkauft.",
            json!({ "from": "2026-02-01", "to": "2026-02-28", "timezone": "Europe/Vienna",
                "tickets": 33279, "revenue": 780_392.55, "currency": "CHF" }),
        );
    }

    #[test]
    fn now_is_read_in_the_offset_that_it_was_written_with() {
        let caller = Caller::for_test().now("2025-11-12T14:23:00+01:00");
        check(
            support(asked("tickets submitted as of now"), &caller.caller()),
            "As of Nov 12, 2025, 2:23:00\u{202f}PM GMT+1, 46 support tickets are open.",
            json!({ "as_of": "2025-11-12T14:23:00+01:00", "timezone": "+01:00", "open": 46 }),
        );
    }

    #[test]
    fn the_library_decides_what_an_article_means() {
        let caller =
            Caller::for_test().timezone("America/Los_Angeles").now("2025-11-12T06:23:00-08:00").caller();
        let rolling = "user logins in the last week";
        let period = QueryPeriod::parse_query(asked(rolling), &caller).unwrap();
        assert_eq!(
            (period.from.to_string(), period.to.to_string()),
            ("2025-11-05".into(), "2025-11-12".into())
        );
        // Where the library refuses it, the words without the article are no way around that.
        let refusing = |text: &str| caller.when(if text.contains("the ") { "refused" } else { text });
        assert!(interval(rolling, refusing).is_err());
        assert!(interval("user logins last week", refusing).is_ok());
        let (week, quarter) = ("user logins last week", "user logins in the previous quarter");
        assert_eq!(QueryPeriod::parse_query(asked(week), &caller).unwrap().from.to_string(), "2025-11-03");
        assert_eq!(QueryPeriod::parse_query(asked(quarter), &caller).unwrap().to.to_string(), "2025-09-30");
    }

    #[test]
    fn last_week_begins_where_the_callers_weeks_do() {
        let caller = Caller::for_test().timezone("America/Los_Angeles").now("2025-11-12T06:23:00-08:00");
        let week = |from: &str, to: &str, logins: i64| json!({ "from": from, "to": to, "timezone": "America/Los_Angeles", "logins": logins });
        check(
            activity(asked("user logins last week"), &caller.clone().locale("en-US").caller()),
            "From November 2, 2025 to November 8, 2025 there were 1,176 logins.",
            week("2025-11-02", "2025-11-08", 1176),
        );
        let german = activity(asked("user logins last week"), &caller.locale("de-CH").caller()).unwrap();
        assert_eq!(german.structured_content.unwrap()["from"], "2025-11-03");
    }

    #[test]
    fn a_question_without_a_period_says_what_can_be_written() {
        let problem = sales(asked("sales of late"), &Caller::for_test().caller()).unwrap_err().to_string();
        assert!(problem.starts_with("`sales of late` is not an expression of time"), "{problem}");
    }
}

//! `attune context resolve EXPRESSION`: the interval that a relative expression names for a caller.

use std::io::Write;

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::fmt::temporal::Pieces;
use jiff::tz::TimeZone;
use mcp_attune::language::Tag;
use mcp_attune::when::{Interval, Language, Now, READABLE, When};
use serde::Serialize;

use super::first_day::first_day;
use crate::exit::{Exit, hinted};
use crate::text::{json, quoted};

/// See which interval an expression such as `last week` names for a caller
#[derive(clap::Args)]
#[command(after_help = help())]
pub(super) struct Resolve {
    /// The expression, in English or in the language of --locale; words may stand apart by blanks, _ or -
    #[arg(required = true, value_name = "EXPRESSION")]
    expression: Vec<String>,
    /// The instant that is now, by RFC 3339 with an offset; without it, the system's clock
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    now: Option<String>,
    /// The zone in which now is read, such as Europe/Zurich; without it, the offset of --now, else UTC
    #[arg(long, value_name = "TZ")]
    timezone: Option<String>,
    /// The locale, which gives the language of the expression and the first day of the week; without it, English and Monday
    #[arg(long, value_name = "TAG")]
    locale: Option<String>,
    /// Print JSON: `start`, `end`, `start_utc`, `end_utc`
    #[arg(long)]
    json: bool,
}

fn help() -> String {
    format!(
        "Expressions, also in German, French, Italian, Spanish, Portuguese and Japanese:\n{READABLE}\n\
         The start is in the interval, the end is not.\n\n\
         Examples:\n  \
         $ attune context resolve last week --now 2026-11-12T14:23:00+01:00 --timezone Europe/Zurich --locale de-CH\n  \
         $ attune context resolve vor drei Tagen --timezone Europe/Zurich --locale de-CH --json\n  \
         $ attune context resolve soon # exit 2"
    )
}

#[derive(Serialize)]
struct Resolved {
    start: String,
    end: String,
    start_utc: String,
    end_utc: String,
}

impl Resolve {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let text = self.expression.join(" ");
        let (language, first_day) = self.locale()?;
        let (instant, zone) = self.now()?;
        let when = When::parse(&text, language)
            .map_err(|unreadable| hinted(format!("{} is {unreadable}", quoted(&text)), hint(language)))?;
        let now = Now { instant, zone, first_day };
        let Interval { start, end } = when.resolve(&now).map_err(|unresolvable| {
            hinted(
                format!("{} is {unresolvable}", quoted(&text)),
                "`attune context resolve --help` lists what can be read",
            )
        })?;
        let local = |instant: Timestamp| instant.display_with_offset(now.zone.to_offset(instant)).to_string();
        let resolved = Resolved {
            start: local(start),
            end: local(end),
            start_utc: start.to_string(),
            end_utc: end.to_string(),
        };
        if self.json {
            json(out, &resolved)?;
        } else {
            writeln!(out, "{}/{}", resolved.start, resolved.end)?;
        }
        Ok(Exit::Fine)
    }

    fn locale(&self) -> anyhow::Result<(Language, Weekday)> {
        let Some(text) = &self.locale else { return Ok((Language::English, Weekday::Monday)) };
        let tag = Tag::parse(text).map_err(|why| {
            hinted(
                format!("--locale {} is {why}", quoted(text)),
                "separate the parts with hyphens, as in de-CH",
            )
        })?;
        Ok((Language::of(&tag), first_day(&tag)))
    }

    /// The instant, and the zone that it is read in.
    fn now(&self) -> anyhow::Result<(Timestamp, TimeZone)> {
        let (instant, offset) = match &self.now {
            None => (Timestamp::now(), TimeZone::UTC),
            Some(text) => read(text).ok_or_else(|| {
                let hint = "write one by RFC 3339 with an offset, such as 2026-11-12T14:23:00+01:00";
                hinted(format!("--now {} is not an instant", quoted(text)), hint)
            })?,
        };
        let Some(name) = &self.timezone else { return Ok((instant, offset)) };
        let zone = TimeZone::get(name).map_err(|_| {
            let hint = "write a name of the IANA database, such as Europe/Zurich";
            hinted(format!("--timezone {} is not a time zone", quoted(name)), hint)
        })?;
        Ok((instant, zone))
    }
}

/// An instant, and the offset that it is written with.
fn read(text: &str) -> Option<(Timestamp, TimeZone)> {
    let pieces = Pieces::parse(text).ok().filter(|pieces| pieces.time_zone_annotation().is_none())?;
    let offset = pieces.to_numeric_offset()?;
    Some((text.parse().ok()?, offset.to_time_zone()))
}

/// Which languages were tried.
fn hint(language: Language) -> String {
    match language {
        Language::English => {
            "--locale names the language of other expressions, such as --locale de-CH".to_owned()
        }
        other => format!("the expression was read as {other:?} and as English"),
    }
}

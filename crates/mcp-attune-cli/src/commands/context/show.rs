//! `attune context show`: what a caller's time, zone and locale come to.

use std::io::Write;

use mcp_attune::language::Tag;
use mcp_attune::week;
use serde::Serialize;

use super::options::{ContextValueArgs, now};
use crate::exit::Exit;
use crate::text::print_json;

/// See what a caller's time, zone and locale come to
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune context show --now 2026-11-12T14:23:00+01:00 --timezone Europe/Vienna --locale de-AT\n  $ attune context show --timezone America/New_York --json"
)]
pub(super) struct ContextShowArgs {
    #[command(flatten)]
    options: ContextValueArgs,
    /// Print JSON: local_now, utc_now, timezone, iso_week, first_day_of_week, offset_agrees, locale
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ContextShowOutput {
    local_now: String,
    utc_now: String,
    /// The name of the zone, or the offset where there is none.
    timezone: String,
    iso_week: String,
    first_day_of_week: String,
    /// Whether the offset of --now is the zone's then; null where one of them was not given.
    offset_agrees: Option<bool>,
    locale: Option<String>,
}

impl ContextShowArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let context = self.options.context()?;
        let now = now(&context);
        let offset = now.zone.to_offset(now.instant);
        let week = now.civil().date().iso_week_date();
        let first_day = context.locale().map_or(jiff::civil::Weekday::Monday, week::first_day);
        let shown = ContextShowOutput {
            local_now: now.instant.display_with_offset(offset).to_string(),
            utc_now: now.instant.to_string(),
            timezone: now.zone.iana_name().map_or_else(|| offset_text(offset), str::to_owned),
            iso_week: format!("{:04}-W{:02}", week.year(), week.week()),
            first_day_of_week: format!("{first_day:?}").to_lowercase(),
            offset_agrees: now.offset_agrees,
            locale: context.locale().map(Tag::to_string),
        };
        if self.json {
            print_json(out, &shown)?;
        } else {
            write(out, &shown)?;
        }
        Ok(Exit::Fine)
    }
}

/// `+01:00`, as timestamps have it.
fn offset_text(offset: jiff::tz::Offset) -> String {
    let minutes = offset.seconds() / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
}

fn write(out: &mut impl Write, shown: &ContextShowOutput) -> anyhow::Result<()> {
    let agrees = match shown.offset_agrees {
        Some(true) => "the offset is the one of the zone",
        Some(false) => "the offset is not the one of the zone; both stand",
        None => "nothing to compare",
    };
    for (name, value) in [
        ("local now", shown.local_now.as_str()),
        ("UTC now", &shown.utc_now),
        ("time zone", &shown.timezone),
        ("ISO week", &shown.iso_week),
        ("first day of week", &shown.first_day_of_week),
        ("offset", agrees),
        ("locale", shown.locale.as_deref().unwrap_or("none")),
    ] {
        writeln!(out, "{name:<17}  {value}")?;
    }
    Ok(())
}

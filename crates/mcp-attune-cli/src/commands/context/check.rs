//! `attune context check`: is a time, a zone or a locale one that a context can hold?

use std::io::Write;

use mcp_attune::context::{ClientContextError, IanaTimeZone, Rfc3339Instant};
use serde::Serialize;

use crate::asking::caller::parse_locale;
use crate::exit::{Exit, hinted};
use crate::text::print_json;

/// Check parts of a context: exit 0 if all are valid, 1 if not
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune context check --timestamp 2026-11-12T14:23:00+01:00 --timezone europe/vienna --locale de-AT"
)]
pub(super) struct ContextCheckArgs {
    /// A value of `currentTimestamp`
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    timestamp: Option<String>,
    /// A value of `timezone`
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// A value of `locale`
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ContextCheckOutput {
    valid: bool,
    fields: Vec<ContextFieldOutput>,
}

#[derive(Serialize)]
struct ContextFieldOutput {
    field: &'static str,
    valid: bool,
    error: Option<String>,
}

impl ContextCheckArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        let fields: Vec<_> = [
            field("currentTimestamp", self.timestamp.as_deref(), |text| Rfc3339Instant::parse(text).err()),
            field("timezone", self.timezone.as_deref(), |text| IanaTimeZone::parse(text).err()),
            field("locale", self.locale.as_deref(), |text| parse_locale(text).err()),
        ]
        .into_iter()
        .flatten()
        .collect();
        if fields.is_empty() {
            let hint = "give one or more of --timestamp, --timezone and --locale";
            return Err(hinted("there is nothing to check", hint));
        }
        let checked = ContextCheckOutput { valid: fields.iter().all(|field| field.valid), fields };
        if self.json {
            print_json(out, &checked)?;
        } else {
            for ContextFieldOutput { field, error, .. } in &checked.fields {
                match error {
                    None => writeln!(out, "{field}: valid")?,
                    Some(error) => writeln!(out, "{field}: {error}")?,
                }
            }
        }
        Ok(if checked.valid { Exit::Fine } else { Exit::Findings })
    }
}

fn field(
    name: &'static str,
    text: Option<&str>,
    wrong: impl Fn(&str) -> Option<ClientContextError>,
) -> Option<ContextFieldOutput> {
    let wrong = wrong(text?);
    Some(ContextFieldOutput {
        field: name,
        valid: wrong.is_none(),
        error: wrong.map(|wrong| wrong.to_string()),
    })
}

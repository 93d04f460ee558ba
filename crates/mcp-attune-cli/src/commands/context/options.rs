//! A caller's time, zone and locale as options.

use std::io::IsTerminal;

use jiff::Timestamp;
use mcp_attune::context::{CallerTime, ClientContext, IanaTimeZone, Rfc3339Instant};
use mcp_attune::language::Tag;

use crate::asking::caller::{parse_locale, parse_option};
use crate::asking::system;

#[derive(clap::Args)]
pub(super) struct ContextValueArgs {
    /// The instant that is now, by RFC 3339 with an offset; without it, the system's clock
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    now: Option<String>,
    /// The zone in which now is read, such as Europe/Zurich; without it, the offset of --now, else on a terminal the
    /// system's, and in a pipe UTC
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// The locale, such as de-CH, which gives the first day of the week and the language; without it, on a terminal the
    /// system's, and in a pipe Monday and English
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
}

impl ContextValueArgs {
    /// The context that the options say. A person at a terminal means their own zone and locale where they name none; a
    /// script gets the same wherever it runs.
    pub(super) fn context(&self) -> anyhow::Result<ClientContext> {
        let is_person = std::io::stdout().is_terminal();
        let zone = parse_option("--timezone", self.timezone.as_deref(), IanaTimeZone::parse)?;
        let own_zone = || (is_person && self.now.is_none()).then(system::zone).flatten();
        let tag = parse_option("--locale", self.locale.as_deref(), parse_locale)?;
        let own_tag = || -> Option<Tag> { is_person.then(system::locale).flatten() };
        Ok(ClientContext::from_parts(
            zone.or_else(own_zone),
            parse_option("--now", self.now.as_deref(), Rfc3339Instant::parse)?,
            tag.or_else(own_tag),
        ))
    }
}

/// The caller's now, by their own clock or by this one.
pub(super) fn now(context: &ClientContext) -> CallerTime {
    context.now(Timestamp::now())
}

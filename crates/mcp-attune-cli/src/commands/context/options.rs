//! A caller's time, zone and locale as options.

use jiff::Timestamp;
use mcp_attune::context::{ClientContext, Instant, Now, Zone};

use crate::asking::caller::{locale, read};

#[derive(clap::Args)]
pub(super) struct Options {
    /// The instant that is now, by RFC 3339 with an offset; without it, the system's clock
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    now: Option<String>,
    /// The zone in which now is read, such as Europe/Zurich; without it, the offset of --now, else UTC
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// The locale, such as de-CH, which gives the first day of the week and the language; without it, Monday and English
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
}

impl Options {
    pub(super) fn context(&self) -> anyhow::Result<ClientContext> {
        Ok(ClientContext::of(
            read("--timezone", self.timezone.as_deref(), Zone::parse)?,
            read("--now", self.now.as_deref(), Instant::parse)?,
            read("--locale", self.locale.as_deref(), locale)?,
        ))
    }
}

/// The caller's now, by their own clock or by this one.
pub(super) fn now(context: &ClientContext) -> Now {
    context.now(Timestamp::now())
}

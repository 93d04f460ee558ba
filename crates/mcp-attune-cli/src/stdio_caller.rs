//! Whose language, zone and form hold for a client on this machine that says none of them.
//!
//! 1. Options set them by hand, and come before the file's `[callers.default]`.
//! 2. With `--caller system` the system says the rest, asked anew for each request: whoever travels with a laptop gets the
//!    right day without starting anything again.
//!
//! Rules: A1, A2.

use mcp_attune::assume::CallerValues;
use mcp_attune::context::IanaTimeZone;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::{AcceptLanguage, Tag};
use mcp_attune::session::ClientFeatures;
use mcp_attune_gateway::config::Config;
use mcp_attune_gateway::stdio::SystemCaller;

use crate::asking::system;
use crate::exit::hinted;
use crate::language_args::only_mount;
use crate::text::quoted;

/// Who the caller is, where the client does not say.
#[derive(clap::Args)]
#[command(next_help_heading = "Caller options, for clients that do not say who calls")]
pub(crate) struct StdioCallerArgs {
    /// `system`: the language and the time zone of this machine, as they are at each request; `none`: nothing
    #[arg(long, value_enum, value_name = "system|none")]
    caller: Option<AssumedCallerOption>,
    /// Languages that you read, such as de-CH or 'de-CH, en;q=0.5'
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    language: Option<String>,
    /// Your time zone, such as Europe/Zurich
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// The locale that numbers and dates are written for, such as de-CH
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
    /// A feature tag, such as human, agent or format=text, which turns on that results are adapted; may be given again
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    feature: Vec<String>,
}

/// What `--caller` can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum AssumedCallerOption {
    System,
    None,
}

impl StdioCallerArgs {
    /// Puts what is set by hand into the configuration, and returns who asks the system, if anybody does.
    pub(crate) fn apply_caller(&self, config: &mut Config) -> anyhow::Result<Option<SystemCaller>> {
        let values = self.values()?;
        if !values.is_empty() {
            let mount = only_mount(config, "a caller option")?;
            let default = &mut mount.callers.default;
            default.language = values.language.or_else(|| default.language.take());
            default.timezone = values.timezone.or(default.timezone);
            default.locale = values.locale.or_else(|| default.locale.take());
            if values.features.is_some() {
                default.features = values.features;
                mount.content.enabled = true;
            }
        }
        let asks = self.caller == Some(AssumedCallerOption::System);
        Ok(asks.then(|| SystemCaller::new(system_values)))
    }

    fn values(&self) -> anyhow::Result<CallerValues> {
        let language = self.language.as_deref().map(parse_language).transpose()?;
        let zone = |text: &str| {
            IanaTimeZone::parse(text).map_err(|why| {
                hinted(format!("--timezone {} is {why}", quoted(text)), "such as --timezone Europe/Zurich")
            })
        };
        let locale = |text: &str| {
            Tag::parse(text).map_err(|why| {
                hinted(format!("--locale {} is {why}", quoted(text)), "such as --locale de-CH")
            })
        };
        Ok(CallerValues {
            language,
            timezone: self.timezone.as_deref().map(zone).transpose()?,
            locale: self.locale.as_deref().map(locale).transpose()?,
            place: None,
            features: self.features()?,
        })
    }

    fn features(&self) -> anyhow::Result<Option<ClientFeatures>> {
        const HINT: &str = "`attune features parse` says what each tag means";
        let tags = || self.feature.iter().map(String::as_str);
        if let Some((tag, why)) = FeaturePreferences::read(tags()).ignored().next() {
            return Err(hinted(format!("--feature {} cannot be used: {why}", quoted(tag)), HINT));
        }
        let read = ClientFeatures::from_tags(tags());
        if read.left_out > 0 {
            return Err(hinted("there are more or longer tags than a client can declare", HINT));
        }
        Ok(Some(read.features).filter(|features| !features.is_empty()))
    }
}

fn parse_language(text: &str) -> anyhow::Result<AcceptLanguage> {
    let hint = "write it like an Accept-Language header, such as 'de-CH, en;q=0.5'";
    match AcceptLanguage::parse(text) {
        Ok(preference) if !preference.is_empty() && text != "*" => Ok(preference),
        Ok(_) => Err(hinted(format!("--language {} asks for no language", quoted(text)), hint)),
        Err(why) => Err(hinted(format!("--language {} is {why}", quoted(text)), hint)),
    }
}

/// What the system says now.
fn system_values() -> CallerValues {
    CallerValues {
        language: system::language().map(|(language, _)| language),
        timezone: system::current_zone(),
        locale: system::locale(),
        ..CallerValues::default()
    }
}

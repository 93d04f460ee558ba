//! Who asks, as options: the same for every command that asks a server.

use std::fmt;
use std::io::IsTerminal;

use mcp_attune::context::{
    ClientContext, ClientContextError, Country, IanaTimeZone, Rfc3339Instant, UserLocation,
};
use mcp_attune::language::{AcceptLanguage, Tag};
use mcp_attune_rmcp::{CallerProfile, ConnectionOptions, ServerTarget};

use super::system;
use crate::exit::hinted;
use crate::server::{authorize, parse_headers};
use crate::text::quoted;

/// Who asks.
#[derive(clap::Args)]
#[command(next_help_heading = "Caller options")]
pub(crate) struct CallerArgs {
    /// Languages that you read, such as de-CH or 'de-CH, en;q=0.5', or `none`; by default the system's on a terminal,
    /// and none in a pipe
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    language: Option<String>,
    /// Your time zone, such as Europe/Zurich, or `none`; by default the system's on a terminal, and none in a pipe
    #[arg(long, value_name = "TZ", allow_hyphen_values = true)]
    timezone: Option<String>,
    /// The instant that is now for you, by RFC 3339 with an offset
    #[arg(long, value_name = "TS", allow_hyphen_values = true)]
    now: Option<String>,
    /// The locale that numbers and dates are written for, such as de-CH
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    locale: Option<String>,
    /// Where you are; parts may be empty, as in ',,CH'
    #[arg(long, value_name = "CITY,REGION,CC")]
    location: Option<String>,
    /// A feature tag, such as human, agent or format=json; may be given again
    #[arg(long, value_name = "TAG", allow_hyphen_values = true)]
    feature: Vec<String>,
    /// A header of every request; may be given again
    #[arg(long, value_name = "NAME:VALUE")]
    header: Vec<String>,
    /// A bearer token; better in the environment variable ATTUNE_TOKEN, where other users do not see it
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Show the exchange on the wire, and what was negotiated, on standard error; secrets are masked
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Where something comes from that is said of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallerFieldSource {
    /// An option.
    Option(&'static str),
    /// The system, by this variable.
    Variable(&'static str),
    /// The system.
    System,
}

impl fmt::Display for CallerFieldSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option(name) => f.write_str(name),
            Self::Variable(name) => write!(f, "the system's, by {name}"),
            Self::System => f.write_str("the system's"),
        }
    }
}

/// What is said of the caller, and why.
#[derive(Clone, Debug)]
pub(crate) struct SourcedCaller {
    pub(crate) profile: CallerProfile,
    /// What they want to read; empty where nothing is said of it.
    pub(crate) accept: AcceptLanguage,
    pub(crate) language: Option<CallerFieldSource>,
    pub(crate) timezone: Option<(IanaTimeZone, CallerFieldSource)>,
    /// The names of the other fields of the context, each with the option that says it.
    pub(crate) context: Vec<(&'static str, CallerFieldSource)>,
}

impl CallerArgs {
    /// What is said of the caller. On a terminal, where a person is, the system's language and zone stand in for what
    /// they did not say; a program gets what it asks for, wherever it runs.
    pub(crate) fn resolve_caller(&self) -> anyhow::Result<SourcedCaller> {
        let person = std::io::stdout().is_terminal();
        let language = match self.language.as_deref() {
            Some("none") => None,
            Some(text) => Some((parse_preference(text)?, CallerFieldSource::Option("--language"))),
            None if person => {
                system::language().map(|(accept, name)| (accept, CallerFieldSource::Variable(name)))
            }
            None => None,
        };
        let (accept, source) = language.unzip();
        let mut profile = CallerProfile::default();
        if let Some(accept) = &accept {
            profile = profile.language(accept.clone());
        }
        let timezone = match self.timezone.as_deref() {
            Some("none") => None,
            None => person.then(system::zone).flatten().map(|zone| (zone, CallerFieldSource::System)),
            zone => parse_option("--timezone", zone, IanaTimeZone::parse)?
                .map(|zone| (zone, CallerFieldSource::Option("--timezone"))),
        };
        let (now, locale) = (self.now.as_deref(), self.locale.as_deref());
        let context = ClientContext::from_parts(
            timezone.map(|(zone, _)| zone),
            parse_option("--now", now, Rfc3339Instant::parse)?,
            parse_option("--locale", locale, parse_locale)?,
        );
        let context = match &self.location {
            Some(text) => context.with_user_location(parse_location(text)?),
            None => context,
        };
        let options = [("currentTimestamp", "--now"), ("locale", "--locale"), ("userLocation", "--location")];
        let named = |name| options.into_iter().find(|(field, _)| *field == name);
        let fields = context.field_names().filter_map(named);
        let fields = fields.map(|(name, option)| (name, CallerFieldSource::Option(option))).collect();
        let profile = profile.context(context);
        let profile = profile.features(self.feature.iter().map(String::as_str)).map_err(|why| {
            let hint = why.hint().unwrap_or("see `attune features parse --help`");
            hinted(format!("--feature: {}", why.what()), hint)
        })?;
        Ok(SourcedCaller {
            profile,
            accept: accept.unwrap_or_default(),
            language: source,
            timezone,
            context: fields,
        })
    }

    /// Adds the headers, and the token as one of them.
    pub(crate) fn add_credentials(
        &self,
        target: &ServerTarget,
        options: &mut ConnectionOptions,
    ) -> anyhow::Result<()> {
        options.headers = parse_headers(&self.header)?;
        authorize(self.token.as_deref(), target, options)
    }
}

pub(crate) fn parse_preference(text: &str) -> anyhow::Result<AcceptLanguage> {
    AcceptLanguage::parse(text).map_err(|why| {
        let what = format!("--language {} is no language preference, {}", quoted(text), why.what());
        hinted(what, why.hint())
    })
}

fn parse_location(text: &str) -> anyhow::Result<UserLocation> {
    let hint = "write --location Bern,BE,CH; parts may be empty, as in ',,CH'";
    let parts: Vec<_> =
        text.split(',').map(|part| Some(part.trim()).filter(|part| !part.is_empty())).collect();
    let &[city, region, country] = parts.as_slice() else {
        return Err(hinted(format!("--location {} has not three parts", quoted(text)), hint));
    };
    let country = country.map(Country::parse).transpose();
    country
        .and_then(|country| UserLocation::named(city, region, country))
        .map_err(|wrong| hinted(format!("--location {} has {}", quoted(text), wrong.what()), hint))
}

/// Reads a locale.
pub(crate) fn parse_locale(text: &str) -> Result<Tag, ClientContextError> {
    Tag::parse(text).map_err(ClientContextError::Locale)
}

/// Reads the value of an option, and says what is wrong with it.
pub(crate) fn parse_option<T>(
    option: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, ClientContextError>,
) -> anyhow::Result<Option<T>> {
    let Some(text) = text else { return Ok(None) };
    parse(text)
        .map(Some)
        .map_err(|wrong| hinted(format!("{option} {} is {}", quoted(text), wrong.what()), wrong.hint()))
}

//! Which field of a caller comes from which source.

use core::fmt;
use std::sync::Arc;

/// What is known of a caller, field by field.
///
/// Rules: A1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallerField {
    /// The languages that the caller prefers.
    Language,
    /// The time zone.
    Timezone,
    /// The caller's now.
    Now,
    /// The locale, for dates and numbers.
    Locale,
    /// The place.
    Place,
    /// The feature tags.
    Features,
}

impl CallerField {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Language, Self::Timezone, Self::Now, Self::Locale, Self::Place, Self::Features];

    /// Its name in logs and metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Language => "language",
            Self::Timezone => "timezone",
            Self::Now => "now",
            Self::Locale => "locale",
            Self::Place => "place",
            Self::Features => "features",
        }
    }
}

/// Where a value comes from, the first that is asked first. A name in it is the operator's, never the caller's.
///
/// ```
/// use mcp_attune::assume::CallerSource;
///
/// let source = CallerSource::Header("cf-timezone".into());
/// assert_eq!((source.name(), source.to_string().as_str()), ("header", "header:cf-timezone"));
/// assert!(source.is_assumed() && !CallerSource::Vendor.is_assumed());
/// ```
///
/// Rules: A1, A3.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum CallerSource {
    /// The request: `acceptLanguage`, `clientContext`, declared tags.
    Request,
    /// A key of a vendor in the `_meta` of the request.
    Vendor,
    /// What the legacy session of the request began with.
    Session,
    /// A claim of a verified token.
    Claim,
    /// A trusted header, by its name.
    Header(Arc<str>),
    /// The profile of the client, by its name.
    Profile(Arc<str>),
    /// What the operator sets for callers that say nothing.
    Default,
    /// The system of the person at this machine.
    System,
}

impl CallerSource {
    /// The kind of source, for metrics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Vendor => "vendor",
            Self::Session => "session",
            Self::Claim => "claim",
            Self::Header(_) => "header",
            Self::Profile(_) => "profile",
            Self::Default => "default",
            Self::System => "system",
        }
    }

    /// Whether the value is assumed: the client did not say it, in this request or when its session began.
    #[must_use]
    pub fn is_assumed(&self) -> bool {
        !matches!(self, Self::Request | Self::Vendor | Self::Session)
    }
}

impl fmt::Display for CallerSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) | Self::Profile(name) => write!(f, "{}:{name}", self.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// The source of each field of a caller; none where nothing is known of it. `Display` has no value in it:
/// `language=header:accept-language timezone=claim`.
///
/// Rules: A3.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CallerSources {
    language: Option<CallerSource>,
    timezone: Option<CallerSource>,
    now: Option<CallerSource>,
    locale: Option<CallerSource>,
    place: Option<CallerSource>,
    features: Option<CallerSource>,
}

impl CallerSources {
    /// The source of a field.
    #[must_use]
    pub fn get(&self, field: CallerField) -> Option<&CallerSource> {
        match field {
            CallerField::Language => self.language.as_ref(),
            CallerField::Timezone => self.timezone.as_ref(),
            CallerField::Now => self.now.as_ref(),
            CallerField::Locale => self.locale.as_ref(),
            CallerField::Place => self.place.as_ref(),
            CallerField::Features => self.features.as_ref(),
        }
    }

    /// The fields that are known, with their sources.
    pub fn iter(&self) -> impl Iterator<Item = (CallerField, &CallerSource)> {
        CallerField::ALL.into_iter().filter_map(|field| Some((field, self.get(field)?)))
    }

    /// The fields that are assumed, with their sources.
    pub fn assumed(&self) -> impl Iterator<Item = (CallerField, &CallerSource)> {
        self.iter().filter(|(_, source)| source.is_assumed())
    }

    /// Notes where a field comes from.
    pub(crate) fn set(&mut self, field: CallerField, source: CallerSource) {
        let slot = match field {
            CallerField::Language => &mut self.language,
            CallerField::Timezone => &mut self.timezone,
            CallerField::Now => &mut self.now,
            CallerField::Locale => &mut self.locale,
            CallerField::Place => &mut self.place,
            CallerField::Features => &mut self.features,
        };
        *slot = Some(source);
    }
}

impl fmt::Display for CallerSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (field, source)) in self.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}={source}", field.name())?;
        }
        Ok(())
    }
}

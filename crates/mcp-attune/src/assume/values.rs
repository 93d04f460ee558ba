//! What a source says of a caller, and what several of them come to.

use core::fmt;

use super::source::{CallerField, CallerSource};
use crate::context::{IanaTimeZone, UserLocation};
use crate::language::{AcceptLanguage, Tag};
use crate::session::ClientFeatures;

/// What one source says of a caller: only what is valid, so nothing in it is malformed. `Debug` names the fields.
///
/// Rules: A1, C8.
#[derive(Clone, PartialEq, Default)]
pub struct CallerValues {
    /// The languages that the caller prefers.
    pub language: Option<AcceptLanguage>,
    /// The time zone.
    pub timezone: Option<IanaTimeZone>,
    /// The locale. Where the source names no language, it is that of the locale.
    pub locale: Option<Tag>,
    /// The place, as a whole from one source.
    pub place: Option<UserLocation>,
    /// The feature tags.
    pub features: Option<ClientFeatures>,
}

impl CallerValues {
    /// Whether the source says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.field_names().next().is_none()
    }

    fn field_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let there = [
            (CallerField::Language, self.language.is_some()),
            (CallerField::Timezone, self.timezone.is_some()),
            (CallerField::Locale, self.locale.is_some()),
            (CallerField::Place, self.place.is_some()),
            (CallerField::Features, self.features.is_some()),
        ];
        there.into_iter().filter(|(_, there)| *there).map(|(field, _)| field.name())
    }
}

impl fmt::Debug for CallerValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallerValues {{{}}}", self.field_names().collect::<Vec<_>>().join(", "))
    }
}

/// A value and where it comes from.
pub(crate) type Sourced<T> = (T, CallerSource);

/// What several sources say, each field from the first that has it.
#[derive(Clone, PartialEq, Default)]
pub struct AssumedValues {
    pub(crate) language: Option<Sourced<AssumedLanguage>>,
    pub(crate) timezone: Option<Sourced<IanaTimeZone>>,
    pub(crate) locale: Option<Sourced<Tag>>,
    pub(crate) place: Option<Sourced<UserLocation>>,
    pub(crate) features: Option<Sourced<ClientFeatures>>,
}

/// A language, and whether its source names only a locale.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AssumedLanguage {
    pub(crate) preference: AcceptLanguage,
    pub(crate) is_locale: bool,
}

impl AssumedValues {
    /// Asks a source for every field that those before it left open. `name` says what it is called for a field.
    pub(super) fn ask(&mut self, values: CallerValues, name: impl Fn(CallerField) -> CallerSource) {
        if self.language.is_none() {
            let named = values.language.map(|preference| {
                (AssumedLanguage { preference, is_locale: false }, name(CallerField::Language))
            });
            self.language = named.or_else(|| {
                let preference = AcceptLanguage::of_locale(values.locale.as_ref()?)?;
                Some((AssumedLanguage { preference, is_locale: true }, name(CallerField::Locale)))
            });
        }
        fill(&mut self.timezone, values.timezone, || name(CallerField::Timezone));
        fill(&mut self.locale, values.locale, || name(CallerField::Locale));
        fill(&mut self.place, values.place, || name(CallerField::Place));
        fill(&mut self.features, values.features, || name(CallerField::Features));
    }

    /// The feature tags alone.
    #[must_use]
    pub(crate) fn only_features(self) -> Self {
        Self { features: self.features, ..Self::default() }
    }
}

fn fill<T>(slot: &mut Option<Sourced<T>>, value: Option<T>, source: impl Fn() -> CallerSource) {
    if slot.is_none() {
        *slot = value.map(|value| (value, source()));
    }
}

impl fmt::Debug for AssumedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = [
            (CallerField::Language, self.language.as_ref().map(|(_, source)| source)),
            (CallerField::Timezone, self.timezone.as_ref().map(|(_, source)| source)),
            (CallerField::Locale, self.locale.as_ref().map(|(_, source)| source)),
            (CallerField::Place, self.place.as_ref().map(|(_, source)| source)),
            (CallerField::Features, self.features.as_ref().map(|(_, source)| source)),
        ];
        let there = sources.into_iter().filter_map(|(field, source)| Some((field.name(), source?)));
        f.debug_map().entries(there).finish()
    }
}

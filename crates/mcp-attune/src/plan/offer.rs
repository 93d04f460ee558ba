//! What a server can do for its callers, as its operator or its author says.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::assume::CallerAssumptions;
use crate::bind::Bindings;
use crate::catalog::{LocaleIndex, LocaleStore};
use crate::context::ContextForwarding;
use crate::format::Formatters;
use crate::language::{Languages, Tag};
use crate::localize::TranslationScope;
use crate::shaping::ShaperSource;
use crate::when::PastPhrasePolicy;

/// What a server can do for its callers.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The languages it has, its default first. None: no claim is made about language at all, but for what the server
    /// itself says.
    pub languages: Option<Languages>,
    /// Whether the server can choose languages in its own code, and say so through [`Spoken`](super::ReportedLanguages).
    pub speaks: bool,
    /// What of its callers' contexts it is given.
    pub forward: ContextForwarding,
    /// The arguments of its tools that its callers' contexts fill.
    pub bindings: Arc<Bindings>,
    /// Its translations. Where there are files, they decide which languages it has.
    pub library: Option<Arc<dyn LocaleStore>>,
    /// What of its texts is translated.
    pub translate: TranslationScope,
    /// The arguments that name a language, by tool or prompt. Rules: L12.
    pub language_arguments: Arc<BTreeMap<String, String>>,
    /// What writes dates and numbers inside translations and shaped answers. Where there is none, the host sets one if it
    /// has the data of locales; else plain forms are used.
    pub formatters: Option<Formatters>,
    /// How its answers are shaped; none: not at all.
    pub content: Option<Arc<dyn ShaperSource>>,
    /// What `the last week` and its like mean in what its callers write. Rules: C14.
    pub past: PastPhrasePolicy,
    /// What is assumed of callers that say nothing. Rules: A1–A7.
    pub callers: Arc<CallerAssumptions>,
}

impl Offer {
    /// What writes dates and numbers, plainly where nothing else is set.
    #[must_use]
    pub fn formatters(&self) -> Formatters {
        self.formatters.clone().unwrap_or_default()
    }

    /// Whether anything that callers get could depend on their locale.
    pub(crate) fn uses_locale(&self) -> bool {
        self.speaks
            || self.languages.is_some()
            || self.content.is_some()
            || !self.bindings.is_empty()
            || !self.forward.fields.is_empty()
            || self.library.as_ref().is_some_and(|library| !library.locale_index().is_empty())
    }

    /// The languages that callers can get now, the server's own first: those that there are files for, where there are
    /// any, else those that the offer names.
    #[must_use]
    pub fn available_languages(&self) -> Vec<Tag> {
        let catalogs = self.library.as_ref().map(|library| library.locale_index());
        let catalogs = catalogs.as_deref().filter(|catalogs| !catalogs.is_empty());
        let languages = catalogs.map(LocaleIndex::languages).or(self.languages.as_ref());
        languages.into_iter().flat_map(Languages::tags).cloned().collect()
    }
}

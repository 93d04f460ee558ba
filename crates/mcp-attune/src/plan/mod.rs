//! What a caller gets: decided once, before the call goes on, and all that later messages of that call need.
//!
//! 1. A preference is honoured where the server's own language is known ([`Offer::languages`]); elsewhere nothing
//!    is reported.
//! 2. Every result to a well-formed preference reports the language that it is in: the chosen one where text came from
//!    the [catalogs](crate::catalog) that the host gave ([`Plan::with_translation`]), else the server's default.
//! 3. A server may choose languages itself, in its own code: what it says through [`ReportedLanguages`] is reported instead.
//! 4. A message that reports a language already is left alone, and its report is what the header mirrors.
//! 5. A message that cannot be read, or that no rule touches, stays as it came, byte for byte.
//! 6. Where the operator turned it on, what a caller's tags ask for is done before it is translated ([`AnswerShape`]).
//! 7. The caller's context does not go on to the server, but for what the operator lets go on, and for the arguments
//!    that it fills.
//!
//! Rules: A4, C9, C10, F4, L7, L21.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use core::fmt;

use jiff::Timestamp;
use mcp_attune_wire::context::CONTEXT_MEMBER;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind, meta};

use crate::bind::{Bindings, FilledArguments};
use crate::caller::{Caller, PreferenceOrigin};
use crate::catalog::{CompiledLocale, LocaleChain, LocaleField, LocaleIndex, TextSlot};
use crate::context::ContextPlacement;
use crate::edits::{MessageEdit, MessageEdits};
use crate::features::FeaturePreferences;
use crate::format;
use crate::language::{ContentLanguage, Tag, Why, lookup};
use crate::localize::{self, LocalizeOptions, RequestSubject, TranslationScope};
use crate::shaping::{
    AdaptEffort, AnswerReader, AnswerShape, ShapeOutcome, ShapeRequest, Shaper, TextChains,
};

mod adapted;
mod key;
mod offer;
mod reported;

pub use adapted::AdaptedMessage;
pub use key::PlanKey;
use key::{SharedBindings, TranslationKey};
pub use offer::Offer;
pub use reported::ReportedLanguages;

/// What one caller gets. Only [`negotiate`] makes one, and it cannot fail.
#[derive(Clone)]
pub struct Plan {
    chosen: Option<(Tag, Why)>,
    report: Option<Tag>,
    /// Where the server says its languages, for a caller who asked for some.
    spoken: Option<ReportedLanguages>,
    varies: bool,
    /// Whether there are translations.
    translates: bool,
    /// What texts are translated with.
    speech: Option<Arc<AnswerTranslation>>,
    /// The part of the context that goes on, and where.
    onward: Option<(ContextPlacement, String)>,
    /// The assumed preference that goes on as if it were stated.
    onward_language: Option<String>,
    /// What the schemas of a listing are made with.
    shows: Option<Arc<Bindings>>,
    /// What the caller's tags make of the answer.
    shape: Option<Arc<dyn AnswerShape>>,
}

struct AnswerTranslation {
    asked: RequestSubject,
    chain: LocaleChain,
    translate: TranslationScope,
}

/// How numbers and dates are written for a caller whose answer is in this language.
fn value_format(
    caller: &Caller,
    chosen: Option<&Tag>,
    offer: &Offer,
    clock: Timestamp,
) -> format::ValueFormatter {
    let context = caller.context();
    let locales = context.locale().into_iter().chain(chosen);
    offer.formatters().for_locales(locales, context.now(clock).zone)
}

/// Decides what a caller gets.
///
/// Rules: C10, L7.
#[must_use]
pub fn negotiate(caller: &Caller, offer: &Offer) -> Plan {
    let catalogs = offer.library.as_ref().map(|library| library.locale_index());
    let catalogs = catalogs.as_deref().filter(|catalogs| !catalogs.is_empty());
    let languages = catalogs.map(LocaleIndex::languages).or(offer.languages.as_ref());
    let wish = caller.preference().zip(languages);
    let chosen = wish.map(|(preference, languages)| {
        let choice = lookup(preference, languages);
        (choice.language.clone(), choice.why)
    });
    let report = wish.map(|(_, languages)| languages.default_language().clone());
    let forwards_assumed = offer.callers.forward_assumed;
    let context = if forwards_assumed { caller.context() } else { caller.told_context() };
    let onward = offer.forward.write(context).map(|context| (offer.forward.placement, context));
    // A locale is never mirrored as a preference, whoever it comes from.
    let goes_on = forwards_assumed && caller.origin() == PreferenceOrigin::Assumed;
    let onward_language =
        caller.preference().filter(|_| goes_on).map(|language| language.as_str().to_owned());
    let spoken = (offer.speaks && caller.preference().is_some()).then(ReportedLanguages::default);
    Plan {
        chosen,
        report,
        spoken,
        varies: languages.is_some(),
        translates: catalogs.is_some(),
        speech: None,
        onward,
        onward_language,
        shows: None,
        shape: None,
    }
}

impl Plan {
    /// The language that was chosen, and why.
    #[must_use]
    pub fn chosen_language(&self) -> Option<(&Tag, Why)> {
        self.chosen.as_ref().map(|(tag, why)| (tag, *why))
    }

    /// The server's own language, for a caller who wants a language: what an answer is reported in of which nothing was
    /// translated.
    #[must_use]
    pub fn default_language(&self) -> Option<&Tag> {
        self.report.as_ref()
    }

    /// The language whose locale files are needed, where there are any and the caller wants a language.
    #[must_use]
    pub fn needed_locale(&self) -> Option<&Tag> {
        self.chosen.as_ref().filter(|_| self.translates).map(|(tag, _)| tag)
    }

    /// The same plan, with the files for the language that it [wants](Self::needed_locale). `asked` is the request that is answered,
    /// `clock` what the server's clock says.
    ///
    /// Rules: L8, L9, L12, L13.
    #[must_use]
    pub fn with_translation(
        self,
        asked: RequestSubject,
        caller: &Caller,
        offer: &Offer,
        locales: Vec<Arc<CompiledLocale>>,
        clock: Timestamp,
    ) -> Self {
        let Some(chosen) = self.needed_locale().filter(|_| !locales.is_empty()) else { return self };
        let values = value_format(caller, Some(chosen), offer, clock);
        let chain = LocaleChain::new(chosen, locales, &offer.formatters(), values);
        Self {
            speech: Some(Arc::new(AnswerTranslation { asked, chain, translate: offer.translate })),
            ..self
        }
    }

    /// What is asked, with the language argument that the operator names for it.
    #[must_use]
    pub fn subject_of(message: &Message<'_>, offer: &Offer) -> RequestSubject {
        let asked = RequestSubject::of(message);
        let argument = asked.subject().and_then(|subject| offer.language_arguments.get(subject));
        match argument {
            Some(argument) => asked.with_language_argument(message, argument),
            None => asked,
        }
    }

    /// Whether the language of an answer could be another one for another caller.
    ///
    /// Rules: L17.
    #[must_use]
    pub fn depends_on_language(&self) -> bool {
        self.varies
    }

    /// The plan of a request whose answer may list tools: their schemas are made with these bindings.
    ///
    /// Rules: C9.
    #[must_use]
    pub fn with_bindings(self, bindings: &Arc<Bindings>) -> Self {
        Self { shows: (!bindings.is_empty()).then(|| bindings.clone()), ..self }
    }

    /// Whether listings change on their way back.
    #[must_use]
    pub fn edits_listings(&self) -> bool {
        self.shows.is_some()
    }

    /// How the answer to a request is shaped; none where nothing is to be done. It is not yet part of the plan: the schema
    /// of the tool may have to be found first.
    ///
    /// Rules: F1, F4.
    #[must_use]
    pub fn decide_shape(
        &self,
        request: ShapeRequest,
        shaper: Arc<dyn Shaper>,
        caller: &Caller,
        offer: &Offer,
        clock: Timestamp,
    ) -> Option<Box<dyn AnswerShape>> {
        let wanted = FeaturePreferences::read(caller.features().tags());
        let format = &|| value_format(caller, self.chosen_language().map(|(tag, _)| tag), offer, clock);
        shaper.shape(AnswerReader { wanted, views: caller.view_support(), format, now: clock }, request)
    }

    /// The plan with a shape for its answer.
    #[must_use]
    pub fn with_shape(self, shape: Box<dyn AnswerShape>) -> Self {
        Self { shape: Some(shape.into()), ..self }
    }

    /// Whether the caller's tags make something else of the answer.
    #[must_use]
    pub fn shapes_answer(&self) -> bool {
        self.shape.is_some()
    }

    /// Whether an answer has to be read as a whole, whatever its language.
    #[must_use]
    pub fn needs_whole_answer(&self) -> bool {
        self.edits_listings() || self.shapes_answer()
    }

    /// Whether messages may have to change on their way back.
    #[must_use]
    pub fn may_edit(&self) -> bool {
        self.report.is_some() || self.spoken.is_some() || self.needs_whole_answer()
    }

    /// Where the server's own code says the languages of its answer, if it can and somebody asked.
    #[must_use]
    pub fn reported_languages(&self) -> Option<&ReportedLanguages> {
        self.spoken.as_ref()
    }

    /// The request as the server behind gets it: without the caller's context, for which strict servers reject the
    /// whole message, but with as much of it as the operator lets go on; every other byte as it came.
    ///
    /// Rules: C10.
    #[must_use]
    pub fn forward<'m>(&self, message: &Message<'m>) -> Cow<'m, str> {
        self.forward_filled(message, &FilledArguments::default())
    }

    /// The same, with the arguments that the context fills.
    ///
    /// Rules: C9, C10.
    #[must_use]
    pub fn forward_filled<'m>(&self, message: &Message<'m>, filled: &FilledArguments) -> Cow<'m, str> {
        self.forward_with_edits(message, filled, &[])
    }

    /// The same, with what else is to be changed.
    #[must_use]
    pub fn forward_with_edits<'m>(
        &self,
        message: &Message<'m>,
        filled: &FilledArguments,
        others: &[(ByteSpan, String)],
    ) -> Cow<'m, str> {
        let onward = self.onward.as_ref().filter(|_| message.kind() == MessageKind::Request);
        let language = self.added_language(message);
        let put = onward.and_then(|(placement, context)| {
            let added = language.as_deref().filter(|_| adds_context_to_meta(message, *placement));
            insert_context(message, *placement, context, added)
        });
        // Where the context is put into the same object, the language came with it.
        let apart = language.as_deref().filter(|_| {
            put.is_none() || onward.is_none_or(|(placement, _)| !adds_context_to_meta(message, *placement))
        });
        let language_put = apart.and_then(|entry| insert_meta_entry(message, entry));
        let stays = |placement| put.is_some() && onward.is_some_and(|(place, _)| *place == placement);
        let mut edits: Vec<(ByteSpan, &str)> = filled.edits();
        edits.extend(language_put.as_ref().map(|(place, text)| (*place, text.as_str())));
        if !stays(ContextPlacement::Beside) {
            edits.extend(message.member_removal_span(CONTEXT_MEMBER).map(|place| (place, "")));
        }
        if !stays(ContextPlacement::Meta) {
            edits.extend(message.meta_removal_span(meta::CLIENT_CONTEXT).map(|place| (place, "")));
        }
        edits.extend(put.as_ref().map(|(place, text)| (*place, text.as_str())));
        edits.extend(others.iter().map(|(place, text)| (*place, text.as_str())));
        if edits.is_empty() {
            return Cow::Borrowed(message.text());
        }
        message.splice(&edits).map_or(Cow::Borrowed(message.text()), Cow::Owned)
    }

    /// Whether an assumed preference goes into this message.
    pub(crate) fn adds_language(&self, message: &Message<'_>) -> bool {
        self.added_language(message).is_some_and(|entry| insert_meta_entry(message, &entry).is_some())
    }

    /// The entry of `_meta` with the preference that is assumed, where the message has none, not even a malformed one.
    fn added_language(&self, message: &Message<'_>) -> Option<String> {
        let language = self.onward_language.as_ref()?;
        let is_open = message.kind() == MessageKind::Request && message.meta(meta::ACCEPT_LANGUAGE).is_none();
        is_open.then(|| format!("\"{}\":{}", meta::ACCEPT_LANGUAGE, JsonQuoted(language)))
    }

    /// How many bytes a message has at most that is short work to adapt.
    pub const MAX_SHORT_BYTES: usize = 128 << 10;

    /// One message of the answer, as the caller gets it.
    ///
    /// It may take tens of milliseconds, or as long as a large message takes: hosts whose threads serve many callers try
    /// [`adapt_if_short`](Self::adapt_if_short) first.
    #[must_use]
    pub fn adapt<'m>(&self, message: &'m [u8]) -> AdaptedMessage<'m> {
        match Message::parse(message) {
            Ok(read) => self
                .adapt_parsed(&read, Vec::new(), AdaptEffort::Full)
                .unwrap_or_else(|| AdaptedMessage::untouched(message)),
            Err(_) => AdaptedMessage::untouched(message),
        }
    }

    /// The same where that is short work: about a millisecond, but for what large messages take up to
    /// [`MAX_SHORT_BYTES`](Self::MAX_SHORT_BYTES) bytes. `None` where it may take longer, and [`adapt`](Self::adapt) is better called where
    /// nobody else waits.
    ///
    /// Rules: G4.
    #[must_use]
    pub fn adapt_if_short<'m>(&self, message: &'m [u8]) -> Option<AdaptedMessage<'m>> {
        if message.len() > Self::MAX_SHORT_BYTES {
            return None;
        }
        match Message::parse(message) {
            Ok(read) => self.adapt_parsed(&read, Vec::new(), AdaptEffort::Short),
            Err(_) => Some(AdaptedMessage::untouched(message)),
        }
    }

    /// The same for a message that was read already, with what else is to be changed in it. `None` where more than this
    /// effort is needed, which is never so for [`AdaptEffort::Full`].
    ///
    /// Rules: G4.
    #[must_use]
    pub fn adapt_parsed<'m>(
        &self,
        read: &Message<'m>,
        others: Vec<(ByteSpan, String)>,
        effort: AdaptEffort,
    ) -> Option<AdaptedMessage<'m>> {
        // What bindings, shaping and translation change is put together, and applied in one pass.
        let nothing = RequestSubject::new("");
        let spoken = self.spoken.as_ref().and_then(ReportedLanguages::languages);
        let how = self.localize_options(&nothing, spoken.as_ref());
        let models = how.model_chain();
        let mut edits = MessageEdits::default();
        let mut translated = false;
        if let Some(bindings) = &self.shows {
            let shown = listing_edits(read, bindings, models);
            translated = shown.translated;
            edits.add_step(shown.edits);
        }
        let mut done = ShapeOutcome::default();
        if let Some(shape) = &self.shape {
            let model = models.filter(|_| !how.asked.language_chosen());
            done = shape.edit(read, &TextChains { display: how.chain, model }, effort, &mut edits)?;
        }
        let chosen = self.chosen.as_ref().map(|(tag, _)| tag).filter(|_| translated || done.translated);
        let how = LocalizeOptions { default: chosen.or(how.default), ..how };
        let content_language = localize::add_localize_edits(read, &how, &mut edits);
        edits.add_step(others.into_iter().map(|(place, text)| (place, Cow::Owned(text))).collect());
        let text = match edits.apply(read) {
            Some(changed) => Cow::Owned(changed.into_bytes()),
            None => Cow::Borrowed(read.text().as_bytes()),
        };
        let ShapeOutcome { left_out, faults, unusable, .. } = done;
        Some(AdaptedMessage { text, content_language, left_out, faults, unusable })
    }

    /// How messages are translated.
    fn localize_options<'a>(
        &'a self,
        nothing: &'a RequestSubject,
        spoken: Option<&'a ContentLanguage>,
    ) -> LocalizeOptions<'a> {
        let default = self.report.as_ref();
        match self.speech.as_deref() {
            Some(AnswerTranslation { asked, chain, translate }) => {
                LocalizeOptions { asked, chain: Some(chain), translate: *translate, default, spoken }
            }
            None => LocalizeOptions {
                asked: nothing,
                chain: None,
                translate: TranslationScope::default(),
                default,
                spoken,
            },
        }
    }
}

impl Plan {
    /// The key of the plan for an answer that is a listing or what a server says of itself. `None` where such an answer
    /// depends on something that no key can hold: a language that a handler has yet to choose, or data of one call.
    #[must_use]
    pub fn listing_key(&self) -> Option<PlanKey> {
        let Self {
            chosen,
            report,
            spoken,
            // What caches are told, which stands in headers.
            varies: _,
            // Whether files are asked for; those that came are in the translation.
            translates: _,
            speech,
            // What the server gets.
            onward: _,
            onward_language: _,
            shows,
            shape,
        } = self;
        if spoken.is_some() {
            return None;
        }
        let translation = speech.as_deref().map(|AnswerTranslation { asked, chain, translate }| {
            TranslationKey { asked: asked.clone(), chain: chain.key(), translate: *translate }
        });
        let shape = match shape {
            Some(shape) => Some(shape.listing_key()?),
            None => None,
        };
        Some(PlanKey {
            chosen: chosen.as_ref().map(|(tag, _)| tag.clone()),
            default: report.clone(),
            translation,
            bindings: shows.clone().map(SharedBindings),
            shape,
        })
    }
}

/// Shows nothing of the context that goes on.
impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("chosen", &self.chosen)
            .field("report", &self.report)
            .field("spoken", &self.spoken)
            .field("varies", &self.varies)
            .field("chain", &self.speech.as_ref().map(|speech| &speech.chain))
            .field("onward", &self.onward.as_ref().map(|(placement, _)| placement))
            .field("shows", &self.edits_listings())
            .field("shape", &self.shape)
            .finish()
    }
}

/// How a context gets into a message, in the place of the one that is there; none where there is no room for it.
fn insert_context(
    message: &Message<'_>,
    placement: ContextPlacement,
    context: &str,
    beside: Option<&str>,
) -> Option<(ByteSpan, String)> {
    let there = match placement {
        ContextPlacement::Beside => message.member(CONTEXT_MEMBER),
        ContextPlacement::Meta => message.meta(meta::CLIENT_CONTEXT),
    };
    if let Some(value) = there {
        return Some((value.span(), context.to_owned()));
    }
    if placement == ContextPlacement::Beside {
        // A request has members, so there is one to follow.
        return Some((message.opening()?, format!("\"{CONTEXT_MEMBER}\":{context},")));
    }
    let entry = format!("\"{}\":{context}", meta::CLIENT_CONTEXT);
    match beside {
        Some(beside) => insert_meta_entry(message, &format!("{entry},{beside}")),
        None => insert_meta_entry(message, &entry),
    }
}

/// Whether a context goes into `_meta` beside what is there, and not in the place of another one.
fn adds_context_to_meta(message: &Message<'_>, placement: ContextPlacement) -> bool {
    placement == ContextPlacement::Meta && message.meta(meta::CLIENT_CONTEXT).is_none()
}

/// How a new entry gets into `_meta`; none where there is no room for it.
fn insert_meta_entry(message: &Message<'_>, entry: &str) -> Option<(ByteSpan, String)> {
    let first = |object: SpannedValue<'_>, text: &str| {
        let comma = if object.members().next().is_some() { "," } else { "" };
        (object.kind() == JsonKind::Object).then(|| (object.opening(), format!("{text}{comma}")))
    };
    match (message.member("params"), message.param("_meta")) {
        (_, Some(held)) => first(held, entry),
        (Some(params), None) => first(params, &format!("\"_meta\":{{{entry}}}")),
        (None, None) => Some((message.opening()?, format!("\"params\":{{\"_meta\":{{{entry}}}}},"))),
    }
}

/// What changes in a listing.
struct ListingEdits {
    edits: Vec<MessageEdit<'static>>,
    /// Whether a text of it came from a catalog.
    translated: bool,
}

/// What changes in the listing in a message, as callers are shown it.
fn listing_edits(read: &Message<'_>, bindings: &Bindings, models: Option<&LocaleChain>) -> ListingEdits {
    let translated = Cell::new(false);
    let edits = bindings.edits_with_descriptions(read, |tool, path| {
        let text = models?.find(TextSlot::Argument { tool, path, field: LocaleField::Description })?;
        translated.set(true);
        Some(text.to_owned())
    });
    let edits = edits.into_iter().map(|(place, text)| (place, Cow::Owned(text))).collect();
    ListingEdits { edits, translated: translated.get() }
}

#[cfg(test)]
mod tests;

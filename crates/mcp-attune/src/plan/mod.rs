//! What a caller gets: decided once, before the call goes on, and all that later messages of that call need.
//!
//! 1. A preference is honoured where the server's own language is known ([`Offer::languages`]); elsewhere nothing
//!    is reported.
//! 2. Every result to a well-formed preference reports the language that it is in: the chosen one where text came from
//!    the [catalogs](crate::catalog) that the host gave ([`Plan::translating`]), else the server's default.
//! 3. A server may choose languages itself, in its own code: what it says through [`Spoken`] is reported instead.
//! 4. A message that reports a language already is left alone, and its report is what the header mirrors.
//! 5. A message that cannot be read, or that no rule touches, stays as it came, byte for byte.
//! 6. Where the operator turned it on, what a caller's tags ask for is done before it is translated ([`AnswerShape`]).
//! 7. The caller's context does not go on to the server, but for what the operator lets go on, and for the arguments
//!    that it fills.
//!
//! Rules: C9, C10, F4, L7, L21.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use core::fmt;

use jiff::Timestamp;
use mcp_attune_wire::context::MEMBER;
use mcp_attune_wire::json::{Span, Type, Value};
use mcp_attune_wire::message::{Kind, Message, meta};

use crate::bind::{Bindings, Filled};
use crate::caller::Caller;
use crate::catalog::{Catalogs, Chain, Field, Locale, Slot};
use crate::context::Placement;
use crate::edits::{Edit, Edits};
use crate::features::Wanted;
use crate::format;
use crate::language::{ContentLanguage, Tag, Why, lookup};
use crate::localize::{self, Asked, How, Translate};
use crate::shaping::{AnswerShape, Effort, Outcome, Reader, Request, Shaper, Texts};

mod adapted;
mod key;
mod offer;
mod spoken;

pub use adapted::Adapted;
pub use key::PlanKey;
use key::{SharedBindings, TranslationKey};
pub use offer::Offer;
pub use spoken::Spoken;

/// What one caller gets. Only [`negotiate`] makes one, and it cannot fail.
#[derive(Clone)]
pub struct Plan {
    chosen: Option<(Tag, Why)>,
    report: Option<Tag>,
    /// Where the server says its languages, for a caller who asked for some.
    spoken: Option<Spoken>,
    varies: bool,
    /// Whether there are translations.
    translates: bool,
    /// What texts are translated with.
    speech: Option<Arc<Speech>>,
    /// The part of the context that goes on, and where.
    onward: Option<(Placement, String)>,
    /// What the schemas of a listing are made with.
    shows: Option<Arc<Bindings>>,
    /// What the caller's tags make of the answer.
    shape: Option<Arc<dyn AnswerShape>>,
}

struct Speech {
    asked: Asked,
    chain: Chain,
    translate: Translate,
}

/// How numbers and dates are written for a caller whose answer is in this language.
fn values(caller: &Caller, chosen: Option<&Tag>, offer: &Offer, clock: Timestamp) -> format::Format {
    let context = caller.context();
    let locales = context.locale().into_iter().chain(chosen);
    offer.formatters().format(locales, context.now(clock).zone)
}

/// Decides what a caller gets.
///
/// Rules: C10, L7.
#[must_use]
pub fn negotiate(caller: &Caller, offer: &Offer) -> Plan {
    let catalogs = offer.library.as_ref().map(|library| library.catalogs());
    let catalogs = catalogs.as_deref().filter(|catalogs| !catalogs.is_empty());
    let languages = catalogs.map(Catalogs::languages).or(offer.languages.as_ref());
    let wish = caller.preference().zip(languages);
    let chosen = wish.map(|(preference, languages)| {
        let choice = lookup(preference, languages);
        (choice.language.clone(), choice.why)
    });
    let report = wish.map(|(_, languages)| languages.default_language().clone());
    let onward = offer.forward.write(caller.context()).map(|context| (offer.forward.placement, context));
    let spoken = (offer.speaks && caller.preference().is_some()).then(Spoken::default);
    Plan {
        chosen,
        report,
        spoken,
        varies: languages.is_some(),
        translates: catalogs.is_some(),
        speech: None,
        onward,
        shows: None,
        shape: None,
    }
}

impl Plan {
    /// The language that was chosen, and why.
    #[must_use]
    pub fn chosen(&self) -> Option<(&Tag, Why)> {
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
    pub fn wants(&self) -> Option<&Tag> {
        self.chosen.as_ref().filter(|_| self.translates).map(|(tag, _)| tag)
    }

    /// The same plan, with the files for the language that it [wants](Self::wants). `asked` is the request that is answered,
    /// `clock` what the server's clock says.
    ///
    /// Rules: L8, L9, L12, L13.
    #[must_use]
    pub fn translating(
        self,
        asked: Asked,
        caller: &Caller,
        offer: &Offer,
        locales: Vec<Arc<Locale>>,
        clock: Timestamp,
    ) -> Self {
        let Some(chosen) = self.wants().filter(|_| !locales.is_empty()) else { return self };
        let values = values(caller, Some(chosen), offer, clock);
        let chain = Chain::new(chosen, locales, &offer.formatters(), values);
        Self { speech: Some(Arc::new(Speech { asked, chain, translate: offer.translate })), ..self }
    }

    /// What is asked, with the language argument that the operator names for it.
    #[must_use]
    pub fn asked(message: &Message<'_>, offer: &Offer) -> Asked {
        let asked = Asked::of(message);
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
    pub fn varies(&self) -> bool {
        self.varies
    }

    /// The plan of a request whose answer may list tools: their schemas are made with these bindings.
    ///
    /// Rules: C9.
    #[must_use]
    pub fn showing(self, bindings: &Arc<Bindings>) -> Self {
        Self { shows: (!bindings.is_empty()).then(|| bindings.clone()), ..self }
    }

    /// Whether listings change on their way back.
    #[must_use]
    pub fn shows(&self) -> bool {
        self.shows.is_some()
    }

    /// How the answer to a request is shaped; none where nothing is to be done. It is not yet part of the plan: the schema
    /// of the tool may have to be found first.
    ///
    /// Rules: F1, F4.
    #[must_use]
    pub fn shape(
        &self,
        request: Request,
        shaper: Arc<dyn Shaper>,
        caller: &Caller,
        offer: &Offer,
        clock: Timestamp,
    ) -> Option<Box<dyn AnswerShape>> {
        let wanted = Wanted::read(caller.features().tags());
        let format = &|| values(caller, self.chosen().map(|(tag, _)| tag), offer, clock);
        shaper.shape(Reader { wanted, views: caller.views(), format, now: clock }, request)
    }

    /// The plan with a shape for its answer.
    #[must_use]
    pub fn shaping(self, shape: Box<dyn AnswerShape>) -> Self {
        Self { shape: Some(shape.into()), ..self }
    }

    /// Whether the caller's tags make something else of the answer.
    #[must_use]
    pub fn shapes(&self) -> bool {
        self.shape.is_some()
    }

    /// Whether an answer has to be read as a whole, whatever its language.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.shows() || self.shapes()
    }

    /// Whether messages may have to change on their way back.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.report.is_some() || self.spoken.is_some() || self.reads()
    }

    /// Where the server's own code says the languages of its answer, if it can and somebody asked.
    #[must_use]
    pub fn spoken(&self) -> Option<&Spoken> {
        self.spoken.as_ref()
    }

    /// The request as the server behind gets it: without the caller's context, for which strict servers reject the
    /// whole message, but with as much of it as the operator lets go on; every other byte as it came.
    ///
    /// Rules: C10.
    #[must_use]
    pub fn forward<'m>(&self, message: &Message<'m>) -> Cow<'m, str> {
        self.forward_filled(message, &Filled::default())
    }

    /// The same, with the arguments that the context fills.
    ///
    /// Rules: C9, C10.
    #[must_use]
    pub fn forward_filled<'m>(&self, message: &Message<'m>, filled: &Filled) -> Cow<'m, str> {
        self.forward_with(message, filled, &[])
    }

    /// The same, with what else is to be changed.
    #[must_use]
    pub fn forward_with<'m>(
        &self,
        message: &Message<'m>,
        filled: &Filled,
        others: &[(Span, String)],
    ) -> Cow<'m, str> {
        let onward = self.onward.as_ref().filter(|_| message.kind() == Kind::Request);
        let put = onward.and_then(|(placement, context)| put(message, *placement, context));
        let stays = |placement| put.is_some() && onward.is_some_and(|(place, _)| *place == placement);
        let mut edits: Vec<(Span, &str)> = filled.edits();
        if !stays(Placement::Beside) {
            edits.extend(message.member_span(MEMBER).map(|place| (place, "")));
        }
        if !stays(Placement::Meta) {
            edits.extend(message.meta_span(meta::CLIENT_CONTEXT).map(|place| (place, "")));
        }
        edits.extend(put.as_ref().map(|(place, text)| (*place, text.as_str())));
        edits.extend(others.iter().map(|(place, text)| (*place, text.as_str())));
        if edits.is_empty() {
            return Cow::Borrowed(message.text());
        }
        message.splice(&edits).map_or(Cow::Borrowed(message.text()), Cow::Owned)
    }

    /// How many bytes a message has at most that is short work to adapt.
    pub const MAX_SHORT: usize = 128 << 10;

    /// One message of the answer, as the caller gets it.
    ///
    /// It may take tens of milliseconds, or as long as a large message takes: hosts whose threads serve many callers try
    /// [`adapt_if_short`](Self::adapt_if_short) first.
    #[must_use]
    pub fn adapt<'m>(&self, message: &'m [u8]) -> Adapted<'m> {
        match Message::parse(message) {
            Ok(read) => self
                .adapt_read(&read, Vec::new(), Effort::Full)
                .unwrap_or_else(|| Adapted::untouched(message)),
            Err(_) => Adapted::untouched(message),
        }
    }

    /// The same where that is short work: about a millisecond, but for what large messages take up to
    /// [`MAX_SHORT`](Self::MAX_SHORT) bytes. `None` where it may take longer, and [`adapt`](Self::adapt) is better called where
    /// nobody else waits.
    ///
    /// Rules: G4.
    #[must_use]
    pub fn adapt_if_short<'m>(&self, message: &'m [u8]) -> Option<Adapted<'m>> {
        if message.len() > Self::MAX_SHORT {
            return None;
        }
        match Message::parse(message) {
            Ok(read) => self.adapt_read(&read, Vec::new(), Effort::Short),
            Err(_) => Some(Adapted::untouched(message)),
        }
    }

    /// The same for a message that was read already, with what else is to be changed in it. `None` where more than this
    /// effort is needed, which is never so for [`Effort::Full`].
    ///
    /// Rules: G4.
    #[must_use]
    pub fn adapt_read<'m>(
        &self,
        read: &Message<'m>,
        others: Vec<(Span, String)>,
        effort: Effort,
    ) -> Option<Adapted<'m>> {
        // What bindings, shaping and translation change is put together, and applied in one pass.
        let nothing = Asked::new("");
        let spoken = self.spoken.as_ref().and_then(Spoken::languages);
        let how = self.how(&nothing, spoken.as_ref());
        let models = how.models();
        let mut edits = Edits::default();
        let mut translated = false;
        if let Some(bindings) = &self.shows {
            let shown = shown(read, bindings, models);
            translated = shown.translated;
            edits.add_step(shown.edits);
        }
        let mut done = Outcome::default();
        if let Some(shape) = &self.shape {
            let model = models.filter(|_| !how.asked.language_chosen());
            done = shape.edit(read, &Texts { display: how.chain, model }, effort, &mut edits)?;
        }
        let chosen = self.chosen.as_ref().map(|(tag, _)| tag).filter(|_| translated || done.translated);
        let how = How { default: chosen.or(how.default), ..how };
        let content_language = localize::step(read, &how, &mut edits);
        edits.add_step(others.into_iter().map(|(place, text)| (place, Cow::Owned(text))).collect());
        let text = match edits.apply(read) {
            Some(changed) => Cow::Owned(changed.into_bytes()),
            None => Cow::Borrowed(read.text().as_bytes()),
        };
        let Outcome { left_out, faults, unusable, .. } = done;
        Some(Adapted { text, content_language, left_out, faults, unusable })
    }

    /// How messages are translated.
    fn how<'a>(&'a self, nothing: &'a Asked, spoken: Option<&'a ContentLanguage>) -> How<'a> {
        let default = self.report.as_ref();
        match self.speech.as_deref() {
            Some(Speech { asked, chain, translate }) => {
                How { asked, chain: Some(chain), translate: *translate, default, spoken }
            }
            None => How { asked: nothing, chain: None, translate: Translate::default(), default, spoken },
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
            shows,
            shape,
        } = self;
        if spoken.is_some() {
            return None;
        }
        let translation = speech.as_deref().map(|Speech { asked, chain, translate }| TranslationKey {
            asked: asked.clone(),
            chain: chain.key(),
            translate: *translate,
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
            .field("shows", &self.shows())
            .field("shape", &self.shape)
            .finish()
    }
}

/// How a context gets into a message, in the place of the one that is there; none where there is no room for it.
fn put(message: &Message<'_>, placement: Placement, context: &str) -> Option<(Span, String)> {
    let there = match placement {
        Placement::Beside => message.member(MEMBER),
        Placement::Meta => message.meta(meta::CLIENT_CONTEXT),
    };
    if let Some(value) = there {
        return Some((value.span(), context.to_owned()));
    }
    if placement == Placement::Beside {
        // A request has members, so there is one to follow.
        return Some((message.opening()?, format!("\"{MEMBER}\":{context},")));
    }
    let entry = format!("\"{}\":{context}", meta::CLIENT_CONTEXT);
    let first = |object: Value<'_>, text: &str| {
        let comma = if object.members().next().is_some() { "," } else { "" };
        (object.kind() == Type::Object).then(|| (object.opening(), format!("{text}{comma}")))
    };
    match (message.member("params"), message.param("_meta")) {
        (_, Some(held)) => first(held, &entry),
        (Some(params), None) => first(params, &format!("\"_meta\":{{{entry}}}")),
        (None, None) => Some((message.opening()?, format!("\"params\":{{\"_meta\":{{{entry}}}}},"))),
    }
}

/// What changes in a listing.
struct Shown {
    edits: Vec<Edit<'static>>,
    /// Whether a text of it came from a catalog.
    translated: bool,
}

/// What changes in the listing in a message, as callers are shown it.
fn shown(read: &Message<'_>, bindings: &Bindings, models: Option<&Chain>) -> Shown {
    let translated = Cell::new(false);
    let edits = bindings.show_described(read, |tool, path| {
        let text = models?.find(Slot::Argument { tool, path, field: Field::Description })?;
        translated.set(true);
        Some(text.to_owned())
    });
    let edits = edits.into_iter().map(|(place, text)| (place, Cow::Owned(text))).collect();
    Shown { edits, translated: translated.get() }
}

#[cfg(test)]
mod tests;

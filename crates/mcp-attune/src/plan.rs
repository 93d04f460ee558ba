//! What a caller gets: decided once, before the call goes on, and all that later messages of that call need.
//!
//! 1. A preference is honoured where the server's own language is known ([`Offer::languages`]); elsewhere nothing
//!    is reported.
//! 2. Every result to a well-formed preference reports the language that it is in: the chosen one where text came from
//!    the [catalogs](crate::catalog) that the host gave ([`Plan::translating`]), else the server's default.
//! 3. A server may choose languages itself, in its own code: what it says through [`Spoken`] is reported instead.
//! 4. A message that reports a language already is left alone, and its report is what the header mirrors.
//! 5. A message that cannot be read, or that no rule touches, stays as it came, byte for byte.
//! 6. Where the operator turned it on, what a caller's tags ask for is done before it is translated ([`Shape`]).
//! 7. The caller's context does not go on to the server, but for what the operator lets go on, and for the arguments
//!    that it fills.
//!
//! Rules: C9, C10, F4, L7, L21.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use core::fmt;

use jiff::Timestamp;
use mcp_attune_wire::context::MEMBER;
use mcp_attune_wire::json::{Span, Type, Value};
use mcp_attune_wire::message::{Kind, Message, meta};

use crate::bind::{Bindings, Filled};
use crate::caller::Caller;
use crate::catalog::{Catalogs, Chain, Field, Library, Locale, Slot};
use crate::context::{Forward, Placement};
use crate::edits::{Edit, Edits};
use crate::features::Wanted;
use crate::format::{self, Formatters};
use crate::language::{ContentLanguage, Languages, Tag, Why, lookup};
use crate::localize::{self, Asked, How, Translate};
use crate::shape::{
    Budget, Content, Done, Fault, LeftOut, Request, Shape, Supply, Translating, UnusableSchema,
};
use crate::when::Past;

/// What a server can do for its callers.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The languages it has, its default first. None: no claim is made about language at all, but for what the server
    /// itself says.
    pub languages: Option<Languages>,
    /// Whether the server can choose languages in its own code, and say so through [`Spoken`].
    pub speaks: bool,
    /// What of its callers' contexts it is given.
    pub forward: Forward,
    /// The arguments of its tools that its callers' contexts fill.
    pub bindings: Arc<Bindings>,
    /// Its translations. Where there are files, they decide which languages it has.
    pub library: Option<Arc<dyn Library>>,
    /// What of its texts is translated.
    pub translate: Translate,
    /// The arguments that name a language, by tool or prompt. Rules: L12.
    pub language_arguments: Arc<BTreeMap<String, String>>,
    /// What writes dates and numbers inside translations.
    pub formatters: Formatters,
    /// How its answers are shaped; none: not at all.
    pub content: Option<Arc<dyn Supply>>,
    /// What `the last week` and its like mean in what its callers write. Rules: C14.
    pub past: Past,
}

impl Offer {
    /// The languages that callers can get now, the server's own first: those that there are files for, where there are
    /// any, else those that the offer names.
    #[must_use]
    pub fn tags(&self) -> Vec<Tag> {
        let catalogs = self.library.as_ref().map(|library| library.catalogs());
        let catalogs = catalogs.as_deref().filter(|catalogs| !catalogs.is_empty());
        let languages = catalogs.map(Catalogs::languages).or(self.languages.as_ref());
        languages.into_iter().flat_map(Languages::tags).cloned().collect()
    }
}

/// A message as the caller gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adapted<'m> {
    /// The message: borrowed where nothing was changed.
    pub text: Cow<'m, [u8]>,
    /// The language that the message reports, for the header that mirrors it.
    pub content_language: Option<String>,
    /// What was left out, where it was shaped.
    pub left_out: LeftOut,
    /// The templates that failed.
    pub faults: Vec<Fault>,
    /// The schema of the tool's results, where it turned out not to be usable. It is said once for a schema.
    pub unusable: Option<UnusableSchema>,
}

/// How much work adapting one message may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effort {
    /// About a millisecond, but for what large messages take.
    Short,
    /// Whatever the bounds of the rules allow.
    Full,
}

/// The languages that a server's own code answers one request in: written where it chooses, read where it is reported.
///
/// Rules: L7.
#[derive(Clone, Debug, Default)]
pub struct Spoken(Arc<Mutex<Option<ContentLanguage>>>);

impl Spoken {
    /// Adds a language; one that is there already changes nothing.
    pub fn add(&self, language: &Tag) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            None => *held = Some(ContentLanguage::from(language.clone())),
            Some(languages) => languages.add(language),
        }
    }

    /// The languages so far.
    #[must_use]
    pub fn languages(&self) -> Option<ContentLanguage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

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
    shape: Option<Arc<Shape>>,
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
    offer.formatters.format(locales, context.now(clock).zone)
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
        let chain = Chain::new(chosen, locales, &offer.formatters, values);
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
        content: Arc<Content>,
        caller: &Caller,
        offer: &Offer,
        clock: Timestamp,
    ) -> Option<Shape> {
        let wanted = Wanted::read(caller.features().tags());
        let values = || values(caller, self.chosen().map(|(tag, _)| tag), offer, clock);
        Some(Shape::new(request, wanted, content, values, clock)?.for_views(caller.views()))
    }

    /// The plan with a shape for its answer.
    #[must_use]
    pub fn shaping(self, shape: Shape) -> Self {
        Self { shape: Some(Arc::new(shape)), ..self }
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
            Ok(read) => self.adapt_within(&read, Vec::new(), &Budget::full()),
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
        let budget = match effort {
            Effort::Short => Budget::short(),
            Effort::Full => Budget::full(),
        };
        let adapted = self.adapt_within(read, others, &budget);
        (effort == Effort::Full || !budget.is_exceeded()).then_some(adapted)
    }

    /// What bindings, shaping and translation change is put together, and applied in one pass.
    fn adapt_within<'m>(
        &self,
        read: &Message<'m>,
        others: Vec<(Span, String)>,
        budget: &Budget,
    ) -> Adapted<'m> {
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
        let mut done = Done::default();
        if let Some(shape) = &self.shape {
            let models = models.filter(|_| !how.asked.language_chosen());
            done = shape.step(read, &Translating { all: how.chain, models }, budget, &mut edits);
        }
        let chosen = self.chosen.as_ref().map(|(tag, _)| tag).filter(|_| translated || done.translated);
        let how = How { default: chosen.or(how.default), ..how };
        let content_language = localize::step(read, &how, &mut edits);
        edits.add_step(others.into_iter().map(|(place, text)| (place, Cow::Owned(text))).collect());
        let text = match edits.apply(read) {
            Some(changed) => Cow::Owned(changed.into_bytes()),
            None => Cow::Borrowed(read.text().as_bytes()),
        };
        let Done { left_out, faults, unusable, .. } = done;
        Adapted { text, content_language, left_out, faults, unusable }
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

impl<'m> Adapted<'m> {
    /// A message that stays as it came.
    #[must_use]
    pub fn untouched(message: &'m [u8]) -> Self {
        let (left_out, faults, unusable) = (LeftOut::default(), Vec::new(), None);
        Self { text: Cow::Borrowed(message), content_language: None, left_out, faults, unusable }
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
mod tests {
    use super::*;
    use crate::context::Field;
    use mcp_attune_wire::agree::{self, Agree, Policy};
    use mcp_attune_wire::header::Headers;

    fn plan(preference: Option<&str>, languages: Option<Languages>) -> Plan {
        let meta =
            preference.map(|value| format!("\"{}\":\"{value}\"", meta::ACCEPT_LANGUAGE)).unwrap_or_default();
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
        let policy = Policy::default();
        let message = Message::parse(body.as_bytes()).unwrap();
        let Agree::Done(agreed) = agree::begin(&Headers::default(), message, &policy).unwrap() else {
            panic!()
        };
        negotiate(&Caller::read(&agreed), &Offer { languages, ..Offer::default() })
    }

    fn english() -> Option<Languages> {
        Some(Languages::new("en", []).unwrap())
    }

    fn check(plan: &Plan, message: &str, expected: &str, language: Option<&str>) {
        let adapted = plan.adapt(message.as_bytes());
        assert_eq!(String::from_utf8_lossy(&adapted.text), expected);
        assert_eq!(adapted.content_language.as_deref(), language, "{message}");
        assert_eq!(matches!(adapted.text, Cow::Borrowed(_)), message == expected);
    }

    #[test]
    fn reports_the_language_of_a_result_and_changes_nothing_else() {
        let plan = plan(Some("de, en;q=0.5"), english());
        let key = "\"io.modelcontextprotocol/contentLanguage\":\"en\"";
        for (result, expected) in [
            ("{}", format!("{{\"_meta\":{{{key}}}}}")),
            ("{ \"a\" : 1.0 }", format!("{{\"_meta\":{{{key}}}, \"a\" : 1.0 }}")),
            ("{\"_meta\":{}}", format!("{{\"_meta\":{{{key}}}}}")),
            ("{\"_meta\": {\"x\":1}, \"z\":[]}", format!("{{\"_meta\": {{{key},\"x\":1}}, \"z\":[]}}")),
        ] {
            let answer = |result: &str| format!("{{\"jsonrpc\":\"2.0\", \"id\":1,\n\"result\":{result}}}");
            check(&plan, &answer(result), &answer(&expected), Some("en"));
        }
    }

    #[test]
    fn leaves_alone_what_reports_a_language_already() {
        let plan = plan(Some("de"), english());
        let key = "\"io.modelcontextprotocol/contentLanguage\":\"de-CH\"";
        let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"_meta\":{{{key}}}}}}}");
        check(&plan, &result, &result, Some("de-CH"));
        let error = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"data\":{{\"_meta\":{{{key}}}}}}}}}"
        );
        check(&plan, &error, &error, Some("de-CH"));
    }

    #[test]
    fn leaves_alone_what_is_no_result() {
        let plan = plan(Some("de"), english());
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":null}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/contentLanguage":7}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
            "not json",
            "",
        ] {
            check(&plan, message, message, None);
        }
    }

    #[test]
    fn claims_nothing_without_a_preference_or_without_a_language_of_its_own() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for (preference, languages, varies) in [
            (None, english(), true),
            (Some("de;q=2"), english(), true),
            (Some(""), english(), true),
            (Some("de"), None, false),
        ] {
            let plan = plan(preference, languages);
            check(&plan, message, message, None);
            assert_eq!((plan.changes(), plan.varies()), (false, varies), "{preference:?}");
        }
    }

    #[test]
    fn the_context_beside_params_does_not_go_on() {
        let plan = plan(None, None);
        let bare = r#"{"jsonrpc":"2.0","id":1, "method":"tools/call"}"#;
        let told = bare.replace(" \"method", r#""clientContext":{"timezone":"Europe/Zurich"}, "method"#);
        for (message, onward) in [(told.as_str(), bare), (bare, bare)] {
            assert_eq!(plan.forward(&Message::parse(message.as_bytes()).unwrap()), onward);
        }
    }

    fn onward(fields: &[Field], placement: Placement, body: &str) -> String {
        let message = Message::parse(body.as_bytes()).unwrap();
        let agreed = agree::without_headers(message, &Policy::default()).unwrap();
        let forward = Forward { fields: fields.to_vec(), placement, ..Forward::default() };
        let plan = negotiate(&Caller::read(&agreed), &Offer { forward, ..Offer::default() });
        let onward = plan.forward(agreed.message()).into_owned();
        Message::parse(onward.as_bytes()).unwrap();
        onward
    }

    const ZONE: &str = r#"{"timezone":"Europe/Zurich"}"#;
    const BOTH: &str = r#"{"timezone":"Europe/Zurich", "locale":"de"}"#;

    /// A request with a context beside `params`, in `_meta`, or without; white space where it might get lost.
    fn asked(beside: &str, in_meta: &str) -> String {
        let beside = if beside.is_empty() { String::new() } else { format!("\"clientContext\": {beside},") };
        let key = "\"io.modelcontextprotocol/clientContext\"";
        let in_meta = if in_meta.is_empty() { String::new() } else { format!("{key}:{in_meta},") };
        format!(
            "{{{beside} \"jsonrpc\":\"2.0\",\"id\":1, \"method\":\"x\",\"params\":{{\"_meta\":{{{in_meta}\"a\":1 }}}}}}"
        )
    }

    #[test]
    fn a_context_in_meta_does_not_go_on_either() {
        for (beside, in_meta) in [(BOTH, BOTH), ("", BOTH), ("7", "[]"), ("", "")] {
            assert_eq!(
                onward(&[], Placement::Meta, &asked(beside, in_meta)),
                asked("", ""),
                "{beside} {in_meta}"
            );
        }
    }

    #[test]
    fn what_is_allowed_goes_on_in_meta() {
        for (beside, in_meta) in [(BOTH, BOTH), ("", BOTH), (BOTH, ""), (BOTH, "7")] {
            let sent = onward(&[Field::Timezone], Placement::Meta, &asked(beside, in_meta));
            assert_eq!(sent, asked("", ZONE), "{beside} {in_meta}");
        }
        let params = |params: &str, first: &str| {
            format!(r#"{{{first}"jsonrpc":"2.0","id":1,"method":"x"{params},"clientContext":{BOTH}}}"#)
        };
        let key = "\"io.modelcontextprotocol/clientContext\"";
        let gone = format!(",\"clientContext\":{BOTH}");
        for (before, after, first) in [
            (",\"params\":{}", format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}}}}"), String::new()),
            (
                ",\"params\":{\"b\":2}",
                format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}},\"b\":2}}"),
                String::new(),
            ),
            (
                ",\"params\":{\"_meta\":{}}",
                format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}}}}"),
                String::new(),
            ),
            ("", String::new(), format!("\"params\":{{\"_meta\":{{{key}:{ZONE}}}}},")),
            // No room for it.
            (",\"params\":[]", ",\"params\":[]".to_owned(), String::new()),
            (",\"params\":{\"_meta\":7}", ",\"params\":{\"_meta\":7}".to_owned(), String::new()),
        ] {
            let sent = onward(&[Field::Timezone], Placement::Meta, &params(before, ""));
            assert_eq!(sent, params(&after, &first).replace(&gone, ""));
        }
    }

    #[test]
    fn what_is_allowed_goes_on_beside_params() {
        for (beside, in_meta) in [(BOTH, BOTH), (BOTH, "")] {
            let sent = onward(&[Field::Timezone], Placement::Beside, &asked(beside, in_meta));
            assert_eq!(sent, asked(ZONE, ""), "{beside} {in_meta}");
        }
        let sent = onward(&[Field::Timezone], Placement::Beside, &asked("", BOTH));
        assert_eq!(sent, asked(ZONE, "").replace(": {", ":{"));
    }

    #[test]
    fn debug_of_a_plan_shows_nothing_of_the_context() {
        let body = asked(BOTH, "");
        let agreed =
            agree::without_headers(Message::parse(body.as_bytes()).unwrap(), &Policy::default()).unwrap();
        let forward = Forward { fields: vec![Field::Timezone], ..Forward::default() };
        let plan = negotiate(&Caller::read(&agreed), &Offer { forward, ..Offer::default() });
        assert!(plan.onward.as_ref().is_some_and(|(_, context)| context.contains("Zurich")));
        assert!(!format!("{plan:?}").contains("Zurich"));
    }

    #[test]
    fn says_what_was_chosen_and_why() {
        let languages = Languages::new("en", ["de-CH"]).unwrap();
        let plan = plan(Some("de"), Some(languages));
        let (tag, why) = plan.chosen().unwrap();
        assert_eq!((tag.as_str(), why), ("de-CH", Why::Covered));
    }
}

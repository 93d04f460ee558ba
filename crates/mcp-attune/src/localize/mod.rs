//! One message of an answer, in its caller's language.
//!
//! 1. Only text is reached: `visit` knows every position of a message where text for people or models stands, and
//!    nothing else is ever replaced. Names, URIs, MIME types, keys, `enum` and `const` values, roles, codes, ids and
//!    states are no such positions.
//! 2. Text for people is translated: titles, the texts of elicitation forms, progress, the status of a task, the message of
//!    an error. Text for
//!    models (descriptions, schemas, instructions, content) only where the operator opted in ([`TranslationScope::model`]), and so
//!    what a server logs to its client ([`TranslationScope::logs`]).
//! 3. What has a name is looked for by it, what has none by what it says; each text by itself along the [`LocaleChain`]. A text that
//!    no catalog has stays as it came, byte for byte. A title that the server does not give is added where a catalog has
//!    one: people would see a bare name instead.
//! 4. A result to a preference reports its language: the chosen one where any text came from a catalog, else the server's
//!    own. An error or a notification reports it where it was localized. Where there is no room for the report (a `_meta`
//!    or an `error.data` that is no object), nothing is translated, because nobody could tell. A question that a legacy
//!    server asks (`elicitation/create`) has no place for a report.
//!    What a task carries is reported where the message that carries it reports.
//! 5. A message that reports a language already is left alone, and so is one whose server says its language in
//!    another way ([`LocalizeOptions::spoken`]), but for the report.
//! 6. An explicit language argument wins for the content that it selects: that content is left to the server.
//!
//! All changes are one splice.
//!
//! Rules: L7, L8, L9, L10, L11, L12, L21.
//!
//! ```
//! use std::sync::Arc;
//! use jiff::tz::TimeZone;
//! use mcp_attune::catalog::{LocaleChain, CompiledLocale};
//! use mcp_attune::language::Tag;
//! use mcp_attune::localize::{RequestSubject, LocalizeOptions, TranslationScope, adapt};
//!
//! let [en, de] = ["en", "de"].map(|tag| Tag::parse(tag).unwrap());
//! let file = br#"{"tools":{"get_weather":{"title":"Aktuelles Wetter"}}}"#;
//! let (locale, _) = CompiledLocale::read(de.clone(), file).unwrap();
//! let formatters = mcp_attune_format::formatters(&en);
//! let chain = LocaleChain::new(&de, [Arc::new(locale)], &formatters, formatters.for_locales([&de], TimeZone::UTC));
//!
//! let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_weather","title":"Current weather"}]}}"#;
//! let asked = RequestSubject::new("tools/list");
//! let how = LocalizeOptions { asked: &asked, chain: Some(&chain), translate: TranslationScope::default(), default: Some(&en), spoken: None };
//! let adapted = adapt(answer, &how);
//! assert_eq!(adapted.content_language.as_deref(), Some("de"));
//! assert!(String::from_utf8_lossy(&adapted.text).contains(r#""name":"get_weather","title":"Aktuelles Wetter""#));
//! ```

use std::borrow::Cow;

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};

use crate::catalog::{LocaleChain, TextSlot};
use crate::edits::{MessageEdit, MessageEdits};
use crate::language::{ContentLanguage, Tag};

// What is reached,
mod request_subject;
mod listed;
mod schema;

mod visit;

// and where a language is reported.
mod report;

use report::LanguageReportSlot;
use visit::{TextAudience, TextSink};

pub use request_subject::RequestSubject;

/// What is translated.
///
/// Rules: L8, L9.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TranslationScope {
    /// Text for people.
    pub display: bool,
    /// Text for models: translating it can change what a model does.
    pub model: bool,
    /// What a server logs to its client, which some clients show to people.
    pub logs: bool,
}

impl Default for TranslationScope {
    fn default() -> Self {
        Self { display: true, model: false, logs: false }
    }
}

impl TranslationScope {
    fn includes(self, audience: TextAudience) -> bool {
        match audience {
            TextAudience::Display => self.display,
            TextAudience::Model => self.model,
            TextAudience::Log => self.logs,
        }
    }
}

/// How the messages of one answer are adapted.
#[derive(Clone, Copy, Debug)]
pub struct LocalizeOptions<'a> {
    /// The request that is answered.
    pub asked: &'a RequestSubject,
    /// Where texts are looked for; none: nothing is translated.
    pub chain: Option<&'a LocaleChain>,
    /// What is translated.
    pub translate: TranslationScope,
    /// The server's own language, which a result is reported in where nothing was translated; none: the caller has
    /// no preference, or none is honoured, and neither report nor translation takes place.
    pub default: Option<&'a Tag>,
    /// The languages that the server itself says it answered in, in its own code: they are reported, and nothing is
    /// translated.
    pub spoken: Option<&'a ContentLanguage>,
}

impl<'a> LocalizeOptions<'a> {
    /// Where texts for an audience are looked for, if they are translated.
    fn chain(&self, audience: TextAudience) -> Option<&'a LocaleChain> {
        let wanted = self.default.is_some() && self.spoken.is_none();
        self.chain.filter(|_| wanted && self.translate.includes(audience))
    }

    /// Where texts for models are looked for, if they are translated.
    pub(crate) fn model_chain(&self) -> Option<&'a LocaleChain> {
        self.chain(TextAudience::Model)
    }
}

/// A message as the caller gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalizedMessage<'m> {
    /// The message: borrowed where nothing was changed.
    pub text: Cow<'m, [u8]>,
    /// The language that the message reports, for the header that mirrors it.
    pub content_language: Option<String>,
}

/// Adapts one message: a result, an error, a progress notification or a question, each alone.
///
/// Rules: L7, L8, L9, L10, L11, L21.
#[must_use]
pub fn adapt<'m>(message: &'m [u8], how: &LocalizeOptions<'_>) -> LocalizedMessage<'m> {
    let untouched = LocalizedMessage { text: Cow::Borrowed(message), content_language: None };
    let Ok(read) = Message::parse(message) else { return untouched };
    let mut edits = MessageEdits::default();
    let content_language = add_localize_edits(&read, how, &mut edits);
    match edits.apply(&read) {
        Some(text) => LocalizedMessage { text: Cow::Owned(text.into_bytes()), content_language },
        None => LocalizedMessage { content_language, ..untouched },
    }
}

/// An answer of our own with other words, which are in this language: the message of an error, or the text of a result. `None`
/// where there is no such text, or no room for the report.
pub(crate) fn reword_answer(answer: &[u8], text: &str, language: &Tag) -> Option<Vec<u8>> {
    let read = Message::parse(answer).ok()?;
    let (there, report) = match (read.member("result"), read.member("error")) {
        (None, Some(error)) => (error.member("message")?, LanguageReportSlot::in_member(error, "data")),
        (Some(result), None) => {
            let text = result.member("content")?.elements().next()?.member("text")?;
            (text, LanguageReportSlot::find(result))
        }
        _ => return None,
    };
    let (place, report) = report.into_edit(language.as_str(), |_| false).ok()?;
    let mut edits = MessageEdits::default();
    edits.add_step(vec![
        (there.span(), Cow::Owned(JsonQuoted(text).to_string())),
        (place, Cow::Owned(report)),
    ]);
    edits.apply(&read).map(String::into_bytes)
}

/// [`adapt`] as a step beside others: what an earlier one changed is gone, and what it says is in the caller's language
/// already. The language that the message reports then.
pub(crate) fn add_localize_edits<'a>(
    read: &Message<'_>,
    how: &LocalizeOptions<'a>,
    edits: &mut MessageEdits<'a>,
) -> Option<String> {
    let mut work = MessageLocalizer { how, earlier: edits, edits: Vec::new() };
    let outcome = match read.kind() {
        MessageKind::Answer => match (read.member("result"), read.member("error")) {
            (Some(result), None) => work.result(read, result),
            (None, Some(error)) => work.error(error),
            // Both at once could be read in two ways.
            _ => return None,
        },
        MessageKind::Notification => work.notification(read),
        MessageKind::Request => work.elicitation_request(read),
        MessageKind::Batch | MessageKind::Other => return None,
    };
    match outcome {
        LocalizeOutcome::Reported(language) => Some(language),
        LocalizeOutcome::Untouched => None,
        LocalizeOutcome::Edited(language) => {
            let own = work.edits;
            edits.add_step(own);
            language
        }
    }
}

/// The texts of a result that have a name, whoever they are for: what a locale file of the server's own language holds.
///
/// ```
/// use mcp_attune::localize::{RequestSubject, visit_named_texts};
/// use mcp_attune_wire::message::Message;
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"A","description":"Does a."}]}}"#;
/// let mut found = Vec::new();
/// visit_named_texts(&Message::parse(answer)?, &RequestSubject::new("tools/list"), |slot, text| found.push(format!("{} {text}", slot.path())));
/// assert_eq!(found, ["tools.a.title A", "tools.a.description Does a."]);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
pub fn visit_named_texts(answer: &Message<'_>, asked: &RequestSubject, each: impl FnMut(TextSlot<'_>, &str)) {
    struct NamedTextSink<F>(F);
    impl<F: FnMut(TextSlot<'_>, &str)> TextSink for NamedTextSink<F> {
        fn wants(&self, _: TextAudience) -> bool {
            true
        }
        fn named_text(&mut self, slot: TextSlot<'_>, there: SpannedValue<'_>) {
            if let Some(text) = there.text().and_then(JsonString::decode) {
                (self.0)(slot, &text);
            }
        }
        fn missing_title(&mut self, _: TextSlot<'_>, _: ByteSpan) {}
        fn unnamed_text(&mut self, _: TextAudience, _: SpannedValue<'_>) {}
    }
    if answer.kind() == MessageKind::Answer {
        visit::result(answer, asked, &mut NamedTextSink(each));
    }
}

/// The values that the `outputSchema`s of a listing name under `enum`, `const` and `examples`, each with its tool and
/// the way to its field.
///
/// Rules: L22.
///
/// ```
/// use mcp_attune::localize::visit_listed_values;
/// use mcp_attune_wire::message::Message;
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"w","outputSchema":{"properties":{"wind":{"enum":["north"]}}}}]}}"#;
/// let mut found = Vec::new();
/// visit_listed_values(&Message::parse(answer)?, |tool, field, value| found.push(format!("{tool} {field} {value}")));
/// assert_eq!(found, ["w wind north"]);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
pub fn visit_listed_values(answer: &Message<'_>, mut each: impl FnMut(&str, &str, &str)) {
    let result = answer.member("result").filter(|_| answer.kind() == MessageKind::Answer);
    for tool in result.and_then(|result| result.member("tools")).into_iter().flat_map(SpannedValue::elements)
    {
        let name = tool.member("name").and_then(SpannedValue::text).and_then(JsonString::decode);
        if let Some((name, schema)) = name.zip(tool.member("outputSchema")) {
            listed::visit_listed_strings(schema, &mut |field, value| each(&name, field, value));
        }
    }
}

/// What became of a message.
enum LocalizeOutcome {
    /// It stays, and says its language itself.
    Reported(String),
    /// It stays.
    Untouched,
    /// There are edits, and they report this language.
    Edited(Option<String>),
}

/// The edits of one message. `visit` says where text stands; what is put there comes from catalogs only.
struct MessageLocalizer<'w, 'a> {
    how: &'w LocalizeOptions<'a>,
    /// What earlier steps changed.
    earlier: &'w MessageEdits<'a>,
    edits: Vec<MessageEdit<'a>>,
}

impl<'a> MessageLocalizer<'_, 'a> {
    fn result(&mut self, answer: &Message<'_>, result: SpannedValue<'_>) -> LocalizeOutcome {
        if let Some(spoken) = self.how.spoken {
            return self.finish(LanguageReportSlot::find(result), Some(spoken.to_string()));
        }
        let Some(default) = self.how.default else {
            return LocalizeOutcome::of(LanguageReportSlot::find(result));
        };
        let report = LanguageReportSlot::of(result, visit::result(answer, self.how.asked, self));
        // Only a task carries another result, and to look for one goes over all of this one.
        let is_task = self.how.asked.method() == "tasks/get";
        let carried = if is_task { LanguageReportSlot::in_carried_result(result) } else { None };
        let report = carried.unwrap_or(report);
        let language = self.translated_language().unwrap_or_else(|| default.to_string());
        self.finish(report, Some(language))
    }

    fn error(&mut self, error: SpannedValue<'_>) -> LocalizeOutcome {
        let report = LanguageReportSlot::in_member(error, "data");
        if let Some(spoken) = self.how.spoken {
            return self.finish(report, Some(spoken.to_string()));
        }
        if let Some(message) = error.member("message") {
            self.unnamed_text(TextAudience::Display, message);
        }
        self.finish(report, self.translated_language())
    }

    fn notification(&mut self, message: &Message<'_>) -> LocalizeOutcome {
        let Some(params) = message.member("params") else { return LocalizeOutcome::Untouched };
        match message.known_method() {
            Some("notifications/progress") => {
                if let Some(text) = params.member("message") {
                    self.unnamed_text(TextAudience::Display, text);
                }
            }
            Some("notifications/message") => visit::log(params, self),
            Some("notifications/tasks" | "notifications/tasks/status") => visit::task(params, self),
            _ => {}
        }
        let report =
            LanguageReportSlot::in_carried_result(params).unwrap_or_else(|| LanguageReportSlot::find(params));
        self.finish(report, self.translated_language())
    }

    fn elicitation_request(&mut self, message: &Message<'_>) -> LocalizeOutcome {
        let Some(params) = message.member("params") else { return LocalizeOutcome::Untouched };
        let reported = LanguageReportSlot::find(params);
        if !message.method().is_some_and(|method| method.is("elicitation/create")) || reported.is_taken() {
            return LocalizeOutcome::of(reported);
        }
        visit::elicitation(&mut params.walk(), self);
        if self.edits.is_empty() { LocalizeOutcome::Untouched } else { LocalizeOutcome::Edited(None) }
    }

    /// The chosen language, where any text came from it or its relatives.
    fn translated_language(&self) -> Option<String> {
        self.how.chain.filter(|_| !self.edits.is_empty()).map(|chain| chain.chosen().to_string())
    }

    /// Adds the report to the edits; without room for it there are no edits at all.
    fn finish(&mut self, report: LanguageReportSlot, language: Option<String>) -> LocalizeOutcome {
        let Some(language) = language else { return LocalizeOutcome::of(report) };
        match report.into_edit(&language, |place| self.earlier.inserts_at(place)) {
            Ok((place, text)) => {
                self.edits.push((place, Cow::Owned(text)));
                LocalizeOutcome::Edited(Some(language))
            }
            Err(report) => LocalizeOutcome::of(report),
        }
    }

    fn put(&mut self, place: ByteSpan, text: Cow<'a, str>) {
        if self.earlier.is_free(place) {
            self.edits.push((place, text));
        }
    }

    fn chain(&self, audience: TextAudience) -> Option<&'a LocaleChain> {
        self.how.chain(audience)
    }
}

impl LocalizeOutcome {
    fn of(report: LanguageReportSlot) -> Self {
        report.reported().map_or(Self::Untouched, Self::Reported)
    }
}

impl TextSink for MessageLocalizer<'_, '_> {
    fn wants(&self, audience: TextAudience) -> bool {
        self.chain(audience).is_some()
    }

    fn named_text(&mut self, slot: TextSlot<'_>, there: SpannedValue<'_>) {
        let text = self.chain(TextAudience::of(slot)).and_then(|chain| chain.find(slot));
        if let Some(text) = text.filter(|_| there.kind() == JsonKind::String) {
            self.put(there.span(), Cow::Borrowed(text));
        }
    }

    fn missing_title(&mut self, slot: TextSlot<'_>, opening: ByteSpan) {
        if let Some(text) = self.chain(TextAudience::of(slot)).and_then(|chain| chain.find(slot)) {
            self.put(opening, Cow::Owned(format!("\"title\":{text},")));
        }
    }

    fn unnamed_text(&mut self, audience: TextAudience, there: SpannedValue<'_>) {
        if !self.earlier.is_free(there.span()) {
            return;
        }
        let text = || self.chain(audience)?.translate_text(&there.text()?.decode()?);
        if let Some(text) = text() {
            self.put(there.span(), Cow::Owned(JsonQuoted(&text).to_string()));
        }
    }
}

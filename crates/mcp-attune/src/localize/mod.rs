//! One message of an answer, in its caller's language.
//!
//! 1. Only text is reached: `visit` knows every position of a message where text for people or models stands, and
//!    nothing else is ever replaced. Names, URIs, MIME types, keys, `enum` and `const` values, roles, codes, ids and
//!    states are no such positions.
//! 2. Text for people is translated: titles, the texts of elicitation forms, progress, the status of a task, the message of
//!    an error. Text for
//!    models (descriptions, schemas, instructions, content) only where the operator opted in ([`Translate::model`]), and so
//!    what a server logs to its client ([`Translate::logs`]).
//! 3. What has a name is looked for by it, what has none by what it says; each text by itself along the [`Chain`]. A text that
//!    no catalog has stays as it came, byte for byte. A title that the server does not give is added where a catalog has
//!    one: people would see a bare name instead.
//! 4. A result to a preference reports its language: the chosen one where any text came from a catalog, else the server's
//!    own. An error or a notification reports it where it was localized. Where there is no room for the report (a `_meta`
//!    or an `error.data` that is no object), nothing is translated, because nobody could tell. A question that a legacy
//!    server asks (`elicitation/create`) has no place for a report.
//!    What a task carries is reported where the message that carries it reports.
//! 5. A message that reports a language already is left alone, and so is one whose server says its language in
//!    another way ([`How::spoken`]), but for the report.
//! 6. An explicit language argument wins for the content that it selects: that content is left to the server.
//!
//! All changes are one splice.
//!
//! Rules: L7, L8, L9, L10, L11, L12, L21.
//!
//! ```
//! use std::sync::Arc;
//! use jiff::tz::TimeZone;
//! use mcp_attune::catalog::{Chain, Locale};
//! use mcp_attune::language::Tag;
//! use mcp_attune::localize::{Asked, How, Translate, adapt};
//!
//! let [en, de] = ["en", "de"].map(|tag| Tag::parse(tag).unwrap());
//! let file = br#"{"tools":{"get_weather":{"title":"Aktuelles Wetter"}}}"#;
//! let (locale, _) = Locale::read(de.clone(), file).unwrap();
//! let formatters = mcp_attune_format::formatters(&en);
//! let chain = Chain::new(&de, [Arc::new(locale)], &formatters, formatters.format([&de], TimeZone::UTC));
//!
//! let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"get_weather","title":"Current weather"}]}}"#;
//! let asked = Asked::new("tools/list");
//! let how = How { asked: &asked, chain: Some(&chain), translate: Translate::default(), default: Some(&en), spoken: None };
//! let adapted = adapt(answer, &how);
//! assert_eq!(adapted.content_language.as_deref(), Some("de"));
//! assert!(String::from_utf8_lossy(&adapted.text).contains(r#""name":"get_weather","title":"Aktuelles Wetter""#));
//! ```

use std::borrow::Cow;

use mcp_attune_wire::json::{Quoted, Span, Text, Type, Value};
use mcp_attune_wire::message::{Kind, Message};

use crate::catalog::{Chain, Slot};
use crate::edits::{Edit, Edits};
use crate::language::{ContentLanguage, Tag};

// What is reached,
mod asked;
mod listed;
mod schema;

mod visit;

// and where a language is reported.
mod report;

use report::Report;
use visit::{Audience, Sink};

pub use asked::Asked;

/// What is translated.
///
/// Rules: L8, L9.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Translate {
    /// Text for people.
    pub display: bool,
    /// Text for models: translating it can change what a model does.
    pub model: bool,
    /// What a server logs to its client, which some clients show to people.
    pub logs: bool,
}

impl Default for Translate {
    fn default() -> Self {
        Self { display: true, model: false, logs: false }
    }
}

impl Translate {
    fn includes(self, audience: Audience) -> bool {
        match audience {
            Audience::Display => self.display,
            Audience::Model => self.model,
            Audience::Log => self.logs,
        }
    }
}

/// How the messages of one answer are adapted.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The request that is answered.
    pub asked: &'a Asked,
    /// Where texts are looked for; none: nothing is translated.
    pub chain: Option<&'a Chain>,
    /// What is translated.
    pub translate: Translate,
    /// The server's own language, which a result is reported in where nothing was translated; none: the caller has
    /// no preference, or none is honoured, and neither report nor translation takes place.
    pub default: Option<&'a Tag>,
    /// The languages that the server itself says it answered in, in its own code: they are reported, and nothing is
    /// translated.
    pub spoken: Option<&'a ContentLanguage>,
}

impl<'a> How<'a> {
    /// Where texts for an audience are looked for, if they are translated.
    fn chain(&self, audience: Audience) -> Option<&'a Chain> {
        let wanted = self.default.is_some() && self.spoken.is_none();
        self.chain.filter(|_| wanted && self.translate.includes(audience))
    }

    /// Where texts for models are looked for, if they are translated.
    pub(crate) fn models(&self) -> Option<&'a Chain> {
        self.chain(Audience::Model)
    }
}

/// A message as the caller gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adapted<'m> {
    /// The message: borrowed where nothing was changed.
    pub text: Cow<'m, [u8]>,
    /// The language that the message reports, for the header that mirrors it.
    pub content_language: Option<String>,
}

/// Adapts one message: a result, an error, a progress notification or a question, each alone.
///
/// Rules: L7, L8, L9, L10, L11, L21.
#[must_use]
pub fn adapt<'m>(message: &'m [u8], how: &How<'_>) -> Adapted<'m> {
    let untouched = Adapted { text: Cow::Borrowed(message), content_language: None };
    let Ok(read) = Message::parse(message) else { return untouched };
    let mut edits = Edits::default();
    let content_language = step(&read, how, &mut edits);
    match edits.apply(&read) {
        Some(text) => Adapted { text: Cow::Owned(text.into_bytes()), content_language },
        None => Adapted { content_language, ..untouched },
    }
}

/// The same as a step beside others: what an earlier one changed is gone, and what it says is in the caller's language
/// already. The language that the message reports then.
pub(crate) fn step<'a>(read: &Message<'_>, how: &How<'a>, edits: &mut Edits<'a>) -> Option<String> {
    let mut work = Work { how, earlier: edits, edits: Vec::new() };
    let outcome = match read.kind() {
        Kind::Answer => match (read.member("result"), read.member("error")) {
            (Some(result), None) => work.result(read, result),
            (None, Some(error)) => work.error(error),
            // Both at once could be read in two ways.
            _ => return None,
        },
        Kind::Notification => work.notification(read),
        Kind::Request => work.question(read),
        Kind::Batch | Kind::Other => return None,
    };
    match outcome {
        Outcome::Reported(language) => Some(language),
        Outcome::Untouched => None,
        Outcome::Edited(language) => {
            let own = work.edits;
            edits.add_step(own);
            language
        }
    }
}

/// The texts of a result that have a name, whoever they are for: what a locale file of the server's own language holds.
///
/// ```
/// use mcp_attune::localize::{Asked, texts};
/// use mcp_attune_wire::message::Message;
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"A","description":"Does a."}]}}"#;
/// let mut found = Vec::new();
/// texts(&Message::parse(answer)?, &Asked::new("tools/list"), |slot, text| found.push(format!("{} {text}", slot.path())));
/// assert_eq!(found, ["tools.a.title A", "tools.a.description Does a."]);
/// # Ok::<(), mcp_attune_wire::message::Unreadable>(())
/// ```
pub fn texts(answer: &Message<'_>, asked: &Asked, each: impl FnMut(Slot<'_>, &str)) {
    struct Names<F>(F);
    impl<F: FnMut(Slot<'_>, &str)> Sink for Names<F> {
        fn wants(&self, _: Audience) -> bool {
            true
        }
        fn named(&mut self, slot: Slot<'_>, there: Value<'_>) {
            if let Some(text) = there.text().and_then(Text::decode) {
                (self.0)(slot, &text);
            }
        }
        fn absent(&mut self, _: Slot<'_>, _: Span) {}
        fn live(&mut self, _: Audience, _: Value<'_>) {}
    }
    if answer.kind() == Kind::Answer {
        visit::result(answer, asked, &mut Names(each));
    }
}

/// The values that the `outputSchema`s of a listing name under `enum`, `const` and `examples`, each with its tool and
/// the way to its field.
///
/// Rules: L22.
///
/// ```
/// use mcp_attune::localize::listed_values;
/// use mcp_attune_wire::message::Message;
///
/// let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"w","outputSchema":{"properties":{"wind":{"enum":["north"]}}}}]}}"#;
/// let mut found = Vec::new();
/// listed_values(&Message::parse(answer)?, |tool, field, value| found.push(format!("{tool} {field} {value}")));
/// assert_eq!(found, ["w wind north"]);
/// # Ok::<(), mcp_attune_wire::message::Unreadable>(())
/// ```
pub fn listed_values(answer: &Message<'_>, mut each: impl FnMut(&str, &str, &str)) {
    let result = answer.member("result").filter(|_| answer.kind() == Kind::Answer);
    for tool in result.and_then(|result| result.member("tools")).into_iter().flat_map(Value::elements) {
        let name = tool.member("name").and_then(Value::text).and_then(Text::decode);
        if let Some((name, schema)) = name.zip(tool.member("outputSchema")) {
            listed::each(schema, &mut |field, value| each(&name, field, value));
        }
    }
}

/// What became of a message.
enum Outcome {
    /// It stays, and says its language itself.
    Reported(String),
    /// It stays.
    Untouched,
    /// There are edits, and they report this language.
    Edited(Option<String>),
}

/// The edits of one message. `visit` says where text stands; what is put there comes from catalogs only.
struct Work<'w, 'a> {
    how: &'w How<'a>,
    /// What earlier steps changed.
    earlier: &'w Edits<'a>,
    edits: Vec<Edit<'a>>,
}

impl<'a> Work<'_, 'a> {
    fn result(&mut self, answer: &Message<'_>, result: Value<'_>) -> Outcome {
        if let Some(spoken) = self.how.spoken {
            return self.finish(Report::look(result), Some(spoken.to_string()));
        }
        let Some(default) = self.how.default else { return Outcome::of(Report::look(result)) };
        let report = Report::of(result, visit::result(answer, self.how.asked, self));
        // Only a task carries another result, and to look for one goes over all of this one.
        let is_task = self.how.asked.method() == "tasks/get";
        let carried = if is_task { Report::inside(result) } else { None };
        let report = carried.unwrap_or(report);
        let language = self.chosen().unwrap_or_else(|| default.to_string());
        self.finish(report, Some(language))
    }

    fn error(&mut self, error: Value<'_>) -> Outcome {
        let report = Report::beside(error, "data");
        if let Some(spoken) = self.how.spoken {
            return self.finish(report, Some(spoken.to_string()));
        }
        if let Some(message) = error.member("message") {
            self.live(Audience::Display, message);
        }
        self.finish(report, self.chosen())
    }

    fn notification(&mut self, message: &Message<'_>) -> Outcome {
        let Some(params) = message.member("params") else { return Outcome::Untouched };
        match message.known_method() {
            Some("notifications/progress") => {
                if let Some(text) = params.member("message") {
                    self.live(Audience::Display, text);
                }
            }
            Some("notifications/message") => visit::log(params, self),
            Some("notifications/tasks" | "notifications/tasks/status") => visit::task(params, self),
            _ => {}
        }
        let report = Report::inside(params).unwrap_or_else(|| Report::look(params));
        self.finish(report, self.chosen())
    }

    fn question(&mut self, message: &Message<'_>) -> Outcome {
        let Some(params) = message.member("params") else { return Outcome::Untouched };
        let reported = Report::look(params);
        if !message.method().is_some_and(|method| method.is("elicitation/create")) || reported.is_taken() {
            return Outcome::of(reported);
        }
        visit::elicitation(&mut params.walk(), self);
        if self.edits.is_empty() { Outcome::Untouched } else { Outcome::Edited(None) }
    }

    /// The chosen language, where any text came from it or its relatives.
    fn chosen(&self) -> Option<String> {
        self.how.chain.filter(|_| !self.edits.is_empty()).map(|chain| chain.chosen().to_string())
    }

    /// Adds the report to the edits; without room for it there are no edits at all.
    fn finish(&mut self, report: Report, language: Option<String>) -> Outcome {
        let Some(language) = language else { return Outcome::of(report) };
        match report.insert(&language, |place| self.earlier.inserts_at(place)) {
            Ok((place, text)) => {
                self.edits.push((place, Cow::Owned(text)));
                Outcome::Edited(Some(language))
            }
            Err(report) => Outcome::of(report),
        }
    }

    fn put(&mut self, place: Span, text: Cow<'a, str>) {
        if self.earlier.is_free(place) {
            self.edits.push((place, text));
        }
    }

    fn chain(&self, audience: Audience) -> Option<&'a Chain> {
        self.how.chain(audience)
    }
}

impl Outcome {
    fn of(report: Report) -> Self {
        report.reported().map_or(Self::Untouched, Self::Reported)
    }
}

impl Sink for Work<'_, '_> {
    fn wants(&self, audience: Audience) -> bool {
        self.chain(audience).is_some()
    }

    fn named(&mut self, slot: Slot<'_>, there: Value<'_>) {
        let text = self.chain(Audience::of(slot)).and_then(|chain| chain.find(slot));
        if let Some(text) = text.filter(|_| there.kind() == Type::String) {
            self.put(there.span(), Cow::Borrowed(text));
        }
    }

    fn absent(&mut self, slot: Slot<'_>, opening: Span) {
        if let Some(text) = self.chain(Audience::of(slot)).and_then(|chain| chain.find(slot)) {
            self.put(opening, Cow::Owned(format!("\"title\":{text},")));
        }
    }

    fn live(&mut self, audience: Audience, there: Value<'_>) {
        if !self.earlier.is_free(there.span()) {
            return;
        }
        let text = || self.chain(audience)?.live(&there.text()?.decode()?);
        if let Some(text) = text() {
            self.put(there.span(), Cow::Owned(Quoted(&text).to_string()));
        }
    }
}

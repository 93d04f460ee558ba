//! Who is calling, as an argument of a handler.
//!
//! 1. Behind [`AttuneLayer`](mcp_attune_tower::AttuneLayer), and behind
//!    [`AttuneTransport`](super::AttuneTransport), the caller is what they read of the request. Behind neither,
//!    it is what rmcp kept of the request's `_meta`.
//! 2. A language that a handler chooses is reported by whichever of those two read the request, to a caller who
//!    stated a preference; nobody has to write it into `_meta`.
//! 3. Now is the caller's time, if they told it; else the server's clock when the handler began.
//!
//! Rules: C4–C8, F1, L3, L7.

use std::fmt;
#[cfg(feature = "format")]
use std::sync::LazyLock;

use http::request::Parts;
use jiff::{Timestamp, Zoned};
use mcp_attune::caller;
#[cfg(feature = "format")]
use mcp_attune::catalog::{LocaleChain, LocaleStore};
use mcp_attune::context::ClientContext;
use mcp_attune::features::{ContentFormat, FeaturePreferences};
#[cfg(feature = "format")]
use mcp_attune::format::{self, Formatters};
use mcp_attune::language::{AcceptLanguage, ContentLanguage, Languages, Tag, lookup};
#[cfg(feature = "format")]
use mcp_attune::messages::MessageArguments;
use mcp_attune::plan::ReportedLanguages;
use mcp_attune::session::{CONTENT_NEGOTIATION, ClientFeatures};
use mcp_attune::when::{self, Interval};
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::context::CONTEXT_MEMBER;
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method;
use rmcp::handler::server::common::{AsRequestContext, FromContextPart};
use rmcp::model::{ContentBlock, IntoContents, MetaObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};

/// Who is calling: an argument of tool and prompt handlers, and [`Caller::of`] everywhere else.
///
/// It can be extracted in every handler and never fails: a caller who told nothing has no preference, no
/// context and no features. Clones share the languages that were chosen, so that all of them are reported with
/// the answer.
///
/// ```
/// use mcp_attune_rmcp::Caller;
/// use mcp_attune_rmcp::language::Languages;
/// use rmcp::{ServerHandler, tool, tool_handler, tool_router};
/// # use std::sync::LazyLock;
///
/// static LANGUAGES: LazyLock<Languages> =
///     LazyLock::new(|| Languages::new("en", ["de"]).expect("these are languages"));
///
/// struct Greeter;
///
/// #[tool_router]
/// impl Greeter {
///     /// Says what day it is.
///     #[tool]
///     fn today(&self, caller: Caller) -> String {
///         let language = caller.language(&LANGUAGES);
///         let day = caller.format().date(caller.now().date(), Default::default());
///         match language.as_str() {
///             "de" => format!("Heute ist der {day}."),
///             _ => format!("Today is {day}."),
///         }
///     }
/// }
///
/// #[tool_handler]
/// impl ServerHandler for Greeter {}
///
/// let caller = Caller::for_test()
///     .language("de-CH, en;q=0.5")
///     .timezone("Europe/Zurich")
///     .now("2026-11-12T23:30:00Z")
///     .locale("de-CH")
///     .caller();
/// assert_eq!(Greeter.today(caller.clone()), "Heute ist der 13.11.2026.");
/// assert_eq!(caller.chosen_languages().unwrap().to_string(), "de");
/// ```
#[derive(Clone)]
pub struct Caller {
    /// What the request says of its caller.
    who: caller::Caller,
    /// The languages that the handler chose, shared with whoever reports them in the answer.
    spoken: ReportedLanguages,
    /// The server's time, for callers who do not tell theirs.
    clock: Timestamp,
}

impl Caller {
    /// Returns the caller of the request that `context` belongs to.
    #[must_use]
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        let http = context.extensions.get::<Parts>().map(|parts| &parts.extensions);
        let read = http.and_then(|http| http.get::<caller::Caller>());
        let read = read.or_else(|| context.extensions.get::<caller::Caller>()).cloned();
        let who = read.unwrap_or_else(|| read_meta(&Value::Object(context.meta.0.0.clone()), None));
        let spoken = http.and_then(|http| http.get::<ReportedLanguages>());
        let spoken =
            spoken.or_else(|| context.extensions.get::<ReportedLanguages>()).cloned().unwrap_or_default();
        Self { who: who.in_session(declared_features(context).into()), spoken, clock: Timestamp::now() }
    }

    /// Begins a caller for a test of a handler, who has told nothing yet.
    #[must_use]
    pub fn for_test() -> TestCallerBuilder {
        TestCallerBuilder::default()
    }

    /// Returns the same caller with another time of the server, for servers that have a clock of their own or
    /// stop it in tests. It counts for callers who do not tell their time.
    #[must_use]
    pub fn with_clock(self, clock: Timestamp) -> Self {
        Self { clock, ..self }
    }

    /// Chooses the best of these languages for this caller, and has the answer report it. Without a preference,
    /// and if none of the preferred languages is there, the default is chosen.
    ///
    /// Rules: L4–L7.
    pub fn language<'l>(&self, languages: &'l Languages) -> &'l Tag {
        let chosen = self.choose(languages);
        self.spoken.add(chosen);
        chosen
    }

    /// Chooses a language without reporting it.
    fn choose<'l>(&self, languages: &'l Languages) -> &'l Tag {
        let none = AcceptLanguage::default();
        let preference = self.who.preference().unwrap_or(&none);
        let chosen = lookup(preference, languages).language.clone();
        languages.tags().find(|tag| **tag == chosen).unwrap_or(languages.default_language())
    }

    /// Renders a message of a catalog in the best language for this caller, and has the answer report it.
    /// Numbers and dates among the arguments are written as this caller reads them.
    ///
    /// If no file has the message, its key is returned, so that the mistake is seen, and a warning is logged.
    /// Loading locale files may read from a disk.
    ///
    /// ```
    /// use mcp_attune_rmcp::Caller;
    /// use mcp_attune_rmcp::catalog::EmbeddedLocales;
    /// use mcp_attune_rmcp::language::Tag;
    /// use mcp_attune_rmcp::messages::MessageArguments;
    ///
    /// let files = [
    ///     ("en", r#"{"messages":{"seats":{"text":"{ $n ->\n [one] One seat\n *[other] { $n } seats\n}"}}}"#),
    ///     ("de", r#"{"messages":{"seats":{"text":"{ $n ->\n [one] Ein Platz\n *[other] { $n } Plätze\n}"}}}"#),
    /// ];
    /// let catalog = EmbeddedLocales::new(Tag::parse("en").unwrap(), &files).unwrap();
    /// let caller = Caller::for_test().language("de-CH").caller();
    /// assert_eq!(caller.text(&catalog, "seats", &MessageArguments::new().number("n", 1234)), "1.234 Plätze");
    /// assert_eq!(caller.chosen_languages().unwrap().to_string(), "de");
    /// ```
    ///
    /// Rules: L7, C6.
    #[cfg(feature = "format")]
    #[must_use]
    pub fn text(&self, catalog: &dyn LocaleStore, key: &str, arguments: &MessageArguments<'_>) -> String {
        let catalogs = catalog.locale_index();
        let chosen = self.choose(catalogs.languages());
        let context = self.who.context();
        let values = context.locale().into_iter().chain([chosen]);
        let values = FORMATTERS.for_locales(values, context.now(self.clock).zone);
        let mut locales = catalog.load(chosen);
        // The server's own file comes last: it has every message.
        let default = catalogs.languages().default_language();
        if chosen != default {
            locales.extend(catalog.load(default));
        }
        match LocaleChain::new(chosen, locales, &FORMATTERS, values).render_message(key, arguments) {
            Some(said) => {
                self.spoken.add(&said.language);
                said.text
            }
            None => {
                tracing::warn!("no locale file has the message {key:?}");
                key.to_owned()
            }
        }
    }

    /// Returns the languages that were chosen so far. `None` if none was.
    #[must_use]
    pub fn chosen_languages(&self) -> Option<ContentLanguage> {
        self.spoken.languages()
    }

    /// Writes the languages that were chosen into the `_meta` of a result, if the caller stated a preference.
    ///
    /// Only a server with neither the layer nor [`AttuneTransport`](super::AttuneTransport) around it has to
    /// call this.
    pub fn report(&self, meta: &mut Option<MetaObject>) {
        if let (Some(_), Some(languages)) = (self.preference(), self.chosen_languages()) {
            let held = meta.get_or_insert_default();
            held.insert(meta::CONTENT_LANGUAGE.to_owned(), languages.to_string().into());
        }
    }

    /// Returns what the caller's feature tags ask for.
    ///
    /// Rules: F1, F2.
    #[must_use]
    pub fn requested_features(&self) -> FeaturePreferences {
        FeaturePreferences::read(self.who.features().tags())
    }

    /// Returns whether the caller's feature tags ask for this format.
    ///
    /// Rules: F9.
    #[must_use]
    pub fn prefers(&self, format: ContentFormat) -> bool {
        self.requested_features().format() == Some(format)
    }

    /// Returns the caller's current time in their time zone.
    ///
    /// Rules: C4.
    #[must_use]
    pub fn now(&self) -> Zoned {
        let now = self.who.context().now(self.clock);
        Zoned::new(now.instant, now.zone)
    }

    /// Returns the interval that an expression such as `last week` names for this caller, in their language or
    /// in English.
    ///
    /// Give it the caller's words as they are: `the last week` is the time up to now and `last week` the
    /// calendar week, unless the setting `offer.past` of the layer or the pipe says otherwise.
    ///
    /// In a handler, `?` turns an expression that cannot be read into an answer that says what can be written.
    ///
    /// Rules: C5, C14.
    ///
    /// # Errors
    ///
    /// The text cannot be read, or names no interval.
    pub fn when(&self, text: &str) -> Result<Interval, TimeTextError> {
        self.who.when(text, self.clock).map_err(|why| TimeTextError { text: one_line_excerpt(text), why })
    }

    /// Returns a formatter that writes dates, numbers, money and the like as this caller reads them: for their
    /// locale, else in the language that was chosen for them, else in English. So choose the
    /// [language](Self::language) first: dates should not be in another language than the sentence around them.
    ///
    /// Rules: C6.
    #[cfg(feature = "format")]
    #[must_use]
    pub fn format(&self) -> format::ValueFormatter {
        let spoken = self.chosen_languages();
        let spoken = spoken.iter().flat_map(ContentLanguage::tags);
        let zone = self.who.context().now(self.clock).zone;
        FORMATTERS.for_locales(self.who.context().locale().into_iter().chain(spoken), zone)
    }

    /// Returns the caller's time, place and locale, as far as they told them.
    ///
    /// Rules: C2.
    #[must_use]
    pub fn context(&self) -> &ClientContext {
        self.who.context()
    }

    /// Returns the language preference. `None` if the caller stated none.
    #[must_use]
    pub fn preference(&self) -> Option<&AcceptLanguage> {
        self.who.preference()
    }
}

/// The formatters of all callers of this process, kept by locale and by nothing of a caller. English is used if
/// nothing is known of a caller and no language was chosen.
#[cfg(feature = "format")]
static FORMATTERS: LazyLock<Formatters> = LazyLock::new(mcp_attune_format::english);

/// Shows what may be logged: the names of what the caller told, and no value.
impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.who.fmt(f)
    }
}

impl<C: AsRequestContext> FromContextPart<C> for Caller {
    fn from_context_part(context: &mut C) -> Result<Self, ErrorData> {
        Ok(Self::of(context.as_request_context()))
    }
}

/// Returns the features that a client declared, as rmcp knows them: those of the request in the modern era,
/// those of the session in the legacy one.
fn declared_features(context: &RequestContext<RoleServer>) -> ClientFeatures {
    let capabilities = context.client_capabilities();
    let extensions = capabilities.and_then(|capabilities| capabilities.extensions);
    let settings = extensions.as_ref().and_then(|extensions| extensions.get(CONTENT_NEGOTIATION));
    let tags = settings.and_then(|settings| settings.get("features")).and_then(Value::as_array);
    ClientFeatures::from_tags(tags.into_iter().flatten().filter_map(Value::as_str)).features
}

/// Reads a caller from a `_meta` and a `clientContext`, as if they stood in a request, so that the same rules
/// apply as on the wire. Returns a caller of whom nothing is known if the two contradict each other.
fn read_meta(meta: &Value, context: Option<&Value>) -> caller::Caller {
    let mut body =
        json!({ "jsonrpc": "2.0", "id": 0, "method": method::TOOLS_CALL, "params": { "_meta": meta } });
    if let (Some(members), Some(context)) = (body.as_object_mut(), context) {
        members.insert(CONTEXT_MEMBER.to_owned(), context.clone());
    }
    let body = body.to_string();
    let Ok(message) = Message::parse(body.as_bytes()) else { return caller::Caller::default() };
    agree::check_without_headers(message, &HeaderPolicy::default())
        .map(|agreed| caller::Caller::read(&agreed))
        .unwrap_or_default()
}

/// A text that names no interval of time. Its message says what was written (shortened), what is wrong, and
/// what can be written instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeTextError {
    text: String,
    why: when::TimeIntervalError,
}

impl fmt::Display for TimeTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.text, self.why)
    }
}

impl std::error::Error for TimeTextError {}

/// In a handler that fails with errors of the protocol.
impl From<TimeTextError> for ErrorData {
    fn from(unclear: TimeTextError) -> Self {
        Self::invalid_params(unclear.to_string(), None)
    }
}

/// In a tool whose errors are results, which a model can read and put right.
impl IntoContents for TimeTextError {
    fn into_contents(self) -> Vec<ContentBlock> {
        vec![ContentBlock::text(self.to_string())]
    }
}

/// Shortens what somebody wrote to 60 characters on one line.
fn one_line_excerpt(text: &str) -> String {
    mcp_attune_wire::text::one_line(text, 60)
}

/// Builds a [`Caller`] for a test. What is said here is read in the same way as what a client sends.
#[derive(Clone, Debug, Default)]
pub struct TestCallerBuilder {
    meta: Map<String, Value>,
    context: Map<String, Value>,
    features: Vec<String>,
}

impl TestCallerBuilder {
    /// Sets the language preference, such as `de-CH, en;q=0.5`.
    #[must_use]
    pub fn language(mut self, preference: &str) -> Self {
        self.meta.insert(meta::ACCEPT_LANGUAGE.to_owned(), preference.into());
        self
    }

    /// Sets the time zone by its IANA name, such as `Europe/Zurich`.
    #[must_use]
    pub fn timezone(self, name: &str) -> Self {
        self.field("timezone", name)
    }

    /// Sets the caller's current time, such as `2026-11-12T14:23:00+01:00`.
    #[must_use]
    pub fn now(self, timestamp: &str) -> Self {
        self.field("currentTimestamp", timestamp)
    }

    /// Sets the locale, such as `de-CH`.
    #[must_use]
    pub fn locale(self, locale: &str) -> Self {
        self.field("locale", locale)
    }

    /// Sets a field of the context as a client sends it, such as
    /// `field("userLocation", json!({"country": "CH"}))`.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.context.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a feature tag, such as `format=json`.
    #[must_use]
    pub fn feature(mut self, tag: &str) -> Self {
        self.features.push(tag.to_owned());
        self
    }

    /// Returns the caller.
    ///
    /// # Panics
    ///
    /// If something was said that a server would ignore, because a test would not notice that.
    #[must_use]
    #[track_caller]
    pub fn caller(self) -> Caller {
        let who = read_meta(&Value::Object(self.meta), Some(&Value::Object(self.context)));
        let features = ClientFeatures::from_tags(self.features.iter().map(String::as_str));
        let mut wrong: Vec<String> = who.warnings().iter().map(ToString::to_string).collect();
        wrong.extend(who.malformed().map(|malformed| format!("the language preference: {malformed}")));
        let tags = FeaturePreferences::read(features.features.tags());
        wrong.extend(tags.ignored().map(|(tag, why)| format!("the feature `{tag}`: {why}")));
        assert!(wrong.is_empty(), "a server would ignore a part of this caller: {}", wrong.join("; "));
        Caller {
            who: who.in_session(features.features.into()),
            spoken: ReportedLanguages::default(),
            clock: Timestamp::now(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_cannot_say_what_a_server_would_ignore() {
        let panics = |caller: TestCallerBuilder| std::panic::catch_unwind(|| caller.caller()).is_err();
        assert!(!panics(Caller::for_test().timezone("Europe/Zurich").feature("x-acme")));
        assert!(panics(Caller::for_test().timezone("Europe/Nowhere")));
        assert!(panics(Caller::for_test().language("de;q=2")));
        assert!(panics(Caller::for_test().now("noon")));
        assert!(panics(Caller::for_test().feature("loud")));
    }

    #[test]
    fn what_cannot_be_read_says_what_was_written_and_what_can_be() {
        let unclear = Caller::for_test().caller().when("some\nday").unwrap_err();
        let text = unclear.to_string();
        assert!(text.starts_with("`some day` is not an expression of time that can be read; write one of\n"));
        assert!(text.contains("last U"), "{text}");
        assert_eq!(ErrorData::from(unclear).code.0, -32602);
        let long = Caller::for_test().caller().when(&"ä".repeat(300)).unwrap_err().to_string();
        assert!(long.starts_with(&format!("`{}…` is too long", "ä".repeat(60))), "{long}");
    }

    #[test]
    fn without_a_locale_values_are_written_in_the_language_that_was_chosen() {
        let languages = Languages::new("en", ["fr"]).unwrap();
        let caller = Caller::for_test().language("fr").caller();
        let number = format::DecimalNumber::parse("1234.5").unwrap();
        assert_eq!(caller.format().number(&number, format::FractionDigits::default()), "1,234.5");
        assert_eq!(caller.language(&languages).as_str(), "fr");
        assert_eq!(caller.format().number(&number, format::FractionDigits::default()), "1\u{202f}234,5");
    }

    #[test]
    fn debug_shows_no_value() {
        let caller = Caller::for_test().timezone("Europe/Zurich").locale("de-CH").caller();
        let shown = format!("{caller:?}");
        assert!(!shown.contains("Zurich") && !shown.contains("de-CH"), "{shown}");
    }

    #[test]
    fn tags_say_which_format_is_preferred() {
        let caller = Caller::for_test().feature("human").caller();
        assert!(caller.prefers(ContentFormat::Markdown) && !caller.prefers(ContentFormat::Json));
        assert!(!ContentFormat::ALL.into_iter().any(|format| Caller::for_test().caller().prefers(format)));
    }
}

//! Who is asking: what a request says about its caller, read once and kept for that request only.
//!
//! 1. The language preference is the string in `_meta`, or a bare header that the operator promotes.
//! 2. What cannot be read counts as absent, and is told beside what could.
//! 3. Where there is no preference, the locale of the caller's context stands in for it. It is never mirrored as one.
//! 4. A modern request declares its features itself. Those of a legacy session come from its id, because only its first
//!    message declares them.
//! 5. What it does not say may be [assumed](crate::assume). Every value has its source, and what the request itself says
//!    stays known beside what is assumed.
//!
//! Rules: A1, A3, C5, C7, C8, F1, F4, L2, L3.

use core::fmt;

use jiff::Timestamp;
use mcp_attune_wire::agree::Agreed;
use mcp_attune_wire::json::SpannedValue;

use crate::assume::{AssumedValues, CallerField, CallerSource, CallerSources};
use crate::context::{ClientContext, ContextWarning, Rfc3339Instant, VendorFilledFields};
use crate::language::{AcceptLanguage, AcceptLanguageError, Tag, read_preference};
use crate::session::{ClientFeatures, SessionFacts, ViewSupport};
use crate::when::{self, Interval, PastPhrasePolicy, TimeIntervalError, When};

/// What a request says about its caller.
///
/// ```
/// use mcp_attune::caller::Caller;
/// use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
/// use mcp_attune_wire::{header::MirroredHeaders, message::Message};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/acceptLanguage":"de-CH, en;q=0.5"}}}"#;
/// let policy = HeaderPolicy::default();
/// let HeaderAgreement::Done(agreed) = agree::begin(&MirroredHeaders::default(), Message::parse(body)?, &policy)? else {
///     unreachable!("a listing needs no schema")
/// };
/// let caller = Caller::read(&agreed);
/// assert_eq!(caller.preference().unwrap().as_str(), "de-CH, en;q=0.5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Caller {
    preference: AcceptLanguage,
    origin: PreferenceOrigin,
    malformed: Option<AcceptLanguageError>,
    context: ClientContext,
    warnings: Vec<ContextWarning>,
    features: ClientFeatures,
    /// Whether the request carries a key of a vendor whose host draws views.
    vendor: bool,
    past: PastPhrasePolicy,
    /// What the client told, where `context` has assumed values too.
    told: Option<Box<ClientContext>>,
    sources: CallerSources,
}

/// Where a language preference comes from.
///
/// Rules: C7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PreferenceOrigin {
    /// The caller stated it, as a preference.
    #[default]
    Stated,
    /// It is the locale of the caller's context, for want of a preference.
    Locale,
    /// It is assumed.
    Assumed,
    /// It is the locale that is assumed.
    AssumedLocale,
}

impl fmt::Display for PreferenceOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stated => "stated",
            Self::Locale => "locale",
            Self::Assumed => "assumed",
            Self::AssumedLocale => "assumed locale",
        })
    }
}

impl Caller {
    /// Reads what an agreed message says.
    #[must_use]
    pub fn read(agreed: &Agreed<'_>) -> Self {
        let stated = agreed.accept_language();
        let (mut preference, malformed) = read_preference(stated.as_deref());
        let (context, warnings, filled) = ClientContext::read_with_origins(agreed.message());
        let mut origin = PreferenceOrigin::Stated;
        let features = ClientFeatures::from_request(agreed.message()).features;
        let mut sources = told_sources(&context, filled, !features.is_empty());
        // A stated "no preference" is one; what is malformed counts as absent.
        if stated.is_some() && malformed.is_none() {
            sources.set(CallerField::Language, CallerSource::Request);
        } else if let Some(locale) = context.locale().and_then(AcceptLanguage::of_locale) {
            (preference, origin) = (locale, PreferenceOrigin::Locale);
            sources.set(CallerField::Language, told_source(filled.locale));
        }
        let vendor = agreed.message().param("_meta").is_some_and(has_vendor_key);
        Self {
            preference,
            origin,
            malformed,
            context,
            warnings,
            features,
            vendor,
            past: PastPhrasePolicy::default(),
            told: None,
            sources,
        }
    }

    /// The caller of a request that is served on: all that is known is the preference it had. Rules: L13.
    #[must_use]
    pub fn resumed(text: Option<&str>) -> Self {
        let (preference, malformed) = read_preference(text);
        let mut sources = CallerSources::default();
        if !preference.is_empty() {
            sources.set(CallerField::Language, CallerSource::Session);
        }
        Self { preference, malformed, sources, ..Self::default() }
    }

    /// The caller as one of a session that began with this; what the request itself says comes before it.
    ///
    /// Rules: A6, C11, F1.
    #[must_use]
    pub fn in_session(mut self, session: SessionFacts) -> Self {
        let views = self.features.draws_views() || session.features.draws_views();
        let is_open = self.sources.get(CallerField::Features).is_none_or(CallerSource::is_assumed);
        if is_open && !session.features.is_empty() {
            self.sources.set(CallerField::Features, CallerSource::Session);
            self.features = session.features.with_views(views);
        } else if is_open {
            self.features = self.features.with_views(views);
        }
        if let Some(locale) = session.locale.filter(|_| self.context.locale().is_none()) {
            if !self.knows(CallerField::Language)
                && let Some(preference) = AcceptLanguage::of_locale(&locale)
            {
                (self.preference, self.origin) = (preference, PreferenceOrigin::Locale);
                self.sources.set(CallerField::Language, CallerSource::Session);
            }
            self.sources.set(CallerField::Locale, CallerSource::Session);
            self.context = self.context.or_else(None, Some(locale), None);
        }
        self
    }

    /// The caller with what is assumed of it, field by field where nothing is known yet.
    ///
    /// Rules: A1, F4.
    #[must_use]
    pub fn assuming(mut self, assumed: AssumedValues) -> Self {
        let AssumedValues { language, timezone, locale, place, features } = assumed;
        if let Some((language, source)) = language.filter(|_| !self.knows(CallerField::Language)) {
            self.preference = language.preference;
            self.origin =
                if language.is_locale { PreferenceOrigin::AssumedLocale } else { PreferenceOrigin::Assumed };
            self.sources.set(CallerField::Language, source);
        }
        if let Some((features, source)) = features.filter(|_| self.features.is_empty()) {
            let views = self.features.draws_views();
            self.features = features.with_views(views);
            self.sources.set(CallerField::Features, source);
        }
        let mut take = |field, source| {
            let is_open = self.sources.get(field).is_none();
            if is_open {
                self.sources.set(field, source);
            }
            is_open
        };
        // An offset in the request's own time comes before a zone that contradicts it.
        let written = self.context.instant();
        let timezone = timezone.filter(|(zone, _)| {
            let offset = written.and_then(Rfc3339Instant::offset);
            let at = written.map(Rfc3339Instant::timestamp);
            offset.zip(at).is_none_or(|(offset, at)| zone.time_zone().to_offset(at) == offset)
        });
        let timezone =
            timezone.and_then(|(zone, source)| take(CallerField::Timezone, source).then_some(zone));
        let locale = locale.and_then(|(tag, source)| take(CallerField::Locale, source).then_some(tag));
        let place = place.and_then(|(place, source)| take(CallerField::Place, source).then_some(place));
        if timezone.is_some() || locale.is_some() || place.is_some() {
            self.told = Some(Box::new(self.context.clone()));
            self.context = self.context.or_else(timezone, locale, place);
        }
        self
    }

    fn knows(&self, field: CallerField) -> bool {
        self.sources.get(field).is_some()
    }

    /// Where each field comes from.
    ///
    /// Rules: A3.
    #[must_use]
    pub fn sources(&self) -> &CallerSources {
        &self.sources
    }

    /// The context as the client told it, without what is assumed.
    ///
    /// Rules: A4.
    #[must_use]
    pub fn told_context(&self) -> &ClientContext {
        self.told.as_deref().unwrap_or(&self.context)
    }

    /// Whether it draws views from structured content.
    ///
    /// Rules: F6, F7, F13.
    #[must_use]
    pub fn view_support(&self) -> ViewSupport {
        if self.features.draws_views() {
            ViewSupport::Declared
        } else if self.vendor {
            ViewSupport::Vendor
        } else {
            ViewSupport::None
        }
    }

    /// The caller of a server that reads `the last week` and its like so.
    ///
    /// Rules: C14.
    #[must_use]
    pub fn with_past(self, past: PastPhrasePolicy) -> Self {
        Self { past, ..self }
    }

    /// The language preference, where there is one and it is well formed.
    #[must_use]
    pub fn preference(&self) -> Option<&AcceptLanguage> {
        (!self.preference.is_empty()).then_some(&self.preference)
    }

    /// Where that preference comes from.
    ///
    /// Rules: C7.
    #[must_use]
    pub fn origin(&self) -> PreferenceOrigin {
        self.origin
    }

    /// The caller's time, place and locale, as far as the request tells them.
    ///
    /// Rules: C2.
    #[must_use]
    pub fn context(&self) -> &ClientContext {
        &self.context
    }

    /// The language of the caller's own expressions: the one that they want most.
    ///
    /// Rules: C5.
    #[must_use]
    pub fn expression_language(&self) -> when::ExpressionLanguage {
        let mut best = None;
        for (range, quality) in self.preference.wanted_ranges().filter(|(range, _)| !range.is_wildcard()) {
            if best.is_none_or(|(_, most)| quality > most) {
                best = Some((range, quality));
            }
        }
        let range = best.and_then(|(range, _)| Tag::parse(range.as_str()).ok());
        range
            .as_ref()
            .or(self.context.locale())
            .map_or(when::ExpressionLanguage::English, when::ExpressionLanguage::of)
    }

    /// The interval that an expression such as `last week` names for this caller; `clock` is what the server's clock
    /// says.
    ///
    /// ```
    /// use mcp_attune::caller::Caller;
    ///
    /// let caller = Caller::default(); // in UTC, for want of a context
    /// let interval = caller.when("yesterday", "2026-11-12T14:23:00Z".parse().unwrap()).unwrap();
    /// assert_eq!(interval.start.to_string(), "2026-11-11T00:00:00Z");
    /// ```
    ///
    /// Rules: C4, C5, C14.
    ///
    /// # Errors
    ///
    /// What cannot be read, or names no interval; it says what can be written.
    pub fn when(&self, text: &str, clock: Timestamp) -> Result<Interval, TimeIntervalError> {
        let now = when::ReferenceTime::of(self.context.now(clock), self.context.locale());
        Ok(When::parse(text, self.expression_language())?.with_past_policy(self.past)?.resolve(&now)?)
    }

    /// What `the last week` and its like mean in what this caller writes.
    ///
    /// Rules: C14.
    #[must_use]
    pub fn past(&self) -> PastPhrasePolicy {
        self.past
    }

    /// What in the context is ignored, and why.
    ///
    /// Rules: C3.
    #[must_use]
    pub fn warnings(&self) -> &[ContextWarning] {
        &self.warnings
    }

    /// What was wrong with a preference that counts as absent.
    #[must_use]
    pub fn malformed(&self) -> Option<AcceptLanguageError> {
        self.malformed
    }

    /// The tags that the request or its legacy session declared, not yet parsed. Rules: F1.
    #[must_use]
    pub fn features(&self) -> &ClientFeatures {
        &self.features
    }
}

/// The sources of what a request tells.
fn told_sources(context: &ClientContext, filled: VendorFilledFields, features: bool) -> CallerSources {
    let mut sources = CallerSources::default();
    let fields = [
        (CallerField::Timezone, context.timezone().is_some(), filled.timezone),
        (CallerField::Now, context.instant().is_some(), false),
        (CallerField::Locale, context.locale().is_some(), filled.locale),
        (CallerField::Place, context.user_location().is_some(), filled.place),
        (CallerField::Features, features, false),
    ];
    for (field, _, vendor) in fields.into_iter().filter(|(_, there, _)| *there) {
        sources.set(field, told_source(vendor));
    }
    sources
}

fn told_source(vendor: bool) -> CallerSource {
    if vendor { CallerSource::Vendor } else { CallerSource::Request }
}

/// Whether a key in `_meta` is one of ChatGPT's.
fn has_vendor_key(meta: SpannedValue<'_>) -> bool {
    meta.members().any(|(name, _)| name.decode().is_some_and(|name| name.starts_with("openai/")))
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stated = (self.origin == PreferenceOrigin::Stated).then_some(&self.preference);
        f.debug_struct("Caller")
            // A preference that is the locale would show a value of the context.
            .field("preference", &stated)
            .field("origin", &self.origin)
            .field("malformed", &self.malformed)
            .field("context", &self.context)
            .field("warnings", &self.warnings)
            .field("features", &self.features)
            .field("views", &self.view_support())
            .field("sources", &format_args!("{}", self.sources))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy, LanguageHeaderPolicy};
    use mcp_attune_wire::header::MirroredHeaders;
    use mcp_attune_wire::message::Message;

    fn caller(meta: &str, header: Option<&str>, language_header: LanguageHeaderPolicy) -> Caller {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{{meta}}}}},"clientContext":{{"locale":"de-CH-u-fw-sun"}}}}"#
        );
        let mut policy = HeaderPolicy::default();
        policy.language_header = language_header;
        let headers = MirroredHeaders::new(header.map(|value| ("Accept-Language", value.as_bytes())));
        let message = Message::parse(body.as_bytes()).unwrap();
        let HeaderAgreement::Done(agreed) = agree::begin(&headers, message, &policy).unwrap() else {
            panic!()
        };
        Caller::read(&agreed)
    }

    #[track_caller]
    fn check(meta: &str, header: Option<&str>, promote: bool, expected: Option<(&str, PreferenceOrigin)>) {
        let language_header =
            if promote { LanguageHeaderPolicy::Promote } else { LanguageHeaderPolicy::Compare };
        let caller = caller(meta, header, language_header);
        let preference = caller.preference().map(|preference| (preference.as_str(), caller.origin()));
        assert_eq!(preference, expected, "{meta} {header:?}");
    }

    const KEY: &str = "\"io.modelcontextprotocol/acceptLanguage\"";

    #[test]
    fn the_locale_stands_in_for_a_preference_that_is_absent() {
        let locale = Some(("de-CH", PreferenceOrigin::Locale));
        check("", None, false, locale);
        check(&format!("{KEY}:7"), None, false, locale);
        check(&format!("{KEY}:\"fr;q=2\""), None, false, locale);
        // A header alone is no preference, unless the operator says so.
        check("", Some("*"), false, locale);
        check("", Some("fr;q=2"), true, locale);
    }

    #[test]
    fn the_locale_has_no_say_where_there_is_a_preference() {
        check(&format!("{KEY}:\"fr\""), None, false, Some(("fr", PreferenceOrigin::Stated)));
        check(&format!("{KEY}:\"*;q=0\""), None, false, Some(("*;q=0", PreferenceOrigin::Stated)));
        check(&format!("{KEY}:\"\""), None, false, None);
        check("", Some("fr"), true, Some(("fr", PreferenceOrigin::Stated)));
    }

    #[test]
    fn expressions_are_read_in_the_language_that_is_wanted_most() {
        let clock = "2026-11-12T14:23:00Z".parse().unwrap();
        for preference in ["de", "*, en;q=0.5, DE-at;q=0.8, fr;q=0", "it;q=0.1, de;q=0.2"] {
            let caller = caller(&format!("{KEY}:{preference:?}"), None, LanguageHeaderPolicy::Compare);
            assert_eq!(caller.when("heute", clock), caller.when("today", clock), "{preference}");
            assert!(caller.when("oggi", clock).is_err(), "{preference}");
        }
        // The locale of the context is de-CH, and its weeks begin on a Sunday.
        let caller = caller("", None, LanguageHeaderPolicy::Compare);
        let week = caller.when("diese Woche", clock).unwrap();
        assert_eq!(week.start.to_string(), "2026-11-08T00:00:00Z");
    }

    #[test]
    fn views_are_declared_or_told_by_a_vendors_key() {
        let views = |meta: &str| caller(meta, None, LanguageHeaderPolicy::Compare).view_support();
        let declared = r#""io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{}}}"#;
        assert_eq!(views(declared), ViewSupport::Declared);
        assert_eq!(views(&format!(r#"{declared},"openai/locale":"de""#)), ViewSupport::Declared);
        assert_eq!(views(r#""openai/locale":"de""#), ViewSupport::Vendor);
        assert_eq!(views(r#""open\u0061i/x":7"#), ViewSupport::Vendor);
        assert_eq!(views(r#""x/openai/":7,"openai":7"#), ViewSupport::None);
        assert_eq!(views(&declared.replace("{}", "7")), ViewSupport::None);
        // What the session declared holds beside what the request says.
        let caller = caller(r#""openai/locale":"de""#, None, LanguageHeaderPolicy::Compare);
        let session = ClientFeatures::from_tags(["human"]).features.with_views(true);
        assert_eq!(caller.in_session(session.into()).view_support(), ViewSupport::Declared);
    }

    #[test]
    fn debug_does_not_show_the_locale() {
        let shown = format!("{:?}", caller("", None, LanguageHeaderPolicy::Compare));
        assert!(shown.contains("origin: Locale") && !shown.contains("de"), "{shown}");
    }
}

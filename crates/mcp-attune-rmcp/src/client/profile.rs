//! The profile of a caller: what a client says of it with every request.
//!
//! 1. The language preference goes into `_meta`, to the letter, and over HTTP into one `Accept-Language` line.
//! 2. The context goes into `_meta`. With [`context_beside_params`](CallerProfile::context_beside_params) that
//!    of a `tools/call` stands beside `params` instead, which strict servers refuse.
//! 3. Features are the settings of an extension among the capabilities. The modern era declares those with
//!    every request, the legacy one with `initialize`, for as long as the session lasts.
//! 4. A capability that is declared is among the features as well: `sampling`, `elicitation`, `roots`, and
//!    `tasks` for that extension. One that was said already, or its opposite, is not said again.
//! 5. Nothing is said that was not put in: by default there is neither a preference nor a context nor a
//!    feature.
//!
//! Rules: C1, F1, F15, L16, L19.

use std::fmt;
use std::sync::{Arc, LazyLock};

use mcp_attune::context::{
    ClientContext, ClientContextField, ContextForwarding, ContextPlacement, CoordinatePrecision,
};
use mcp_attune::features::{FeaturePreferences, IgnoredTagReason};
use mcp_attune::language::AcceptLanguage;
use mcp_attune::session::{CONTENT_NEGOTIATION, ClientFeatures};
use mcp_attune_wire::message::meta;
use mcp_attune_wire::protocol::method;
use rmcp::model::{ClientCapabilities, ClientRequest, GetMeta, JsonObject};
use serde_json::{Value, json};

use super::sanitize::sanitized;

/// The version of the content negotiation settings that features are declared in.
const SETTINGS_VERSION: &str = "1.0";
/// All fields that a context can have.
const ALL_CONTEXT_FIELDS: [ClientContextField; 4] = [
    ClientContextField::Timezone,
    ClientContextField::CurrentTimestamp,
    ClientContextField::Locale,
    ClientContextField::UserLocation,
];

/// What a client says of its caller with a request. It is immutable: each method returns a changed copy.
/// Cloning it is cheap, and the default says nothing.
///
/// ```
/// use mcp_attune_rmcp::CallerProfile;
/// use mcp_attune_rmcp::context::{ClientContext, IanaTimeZone};
/// use mcp_attune_rmcp::language::AcceptLanguage;
///
/// let swiss = CallerProfile::default()
///     .language(AcceptLanguage::parse("de-CH, rm;q=0.8, en-GB;q=0.5")?)
///     .context(ClientContext::from_parts(IanaTimeZone::parse("Europe/Zurich").ok(), None, None))
///     .features(["agent", "format=json"])?;
/// assert_eq!(swiss.preference(), Some("de-CH, rm;q=0.8, en-GB;q=0.5"));
///
/// // The same caller, who reveals less.
/// assert_eq!(swiss.clone().coarse().preference(), Some("de, rm;q=0.8, en;q=0.5"));
/// assert_eq!(swiss.without_language().preference(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Rules: C1, F15, L16, L19.
#[derive(Clone)]
pub struct CallerProfile(Arc<RenderedProfile>);

/// What was put into a profile.
#[derive(Clone, Default)]
struct ProfileInput {
    language: Option<AcceptLanguage>,
    features: Vec<Box<str>>,
    context: ClientContext,
    beside: bool,
    capabilities: ClientCapabilities,
}

/// What was put into a profile, and what it comes to in a request, rendered once.
#[derive(Default)]
struct RenderedProfile {
    said: ProfileInput,
    /// The capabilities, with the features among their extensions.
    declared: ClientCapabilities,
    /// The same as JSON.
    declared_value: Value,
    /// The feature tags as they are sent, mirrored capabilities included.
    tags: Vec<Box<str>>,
    /// The context as JSON, parsed and as text. `None` if there is nothing to tell.
    context: Option<(Value, Box<str>)>,
    /// All of it as one text, which tells callers apart in a cache.
    key: Arc<str>,
}

impl Default for CallerProfile {
    fn default() -> Self {
        static NOTHING: LazyLock<CallerProfile> =
            LazyLock::new(|| CallerProfile::from_input(ProfileInput::default()));
        NOTHING.clone()
    }
}

impl CallerProfile {
    /// Renders what was put in.
    fn from_input(said: ProfileInput) -> Self {
        let tags = sent_tags(&said);
        let mut declared = said.capabilities.clone();
        if !tags.is_empty() {
            let settings = json!({ "version": SETTINGS_VERSION, "features": tags });
            let settings: JsonObject = settings.as_object().cloned().unwrap_or_default();
            declared.extensions.get_or_insert_default().insert(CONTENT_NEGOTIATION.to_owned(), settings);
        }
        let declared_value = serde_json::to_value(&declared).unwrap_or_else(|_| json!({}));
        let whole = ContextForwarding {
            fields: ALL_CONTEXT_FIELDS.to_vec(),
            placement: ContextPlacement::Meta,
            precision: CoordinatePrecision::Exact,
        };
        let context = whole.write(&said.context).and_then(|text| {
            let value = serde_json::from_str(&text).ok()?;
            Some((value, text.into_boxed_str()))
        });
        let language = said.language.as_ref().map(AcceptLanguage::as_str);
        let told = context.as_ref().map(|(_, text)| &**text);
        let key = json!([language, declared_value, told]).to_string().into();
        Self(Arc::new(RenderedProfile { said, declared, declared_value, tags, context, key }))
    }

    fn edited(&self, change: impl FnOnce(&mut ProfileInput)) -> Self {
        let mut said = self.0.said.clone();
        change(&mut said);
        Self::from_input(said)
    }

    /// Returns the profile with this language preference, which is sent to the letter.
    #[must_use]
    pub fn language(&self, preference: AcceptLanguage) -> Self {
        self.edited(|said| said.language = Some(preference))
    }

    /// Returns the profile with only the languages of its preference: no script, region or variant, which help
    /// to tell people apart. If nothing is left, there is no preference.
    ///
    /// Rules: L19.
    #[must_use]
    pub fn coarse(&self) -> Self {
        self.edited(|said| {
            let coarse = said.language.as_ref().map(AcceptLanguage::coarse);
            said.language = coarse.filter(|coarse| !coarse.is_empty());
        })
    }

    /// Returns the profile without any language preference.
    ///
    /// Rules: L19.
    #[must_use]
    pub fn without_language(&self) -> Self {
        self.edited(|said| said.language = None)
    }

    /// Returns the profile with these feature tags instead of those that it had.
    ///
    /// # Errors
    ///
    /// A tag that no server could read, or too many. Tags that mean nothing to us are sent: a server may know
    /// them.
    pub fn features<'t>(&self, tags: impl IntoIterator<Item = &'t str>) -> Result<Self, ProfileFeatureError> {
        let mut features: Vec<Box<str>> = Vec::new();
        for tag in tags {
            if tag.len() > ClientFeatures::MAX_TAG_BYTES {
                return Err(ProfileFeatureError::TooLong(sanitized(tag)));
            }
            if features.len() >= ClientFeatures::MAX_TAGS {
                return Err(ProfileFeatureError::TooMany);
            }
            if let Some((_, why)) =
                FeaturePreferences::read([tag]).ignored().find(|(_, why)| why.is_malformed())
            {
                return Err(ProfileFeatureError::Malformed(sanitized(tag), why));
            }
            features.push(tag.into());
        }
        Ok(self.edited(|said| said.features = features))
    }

    /// Returns the profile with this time, place and locale. Coordinates are sent as exactly as they are given.
    #[must_use]
    pub fn context(&self, context: ClientContext) -> Self {
        self.edited(|said| said.context = context)
    }

    /// Returns the profile with the context of a `tools/call` beside `params` instead of in `_meta`.
    ///
    /// Rules: C1.
    #[must_use]
    pub fn context_beside_params(&self) -> Self {
        self.edited(|said| said.beside = true)
    }

    /// Returns the profile with these client capabilities. Whoever declares them must be able to answer what a
    /// server then asks.
    #[must_use]
    pub fn capabilities(&self, capabilities: ClientCapabilities) -> Self {
        self.edited(|said| said.capabilities = capabilities)
    }

    /// Returns the language preference as it is sent. `None` if there is none.
    #[must_use]
    pub fn preference(&self) -> Option<&str> {
        self.accept_language().map(AcceptLanguage::as_str)
    }

    pub(crate) fn accept_language(&self) -> Option<&AcceptLanguage> {
        self.0.said.language.as_ref()
    }

    /// Iterates over the feature tags as they are sent, mirrored capabilities after the others.
    ///
    /// Rules: F15.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.0.tags.iter().map(AsRef::as_ref)
    }

    /// Iterates over the tags that were asked for, without those that only mirror capabilities.
    pub(crate) fn requested_tags(&self) -> impl Iterator<Item = &str> {
        self.0.said.features.iter().map(AsRef::as_ref)
    }

    /// Returns the client capabilities as they are declared, with the features among their extensions.
    #[must_use]
    pub fn declared_capabilities(&self) -> &ClientCapabilities {
        &self.0.declared
    }

    /// Returns a text that holds everything which can make an answer to this caller differ from one to another.
    ///
    /// Rules: G3, L18.
    pub(crate) fn cache_key(&self) -> &str {
        &self.0.key
    }

    /// Writes what this caller says into the `_meta` of a request. A request of the modern era, which names its
    /// version there, declares the capabilities too.
    ///
    /// This is what a connection does with each of its requests; it is here for clients that have a transport
    /// of their own. Such a transport has to write what stands beside `params`, and in headers, itself.
    ///
    /// ```
    /// use mcp_attune_rmcp::{CallerProfile, language::AcceptLanguage};
    /// use rmcp::model::{ClientRequest, CustomRequest};
    ///
    /// let profile = CallerProfile::default().language(AcceptLanguage::parse("fr-CA, fr;q=0.9").unwrap());
    /// let mut request = ClientRequest::CustomRequest(CustomRequest::new("tools/list", None));
    /// profile.write(&mut request);
    /// let written = serde_json::to_value(&request).unwrap();
    /// assert_eq!(written["params"]["_meta"]["io.modelcontextprotocol/acceptLanguage"], "fr-CA, fr;q=0.9");
    /// ```
    pub fn write(&self, request: &mut ClientRequest) {
        let ready = &*self.0;
        if request.get_meta().contains_key(meta::PROTOCOL_VERSION) {
            let declared = ready.declared_value.clone();
            request.get_meta_mut().insert(meta::CLIENT_CAPABILITIES.to_owned(), declared);
        }
        if let Some(language) = self.preference() {
            request.get_meta_mut().insert(meta::ACCEPT_LANGUAGE.to_owned(), language.into());
        }
        if let Some((context, _)) = &ready.context
            && self.params_sibling_context(request).is_none()
        {
            request.get_meta_mut().insert(meta::CLIENT_CONTEXT.to_owned(), context.clone());
        }
    }

    /// Returns the context as JSON if it is to stand beside the `params` of this request, and `None` if it goes
    /// into `_meta`.
    pub(crate) fn params_sibling_context(&self, request: &ClientRequest) -> Option<&str> {
        let beside = self.0.said.beside && request.method() == method::TOOLS_CALL;
        self.0.context.as_ref().filter(|_| beside).map(|(_, text)| &**text)
    }
}

/// Shows the language preference and the feature tags, but of the context only which fields are told.
impl fmt::Debug for CallerProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallerProfile")
            .field("language", &self.preference())
            .field("features", &self.0.tags)
            .field("context", &self.0.said.context)
            .finish_non_exhaustive()
    }
}

/// Returns the feature tags as they are sent: those that were asked for, and one for each declared capability
/// that is neither asked for nor negated (`!sampling`) among them, up to the number that servers read.
fn sent_tags(said: &ProfileInput) -> Vec<Box<str>> {
    let ProfileInput { capabilities, features, .. } = said;
    let mirrored = [
        ("sampling", capabilities.sampling.is_some()),
        ("elicitation", capabilities.elicitation.is_some()),
        ("roots", capabilities.roots.is_some()),
        ("tasks", capabilities.supports_tasks()),
    ];
    let mut tags = features.clone();
    for (tag, _) in mirrored.into_iter().filter(|(_, declared)| *declared) {
        let mut said = features.iter().map(|said| said.strip_prefix('!').unwrap_or(said));
        if said.all(|said| said != tag) && tags.len() < ClientFeatures::MAX_TAGS {
            tags.push(tag.into());
        }
    }
    tags
}

/// Why a feature tag cannot be sent. The tags in it are shortened and safe to show.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ProfileFeatureError {
    /// The tag breaks the grammar.
    Malformed(String, IgnoredTagReason),
    /// The tag is longer than servers read.
    TooLong(String),
    /// There are more tags than servers read.
    TooMany,
}

impl ProfileFeatureError {
    /// Returns what is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Malformed(tag, why) => format!("`{tag}` is no feature tag: {why}"),
            Self::TooLong(tag) => {
                let limit = ClientFeatures::MAX_TAG_BYTES;
                format!("`{tag}` is longer than a feature tag may be: {limit} bytes")
            }
            Self::TooMany => format!("there are more than {} feature tags", ClientFeatures::MAX_TAGS),
        }
    }

    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Malformed(..) | Self::TooLong(_) => None,
            Self::TooMany => Some("leave some out"),
        }
    }
}

impl fmt::Display for ProfileFeatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for ProfileFeatureError {}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune::context::IanaTimeZone;
    use rmcp::model::CustomRequest;

    fn request(method: &str) -> ClientRequest {
        ClientRequest::CustomRequest(CustomRequest::new(method, Some(json!({ "name": "x" }))))
    }

    fn written(profile: &CallerProfile, method: &str, modern: bool) -> Value {
        let mut request = request(method);
        if modern {
            request.get_meta_mut().insert(meta::PROTOCOL_VERSION.to_owned(), "2026-07-28".into());
        }
        profile.write(&mut request);
        serde_json::to_value(&request).unwrap()["params"]["_meta"].clone()
    }

    fn able(extensions: &[&str]) -> ClientCapabilities {
        let mut capabilities: ClientCapabilities =
            serde_json::from_value(json!({ "sampling": {}, "roots": {} })).unwrap();
        let extensions = extensions.iter().map(|&id| (id.to_owned(), JsonObject::new()));
        capabilities.extensions = Some(extensions.collect());
        capabilities
    }

    #[test]
    fn says_nothing_by_default() {
        assert_eq!(written(&CallerProfile::default(), "tools/call", false), Value::Null);
        let modern = written(&CallerProfile::default(), "tools/call", true);
        assert_eq!(modern, json!({ meta::PROTOCOL_VERSION: "2026-07-28", meta::CLIENT_CAPABILITIES: {} }));
    }

    #[test]
    fn mirrors_capabilities_into_features_unless_they_were_spoken_of() {
        let check = |features: &[&str], expected: &[&str]| {
            let profile = CallerProfile::default().capabilities(able(&[rmcp::model::TASKS_EXTENSION_ID]));
            let profile = profile.features(features.iter().copied()).unwrap();
            assert_eq!(profile.tags().collect::<Vec<_>>(), expected);
            let settings = &written(&profile, "tools/list", true)[meta::CLIENT_CAPABILITIES]["extensions"];
            assert_eq!(settings[CONTENT_NEGOTIATION], json!({ "version": "1.0", "features": expected }));
            assert_eq!(settings[rmcp::model::TASKS_EXTENSION_ID], json!({}));
        };
        check(&[], &["sampling", "roots", "tasks"]);
        check(&["agent", "!sampling", "tasks"], &["agent", "!sampling", "tasks", "roots"]);
    }

    #[test]
    fn the_legacy_era_declares_nothing_with_a_request() {
        let profile = CallerProfile::default().capabilities(able(&[])).features(["agent"]).unwrap();
        assert_eq!(written(&profile, "tools/list", false), Value::Null);
        assert!(
            profile.declared_capabilities().extensions.as_ref().unwrap().contains_key(CONTENT_NEGOTIATION)
        );
    }

    #[test]
    fn the_context_stands_in_meta_unless_it_is_asked_beside_a_call() {
        let zone = ClientContext::from_parts(IanaTimeZone::parse("Europe/Vienna").ok(), None, None);
        let profile = CallerProfile::default().context(zone);
        let context = json!({ "timezone": "Europe/Vienna" });
        assert_eq!(written(&profile, "tools/call", false)[meta::CLIENT_CONTEXT], context);
        assert_eq!(profile.params_sibling_context(&request("tools/call")), None);
        let beside = profile.context_beside_params();
        assert_eq!(written(&beside, "tools/call", false), Value::Null);
        assert_eq!(
            beside.params_sibling_context(&request("tools/call")),
            Some(r#"{"timezone":"Europe/Vienna"}"#)
        );
        assert_eq!(written(&beside, "tools/list", false)[meta::CLIENT_CONTEXT], context);
    }

    #[test]
    fn refuses_tags_that_no_server_could_read() {
        let refused = |tag: &str| CallerProfile::default().features([tag]).unwrap_err().to_string();
        assert_eq!(
            refused("two words\x1b"),
            "`two words ` is no feature tag: a name has letters, digits, `_` and `-`"
        );
        assert!(refused(&"a".repeat(257)).contains("longer than a feature tag may be: 256 bytes"));
        let many: Vec<_> = (0..65).map(|number| format!("x-{number}")).collect();
        let many = CallerProfile::default().features(many.iter().map(String::as_str));
        assert_eq!(many.unwrap_err(), ProfileFeatureError::TooMany);
        assert!(CallerProfile::default().features(["unknown=tag", "x-acme"]).is_ok());
    }

    #[test]
    fn a_coarse_preference_that_says_nothing_is_not_sent() {
        let accept = |text| CallerProfile::default().language(AcceptLanguage::parse(text).unwrap());
        assert_eq!(accept("x-private").coarse().preference(), None);
        assert_eq!(accept("de-CH").coarse().preference(), Some("de"));
    }

    #[test]
    fn what_tells_callers_apart_is_exact() {
        let accept = |text| CallerProfile::default().language(AcceptLanguage::parse(text).unwrap());
        assert_ne!(accept("fr, en;q=0.5").cache_key(), accept("fr,en;q=0.5").cache_key());
        assert_eq!(accept("fr").cache_key(), accept("fr").cache_key());
        assert_ne!(accept("fr").cache_key(), accept("fr").features(["agent"]).unwrap().cache_key());
        let zone = ClientContext::from_parts(IanaTimeZone::parse("Europe/Vienna").ok(), None, None);
        assert_ne!(accept("fr").cache_key(), accept("fr").context(zone).cache_key());
        assert_ne!(
            CallerProfile::default().cache_key(),
            CallerProfile::default().capabilities(able(&[])).cache_key()
        );
    }

    #[test]
    fn debug_shows_no_value_of_the_context() {
        let zone = ClientContext::from_parts(IanaTimeZone::parse("Europe/Vienna").ok(), None, None);
        let shown = format!("{:?}", CallerProfile::default().context(zone));
        assert!(shown.contains("timezone") && !shown.contains("Vienna"), "{shown}");
    }
}

//! What a template sees: the data, the arguments of the request, and who asks.

use core::fmt;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use mcp_attune_wire::json;
use minijinja::value::{Object, Value, ValueKind};
use minijinja::{Error, State};

use super::data::{self, LocalizedStrings, TranslationSource};
use super::error::{TemplateRenderReason, render_error};
use crate::compiled_schema::Subschema;
use mcp_attune::catalog::LocaleChain;
use mcp_attune::features::{ContentFormat, FeaturePreferences, KNOWN_FLAGS, Verbosity};
use mcp_attune::format::ValueFormatter;

/// What one rendering is made from.
///
/// The members of the data are variables by their names, and the data as a whole is `data`. Beside them are
/// the caller's own: `arguments`, `features`, `locale`, `language`, `timezone` and `now`. Those names always
/// mean the caller, whatever the data has: a result's own `timezone` is `data.timezone`.
///
/// The fields are what a host or a command passes in. [`new`](Self::new) sets the necessary ones; the others
/// can be set afterwards.
#[derive(Clone, Copy, Debug)]
pub struct TemplateContext<'a> {
    /// The data to print: the structured content of a result, the JSON of a resource, or the result of
    /// `prompts/get`.
    pub data: json::SpannedValue<'a>,
    /// The `arguments` of the request; the variable is `none` without them.
    pub arguments: Option<json::SpannedValue<'a>>,
    /// The caller's feature tags, which a template sees as `features`.
    pub wanted: &'a FeaturePreferences,
    /// Writes numbers and dates for the caller's locale and time zone, which also are the variables `locale`
    /// and `timezone`.
    pub values: &'a ValueFormatter,
    /// The time of the request, which is `now` and what `relative` counts from.
    pub now: Timestamp,
    /// The caller's locale files: where `t` looks for messages and values for their translations. The
    /// variable `language` is the language that was chosen for it, or the same as `locale` without locale
    /// files.
    pub chain: Option<&'a LocaleChain>,
    /// Set to true if a text from the locale files is in the rendered text. It is never set to false.
    pub translated: Option<&'a Cell<bool>>,
    /// The tool whose values are printed as the locale files translate them; `None` prints them as the server
    /// wrote them.
    ///
    /// Rules: L22.
    pub tool: Option<&'a str>,
    /// The tool's `outputSchema`. Locale files name fields inside of a definition by that definition, as in
    /// `$defs.Place.name`, which only the schema can tell.
    pub output: Option<Subschema<'a>>,
}

impl<'a> TemplateContext<'a> {
    /// Makes a context without arguments, locale files and translations of values.
    #[must_use]
    pub fn new(
        data: json::SpannedValue<'a>,
        wanted: &'a FeaturePreferences,
        values: &'a ValueFormatter,
        now: Timestamp,
    ) -> Self {
        Self {
            data,
            arguments: None,
            wanted,
            values,
            now,
            chain: None,
            translated: None,
            tool: None,
            output: None,
        }
    }
}

/// The names that always mean the caller or the data as a whole. A member of the data with such a name is
/// found only under `data`.
pub(super) const RESERVED_NAMES: [&str; 7] =
    ["data", "arguments", "features", "locale", "language", "timezone", "now"];

/// The variable under which filters and the printer find the [`ContextObject`]. It begins with a character
/// that no template can write as a name.
const CONTEXT_KEY: &str = "\0scene";

/// A [`TemplateContext`] in the form that minijinja holds: owned values, and the root object that variables
/// are looked up in.
///
/// It lives for one rendering, and is shared by all filters of it.
pub(super) struct ContextObject {
    data: Value,
    arguments: Value,
    features: Value,
    pub(super) values: ValueFormatter,
    pub(super) now: Timestamp,
    /// The caller's locale files.
    pub(super) chain: Option<LocaleChain>,
    /// Whether a text of the locale files was used. An atomic, because minijinja requires objects to be
    /// `Sync`.
    pub(super) translated: AtomicBool,
    /// What the template is written in, which decides how values are escaped.
    pub(super) kind: ContentFormat,
    /// The strings of the data that people read as something else.
    localized: LocalizedStrings,
}

impl ContextObject {
    /// Converts the data and the arguments to minijinja values. Values are translated only in text for
    /// people: for a `.json` template, and for a tool without translated values, nothing is looked up.
    pub(super) fn new(scene: &TemplateContext<'_>, kind: ContentFormat) -> Self {
        let lookup = scene.tool.zip(scene.chain).filter(|(tool, chain)| chain.has_values(tool));
        // Structured content stays what it is.
        let (data, localized) = match lookup.filter(|_| !kind.is_structured()) {
            Some((tool, chain)) => {
                data::localized_value(scene.data, &TranslationSource { tool, chain, output: scene.output })
            }
            None => (data::value(scene.data), LocalizedStrings::default()),
        };
        Self {
            data,
            localized,
            arguments: scene.arguments.map_or_else(|| Value::from(()), data::value),
            features: Value::from_object(FeaturesObject(scene.wanted.clone())),
            values: scene.values.clone(),
            now: scene.now,
            chain: scene.chain.cloned(),
            translated: AtomicBool::new(false),
            kind,
        }
    }

    /// Returns the context of the rendering that a filter runs in. The error cannot happen while a
    /// [`Template`](super::Template) is rendered.
    pub(super) fn from_state(state: &State<'_, '_>) -> Result<Arc<Self>, Error> {
        let found = state.lookup(CONTEXT_KEY).and_then(|value| value.downcast_object::<Self>());
        found.ok_or_else(|| render_error(TemplateRenderReason::Impossible(String::new())))
    }

    /// Returns what people read in the place of a value of the data, and notes that a translation was used.
    /// Returns `None` for a value that stays as it is, and for every value that a filter or an operator made.
    ///
    /// Rules: L22.
    pub(super) fn translation_of(&self, value: &Value) -> Option<&str> {
        let told = self.localized.get(value)?;
        self.translated.store(true, Ordering::Relaxed);
        Some(told)
    }

    /// Returns the caller's time zone: its IANA name, or else its offset.
    fn timezone(&self) -> String {
        let zone = self.values.zone();
        match (zone.iana_name(), zone.to_fixed_offset()) {
            (Some(name), _) => name.to_owned(),
            (None, Ok(offset)) => offset.to_string(),
            (None, Err(_)) => "UTC".to_owned(),
        }
    }

    /// Returns the time of the request in RFC 3339, with the offset that the caller's time zone has then.
    fn now(&self) -> String {
        let offset = self.values.zone().to_offset(self.now);
        self.now.display_with_offset(offset).to_string()
    }
}

impl Object for ContextObject {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(match key {
            "data" => self.data.clone(),
            "arguments" => self.arguments.clone(),
            "features" => self.features.clone(),
            "locale" => Value::from(self.values.locale()),
            "language" => match &self.chain {
                Some(chain) => Value::from(chain.chosen().as_str()),
                None => Value::from(self.values.locale()),
            },
            "timezone" => Value::from(self.timezone()),
            "now" => Value::from(self.now()),
            CONTEXT_KEY => Value::from_dyn_object(Arc::clone(self)),
            name if self.data.kind() == ValueKind::Map => {
                return self.data.get_attr(name).ok().filter(|value| !value.is_undefined());
            }
            _ => return None,
        })
    }
}

/// Shows nothing of the data, which may be confidential.
impl fmt::Debug for ContextObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({:?})", self.values)
    }
}

/// The variable `features`: what the caller's tags say.
///
/// `features.format` is a name such as `json`, or `none` if results stay as they are. `features.verbosity` is
/// always one of the three, `standard` if none was declared. A known flag (`features.sampling`) is true or
/// false. A vendor's tag (`features["x-acme"]`) is its value, or else whether it was declared. Other names
/// are undefined, so a misspelt one cannot be printed.
#[derive(Debug)]
struct FeaturesObject(FeaturePreferences);

impl Object for FeaturesObject {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        Some(match key {
            "format" => self.0.format().map_or_else(|| Value::from(()), |format| Value::from(format.name())),
            "verbosity" => Value::from(self.0.verbosity().unwrap_or(Verbosity::Standard).name()),
            name if KNOWN_FLAGS.contains(&name) => Value::from(self.0.flag(name) == Some(true)),
            name if name.starts_with("x-") => match self.0.custom_value(name) {
                Some(value) => Value::from(value),
                None => Value::from(self.0.vendor_tags().any(|said| said == name)),
            },
            _ => return None,
        })
    }
}

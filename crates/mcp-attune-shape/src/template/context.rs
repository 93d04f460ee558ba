//! What a template sees: a result, what was asked, and who asks.

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
use super::name::TemplateFormat;
use crate::compiled_schema::Subschema;
use mcp_attune::catalog::LocaleChain;
use mcp_attune::features::{FeaturePreferences, KNOWN_FLAGS, Verbosity};
use mcp_attune::format::ValueFormatter;

/// What one rendering is made from.
///
/// The members of the data are variables by their names, and the data as a whole is `data`. Beside them are the
/// caller's own: `arguments`, `features`, `locale`, `language`, `timezone` and `now`. Those names always mean the caller,
/// whatever the data has: a result's own `timezone` is `data.timezone`.
#[derive(Clone, Copy, Debug)]
pub struct TemplateContext<'a> {
    /// The structured content, the JSON of a resource, or what else there is to print.
    pub data: json::SpannedValue<'a>,
    /// What the caller asked with.
    pub arguments: Option<json::SpannedValue<'a>>,
    /// The caller's tags.
    pub wanted: &'a FeaturePreferences,
    /// How the caller writes numbers and dates.
    pub values: &'a ValueFormatter,
    /// When it is.
    pub now: Timestamp,
    /// The locale files that serve the caller.
    pub chain: Option<&'a LocaleChain>,
    /// Where it is noted that a text of theirs was used.
    pub translated: Option<&'a Cell<bool>>,
    /// The tool whose values are written as the locale files have them; none: they are written as they are.
    ///
    /// Rules: L22.
    pub tool: Option<&'a str>,
    /// What the tool's schema says of the data.
    pub output: Option<Subschema<'a>>,
}

impl<'a> TemplateContext<'a> {
    /// A result for a caller; what was asked, and locale files, can be added.
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

/// The names that always mean the caller.
pub(super) const RESERVED_NAMES: [&str; 7] =
    ["data", "arguments", "features", "locale", "language", "timezone", "now"];

/// The name by which filters find the scene; no template can write it.
const CONTEXT_KEY: &str = "\0scene";

/// A scene that minijinja can hold.
pub(super) struct ContextObject {
    data: Value,
    arguments: Value,
    features: Value,
    pub(super) values: ValueFormatter,
    pub(super) now: Timestamp,
    pub(super) chain: Option<LocaleChain>,
    /// Whether a text of the locale files was used.
    pub(super) translated: AtomicBool,
    pub(super) kind: TemplateFormat,
    localized: LocalizedStrings,
}

impl ContextObject {
    pub(super) fn new(scene: &TemplateContext<'_>, kind: TemplateFormat) -> Self {
        let lookup = scene.tool.zip(scene.chain).filter(|(tool, chain)| chain.has_values(tool));
        // Structured content stays what it is.
        let (data, localized) = match lookup.filter(|_| kind != TemplateFormat::Json) {
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

    /// The scene of what is being rendered.
    pub(super) fn from_state(state: &State<'_, '_>) -> Result<Arc<Self>, Error> {
        let found = state.lookup(CONTEXT_KEY).and_then(|value| value.downcast_object::<Self>());
        found.ok_or_else(|| render_error(TemplateRenderReason::Impossible(String::new())))
    }

    /// What people read in the place of a value of the data. Returns `None` for a value that stays as it is.
    ///
    /// Rules: L22.
    pub(super) fn translation_of(&self, value: &Value) -> Option<&str> {
        let told = self.localized.get(value)?;
        self.translated.store(true, Ordering::Relaxed);
        Some(told)
    }

    fn timezone(&self) -> String {
        let zone = self.values.zone();
        match (zone.iana_name(), zone.to_fixed_offset()) {
            (Some(name), _) => name.to_owned(),
            (None, Ok(offset)) => offset.to_string(),
            (None, Err(_)) => "UTC".to_owned(),
        }
    }

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

/// Nothing of the data.
impl fmt::Debug for ContextObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({:?})", self.values)
    }
}

/// `features`: what the caller's tags say.
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

//! How a host is set up: the settings of `attune.toml`, and the files that they name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_attune::assume::{CallerAssumptions, CallerValues, TrustedHeaders};
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart, InstantNotation, IntervalEdge};
use mcp_attune::context::{
    ClientContextField, ContextForwarding, ContextPlacement, CoordinatePrecision, IanaTimeZone,
};
use mcp_attune::language::{AcceptLanguage, Languages, Tag};
use mcp_attune::localize::TranslationScope;
use mcp_attune::plan::Offer;
use mcp_attune::session::ClientFeatures;
use mcp_attune::shaping::ShaperSource;
use mcp_attune::when::PastPhrasePolicy;
use mcp_attune_shape::{OperatorContent, ToolShaping};
use mcp_attune_wire::agree::{HeaderPolicy, LanguageHeaderPolicy, OnMissingParam};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::memory::{LocaleFiles, hints, templates};
use crate::message::Text;

/// Settings and files.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The instant at which everything happens, for hosts that take one.
    pub now: Option<String>,
    /// The keys of `attune.toml`, as JSON.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The files beside it, by their paths.
    #[serde(default)]
    pub files: BTreeMap<String, Text>,
}

impl Setup {
    /// This setup with what a case adds: whole tables and whole files.
    #[must_use]
    pub(crate) fn with(mut self, more: Self) -> Self {
        self.now = more.now.or(self.now);
        self.settings.extend(more.settings);
        self.files.extend(more.files);
        self
    }

    fn at<'s>(&'s self, table: &str, key: &str) -> &'s Value {
        self.settings.get(table).map_or(&Value::Null, |table| &table[key])
    }

    /// Whether what would be refused passes.
    #[must_use]
    pub fn report_only(&self) -> bool {
        self.at("headers", "agree") == "report"
    }

    /// How headers are checked.
    #[must_use]
    pub fn policy(&self) -> HeaderPolicy {
        let mut policy = HeaderPolicy::default();
        policy.strict = self.at("headers", "strict") == true;
        policy.language_header = match self.at("headers", "language_header").as_str() {
            Some("ignore-wildcard") => LanguageHeaderPolicy::IgnoreWildcard,
            Some("ignore") => LanguageHeaderPolicy::Ignore,
            Some("promote") => LanguageHeaderPolicy::Promote,
            _ => LanguageHeaderPolicy::Compare,
        };
        if self.at("headers", "on_missing_param") == "pass" {
            policy.on_missing_param = OnMissingParam::Pass;
        }
        policy
    }

    /// Whether calls are refused that cannot be checked.
    #[must_use]
    pub fn refuses_unknown(&self) -> bool {
        self.at("headers", "on_unknown") == "refuse"
    }

    /// The keys that seal ids.
    ///
    /// # Panics
    ///
    /// Where one is not 32 bytes in base64.
    #[must_use]
    pub fn keys(&self) -> Vec<[u8; 32]> {
        let key = |key: &String| STANDARD.decode(key).unwrap().try_into().unwrap();
        texts(self.at("session", "keys")).iter().map(key).collect()
    }

    /// What the host offers its callers, with the files of the case.
    ///
    /// # Panics
    ///
    /// Where a setting or a file is none.
    #[must_use]
    pub fn offer(&self) -> Offer {
        let default = self.settings.get("default_language").and_then(Value::as_str);
        let default = default.map(|tag| Tag::parse(tag).unwrap());
        let server = default.clone().unwrap_or_else(|| Tag::parse("en").unwrap());
        let translate = texts(self.at("locales", "translate"));
        let translates = |what: &str| translate.iter().any(|each| each == what);
        let display = translate.is_empty() || translates("display");
        let argument = |(name, tool): (&String, &Value)| {
            Some((name.clone(), tool["language_argument"].as_str()?.to_owned()))
        };
        let past = match self.at("context", "past").as_str() {
            Some("calendar") => PastPhrasePolicy::Calendar,
            Some("refuse") => PastPhrasePolicy::Refuse,
            _ => PastPhrasePolicy::Rolling,
        };
        let shapes = self.at("content", "enabled") == true;
        let content = shapes.then(|| -> Arc<dyn ShaperSource> { Arc::new(Arc::new(self.content())) });
        Offer {
            formatters: Some(
                default.as_ref().map_or_else(mcp_attune_format::english, mcp_attune_format::formatters),
            ),
            languages: default.map(Languages::from),
            speaks: false,
            forward: self.forward(),
            bindings: Arc::new(self.bindings()),
            library: Some(Arc::new(LocaleFiles::new(&self.files, server))),
            translate: TranslationScope { display, model: translates("model"), logs: translates("logs") },
            language_arguments: Arc::new(self.named("tools").iter().filter_map(argument).collect()),
            content,
            past,
            callers: Arc::new(self.callers()),
        }
    }

    /// Whether the headers of callers are trusted: everybody is on this machine, which is trusted until something else
    /// is configured.
    #[must_use]
    pub fn trusts_headers(&self) -> bool {
        self.at("server", "trusted_proxies").as_array().is_none_or(|proxies| !proxies.is_empty())
    }

    /// What is assumed of callers.
    fn callers(&self) -> CallerAssumptions {
        let (headers, default) = (self.at("callers", "headers"), self.at("callers", "default"));
        let header = |field: &str| headers[field].as_str().map(|name| name.to_ascii_lowercase().into());
        let tags = texts(&default["features"]);
        let features = ClientFeatures::from_tags(tags.iter().map(String::as_str)).features;
        CallerAssumptions {
            headers: TrustedHeaders {
                language: header("language"),
                timezone: header("timezone"),
                locale: header("locale"),
                country: header("country"),
                region: header("region"),
                city: header("city"),
            },
            profiles: None,
            default: CallerValues {
                language: default["language"].as_str().map(|text| AcceptLanguage::parse(text).unwrap()),
                timezone: default["timezone"].as_str().map(|text| IanaTimeZone::parse(text).unwrap()),
                locale: default["locale"].as_str().map(|text| Tag::parse(text).unwrap()),
                place: None,
                features: Some(features).filter(|features| !features.is_empty()),
            },
            forward_assumed: self.at("callers", "forward_assumed") == true,
        }
    }

    fn named(&self, table: &str) -> Map<String, Value> {
        self.settings.get(table).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// How answers are shaped.
    fn content(&self) -> OperatorContent {
        let written = |stem: &Value| stem.as_str().map(|stem| templates(&self.files, stem));
        let tool = |(name, tool): (String, Value)| {
            let hints = tool["hints"].as_str().and_then(|path| hints(&self.files, path));
            let low_priority = texts(&tool["low_priority"]);
            (
                name,
                ToolShaping {
                    templates: written(&tool["templates"]).unwrap_or_default(),
                    hints,
                    low_priority,
                },
            )
        };
        let each = |(name, one): (String, Value)| Some((name, written(&one["templates"])?));
        OperatorContent {
            announce: self.at("content", "announce") == true,
            tools: self.named("tools").into_iter().map(tool).collect(),
            resources: self.named("resources").into_iter().filter_map(each).collect(),
            prompts: self.named("prompts").into_iter().filter_map(each).collect(),
        }
    }

    fn forward(&self) -> ContextForwarding {
        let field = |field: &String| match field.as_str() {
            "timezone" => ClientContextField::Timezone,
            "locale" => ClientContextField::Locale,
            "currentTimestamp" => ClientContextField::CurrentTimestamp,
            "userLocation" => ClientContextField::UserLocation,
            other => panic!("no field: {other}"),
        };
        let sibling = self.at("context", "forward_as") == "sibling";
        ContextForwarding {
            fields: texts(self.at("context", "forward")).iter().map(field).collect(),
            placement: if sibling { ContextPlacement::Beside } else { ContextPlacement::Meta },
            precision: match self.at("context", "coordinates").as_str() {
                Some("exact") => CoordinatePrecision::Exact,
                Some("coarse") => CoordinatePrecision::Coarse,
                _ => CoordinatePrecision::Off,
            },
        }
    }

    fn bindings(&self) -> Bindings {
        let tool = |(name, tool): (String, Value)| {
            let bound = tool["context"].as_object().cloned().unwrap_or_default();
            (name, bound.into_iter().map(|(argument, bound)| (argument, binding(&bound))).collect())
        };
        Bindings::new(self.named("tools").into_iter().map(tool).collect(), self.forward().precision)
    }

    /// The same settings as text, for hosts that read files.
    #[must_use]
    pub fn toml(&self) -> String {
        let mut tables: Vec<_> = self.settings.iter().collect();
        tables.sort_by_key(|(_, value)| value.is_object());
        tables
            .iter()
            .map(|(name, value)| format!("{} = {}\n", Value::from(name.as_str()), inline(value)))
            .collect()
    }
}

fn texts(value: &Value) -> Vec<String> {
    let each = |value: &Value| value.as_str().map(str::to_owned);
    value.as_array().into_iter().flatten().filter_map(each).collect()
}

/// A value of JSON as one of TOML; texts are written alike.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{} = {}", Value::from(name.as_str()), inline(value))
            };
            format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn binding(bound: &Value) -> Binding {
    let written = match bound["as"].as_str() {
        Some("date") => InstantNotation::Date,
        Some("utc") => InstantNotation::Utc,
        Some("unix") => InstantNotation::Unix,
        Some("unix-ms") => InstantNotation::UnixMillis,
        _ => InstantNotation::DateTime,
    };
    let part = match (bound["part"].as_str(), bound["end"].as_str()) {
        (Some("end"), Some("inclusive")) => IntervalEdge::Last,
        (Some("end"), _) => IntervalEdge::After,
        _ => IntervalEdge::Start,
    };
    let fills = match (bound["from"].as_str(), bound["interval"].as_str()) {
        (_, Some(named)) => ArgumentFill::Interval { named: named.to_owned(), part, written },
        (from, None) => {
            let default = bound.get("default").map(ToString::to_string);
            ArgumentFill::Context { from: source(from.unwrap_or_default(), written), default }
        }
    };
    Binding { fills, hide: bound["hide"] == true }
}

fn source(from: &str, written: InstantNotation) -> BoundContextPart {
    match from {
        "timezone" => BoundContextPart::Timezone,
        "offset" => BoundContextPart::Offset,
        "now" => BoundContextPart::Now(written),
        "today" => BoundContextPart::Now(InstantNotation::Date),
        "locale" => BoundContextPart::Locale,
        "language" => BoundContextPart::Language,
        "city" => BoundContextPart::City,
        "region" => BoundContextPart::Region,
        "country" => BoundContextPart::Country,
        "latitude" => BoundContextPart::Latitude,
        "longitude" => BoundContextPart::Longitude,
        other => panic!("nothing fills an argument from `{other}`"),
    }
}

/// A folder with the files of a case, which goes when it is dropped.
#[derive(Debug)]
pub struct Workplace(PathBuf);

impl Workplace {
    /// Writes the files.
    ///
    /// # Panics
    ///
    /// Where the disk does not take them.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("attune-case-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (path, text) in &setup.files {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, &text.0).unwrap();
        }
        Self(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

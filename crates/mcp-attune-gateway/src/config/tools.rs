//! `[tools.NAME]`: how the results of one tool are written, and which of its arguments the caller's context
//! fills.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_attune::bind;
use mcp_attune::context::{Country, IanaTimeZone};

use super::choice::{choices, parse_keyword};
use super::context::CoordinatesSetting;
use super::findings::ConfigProblem;
use super::parse_language;
use super::reader::{ConfigTableReader, TomlValue, flag, parse_nonempty, text, type_problem};
use super::template_paths::{parse_template_stem, within};

/// `[tools.NAME]`: how the results of one tool are written, and which of its arguments the caller's context
/// fills.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ToolConfig {
    /// The stem of the templates of its results, without the suffixes that tell them apart.
    pub templates: Option<PathBuf>,
    /// The file with hints that are added for callers that can sample. Rules: F10.
    pub hints: Option<PathBuf>,
    /// The fields that a compact result leaves out. Rules: F8.
    pub low_priority: Vec<String>,
    /// The argument by which callers choose the language of its text themselves; where it is given, it wins
    /// over the negotiated language. Rules: L12.
    pub language_argument: Option<String>,
    /// The arguments that the context fills, by name. Rules: C9.
    pub context: BTreeMap<String, BindingConfig>,
}

/// What fills an argument that the caller left out. Rules: C9.
///
/// ```toml
/// [tools.sales_report.context]
/// tz = { from = "timezone", hide = true, default = "UTC" }
/// from = { interval = "period", part = "start", as = "date" }
/// to = { interval = "period", part = "end", as = "date", end = "inclusive" }
/// ```
///
/// The first is a [`FieldBinding`]: the caller's zone fills `tz`, which callers no longer see. The other two
/// are [`IntervalBinding`]s: callers may pass `period = "last week"`, which fills both.
#[derive(Clone, PartialEq, Debug)]
pub enum BindingConfig {
    /// A field of the caller's context.
    Field(FieldBinding),
    /// One end of an interval, which the caller names in words, such as `last week`, in a new argument.
    Interval(IntervalBinding),
}

/// An argument that is filled from a field of the caller's context.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct FieldBinding {
    /// The field.
    pub from: BindingSourceSetting,
    /// How the value is written, if the field is the instant ([`BindingSourceSetting::Now`]).
    pub written: InstantFormatSetting,
    /// Whether the argument is taken out of the schema that callers see.
    pub hide: bool,
    /// The value of the argument if the context does not say; of the type that the context would give. With
    /// `None`, zone and time come from UTC and the gateway's clock, and other fields stay unfilled.
    pub default: Option<serde_json::Value>,
}

impl FieldBinding {
    /// Fills an argument from a field of the context and leaves it in the schema, so that callers can still
    /// choose.
    #[must_use]
    pub fn new(from: BindingSourceSetting) -> Self {
        Self { from, written: InstantFormatSetting::DateTime, hide: false, default: None }
    }
}

/// An argument that is filled with one end of an interval. Two arguments of a tool, such as `from` and `to`,
/// usually share one interval.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IntervalBinding {
    /// The name of the new argument that Attune adds to the tool, in which the caller names the interval.
    pub interval: String,
    /// Which end of the interval.
    pub part: IntervalBindingPart,
    /// How it is written.
    pub written: InstantFormatSetting,
    /// Whether the argument is taken out of the schema that callers see, which leaves them the interval
    /// alone.
    pub hide: bool,
}

choices! {
    /// What of the caller's context fills an argument.
    pub BindingSourceSetting {
        /// The IANA time zone: `Europe/Zurich`.
        Timezone = "timezone",
        /// The offset of the local clock: `+01:00`.
        Offset = "offset",
        /// The instant, in the format that `as` says.
        Now = "now",
        /// The local date: `2026-11-09`.
        Today = "today",
        /// The locale: `de-CH`.
        Locale = "locale",
        /// The preferred language alone: `de`.
        Language = "language",
        /// The city.
        City = "city",
        /// The region.
        Region = "region",
        /// The country.
        Country = "country",
        /// The latitude, as exact as `coordinates` allows.
        Latitude = "latitude",
        /// The longitude, as exact as `coordinates` allows.
        Longitude = "longitude",
    }
}

/// Which end of an interval fills the argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalBindingPart {
    /// Where it begins.
    Start,
    /// Where it ends.
    End(IntervalEndSetting),
}

choices! {
    /// Whether the end belongs to the interval.
    pub IntervalEndSetting {
        /// The first instant, or the first day, after the interval.
        Exclusive = "exclusive",
        /// The last second, or the last day, of the interval.
        Inclusive = "inclusive",
    }
}

choices! {
    /// How an instant is written.
    pub InstantFormatSetting {
        /// In the caller's zone, with its offset: `2026-11-09T00:00:00+01:00`.
        DateTime = "date-time",
        /// The day in the caller's zone: `2026-11-09`.
        Date = "date",
        /// In UTC: `2026-11-08T23:00:00Z`.
        Utc = "utc",
        /// Seconds since 1970, a number.
        Unix = "unix",
        /// Milliseconds since 1970, a number.
        UnixMillis = "unix-ms",
    }
}

choices! {
    /// The words of `part`; the end may say more.
    pub(super) IntervalSide {
        /// Where the interval begins.
        Start = "start",
        /// Where it ends.
        End = "end",
    }
}

impl BindingConfig {
    /// Translates the binding into the type of the rules.
    pub(crate) fn to_rule(&self) -> bind::Binding {
        match self {
            Self::Field(FieldBinding { from, written, hide, default }) => {
                let default = default.as_ref().map(ToString::to_string);
                let from = from.to_rule(written.to_rule());
                bind::Binding { fills: bind::ArgumentFill::Context { from, default }, hide: *hide }
            }
            Self::Interval(IntervalBinding { interval, part, written, hide }) => {
                let part = match part {
                    IntervalBindingPart::Start => bind::IntervalEdge::Start,
                    IntervalBindingPart::End(IntervalEndSetting::Exclusive) => bind::IntervalEdge::After,
                    IntervalBindingPart::End(IntervalEndSetting::Inclusive) => bind::IntervalEdge::Last,
                };
                let (named, written) = (interval.clone(), written.to_rule());
                bind::Binding { fills: bind::ArgumentFill::Interval { named, part, written }, hide: *hide }
            }
        }
    }
}

impl BindingSourceSetting {
    /// Translates the field; `written` counts for the instant only.
    fn to_rule(self, written: bind::InstantNotation) -> bind::BoundContextPart {
        match self {
            Self::Timezone => bind::BoundContextPart::Timezone,
            Self::Offset => bind::BoundContextPart::Offset,
            Self::Now => bind::BoundContextPart::Now(written),
            Self::Today => bind::BoundContextPart::Now(bind::InstantNotation::Date),
            Self::Locale => bind::BoundContextPart::Locale,
            Self::Language => bind::BoundContextPart::Language,
            Self::City => bind::BoundContextPart::City,
            Self::Region => bind::BoundContextPart::Region,
            Self::Country => bind::BoundContextPart::Country,
            Self::Latitude => bind::BoundContextPart::Latitude,
            Self::Longitude => bind::BoundContextPart::Longitude,
        }
    }
}

impl InstantFormatSetting {
    fn to_rule(self) -> bind::InstantNotation {
        match self {
            Self::DateTime => bind::InstantNotation::DateTime,
            Self::Date => bind::InstantNotation::Date,
            Self::Utc => bind::InstantNotation::Utc,
            Self::Unix => bind::InstantNotation::Unix,
            Self::UnixMillis => bind::InstantNotation::UnixMillis,
        }
    }
}

impl ToolConfig {
    /// Reads the table. `coordinates` is the setting of the mount, because arguments bound to coordinates
    /// that are off would never be filled.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, coordinates: CoordinatesSetting) -> Self {
        let path = |value: &TomlValue<'_>| parse_nonempty(text(value)?).map(PathBuf::from);
        let tool = Self {
            templates: reader.optional("templates", parse_template_stem),
            hints: reader.optional("hints", path),
            low_priority: reader.list("low_priority", &[], parse_nonempty),
            language_argument: reader.optional("language_argument", |value| parse_nonempty(text(value)?)),
            context: reader
                .named_tables("context", |_, reader| binding(reader, coordinates))
                .into_iter()
                .collect(),
        };
        tool.check(reader);
        tool
    }

    /// Resolves every relative path from a folder.
    pub(super) fn within(&mut self, folder: &Path) {
        within(&mut self.templates, folder);
        within(&mut self.hints, folder);
    }

    /// Notes arguments that are filled from two sides, or that name the interval of another and are filled
    /// themselves.
    fn check(&self, reader: &mut ConfigTableReader<'_, '_, '_>) {
        if let Some(argument) =
            self.language_argument.as_ref().filter(|name| self.context.contains_key(*name))
        {
            let what = format!("is `{argument}`, which `context` fills too");
            reader.report("language_argument", ConfigProblem::new(what, "keep one of the two"));
        }
        for (argument, binding) in &self.context {
            if let BindingConfig::Interval(IntervalBinding { interval, .. }) = binding
                && (self.context.contains_key(interval) || self.language_argument.as_ref() == Some(interval))
            {
                let what = format!("fills `{argument}` from `{interval}`, which is filled itself");
                let hint = "name an argument that the tool does not have; Attune adds it";
                reader.report("context", ConfigProblem::new(what, hint));
            }
        }
    }
}

/// Reads one `[tools.NAME.context]` entry: either `from`, or `interval` with `part`. Keys that belong to the
/// other kind are findings. `None` if it is neither, or its main key is wrong.
fn binding(
    reader: &mut ConfigTableReader<'_, '_, '_>,
    coordinates: CoordinatesSetting,
) -> Option<BindingConfig> {
    let from = reader.optional("from", |value| parse_keyword(text(value)?));
    let hide = reader.read("hide", false, flag);
    let default = reader.optional("default", parse_argument);
    let interval = reader.optional("interval", |value| parse_nonempty(text(value)?));
    let side = reader.optional("part", |value| parse_keyword::<IntervalSide>(text(value)?));
    let written = reader.choice("as", InstantFormatSetting::default());
    let end = reader.choice("end", IntervalEndSetting::default());

    let hint = "write `from = \"timezone\"`, or `interval = \"period\"` and `part = \"start\"`";
    match (reader.has("from"), reader.has("interval")) {
        (true, true) => {
            reader.report("interval", ConfigProblem::new("stands beside `from`", "keep one of the two"));
            None
        }
        (false, false) => {
            reader.report_table("binds to nothing", hint);
            None
        }
        (true, false) => {
            let problem = ConfigProblem::new("goes with `interval`, and this is `from`", "take it out");
            reader.report_each_present(&["part", "end"], &problem);
            if from.is_some_and(|from| from != BindingSourceSetting::Now) {
                let problem = ConfigProblem::new(
                    "says how an instant is written",
                    "take it out, or write `from = \"now\"`",
                );
                reader.report_each_present(&["as"], &problem);
            }
            if let Some(problem) =
                from.zip(default.as_ref()).and_then(|(from, default)| default_problem(from, written, default))
            {
                reader.report("default", problem);
            }
            if let Some(BindingSourceSetting::Latitude | BindingSourceSetting::Longitude) = from
                && coordinates == CoordinatesSetting::Off
            {
                let problem = ConfigProblem::new(
                    "would never be filled: coordinates are off",
                    "set `coordinates = \"coarse\"` in [context], or bind to `city`",
                );
                reader.report("from", problem);
            }
            Some(BindingConfig::Field(FieldBinding { from: from?, written, hide, default }))
        }
        (false, true) => {
            let problem = ConfigProblem::new("goes with `from`, and this is `interval`", "take it out");
            reader.report_each_present(&["default"], &problem);
            if !reader.has("part") {
                reader.report_table("has no `part`", "add `part = \"start\"` or `part = \"end\"`");
            }
            let part = match side? {
                IntervalSide::Start if reader.has("end") => {
                    let hint = "take it out, or write `part = \"end\"`";
                    reader.report(
                        "end",
                        ConfigProblem::new("says how an interval ends, and this is its start", hint),
                    );
                    IntervalBindingPart::Start
                }
                IntervalSide::Start => IntervalBindingPart::Start,
                IntervalSide::End => IntervalBindingPart::End(end),
            };
            Some(BindingConfig::Interval(IntervalBinding { interval: interval?, part, written, hide }))
        }
    }
}

/// Returns what is wrong with a default that is not of the kind that the context would fill in: a number for
/// coordinates and Unix times, a valid zone, country or language tag, and a string for everything else.
/// `None` if it is right.
fn default_problem(
    from: BindingSourceSetting,
    written: InstantFormatSetting,
    default: &serde_json::Value,
) -> Option<ConfigProblem> {
    let numbers = match from {
        BindingSourceSetting::Latitude | BindingSourceSetting::Longitude => true,
        BindingSourceSetting::Now => {
            matches!(written, InstantFormatSetting::Unix | InstantFormatSetting::UnixMillis)
        }
        _ => false,
    };
    let Some(text) = default.as_str().filter(|_| !numbers) else {
        let wanted = if numbers { "a number" } else { "a string" };
        let hint = format!("write {wanted}, as the context would");
        return (!(numbers && default.is_number()))
            .then(|| ConfigProblem::new(format!("is not {wanted}"), hint));
    };
    let wrong = match from {
        BindingSourceSetting::Timezone => IanaTimeZone::parse(text).err(),
        BindingSourceSetting::Country => Country::parse(text).err(),
        BindingSourceSetting::Locale | BindingSourceSetting::Language => return parse_language(text).err(),
        _ => None,
    };
    wrong.map(|wrong| ConfigProblem::new(format!("is {}", wrong.what()), wrong.hint()))
}

/// Parses a value that JSON can carry as an argument: a string, a boolean, a 64-bit integer or a finite
/// float.
fn parse_argument(value: &TomlValue<'_>) -> Result<serde_json::Value, ConfigProblem> {
    let too_large = || ConfigProblem::new("is a number that JSON cannot carry", "write a smaller one");
    match value {
        TomlValue::String(text) => Ok(text.as_ref().into()),
        TomlValue::Boolean(flag) => Ok((*flag).into()),
        TomlValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map(Into::into).map_err(|_| too_large())
        }
        TomlValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Into::into)
            .ok_or_else(too_large),
        other => Err(type_problem(other, "a string, a number or a boolean")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toml::de::DeValue;

    use super::*;

    #[test]
    fn arguments_are_json() {
        for (text, expected) in [
            ("'UTC'", json!("UTC")),
            ("true", json!(true)),
            ("-7", json!(-7)),
            ("0x10", json!(16)),
            ("1.5", json!(1.5)),
        ] {
            assert_eq!(parse_argument(DeValue::parse(text).unwrap().get_ref()), Ok(expected), "{text}");
        }
        for text in ["nan", "inf", "1e999", "99999999999999999999", "[1]", "{}", "2026-11-09"] {
            assert!(parse_argument(DeValue::parse(text).unwrap().get_ref()).is_err(), "{text}");
        }
    }
}

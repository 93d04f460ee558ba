//! `[tools.NAME]`: how one tool's results are written, and which of its arguments the context fills.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_attune::bind;
use mcp_attune::context::{Country, Zone};

use super::choice::{choices, choose};
use super::context::Coordinates;
use super::findings::Problem;
use super::language;
use super::reader::{Reader, Value, flag, some_text, text, wrong_type};
use super::shaped::{stem, within};

/// How one tool's results are written, and which of its arguments the caller's context fills.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Tool {
    /// The templates of its results, without the suffixes that tell them apart.
    pub templates: Option<PathBuf>,
    /// The hints for callers that can sample. Rules: F10.
    pub hints: Option<PathBuf>,
    /// The fields that a compact result does without. Rules: F8.
    pub low_priority: Vec<String>,
    /// The argument by which callers choose the language of its text themselves. Rules: L12.
    pub language_argument: Option<String>,
    /// The arguments that the context fills, by name. Rules: C9.
    pub context: BTreeMap<String, Binding>,
}

/// What fills an argument that the caller left out. Rules: C9.
#[derive(Clone, PartialEq, Debug)]
pub enum Binding {
    /// A field of the caller's context.
    Field(FieldBinding),
    /// An end of an interval that a new argument names in words, such as `last week`.
    Interval(IntervalBinding),
}

/// A field of the caller's context as an argument.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct FieldBinding {
    /// The field.
    pub from: Source,
    /// How it is written, where it is the instant.
    pub written: Written,
    /// Whether the argument is taken out of the schema that callers see.
    pub hide: bool,
    /// What the argument is where the context does not say.
    pub default: Option<serde_json::Value>,
}

impl FieldBinding {
    /// Fills an argument from a field of the context and leaves it in the schema, so that callers can still choose.
    #[must_use]
    pub fn new(from: Source) -> Self {
        Self { from, written: Written::DateTime, hide: false, default: None }
    }
}

/// An end of an interval as an argument.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IntervalBinding {
    /// The argument, added to the tool, that names the interval.
    pub interval: String,
    /// Which end.
    pub part: Part,
    /// How it is written.
    pub written: Written,
    /// Whether the argument is taken out of the schema that callers see.
    pub hide: bool,
}

choices! {
    /// What of the caller's context fills an argument.
    pub Source {
        /// The time zone.
        Timezone = "timezone",
        /// The offset of the clock: `+01:00`.
        Offset = "offset",
        /// The instant.
        Now = "now",
        /// The date.
        Today = "today",
        /// The locale: `de-CH`.
        Locale = "locale",
        /// The language that is preferred, alone: `de`.
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

/// Which end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Where it begins.
    Start,
    /// Where it ends.
    End(End),
}

choices! {
    /// Whether the end belongs to the interval.
    pub End {
        /// It is the first instant, or the first day, after it.
        Exclusive = "exclusive",
        /// It is the last second, or the last day, in it.
        Inclusive = "inclusive",
    }
}

choices! {
    /// How an instant is written.
    pub Written {
        /// In the caller's zone, with its offset: `2026-11-09T00:00:00+01:00`.
        DateTime = "date-time",
        /// The day in the caller's zone: `2026-11-09`.
        Date = "date",
        /// In UTC: `2026-11-08T23:00:00Z`.
        Utc = "utc",
        /// Seconds since 1970.
        Unix = "unix",
        /// Milliseconds since 1970.
        UnixMillis = "unix-ms",
    }
}

choices! {
    /// The words of `part`; the end may say more.
    pub(super) Side {
        /// Where it begins.
        Start = "start",
        /// Where it ends.
        End = "end",
    }
}

impl Binding {
    /// The same, as the rules want it.
    pub(crate) fn to_rule(&self) -> bind::Binding {
        match self {
            Self::Field(FieldBinding { from, written, hide, default }) => {
                let default = default.as_ref().map(ToString::to_string);
                let from = from.to_rule(written.to_rule());
                bind::Binding { fills: bind::Fills::Context { from, default }, hide: *hide }
            }
            Self::Interval(IntervalBinding { interval, part, written, hide }) => {
                let part = match part {
                    Part::Start => bind::Part::Start,
                    Part::End(End::Exclusive) => bind::Part::After,
                    Part::End(End::Inclusive) => bind::Part::Last,
                };
                let (named, written) = (interval.clone(), written.to_rule());
                bind::Binding { fills: bind::Fills::Interval { named, part, written }, hide: *hide }
            }
        }
    }
}

impl Source {
    fn to_rule(self, written: bind::Written) -> bind::Source {
        match self {
            Self::Timezone => bind::Source::Timezone,
            Self::Offset => bind::Source::Offset,
            Self::Now => bind::Source::Now(written),
            Self::Today => bind::Source::Now(bind::Written::Date),
            Self::Locale => bind::Source::Locale,
            Self::Language => bind::Source::Language,
            Self::City => bind::Source::City,
            Self::Region => bind::Source::Region,
            Self::Country => bind::Source::Country,
            Self::Latitude => bind::Source::Latitude,
            Self::Longitude => bind::Source::Longitude,
        }
    }
}

impl Written {
    fn to_rule(self) -> bind::Written {
        match self {
            Self::DateTime => bind::Written::DateTime,
            Self::Date => bind::Written::Date,
            Self::Utc => bind::Written::Utc,
            Self::Unix => bind::Written::Unix,
            Self::UnixMillis => bind::Written::UnixMillis,
        }
    }
}

impl Tool {
    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, coordinates: Coordinates) -> Self {
        let path = |value: &Value<'_>| some_text(text(value)?).map(PathBuf::from);
        let tool = Self {
            templates: reader.optional("templates", stem),
            hints: reader.optional("hints", path),
            low_priority: reader.list("low_priority", &[], some_text),
            language_argument: reader.optional("language_argument", |value| some_text(text(value)?)),
            context: reader.named("context", |_, reader| binding(reader, coordinates)).into_iter().collect(),
        };
        tool.check(reader);
        tool
    }

    /// Sees every path from a folder where it is relative.
    pub(super) fn within(&mut self, folder: &Path) {
        within(&mut self.templates, folder);
        within(&mut self.hints, folder);
    }

    /// No argument may be filled from two sides, or name the interval that fills it.
    fn check(&self, reader: &mut Reader<'_, '_, '_>) {
        if let Some(argument) =
            self.language_argument.as_ref().filter(|name| self.context.contains_key(*name))
        {
            let what = format!("is `{argument}`, which `context` fills too");
            reader.wrong("language_argument", Problem::new(what, "keep one of the two"));
        }
        for (argument, binding) in &self.context {
            if let Binding::Interval(IntervalBinding { interval, .. }) = binding
                && (self.context.contains_key(interval) || self.language_argument.as_ref() == Some(interval))
            {
                let what = format!("fills `{argument}` from `{interval}`, which is filled itself");
                let hint = "name an argument that the tool does not have; Attune adds it";
                reader.wrong("context", Problem::new(what, hint));
            }
        }
    }
}

fn binding(reader: &mut Reader<'_, '_, '_>, coordinates: Coordinates) -> Option<Binding> {
    let from = reader.optional("from", |value| choose(text(value)?));
    let hide = reader.read("hide", false, flag);
    let default = reader.optional("default", argument);
    let interval = reader.optional("interval", |value| some_text(text(value)?));
    let side = reader.optional("part", |value| choose::<Side>(text(value)?));
    let written = reader.choice("as", Written::default());
    let end = reader.choice("end", End::default());

    let hint = "write `from = \"timezone\"`, or `interval = \"period\"` and `part = \"start\"`";
    match (reader.has("from"), reader.has("interval")) {
        (true, true) => {
            reader.wrong("interval", Problem::new("stands beside `from`", "keep one of the two"));
            None
        }
        (false, false) => {
            reader.wrong_table("binds to nothing", hint);
            None
        }
        (true, false) => {
            let problem = Problem::new("goes with `interval`, and this is `from`", "take it out");
            reader.refuse(&["part", "end"], &problem);
            if from.is_some_and(|from| from != Source::Now) {
                let problem =
                    Problem::new("says how an instant is written", "take it out, or write `from = \"now\"`");
                reader.refuse(&["as"], &problem);
            }
            if let Some(problem) =
                from.zip(default.as_ref()).and_then(|(from, default)| unlike(from, written, default))
            {
                reader.wrong("default", problem);
            }
            if let Some(Source::Latitude | Source::Longitude) = from
                && coordinates == Coordinates::Off
            {
                let problem = Problem::new(
                    "would never be filled: coordinates are off",
                    "set `coordinates = \"coarse\"` in [context], or bind to `city`",
                );
                reader.wrong("from", problem);
            }
            Some(Binding::Field(FieldBinding { from: from?, written, hide, default }))
        }
        (false, true) => {
            let problem = Problem::new("goes with `from`, and this is `interval`", "take it out");
            reader.refuse(&["default"], &problem);
            if !reader.has("part") {
                reader.wrong_table("has no `part`", "add `part = \"start\"` or `part = \"end\"`");
            }
            let part = match side? {
                Side::Start if reader.has("end") => {
                    let hint = "take it out, or write `part = \"end\"`";
                    reader
                        .wrong("end", Problem::new("says how an interval ends, and this is its start", hint));
                    Part::Start
                }
                Side::Start => Part::Start,
                Side::End => Part::End(end),
            };
            Some(Binding::Interval(IntervalBinding { interval: interval?, part, written, hide }))
        }
    }
}

/// What is wrong with a default that is not of the kind that the context would fill in.
fn unlike(from: Source, written: Written, default: &serde_json::Value) -> Option<Problem> {
    let numbers = match from {
        Source::Latitude | Source::Longitude => true,
        Source::Now => matches!(written, Written::Unix | Written::UnixMillis),
        _ => false,
    };
    let Some(text) = default.as_str().filter(|_| !numbers) else {
        let wanted = if numbers { "a number" } else { "a string" };
        let hint = format!("write {wanted}, as the context would");
        return (!(numbers && default.is_number())).then(|| Problem::new(format!("is not {wanted}"), hint));
    };
    let wrong = match from {
        Source::Timezone => Zone::parse(text).err(),
        Source::Country => Country::parse(text).err(),
        Source::Locale | Source::Language => return language(text).err(),
        _ => None,
    };
    wrong.map(|wrong| {
        let wrong = wrong.to_string();
        let (what, hint) = wrong.split_once("; ").unwrap_or((&wrong, "write another"));
        Problem::new(format!("is {what}"), hint)
    })
}

/// A value that a tool can take as an argument.
fn argument(value: &Value<'_>) -> Result<serde_json::Value, Problem> {
    let too_large = || Problem::new("is a number that JSON cannot carry", "write a smaller one");
    match value {
        Value::String(text) => Ok(text.as_ref().into()),
        Value::Boolean(flag) => Ok((*flag).into()),
        Value::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map(Into::into).map_err(|_| too_large())
        }
        Value::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(Into::into)
            .ok_or_else(too_large),
        other => Err(wrong_type(other, "a string, a number or a boolean")),
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
            assert_eq!(argument(DeValue::parse(text).unwrap().get_ref()), Ok(expected), "{text}");
        }
        for text in ["nan", "inf", "1e999", "99999999999999999999", "[1]", "{}", "2026-11-09"] {
            assert!(argument(DeValue::parse(text).unwrap().get_ref()).is_err(), "{text}");
        }
    }
}

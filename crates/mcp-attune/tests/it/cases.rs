//! The cases of `spec/cases/`, one test a file. A failure lists every case that failed, by name.

use std::sync::Arc;

use case_table::{check, same};
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use mcp_attune::assume::{
    CallerAssumptions, CallerEvidence, CallerField, CallerValues, ClientProfile, ClientProfiles,
    TrustedHeaders, VerifiedClaims,
};
use mcp_attune::caller::Caller;
use mcp_attune::context::{ClientContext, ContextWarning, IanaTimeZone, Rfc3339Instant};
use mcp_attune::format::{
    Currency, DecimalNumber, FormatLength, FractionDigits, ListStyle, MeasureUnit, RelativeTimeUnit,
    ValueFormatter,
};
use mcp_attune::language::{self, AcceptLanguage, Languages, Tag, lookup as choose};
use mcp_attune::session::{ClientFeatures, ClientImplementation, SessionFacts};
use mcp_attune::when::{
    ExpressionLanguage, Interval, PastPhrasePolicy, ReferenceTime, TimeExpressionError, TimeResolutionError,
    When,
};
use mcp_attune_wire::agree::{self, HeaderPolicy};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::reply::Reply;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grammar {
    valid: bool,
    ranges: Option<Vec<Weighted>>,
    at: Option<usize>,
}

#[derive(Deserialize, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct Weighted {
    range: String,
    thousandths: u16,
}

#[test]
fn accept_language() {
    let cases = include_str!("../../../../spec/cases/accept_language.json");
    check(cases, 90, |Value { value }, expected: Grammar| {
        let read = AcceptLanguage::parse(&value);
        same("valid", &read.is_ok(), &expected.valid)?;
        same("at", &read.as_ref().err().map(|fault| fault.at()), &expected.at)?;
        let ranges = read.ok().map(|accept| {
            assert_eq!(accept.as_str(), value, "the source is kept");
            let weighted = accept.ranges().map(|(range, quality)| Weighted {
                range: range.as_str().to_owned(),
                thousandths: quality.thousandths(),
            });
            weighted.collect::<Vec<_>>()
        });
        same("ranges", &ranges, &expected.ranges)
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    accept: Option<String>,
    default: String,
    available: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chosen {
    language: String,
    why: String,
    quality: Option<f64>,
    range: Option<String>,
}

#[test]
fn lookup() {
    check(include_str!("../../../../spec/cases/lookup.json"), 150, |input: Request, expected: Chosen| {
        let (accept, _) = language::read_preference(input.accept.as_deref());
        let languages = Languages::new(input.default, input.available).map_err(|wrong| wrong.to_string())?;
        let choice = choose(&accept, &languages);
        same("language", &choice.language.to_string(), &expected.language)?;
        same("why", &choice.why.to_string(), &expected.why)?;
        let quality = choice.quality.map(|quality| f64::from(quality.thousandths()) / 1000.0);
        same("quality", &quality, &expected.quality)?;
        same("range", &choice.range.map(|range| range.to_string()), &expected.range)
    });
}

#[test]
fn coarse() {
    check(include_str!("../../../../spec/cases/coarse.json"), 20, |input: Value, expected: Value| {
        let accept = AcceptLanguage::parse(&input.value).map_err(|wrong| wrong.to_string())?;
        let coarse = accept.coarse();
        same("value", &coarse.to_string(), &expected.value)?;
        same("coarse of coarse", &coarse.coarse().to_string(), &expected.value)
    });
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    expression: String,
    language: Option<String>,
    now: String,
    timezone: String,
    first_day: String,
    past: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Resolved {
    Interval { start: String, end: String },
    Error { error: String },
}

#[test]
fn when() {
    check(include_str!("../../../../spec/cases/when.json"), 700, |input: Said, expected: Resolved| {
        let instant = |text: &str| text.parse::<Timestamp>().map_err(|wrong| wrong.to_string());
        let tag = Tag::parse(input.language.as_deref().unwrap_or("en")).map_err(|wrong| wrong.to_string())?;
        let language = ExpressionLanguage::of(&tag);
        let mut days = Weekday::Monday.cycle_forward().take(7);
        let named = |day: &Weekday| format!("{day:?}").eq_ignore_ascii_case(&input.first_day);
        let first_day = days.find(named).ok_or("no such day")?;
        let zone = TimeZone::get(&input.timezone).map_err(|wrong| wrong.to_string())?;
        let now = ReferenceTime { instant: instant(&input.now)?, zone, first_day };
        let expected = match expected {
            Resolved::Interval { start, end } => {
                Ok(Interval { start: instant(&start)?, end: instant(&end)? })
            }
            Resolved::Error { error } => Err(error),
        };
        let past = match input.past.as_deref() {
            None | Some("rolling") => PastPhrasePolicy::Rolling,
            Some("calendar") => PastPhrasePolicy::Calendar,
            Some("refuse") => PastPhrasePolicy::Refuse,
            Some(_) => return Err("no such reading of the past".to_owned()),
        };
        same("interval", &resolved(&input.expression, language, &now, past).map_err(str::to_owned), &expected)
    });
}

#[test]
fn every_language_of_expressions_has_cases() {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("../../../../spec/cases/when.json")).unwrap();
    let cases = file["cases"].as_array().unwrap();
    let languages = || cases.iter().map(|case| case["input"]["language"].as_str().unwrap_or("en"));
    for language in ExpressionLanguage::ALL {
        let of = |tag: &&str| ExpressionLanguage::of(&Tag::parse(tag).unwrap()) == *language;
        assert!(languages().filter(of).count() >= 20, "{language:?} has too few cases in when.json");
    }
}

fn resolved(
    expression: &str,
    language: ExpressionLanguage,
    now: &ReferenceTime,
    past: PastPhrasePolicy,
) -> Result<Interval, &'static str> {
    let when = When::parse(expression, language).and_then(|when| when.with_past_policy(past));
    let when = when.map_err(|wrong| match wrong {
        TimeExpressionError::TooLong => "too-long",
        TimeExpressionError::Unknown => "unknown",
        TimeExpressionError::Number => "number",
        TimeExpressionError::NoSuchDate => "no-such-date",
        TimeExpressionError::Ambiguous => "ambiguous",
        _ => "another error",
    })?;
    when.resolve(now).map_err(|wrong| match wrong {
        TimeResolutionError::OutOfRange => "out-of-range",
        TimeResolutionError::Backwards => "backwards",
        _ => "another error",
    })
}

/// What a request says, and what its context comes to, as far as the case tells.
#[test]
fn context() {
    use serde_json::{Map, Value, json};
    let cases = include_str!("../../../../spec/cases/context.json");
    check(cases, 100, |input: Map<String, Value>, expected: Map<String, Value>| {
        let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}});
        if let Some(context) = input.get("clientContext") {
            body["clientContext"] = context.clone();
        }
        if let Some(meta) = input.get("_meta") {
            body["params"]["_meta"] = meta.clone();
        }
        let body = body.to_string();
        let message = Message::parse(body.as_bytes()).map_err(|wrong| wrong.to_string())?;
        let agreed = match agree::check_without_headers(message, &HeaderPolicy::default()) {
            Ok(agreed) => agreed,
            Err(refusal) => {
                let reply = Reply::from(&refusal);
                let actual = json!({"status": reply.status, "code": reply.code});
                return same("refusal", &actual, &Value::Object(expected));
            }
        };
        let caller = Caller::read(&agreed);
        let clock = input.get("clock").and_then(Value::as_str);
        let mut actual = told(caller.context(), clock);
        let mut ignored: Vec<_> = caller.warnings().iter().map(path).collect();
        let mut expected = expected;
        let expected_ignored = expected.remove("ignored").unwrap_or(json!([]));
        let mut expected_ignored: Vec<String> = serde_json::from_value(expected_ignored).unwrap();
        ignored.sort();
        expected_ignored.sort();
        same("ignored", &ignored, &expected_ignored)?;
        if expected.contains_key("preference") {
            actual.insert("preference".to_owned(), json!(caller.preference().map(AcceptLanguage::as_str)));
        }
        same("context", &actual, &expected)
    });
}

/// Where what is known of a caller comes from.
#[test]
fn assume() {
    use serde_json::{Map, Value};
    let cases = include_str!("../../../../spec/cases/assume.json");
    check(cases, 25, |input: Map<String, Value>, expected: Map<String, Value>| {
        let caller = assumed_caller(&Value::Object(input));
        same("sources", &sourced_fields(&caller), &expected)
    });
}

/// A table of clients in which everybody has the same profile.
#[derive(Debug)]
struct OneProfile(ClientProfile);

impl ClientProfiles for OneProfile {
    fn find(&self, _: &ClientImplementation) -> Option<ClientProfile> {
        Some(self.0.clone())
    }
}

fn assumed_caller(input: &serde_json::Value) -> Caller {
    use serde_json::{Value, json};
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let tags = |value: &Value| -> Option<Vec<String>> { value.as_array()?.iter().map(text).collect() };
    let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}});
    body["clientContext"] = input.get("clientContext").cloned().unwrap_or(json!({}));
    body["params"]["_meta"] = input.get("_meta").cloned().unwrap_or(json!({}));
    let body = body.to_string();
    let message = Message::parse(body.as_bytes()).unwrap();
    let agreed = agree::check_without_headers(message, &HeaderPolicy::default()).unwrap();
    let values = |values: &Value| CallerValues {
        language: values["language"].as_str().map(|text| AcceptLanguage::parse(text).unwrap()),
        timezone: values["timezone"].as_str().map(|text| IanaTimeZone::parse(text).unwrap()),
        locale: values["locale"].as_str().map(|text| Tag::parse(text).unwrap()),
        place: None,
        features: tags(&values["features"])
            .map(|tags| ClientFeatures::from_tags(tags.iter().map(String::as_str)).features),
    };
    let header = |field: &str| input["trusted"][field].as_str().map(|name| name.to_ascii_lowercase().into());
    let profile = tags(&input["profile"]);
    let profiles = profile.map(|tags| -> Arc<dyn ClientProfiles> {
        Arc::new(OneProfile(ClientProfile::new("client", tags.iter().map(String::as_str))))
    });
    let assumptions = CallerAssumptions {
        headers: TrustedHeaders {
            language: header("language"),
            timezone: header("timezone"),
            locale: header("locale"),
            country: header("country"),
            region: header("region"),
            city: header("city"),
        },
        profiles,
        default: values(&input["default"]),
        forward_assumed: false,
    };
    let claims = input.get("claims").map(|claims| VerifiedClaims {
        locale: text(&claims["locale"]),
        zoneinfo: text(&claims["zoneinfo"]),
    });
    let evidence = CallerEvidence {
        claims,
        trusts_headers: input["is_trusted"] != false,
        system: input.get("system").map(values),
    };
    let sent: Vec<(String, String)> =
        input.get("headers").map(|lines| serde_json::from_value(lines.clone()).unwrap()).unwrap_or_default();
    let lines = |name: &str| {
        let named = sent.iter().filter(|(other, _)| other == name);
        named.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>()
    };
    let client = ClientImplementation::new("client", "1");
    let locale = input["session_locale"].as_str().map(|text| Tag::parse(text).unwrap());
    let session = SessionFacts { locale, ..SessionFacts::default() };
    Caller::read(&agreed).in_session(session).assuming(assumptions.gather(&evidence, client.as_ref(), &lines))
}

fn sourced_fields(caller: &Caller) -> serde_json::Map<String, serde_json::Value> {
    use serde_json::json;
    let context = caller.context();
    let mut fields = serde_json::Map::new();
    for (field, source) in caller.sources().iter() {
        let mut tell = |name: &str, value: serde_json::Value| {
            fields.insert(name.to_owned(), json!([value, source.to_string()]));
        };
        match field {
            CallerField::Language => tell("language", json!(caller.preference().map(AcceptLanguage::as_str))),
            CallerField::Timezone => tell("timezone", json!(context.timezone().map(IanaTimeZone::name))),
            CallerField::Now => tell("now", json!(context.instant().map(Rfc3339Instant::as_str))),
            CallerField::Locale => tell("locale", json!(context.locale().map(Tag::as_str))),
            CallerField::Features => {
                tell("features", json!(caller.features().tags().collect::<Vec<_>>().join(", ")));
            }
            CallerField::Place => {
                let place = context.user_location().unwrap();
                let country = place.country();
                let country = country.as_ref().map(|country| country.as_str());
                for (name, value) in [("city", place.city()), ("country", country)] {
                    if let Some(value) = value {
                        tell(name, json!(value));
                    }
                }
            }
        }
    }
    fields
}

fn told(context: &ClientContext, clock: Option<&str>) -> serde_json::Map<String, serde_json::Value> {
    use serde_json::json;
    let mut told = serde_json::Map::new();
    let mut tell = |name: &str, value: serde_json::Value| told.insert(name.to_owned(), value);
    if let Some(zone) = context.timezone() {
        tell("timezone", json!(zone.name()));
    }
    if let Some(instant) = context.instant() {
        tell("currentTimestamp", json!(instant.as_str()));
    }
    if let Some(locale) = context.locale() {
        tell("locale", json!(locale.as_str()));
    }
    if let Some(place) = context.user_location() {
        for (name, value) in [("city", place.city()), ("region", place.region())] {
            value.map(|value| tell(name, json!(value)));
        }
        place.country().map(|country| tell("country", json!(country.as_str())));
        place.coordinates().map(|at| tell("coordinates", numbers([at.latitude(), at.longitude()])));
    }
    let unknown: Vec<_> = context.unknown_fields().map(|(name, _)| name).collect();
    if !unknown.is_empty() {
        let mut unknown = unknown;
        unknown.sort_unstable_by_key(|name| std::cmp::Reverse(*name));
        tell("unknown", json!(unknown));
    }
    if let Some(clock) = clock {
        let now = context.now(clock.parse().unwrap());
        tell("now", json!(now.instant.display_with_offset(now.zone.to_offset(now.instant)).to_string()));
        tell("offset_agrees", json!(now.offset_agrees));
    }
    told
}

/// Whole numbers without a fraction, as people write them.
fn numbers(values: [f64; 2]) -> serde_json::Value {
    values.map(|value| serde_json::from_str::<serde_json::Value>(&value.to_string()).unwrap()).to_vec().into()
}

/// Where a warning points.
fn path(warning: &ContextWarning) -> String {
    warning.to_string().split_once(" is ignored").unwrap().0.to_owned()
}

#[derive(Deserialize)]
struct Reader {
    locales: Vec<String>,
    default: String,
    zone: Option<String>,
    #[serde(flatten)]
    value: Formatted,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Formatted {
    Date(String, String),
    Time(String, String),
    DateTime(String, String),
    Zoned(String, String),
    Number(String, u8, u8),
    Percent(String, u8, u8),
    Currency(String, String),
    Unit(String, String, String),
    Relative(i64, String, String),
    Distance(i64, String),
    List(Vec<String>, String),
    Plural(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    text: String,
}

#[test]
fn format() {
    let file = include_str!("../../../../spec/cases/format.json");
    check(file, 300, |input: Reader, expected: Shown| {
        let formatters = mcp_attune_format::formatters(&Tag::parse(&input.default).unwrap());
        let locales: Vec<_> = input.locales.iter().map(|locale| Tag::parse(locale).unwrap()).collect();
        let zone = input.zone.map_or(TimeZone::UTC, |name| TimeZone::get(&name).unwrap());
        same("text", &shown(&formatters.for_locales(&locales, zone), &input.value), &expected.text)
    });
}

fn shown(format: &ValueFormatter, value: &Formatted) -> String {
    let length = |name: &str| FormatLength::named(name).unwrap();
    let number = |text: &str| DecimalNumber::parse(text).unwrap();
    match value {
        Formatted::Date(date, name) => format.date(date.parse().unwrap(), length(name)),
        Formatted::Time(time, name) => format.time(time.parse().unwrap(), length(name)),
        Formatted::DateTime(civil, name) => format.date_time(civil.parse().unwrap(), length(name)),
        Formatted::Zoned(instant, name) => format.zoned(instant.parse().unwrap(), length(name)),
        Formatted::Number(text, least, most) => {
            format.number(&number(text), FractionDigits::between(*least, *most))
        }
        Formatted::Percent(text, least, most) => {
            format.percent(&number(text), FractionDigits::between(*least, *most))
        }
        Formatted::Currency(text, code) => format.currency(&number(text), Currency::parse(code).unwrap()),
        Formatted::Unit(text, unit, name) => {
            format.unit(&number(text), MeasureUnit::named(unit).unwrap(), length(name))
        }
        Formatted::Relative(count, step, name) => {
            format.relative(*count, RelativeTimeUnit::named(step).unwrap(), length(name))
        }
        Formatted::Distance(seconds, name) => {
            format.distance(jiff::SignedDuration::from_secs(*seconds), length(name))
        }
        Formatted::List(items, kind) => {
            let items: Vec<_> = items.iter().map(String::as_str).collect();
            format.list(&items, ListStyle::named(kind).unwrap())
        }
        Formatted::Plural(text) => format.plural(&number(text)).as_str().to_owned(),
    }
}

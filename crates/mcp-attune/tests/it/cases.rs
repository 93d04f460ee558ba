//! The cases of `spec/cases/`, one test a file. A failure lists every case that failed, by name.

use std::collections::BTreeSet;
use std::fmt::Debug;

use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use mcp_attune::language::{self, AcceptLanguage, Languages, Tag, lookup as choose};
use mcp_attune::when::{Interval, Language, Now, Unreadable, Unresolvable, When};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<I, E> {
    about: String,
    rules: BTreeSet<String>,
    cases: Vec<Case<I, E>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case<I, E> {
    name: String,
    rule: String,
    source: String,
    input: I,
    expected: E,
}

/// Runs every case of a file, of which there are at least so many; `run` says what went wrong.
fn check<I, E>(text: &str, at_least: usize, run: impl Fn(I, E) -> Result<(), String>)
where
    I: DeserializeOwned,
    E: DeserializeOwned,
{
    let file: File<I, E> = serde_json::from_str(text).unwrap();
    assert!(!file.about.is_empty());
    assert!(file.cases.len() >= at_least, "only {} cases", file.cases.len());
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut failures = Vec::new();
    for case in file.cases {
        assert!(!case.source.is_empty(), "{} has no source", case.name);
        assert!(names.insert(case.name.clone()), "{} comes twice", case.name);
        used.insert(case.rule);
        if let Err(failure) = run(case.input, case.expected) {
            failures.push(format!("{}: {failure}", case.name));
        }
    }
    assert!(used.is_subset(&file.rules), "a case has a rule that the file does not name");
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

fn same<T: PartialEq + Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    if actual == expected { Ok(()) } else { Err(format!("{what} is {actual:?}, not {expected:?}")) }
}

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
        let (accept, _) = language::preference(input.accept.as_deref());
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
        let language = Language::of(&tag);
        let mut days = Weekday::Monday.cycle_forward().take(7);
        let named = |day: &Weekday| format!("{day:?}").eq_ignore_ascii_case(&input.first_day);
        let first_day = days.find(named).ok_or("no such day")?;
        let zone = TimeZone::get(&input.timezone).map_err(|wrong| wrong.to_string())?;
        let now = Now { instant: instant(&input.now)?, zone, first_day };
        let expected = match expected {
            Resolved::Interval { start, end } => {
                Ok(Interval { start: instant(&start)?, end: instant(&end)? })
            }
            Resolved::Error { error } => Err(error),
        };
        same("interval", &resolved(&input.expression, language, &now).map_err(str::to_owned), &expected)
    });
}

fn resolved(expression: &str, language: Language, now: &Now) -> Result<Interval, &'static str> {
    let when = When::parse(expression, language).map_err(|wrong| match wrong {
        Unreadable::TooLong => "too-long",
        Unreadable::Unknown => "unknown",
        Unreadable::Number => "number",
        Unreadable::NoSuchDate => "no-such-date",
        _ => "another error",
    })?;
    when.resolve(now).map_err(|wrong| match wrong {
        Unresolvable::OutOfRange => "out-of-range",
        Unresolvable::Backwards => "backwards",
        _ => "another error",
    })
}

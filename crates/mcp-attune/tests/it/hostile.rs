//! Input that means harm: long, deep, repeated, and not text at all. Nothing panics, and nothing takes long.

use std::fmt::Write as _;
use std::time::Duration;

use mcp_attune::context::ClientContext;
use mcp_attune::language::{
    AcceptLanguage, AcceptLanguageError, ContentLanguage, Languages, Tag, Why, lookup,
};
use mcp_attune_wire::message::Message;

/// Far above what any of these takes in a debug build, and far below what quadratic work over megabytes would.
const PATIENCE: Duration = Duration::from_secs(5);

fn in_time<T>(work: impl FnOnce() -> T) -> T {
    #[expect(clippy::disallowed_methods, reason = "a test may look at the clock")]
    let start = std::time::Instant::now();
    let result = work();
    assert!(start.elapsed() < PATIENCE, "took {:?}", start.elapsed());
    result
}

/// A preference of as many bytes as one can have, made of one member after the other.
fn filled(member: impl Fn(usize) -> String) -> AcceptLanguage {
    let mut text = String::new();
    for number in 0.. {
        let next = member(number);
        if text.len() + next.len() + 1 > AcceptLanguage::MAX_LEN {
            break;
        }
        let _ = write!(text, "{next},");
    }
    assert!(text.len() > AcceptLanguage::MAX_LEN - 20);
    AcceptLanguage::parse(&text).unwrap()
}

/// Three letters for every number below 17,576.
fn letters(number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
    [letter(number / 676), letter(number / 26), letter(number)].iter().collect()
}

fn many_languages(tag: impl Fn(usize) -> String) -> Languages {
    Languages::new("en".to_owned(), (0..Languages::MAX_OFFERED - 1).map(tag)).unwrap()
}

#[test]
fn refuses_ten_megabytes_at_once() {
    for unit in ["en,", "en-", "a", ",", " ", ";q=0.5", "\0", "é"] {
        let text = unit.repeat(10 * 1024 * 1024 / unit.len());
        let fault = in_time(|| AcceptLanguage::parse(&text)).unwrap_err();
        assert_eq!(fault, AcceptLanguageError::TooLong { at: AcceptLanguage::MAX_LEN });
        assert!(in_time(|| Tag::parse(&text)).is_err());
        assert!(in_time(|| ContentLanguage::parse(&text)).is_err());
    }
}

#[test]
fn reads_as_many_bytes_as_allowed_and_not_one_more() {
    let text = format!("en{}", ",".repeat(AcceptLanguage::MAX_LEN - 2));
    assert!(AcceptLanguage::parse(&text).is_ok());
    assert!(AcceptLanguage::parse(&(text + ",")).is_err());
}

#[test]
fn bears_the_same_range_two_thousand_times() {
    let accept = filled(|_| "a".to_owned());
    assert_eq!(accept.ranges().count(), AcceptLanguage::MAX_LEN / 2);
    let languages = many_languages(|number| format!("a{}", letters(number)));
    let choice = in_time(|| lookup(&accept, &languages));
    assert_eq!((choice.why, choice.language.as_str()), (Why::Default, "en"));
    assert_eq!(in_time(|| accept.coarse()).as_str(), "");
}

#[test]
fn bears_a_thousand_ranges_for_a_thousand_languages() {
    let languages = many_languages(|number| format!("q{}", letters(number)));
    for accept in [
        filled(|number| format!("q{}", letters(9000 + number))),
        filled(letters),
        filled(|number| format!("ca-{}", letters(number))),
        filled(|number| format!("hi-Latn-{}", letters(number))),
        filled(|number| format!("nn-a{}", letters(number))),
    ] {
        in_time(|| lookup(&accept, &languages));
        in_time(|| accept.coarse());
    }
}

#[test]
fn bears_a_thousand_languages_that_rank_equal() {
    let languages = many_languages(|number| format!("es-x-{}", letters(number)));
    let accept = filled(|number| format!("es-{}", letters(number)));
    assert_eq!(in_time(|| lookup(&accept, &languages)).why, Why::Shortened);
}

#[test]
fn bears_a_range_of_a_thousand_subtags() {
    for subtag in ["-1", "-x", "-a1"] {
        let text = format!("en{}", subtag.repeat(1000));
        let accept = AcceptLanguage::parse(&text).unwrap();
        let languages = Languages::new("fr", ["en", "en-x-1"]).unwrap();
        assert_eq!(in_time(|| lookup(&accept, &languages)).why, Why::Shortened);
        assert_eq!(accept.coarse().as_str(), "en");
    }
}

#[test]
fn refuses_what_is_no_ascii_text() {
    for text in [
        "é",
        "日本語",
        "en-é",
        "en;q=０.5",
        "\0",
        "en\0",
        "en,\0,de",
        "\u{feff}en",
        "en\u{2028}",
        "e\u{301}n",
        "🇨🇭",
    ] {
        assert!(AcceptLanguage::parse(text).is_err(), "{text:?}");
        assert!(Tag::parse(text).is_err(), "{text:?}");
        assert!(ContentLanguage::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_context_that_means_harm_costs_only_itself() {
    let nested = format!("{}1{}", r#"{"a":["#.repeat(50), "]}".repeat(50));
    let subtags = "-abcdefgh".repeat(200);
    let fields: String = (0..5000).fold(String::new(), |mut all, number| {
        let _ = write!(all, "\"{number}\":1,");
        all
    });
    let digits = "9".repeat(60_000);
    for (context, names, ignored) in [
        (format!(r#"{{"locale":"de","x":"{}"}}"#, "y".repeat(1 << 20)), 0, 1),
        (format!(r#"{{"locale":"de","x":{nested}}}"#), 1, 0),
        (format!(r#"{{"timezone":"UTC","locale":"en-x{subtags}"}}"#), 1, 1),
        (format!(r#"{{{fields}"locale":"de"}}"#), 1, 0),
        (
            format!(
                r#"{{"locale":"de","userLocation":{{"coordinates":{{"latitude":{digits},"longitude":1}}}}}}"#
            ),
            1,
            1,
        ),
        (format!(r#"{{"locale":"de","currentTimestamp":"2026-11-12T14:23:00.{digits}Z"}}"#), 1, 1),
        (format!(r#"{{"locale":"de","timezone":"{}"}}"#, "Europe/".repeat(9000)), 1, 1),
        (
            r#"{"locale":"de","timezone":"\ud83d","userLocation":{"city":"\u0000","\ud83d":1}}"#.to_owned(),
            1,
            2,
        ),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{context}}}"#);
        let (read, warnings) = in_time(|| ClientContext::read(&Message::parse(body.as_bytes()).unwrap()));
        let shown = context.chars().take(60).collect::<String>();
        assert_eq!((read.field_names().count(), warnings.len()), (names, ignored), "{shown}");
    }
}

#[test]
fn translated_values_cost_no_more_than_their_length() {
    use mcp_attune::catalog::{CompiledLocale, ParsedLocaleFile, lint};
    let tag = || Tag::parse("de").unwrap();
    let file = |entry: &dyn Fn(usize) -> String| {
        let entries: Vec<_> = (0..4_000).map(entry).collect();
        format!(r#"{{"tools":{{"t":{{"output":{{{}}}}}}}}}"#, entries.join(","))
    };
    let fields = file(&|number| format!(r#""f{number}":{{"values":{{"a":"b"}}}}"#));
    let values: Vec<_> =
        (0..4_000).map(|number| format!(r#""{{a}} is {number} {{b}}":"{{ $no }}""#)).collect();
    let one = format!(r#"{{"tools":{{"t":{{"output":{{"f":{{"values":{{{}}}}}}}}}}}}}"#, values.join(","));
    for file in [fields, one] {
        let (locale, findings) = in_time(|| CompiledLocale::read(tag(), file.as_bytes())).unwrap();
        assert!(findings.len() <= 2 * ParsedLocaleFile::MAX_FINDINGS + 1);
        let values = locale.values("t", "f").or_else(|| locale.values("t", "f7")).expect("values");
        in_time(|| values.matches_source(&"is 7 ".repeat(3000)));
        let (sheet, _) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
        in_time(|| lint(&tag(), &sheet, Some(&sheet)));
    }
}

#[test]
fn locale_files_and_what_they_match_cost_no_more_than_their_length() {
    use mcp_attune::catalog::{CompiledLocale, ParsedLocaleFile};
    let tag = || Tag::parse("de").unwrap();
    let filled = |entry: &dyn Fn(usize) -> String| {
        let mut entries = String::new();
        for number in 0..40_000 {
            let next = entry(number);
            if entries.len() + next.len() > ParsedLocaleFile::MAX_BYTES / 8 {
                break;
            }
            let _ = write!(entries, "{}{next}", if number == 0 { "" } else { "," });
        }
        format!(r#"{{"messages":{{{entries}}}}}"#)
    };
    for file in [
        // Everything refers to everything before it.
        filled(&|number| {
            format!(r#""m{number}":{{"text":"{{ m{} }}{{ m{} }}"}}"#, number / 2, number.saturating_sub(1))
        }),
        // One source is the beginning of the next, or the same.
        filled(&|number| {
            format!(r#""m{number}":{{"source":"{{a}}{}{{b}}","text":"x"}}"#, "a".repeat(number % 5000 + 1))
        }),
        filled(&|number| {
            format!(r#""m{number}":{{"source":"{{a}} is {{b}}","text":"{}"}}"#, "{ $a }".repeat(50))
        }),
        filled(&|number| format!(r#""{}{number}":7"#, "é".repeat(100))),
    ] {
        let (locale, findings) = in_time(|| CompiledLocale::read(tag(), file.as_bytes())).unwrap();
        assert!(findings.len() <= 2 * ParsedLocaleFile::MAX_FINDINGS + 1);
        for text in ["a".repeat(16 * 1024), "is ".repeat(5000), " is a is ".repeat(1000)] {
            in_time(|| locale.messages().matches_source(&text));
        }
    }
}

//! `attune context`.

use crate::attune;

const NOW: [&str; 2] = ["--now", "2026-11-12T14:23:00+01:00"];

fn resolve(arguments: &[&str]) -> String {
    attune(&[&["context", "resolve"], arguments, &NOW].concat())
}

#[test]
fn prints_the_interval_as_the_zone_shows_it() {
    let arguments = ["last", "week", "--timezone", "europe/zurich", "--locale", "de-CH"];
    insta::assert_snapshot!(resolve(&arguments), @"
    exit: 0
    --- stdout
    2026-11-02T00:00:00+01:00/2026-11-09T00:00:00+01:00
    --- stderr
    ");
}

#[test]
fn prints_the_interval_in_utc_too_as_json() {
    insta::assert_snapshot!(resolve(&["last_3_days", "--timezone", "America/New_York", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "start": "2026-11-09T00:00:00-05:00",
      "end": "2026-11-12T00:00:00-05:00",
      "start_utc": "2026-11-09T05:00:00Z",
      "end_utc": "2026-11-12T05:00:00Z"
    }
    --- stderr
    "#);
}

#[test]
fn the_locale_gives_the_language_and_the_first_day() {
    let week = |words: &[&str], locale| {
        let arguments = [words, &["--timezone", "UTC", "--locale", locale]].concat();
        resolve(&arguments).lines().nth(2).unwrap_or_default().to_owned()
    };
    assert_eq!(week(&["cette", "semaine"], "fr-FR"), "2026-11-09T00:00:00+00:00/2026-11-16T00:00:00+00:00");
    assert_eq!(week(&["cette", "semaine"], "fr-CA"), "2026-11-08T00:00:00+00:00/2026-11-15T00:00:00+00:00");
    assert_eq!(week(&["this week"], "ar-EG"), "2026-11-07T00:00:00+00:00/2026-11-14T00:00:00+00:00");
    assert_eq!(week(&["今週"], "ja"), "2026-11-08T00:00:00+00:00/2026-11-15T00:00:00+00:00");
}

#[test]
fn without_a_zone_the_offset_of_now_is_it() {
    insta::assert_snapshot!(resolve(&["today"]), @"
    exit: 0
    --- stdout
    2026-11-12T00:00:00+01:00/2026-11-13T00:00:00+01:00
    --- stderr
    ");
}

#[test]
fn without_a_time_the_clock_gives_it() {
    let printed = attune(&["context", "resolve", "day to date"]);
    assert!(printed.starts_with("exit: 0\n--- stdout\n2"), "{printed}");
    assert!(printed.contains("T00:00:00+00:00/2"), "{printed}");
}

#[test]
fn what_cannot_be_read_is_told_with_what_can() {
    insta::assert_snapshot!(resolve(&["last", "24", "hours"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: last 24 hours is not an expression of time that can be read; write one of
      days      today, yesterday, tomorrow, day before yesterday, day after tomorrow
      units     this U, last U, next U; U is day, week, month, quarter or year
      several   last N U, next N U; N is 1 to 10000, or a word from one to twelve
      one       N U ago, in N U
      weekdays  monday, this monday, last monday, next monday
      so far    U to date
      past      the last U, the past U, past U; from the same time one U ago to now
      dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46
      ranges    A..B or A to B, where A and B are any of these that do not end now
    hint: --locale names the language of other expressions, such as --locale de-CH
    ");
    insta::assert_snapshot!(resolve(&["Letzte Woche", "--locale", "fr"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: Letzte Woche is not an expression of time that can be read; write one of
      days      today, yesterday, tomorrow, day before yesterday, day after tomorrow
      units     this U, last U, next U; U is day, week, month, quarter or year
      several   last N U, next N U; N is 1 to 10000, or a word from one to twelve
      one       N U ago, in N U
      weekdays  monday, this monday, last monday, next monday
      so far    U to date
      past      the last U, the past U, past U; from the same time one U ago to now
      dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46
      ranges    A..B or A to B, where A and B are any of these that do not end now
    hint: the expression was read as French and as English
    ");
}

#[test]
fn the_last_week_is_up_to_now_unless_it_is_to_be_something_else() {
    let past = |past: &[&str]| resolve(&[&["the", "last", "week"], past].concat());
    insta::assert_snapshot!(past(&[]), @"
    exit: 0
    --- stdout
    2026-11-05T14:23:00+01:00/2026-11-12T14:23:00+01:00
    --- stderr
    ");
    insta::assert_snapshot!(past(&["--past", "calendar"]), @"
    exit: 0
    --- stdout
    2026-11-02T00:00:00+01:00/2026-11-09T00:00:00+01:00
    --- stderr
    ");
    insta::assert_snapshot!(past(&["--past", "refuse"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the last week is ambiguous: a calendar unit, or the time up to now; write `last week` or `last 7 days`
    hint: --past rolling or --past calendar says what it means
    ");
}

#[test]
fn what_names_no_interval_is_an_error() {
    insta::assert_snapshot!(resolve(&["next 10000 years"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: next 10000 years is outside the calendar, which has the years -9999 to 9999; write a smaller number
    hint: `attune context resolve --help` lists what can be read
    ");
    insta::assert_snapshot!(resolve(&["today..yesterday"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: today..yesterday is a range that ends before it starts; write the earlier end first
    hint: `attune context resolve --help` lists what can be read
    ");
}

#[test]
fn refuses_a_zone_a_time_or_a_locale_that_is_none() {
    insta::assert_snapshot!(resolve(&["today", "--timezone", "+01:00"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --timezone +01:00 is an offset and not a time zone
    hint: write a name of the IANA database, such as Europe/Vienna
    ");
    insta::assert_snapshot!(resolve(&["today", "--locale", "de_CH"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --locale de_CH is not a language tag
    hint: write one by BCP 47, such as en, de-CH or zh-Hant-TW
    ");
    insta::assert_snapshot!(attune(&["context", "resolve", "today", "--now", "2026-11-12T14:23:00"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --now 2026-11-12T14:23:00 is a time without an offset
    hint: write one by RFC 3339, such as 2026-11-12T14:23:00+01:00 or 2026-11-12T13:23:00Z
    ");
    for now in ["2026-11-12", "now", "2026-11-12T14:23:00+01:00[Europe/Zurich]", "-1"] {
        let printed = attune(&["context", "resolve", "today", "--now", now]);
        assert!(printed.starts_with("exit: 2"), "{printed}");
        assert!(printed.contains("is not an instant\nhint: write one by RFC 3339"), "{printed}");
    }
}

fn show(arguments: &[&str]) -> String {
    attune(&[&["context", "show"], arguments].concat())
}

#[test]
fn shows_what_time_zone_and_locale_come_to() {
    let arguments = [&NOW[..], &["--timezone", "europe/vienna", "--locale", "de-AT"]].concat();
    insta::assert_snapshot!(show(&arguments), @"
    exit: 0
    --- stdout
    local now          2026-11-12T14:23:00+01:00
    UTC now            2026-11-12T13:23:00Z
    time zone          Europe/Vienna
    ISO week           2026-W46
    first day of week  monday
    offset             the offset is the one of the zone
    locale             de-AT
    --- stderr
    ");
    insta::assert_snapshot!(show(&[&arguments[..], &["--json"]].concat()), @r#"
    exit: 0
    --- stdout
    {
      "local_now": "2026-11-12T14:23:00+01:00",
      "utc_now": "2026-11-12T13:23:00Z",
      "timezone": "Europe/Vienna",
      "iso_week": "2026-W46",
      "first_day_of_week": "monday",
      "offset_agrees": true,
      "locale": "de-AT"
    }
    --- stderr
    "#);
}

#[test]
fn both_stand_where_the_offset_is_not_the_one_of_the_zone() {
    let arguments =
        ["--now", "2026-01-01T23:30:00+00:00", "--timezone", "Asia/Kolkata", "--locale", "en-US-u-fw-sat"];
    insta::assert_snapshot!(show(&[&arguments[..], &["--json"]].concat()), @r#"
    exit: 0
    --- stdout
    {
      "local_now": "2026-01-02T05:00:00+05:30",
      "utc_now": "2026-01-01T23:30:00Z",
      "timezone": "Asia/Kolkata",
      "iso_week": "2026-W01",
      "first_day_of_week": "saturday",
      "offset_agrees": false,
      "locale": "en-US-u-fw-sat"
    }
    --- stderr
    "#);
}

#[test]
fn without_a_zone_the_offset_is_shown_and_without_both_utc() {
    insta::assert_snapshot!(show(&["--now", "2027-01-01T08:00:00-09:30", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "local_now": "2027-01-01T08:00:00-09:30",
      "utc_now": "2027-01-01T17:30:00Z",
      "timezone": "-09:30",
      "iso_week": "2026-W53",
      "first_day_of_week": "monday",
      "offset_agrees": null,
      "locale": null
    }
    --- stderr
    "#);
    let printed = show(&["--json"]);
    assert!(printed.starts_with("exit: 0") && printed.contains("\"timezone\": \"UTC\""), "{printed}");
    assert!(printed.contains("\"offset_agrees\": null"), "{printed}");
}

#[test]
fn check_tells_what_is_valid_and_what_is_not() {
    let check = |arguments: &[&str]| attune(&[&["context", "check"], arguments].concat());
    insta::assert_snapshot!(check(&["--timestamp", "2026-11-12T14:23:00+01:00", "--timezone", "us/pacific", "--locale", "de-AT"]), @"
    exit: 0
    --- stdout
    currentTimestamp: valid
    timezone: valid
    locale: valid
    --- stderr
    ");
    insta::assert_snapshot!(check(&["--timestamp", "2016-12-31T23:59:60Z", "--timezone", "-08:00", "--locale", "de_AT"]), @"
    exit: 1
    --- stdout
    currentTimestamp: a leap second, which the calendar here does not have; write second 59
    timezone: an offset and not a time zone; write a name of the IANA database, such as Europe/Vienna
    locale: not a language tag; write one by BCP 47, such as en, de-CH or zh-Hant-TW
    --- stderr
    ");
    insta::assert_snapshot!(check(&["--timezone", "Mars/Olympus", "--locale", "de", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "valid": false,
      "fields": [
        {
          "field": "timezone",
          "valid": false,
          "error": "not a time zone; write a name of the IANA database, such as Europe/Vienna"
        },
        {
          "field": "locale",
          "valid": true,
          "error": null
        }
      ]
    }
    --- stderr
    "#);
    insta::assert_snapshot!(check(&[]), @"
    exit: 2
    --- stdout
    --- stderr
    error: there is nothing to check
    hint: give one or more of --timestamp, --timezone and --locale
    ");
}

#[test]
fn an_error_keeps_the_words_of_every_script() {
    for (locale, text) in [("hi", "अगली बारिश का सप्ताह"), ("th", "ฝนครั้งหน้าที่นี่"), ("rm", "l'emna da plievgia")]
    {
        let shown = attune(&["context", "resolve", text, "--locale", locale]);
        assert!(shown.starts_with("exit: 2\n") && shown.contains(&format!("error: {text} is ")), "{shown}");
    }
    // What commands a terminal is escaped.
    let shown = attune(&["context", "resolve", "a\u{1b}[31m\u{202e}b"]);
    assert!(shown.contains("error: a\\u{1b}[31m\\u{202e}b is "), "{shown}");
}

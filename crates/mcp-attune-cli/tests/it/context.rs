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
      dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46
      ranges    A..B or A to B, where A and B are any of these but `U to date`
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
      dates     2026-11-12, 2026-11, 2026, 2026-Q4, 2026-W46
      ranges    A..B or A to B, where A and B are any of these but `U to date`
    hint: the expression was read as French and as English
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
    error: --timezone +01:00 is not a time zone
    hint: write a name of the IANA database, such as Europe/Zurich
    ");
    insta::assert_snapshot!(resolve(&["today", "--locale", "de_CH"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --locale de_CH is not a language tag; write one by BCP 47, such as en, de-CH or zh-Hant-TW
    hint: separate the parts with hyphens, as in de-CH
    ");
    for now in ["2026-11-12T14:23:00", "2026-11-12", "now", "2026-11-12T14:23:00+01:00[Europe/Zurich]", "-1"]
    {
        let printed = attune(&["context", "resolve", "today", "--now", now]);
        assert!(printed.starts_with("exit: 2"), "{printed}");
        assert!(printed.contains("is not an instant\nhint: write one by RFC 3339"), "{printed}");
    }
}

//! Sets of messages: recognized by what a server says, rendered by key, and left out where they are wrong.

use jiff::tz::TimeZone;
use mcp_attune::format::{DecimalNumber, ValueFormatter};
use mcp_attune::language::Tag;
use mcp_attune::messages::{
    FluentMessages, MessageArguments, MessageDefinition, MessageDefinitionError, MessageDefinitionPart,
    MessageFormats,
};

fn format(tag: &str) -> ValueFormatter {
    mcp_attune_format::formatters(&Tag::parse(tag).unwrap())
        .for_locales([], TimeZone::get("Europe/Zurich").unwrap())
}

fn messages(entries: &[(&str, &str, &str)]) -> FluentMessages {
    let source = |text| (!str::is_empty(text)).then_some(text);
    let entries =
        entries.iter().map(|(key, text, said)| MessageDefinition { key, source: source(said), text });
    let (messages, wrong) = FluentMessages::new(entries);
    assert_eq!(wrong, []);
    messages
}

#[track_caller]
fn check(tag: &str, source: &str, text: &str, said: &str, expected: Option<&str>) {
    let format = format(tag);
    let messages = messages(&[("m", text, source)]);
    let live = messages.translate_source(said, MessageFormats { words: &format, values: &format });
    assert_eq!(live.as_deref(), expected, "{said}");
}

#[test]
fn numbers_are_read_from_the_source_and_written_for_the_reader() {
    let (source, text) = ("{n} rows", "{ $n } Zeilen");
    check("de", source, text, "1,234.50 rows", Some("1.234,50 Zeilen"));
    // What the server did not group may be a year or a port.
    check("de", source, text, "12345 rows", Some("12345 Zeilen"));
    check("de", source, text, "-0.5 rows", Some("-0,5 Zeilen"));
    check("de", source, text, "007 rows", Some("007 Zeilen"));
    check("de", source, text, "many rows", Some("many Zeilen"));
    check("ar-EG", source, "{ $n }", "12 rows", Some("١٢"));
    check("de", source, "{ TEXT($n) }", "1,234.5 rows", Some("1,234.5"));
    check(
        "de",
        source,
        "{ NUMBER($n, useGrouping: 1, maximumFractionDigits: 0) }",
        "1234.5 rows",
        Some("1.235"),
    );
    check("de", source, "{ NUMBER($n, style: \"percent\") }", "0.5 rows", Some("50\u{a0}%"));
    check("de", source, "{ NUMBER($n, currency: \"CHF\") }", "7 rows", Some("7,00\u{a0}CHF"));
    check("de", source, "{ NUMBER($n) }", "many rows", None);
}

#[test]
fn dates_are_written_for_the_reader() {
    let source = "Due {d}";
    check(
        "de",
        source,
        "bis { DATETIME($d, dateStyle: \"long\") }",
        "Due 2024-09-10",
        Some("bis 10. September 2024"),
    );
    let both = "{ DATETIME($d, dateStyle: \"short\", timeStyle: \"short\") }";
    check("de", source, both, "Due 2024-09-10T21:37:20Z", Some("10.09.24, 23:37"));
    check("de", source, "{ DATETIME($d, timeStyle: \"short\") }", "Due 2024-09-10T21:37:20Z", Some("23:37"));
    check("de", source, "{ DATETIME($d) }", "Due soon", None);
}

#[test]
fn selects_by_plural_by_number_and_by_word() {
    let text = "{ $n ->\n [0] nic\n [one] { $n } strona\n [few] { $n } strony\n *[many] { $n } stron\n}";
    for (said, expected) in
        [("0", "nic"), ("1", "1 strona"), ("3", "3 strony"), ("5", "5 stron"), ("0.0", "nic")]
    {
        check("pl", "{n} pages", text, &format!("{said} pages"), Some(expected));
    }
    let text = "{ $state ->\n [open] offen\n [one] eins\n *[other] zu\n}";
    check("de", "It is {state}", text, "It is open", Some("offen"));
    check("de", "It is {state}", text, "It is shut", Some("zu"));
    check("de", "It is {state}", text, "It is 1", Some("eins"));
}

#[test]
fn plural_forms_follow_the_text_and_numbers_the_reader() {
    let (german, french) = (format("de"), format("fr"));
    let text = "{ $n ->\n [one] { $n } Seite\n *[other] { $n } Seiten\n}";
    let messages = messages(&[("m", text, "{n} pages")]);
    // Zero is singular in French.
    let voice = MessageFormats { words: &german, values: &french };
    assert_eq!(messages.translate_source("0 pages", voice).unwrap(), "0 Seiten");
    assert_eq!(messages.translate_source("1,234.5 pages", voice).unwrap(), "1\u{202f}234,5 Seiten");
}

#[test]
fn messages_are_rendered_by_key_with_arguments() {
    let format = format("de");
    let messages = messages(&[
        (
            "seats",
            "{ $n ->\n [one] ein Platz\n *[other] { $n } Plätze\n} nach { $city } am { $day }, { -brand }",
            "",
        ),
        ("-brand", "Attune", ""),
    ]);
    let voice = MessageFormats { words: &format, values: &format };
    let day = jiff::civil::date(2024, 9, 10);
    let arguments = MessageArguments::new().number("n", 2_000).text("city", "Bern").date("day", day);
    assert_eq!(
        messages.render_key("seats", &arguments, voice).unwrap(),
        "2.000 Plätze nach Bern am 10.09.2024, Attune"
    );
    assert_eq!(messages.render_key("seats", &MessageArguments::new(), voice), None);
    assert_eq!(messages.render_key("nothing", &arguments, voice), None);
    let half = MessageArguments::new()
        .number("n", DecimalNumber::parse("1.0").unwrap())
        .text("city", "x")
        .date("day", day);
    assert!(messages.render_key("seats", &half, voice).unwrap().starts_with("1,0 Plätze"));
    let sum = DecimalNumber::try_from(0.1 + 0.2).unwrap();
    let sum = MessageArguments::new().number("n", sum).text("city", "x").date("day", day);
    assert!(messages.render_key("seats", &sum, voice).unwrap().starts_with("0,3 Plätze"));
}

fn faults(entries: &[(&str, &str, &str)]) -> Vec<(String, MessageDefinitionError)> {
    let source = |text| (!str::is_empty(text)).then_some(text);
    let entries =
        entries.iter().map(|(key, text, said)| MessageDefinition { key, source: source(said), text });
    let (_, wrong) = FluentMessages::new(entries);
    wrong.into_iter().map(|(key, wrong, _)| (key.into(), wrong)).collect()
}

#[test]
fn references_that_lead_nowhere_back_or_too_far_are_told() {
    assert_eq!(faults(&[("a", "{ a }", "")]), [("a".to_owned(), MessageDefinitionError::Endless)]);
    let circle = [("a", "{ b }", ""), ("b", "{ -c }", ""), ("-c", "{ a } x", ""), ("fine", "x", "")];
    assert_eq!(faults(&circle).len(), 3);
    assert!(faults(&circle).iter().all(|(_, wrong)| *wrong == MessageDefinitionError::Endless));
    let nowhere = [("a", "{ b }", ""), ("b", "{ gone }", "")];
    assert!(
        faults(&nowhere).contains(&("b".to_owned(), MessageDefinitionError::UnknownMessage("gone".into())))
    );
    assert_eq!(faults(&nowhere).len(), 2);
    let row: Vec<_> = (0..12).map(|n| (format!("m{n}"), format!("{{ m{} }}", n + 1))).collect();
    let mut row: Vec<_> = row.iter().map(|(key, text)| (key.as_str(), text.as_str(), "")).collect();
    row.push(("m12", "end", ""));
    let faults = faults(&row);
    assert!(faults.contains(&("m3".to_owned(), MessageDefinitionError::TooManyReferences)), "{faults:?}");
    assert_eq!(faults.len(), 4, "{faults:?}");
}

#[test]
fn what_is_wrong_is_left_out_and_the_rest_stands() {
    let format = format("de");
    let entries = [
        ("a", "{ $x }", "say {y}"),
        ("b", "gut", "good"),
        ("c", "besser", "good"),
        ("d e", "x", ""),
        ("f", "{", ""),
    ];
    let source = |text| (!str::is_empty(text)).then_some(text);
    let entries =
        entries.iter().map(|(key, text, said)| MessageDefinition { key, source: source(said), text });
    let (messages, wrong) = FluentMessages::new(entries);
    let parts: Vec<_> = wrong.iter().map(|(key, _, part)| (&**key, *part)).collect();
    assert_eq!(
        parts,
        [
            ("a", MessageDefinitionPart::Text),
            ("c", MessageDefinitionPart::Source),
            ("d e", MessageDefinitionPart::Key),
            ("f", MessageDefinitionPart::Text)
        ]
    );
    let voice = MessageFormats { words: &format, values: &format };
    assert_eq!(messages.translate_source("good", voice).unwrap(), "gut");
    assert_eq!((messages.len(), messages.is_empty()), (1, false));
}

#[test]
fn text_that_multiplies_is_given_up() {
    let format = format("de");
    let many = "{ a }".repeat(2_000);
    let next = "{ b }".repeat(2_000);
    let messages = messages(&[("a", "{\"\"}", ""), ("b", &many, ""), ("c", &next, "go")]);
    let voice = MessageFormats { words: &format, values: &format };
    assert_eq!(messages.translate_source("go", voice), None);
    let long = "x".repeat(60_000);
    let messages = self::messages(&[("a", &long, ""), ("b", "{ a }{ a }", "go")]);
    assert_eq!(messages.translate_source("go", voice), None);
}

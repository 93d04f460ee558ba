//! Templates: what filters write for four callers, what a template sees, and that data stays data.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::catalog::{CompiledLocale, LocaleChain};
use mcp_attune::features::FeaturePreferences;
use mcp_attune::format::ValueFormatter;
use mcp_attune::language::Tag;
use mcp_attune_shape::template::{Template, TemplateContext, TemplateRenderError, TemplateRenderReason};
use mcp_attune_wire::message::Message;

pub(crate) const NOW: &str = "2026-11-15T12:00:00Z";

pub(crate) fn values(locale: &str, zone: &str) -> ValueFormatter {
    mcp_attune_format::english().for_locales([&Tag::parse(locale).unwrap()], TimeZone::get(zone).unwrap())
}

/// Renders a source of a kind for data and tags, in a locale.
pub(crate) fn render(
    kind: &str,
    source: &str,
    data: &str,
    tags: &[&str],
    values: &ValueFormatter,
) -> Result<String, TemplateRenderError> {
    let template = Template::compile(kind, source).unwrap_or_else(|wrong| panic!("{source}: {wrong}"));
    let (data, wanted) =
        (Message::parse(data.as_bytes()).unwrap(), FeaturePreferences::read(tags.iter().copied()));
    let now: Timestamp = NOW.parse().unwrap();
    template.render(&TemplateContext::new(data.body(), &wanted, values, now))
}

const DATA: &str = r#"{
    "n": 1234567.891, "one": 1, "two": 2, "three": 3, "price": "1234.5", "share": 0.305, "percent": 30.5,
    "big": 123456789012345678901234567890, "instant": "2026-11-15T13:30:00Z", "unix": 1763213400, "day": "2026-11-16",
    "civil": "2026-11-15T08:05:00", "clock": "08:05", "stops": ["Bern", "Olten", "Basel"], "nothing": null,
    "url": "https://example.com/a(b)", "bad": "javascript:alert(1)", "name": "a_b *c*", "yes": true,
    "wind": {"speed": 15, "from": "NW"}
}"#;

/// What an expression prints in plain text for callers in the United States, Switzerland, Egypt and Japan.
#[track_caller]
fn check(expression: &str, expected: [&str; 4]) {
    let callers = [
        ("en-US", "America/New_York"),
        ("de-CH", "Europe/Zurich"),
        ("ar-EG", "Africa/Cairo"),
        ("ja", "Asia/Tokyo"),
    ];
    for ((locale, zone), expected) in callers.into_iter().zip(expected) {
        let text = render("txt", &format!("{{{{ {expression} }}}}"), DATA, &[], &values(locale, zone));
        assert_eq!(text.unwrap(), expected, "{expression} in {locale}");
    }
}

#[test]
fn numbers_are_the_callers() {
    check("n | number", ["1,234,567.891", "1'234'567.891", "١٬٢٣٤٬٥٦٧٫٨٩١", "1,234,567.891"]);
    check("n | number(1)", ["1,234,567.9", "1'234'567.9", "١٬٢٣٤٬٥٦٧٫٩", "1,234,567.9"]);
    check("two | number(digits=2)", ["2.00", "2.00", "٢٫٠٠", "2.00"]);
    check("n | number(up_to=0)", ["1,234,568", "1'234'568", "١٬٢٣٤٬٥٦٨", "1,234,568"]);
    check("2026 | number(group=false)", ["2026", "2026", "٢٠٢٦", "2026"]);
    check(
        "big | number",
        [
            "123,456,789,012,345,678,901,234,567,890",
            "123'456'789'012'345'678'901'234'567'890",
            "١٢٣٬٤٥٦٬٧٨٩٬٠١٢٬٣٤٥٬٦٧٨٬٩٠١٬٢٣٤٬٥٦٧٬٨٩٠",
            "123,456,789,012,345,678,901,234,567,890",
        ],
    );
}

#[test]
fn money_percentages_and_measures_are_the_callers() {
    check(
        "price | currency('CHF')",
        ["CHF\u{a0}1,234.50", "CHF\u{a0}1'234.50", "\u{200f}١٬٢٣٤٫٥٠\u{a0}CHF", "CHF\u{a0}1,234.50"],
    );
    check("share | percent", ["31%", "31%", "٣١٪\u{61c}", "31%"]);
    check("percent | percent(1, of=100)", ["30.5%", "30.5%", "٣٠٫٥٪\u{61c}", "30.5%"]);
    check(
        "15 | unit('kilometer-per-hour')",
        ["15\u{a0}km/h", "15\u{a0}km/h", "١٥\u{a0}km/h", "15\u{a0}km/h"],
    );
    check(
        "15 | unit('kilometer', length='long')",
        ["15 kilometers", "15 Kilometer", "١٥ كيلومتر\u{64b}ا", "15 キロメートル"],
    );
}

#[test]
fn times_are_the_callers_and_in_their_zone() {
    check("instant | date", ["Nov 15, 2026", "15.11.2026", "١٥\u{200f}/١١\u{200f}/٢٠٢٦", "2026/11/15"]);
    check(
        "instant | date('full')",
        [
            "Sunday, November 15, 2026",
            "Sonntag, 15. November 2026",
            "الأحد، ١٥ نوفمبر ٢٠٢٦",
            "2026年11月15日日曜日",
        ],
    );
    check("day | date('short')", ["11/16/26", "16.11.26", "١٦\u{200f}/١١\u{200f}/٢٠٢٦", "2026/11/16"]);
    check("instant | time", ["8:30\u{202f}AM", "14:30", "٣:٣٠ م", "22:30"]);
    check("clock | time", ["8:05\u{202f}AM", "08:05", "٨:٠٥ ص", "8:05"]);
    check(
        "instant | datetime",
        [
            "Nov 15, 2026, 8:30:00\u{202f}AM",
            "15.11.2026, 14:30:00",
            "١٥\u{200f}/١١\u{200f}/٢٠٢٦، ٣:٣٠:٠٠ م",
            "2026/11/15 22:30:00",
        ],
    );
    check(
        "civil | datetime('short')",
        [
            "11/15/26, 8:05\u{202f}AM",
            "15.11.26, 08:05",
            "١٥\u{200f}/١١\u{200f}/٢٠٢٦، ٨:٠٥ ص",
            "2026/11/15 8:05",
        ],
    );
    check(
        "unix | datetime('short', zone=true)",
        [
            "11/15/25, 8:30\u{202f}AM EST",
            "15.11.25, 14:30 MEZ",
            "١٥\u{200f}/١١\u{200f}/٢٠٢٥، ٣:٣٠ م غرينتش\u{61c}+٢",
            "2025/11/15 22:30 JST",
        ],
    );
    check(
        "instant | datetime('short', zone='Asia/Kathmandu')",
        [
            "11/15/26, 7:15\u{202f}PM GMT+5:45",
            "15.11.26, 19:15 GMT+5:45",
            "١٥\u{200f}/١١\u{200f}/٢٠٢٦، ٧:١٥ م غرينتش\u{61c}+٥:٤٥",
            "2026/11/15 19:15 GMT+5:45",
        ],
    );
    check("now | time", ["7:00\u{202f}AM", "13:00", "٢:٠٠ م", "21:00"]);
}

#[test]
fn distances_are_told_from_now() {
    check("instant | relative", ["in 2 hours", "in 2 Stunden", "خلال ساعتين", "2 時間後"]);
    check("day | relative", ["tomorrow", "morgen", "غد\u{64b}ا", "明日"]);
    check("-7200 | relative('short')", ["2h ago", "vor 2 Std.", "قبل ساعتين", "2時間前"]);
    check("civil | relative", ["in 1 hour", "vor 5 Stunden", "قبل ٦ ساعات", "13 時間前"]);
}

#[test]
fn words_follow_numbers_and_languages() {
    check("one | plural('train', 'trains')", ["train", "train", "train", "trains"]);
    check("two | plural(one='1', two='2', other='n')", ["n", "n", "2", "n"]);
    check("three | plural(one='1', few='few', other='n')", ["n", "n", "few", "n"]);
    check("one | plural('all')", ["all", "all", "all", "all"]);
    check(
        "stops | list",
        ["Bern, Olten, and Basel", "Bern, Olten und Basel", "Bern وOlten وBasel", "Bern、Olten、Basel"],
    );
    check(
        "stops | list('or')",
        [
            "Bern, Olten, or Basel",
            "Bern, Olten oder Basel",
            "Bern أو Olten أو Basel",
            "Bern、Olten、またはBasel",
        ],
    );
}

#[test]
fn text_is_cut_joined_and_linked() {
    let values = values("en", "UTC");
    for (kind, source, expected) in [
        ("md", "{{ url | link('Book *now*') }}", "[Book \\*now\\*](https://example.com/a%28b%29)"),
        ("md", "{{ url | link }}", "[https://example.com/a(b)](https://example.com/a%28b%29)"),
        ("txt", "{{ url | link('Book') }}", "Book (https://example.com/a%28b%29)"),
        ("md", "{{ bad | link('Book') }}", "Book"),
        ("md", "{{ stops | join(', ') }}", "Bern, Olten, Basel"),
        ("md", "{{ name }} {{ name | raw }}", "a_b \\*c\\* a_b *c*"),
        ("txt", "{{ 'abcdef' | truncate(4) }}{{ 'abcd' | truncate(4) }}", "abc…abcd"),
        ("txt", "{{ 'a-b-c' | replace('-', '+') }}", "a+b+c"),
        (
            "txt",
            "{{ nothing }}{{ nothing | number }}{{ nothing | date }}|{{ yes }}|{{ wind }}",
            "|true|{\"speed\":15,\"from\":\"NW\"}",
        ),
        (
            "txt",
            "{% for key, value in wind | items %}{{ key }}={{ value }};{% endfor %}",
            "speed=15;from=NW;",
        ),
        ("txt", "{{ 'x' if yes }}{{ 'y' if nothing }}", "x"),
        ("txt", "{% for x in missing or [] %}{% endfor %}{% if missing and missing.x %}y{% endif %}|", "|"),
        ("txt", "{% for x in nothing or [] %}{% endfor %}{{ wind.gusts | default('none') }}", "none"),
        (
            "txt",
            "{{ big }} {{ n }} {{ missing | default('none') }}",
            "123456789012345678901234567890 1234567.891 none",
        ),
    ] {
        assert_eq!(render(kind, source, DATA, &[], &values).unwrap(), expected, "{source}");
    }
}

#[test]
fn a_template_sees_the_result_and_its_caller() {
    let values = values("de-CH", "Europe/Zurich");
    for (source, tags, expected) in [
        ("{{ wind.speed }} {{ data.wind.speed }} {{ data['wind']['from'] }}", &[][..], "15 15 NW"),
        (
            "{{ locale }} {{ language }} {{ timezone }} {{ now }}",
            &[],
            "de-CH de-CH Europe/Zurich 2026-11-15T13:00:00+01:00",
        ),
        ("{% if features.sampling %}a{% else %}b{% endif %}", &["sampling"], "a"),
        ("{% if features.sampling %}a{% else %}b{% endif %}", &["!sampling"], "b"),
        (
            "{{ features['x-acme-tier'] == 'gold' }} {{ features['x-beta'] }}",
            &["x-acme-tier=gold", "x-beta"],
            "true true",
        ),
        ("{{ features['x-acme-tier'] }}", &[], "false"),
        ("{{ features.format }} {{ features.verbosity }}", &["agent", "verbosity=compact"], "json compact"),
        ("{{ features.format }}|{{ features.verbosity }}", &[], "|standard"),
        ("{{ arguments }}", &[], ""),
    ] {
        assert_eq!(render("txt", source, DATA, tags, &values).unwrap(), expected, "{source}");
    }
    let data = r#"{"timezone":"Mars/Olympus","features":["lake"],"now":"later"}"#;
    let source = "{{ timezone }} {{ data.timezone }} {{ data.features[0] }}";
    assert_eq!(render("txt", source, data, &[], &values).unwrap(), "Europe/Zurich Mars/Olympus lake");
    assert_eq!(render("txt", "{{ data[1] }} {{ data | length }}", "[7,8]", &[], &values).unwrap(), "8 2");
}

#[test]
fn arguments_are_what_the_caller_asked_with() {
    let (data, asked) = (Message::parse(b"{}").unwrap(), Message::parse(br#"{"city":"Bern"}"#).unwrap());
    let (wanted, values) = (FeaturePreferences::default(), values("en", "UTC"));
    let scene = TemplateContext {
        arguments: Some(asked.body()),
        ..TemplateContext::new(data.body(), &wanted, &values, Timestamp::UNIX_EPOCH)
    };
    let template = Template::compile("md", "{{ arguments.city }}").unwrap();
    assert_eq!(template.render(&scene).unwrap(), "Bern");
}

#[test]
fn messages_of_locale_files_are_at_hand() {
    let german = Tag::parse("de").unwrap();
    let file = br#"{"messages":{"seats":{"text":"{ $n ->\n [one] Ein Platz\n *[other] { $n } Pl\u00e4tze\n} nach { $city }"}}}"#;
    let (locale, _) = CompiledLocale::read(german.clone(), file).unwrap();
    let formatters = mcp_attune_format::formatters(&german);
    let values = formatters.for_locales([&german], TimeZone::UTC);
    let chain = LocaleChain::new(&german, [Arc::new(locale)], &formatters, values.clone());
    let (data, wanted) =
        (Message::parse(br#"{"n":1200,"city":"*Bern*"}"#).unwrap(), FeaturePreferences::default());
    let plain = TemplateContext::new(data.body(), &wanted, &values, Timestamp::UNIX_EPOCH);
    let render =
        |source: &str, scene: &TemplateContext<'_>| Template::compile("md", source).unwrap().render(scene);
    let source = "{{ 'seats' | t(n=n, city=city, default='seats') }}, {{ 'none' | t(default='nothing') }}";
    assert_eq!(
        render(source, &TemplateContext { chain: Some(&chain), ..plain }).unwrap(),
        "1.200 Plätze nach \\*Bern\\*, nothing"
    );
    assert_eq!(render(source, &plain).unwrap(), "seats, nothing");
    let failed = render("\n{{ 'none' | t }}", &plain).unwrap_err();
    assert_eq!(failed.to_string(), "line 2: `t` found no such message, and no `default` was given");
}

#[test]
fn a_json_template_gives_json_or_nothing() {
    let values = values("de-CH", "UTC");
    let quoted =
        r#"{"say":"he \"said\" {{ it }}\n","n":1.10,"big":123456789012345678901234567890123456789012345}"#;
    let render = |source: &str| render("json", source, quoted, &[], &values);
    assert_eq!(
        render(r#"{"a": {{ say }}, "b": {{ say | tojson }}, "n": {{ n }}, "big": {{ big }}}"#).unwrap(),
        r#"{"a": "he \"said\" {{ it }}\n", "b": "he \"said\" {{ it }}\n", "n": 1.1, "big": 123456789012345678901234567890123456789012345}"#
    );
    assert_eq!(
        render(r#"{"n": {{ 1234.5 | number }}, "all": {{ data.n | tojson }}}"#).unwrap(),
        r#"{"n": "1'234.5", "all": 1.1}"#
    );
    for source in
        [r#"{"a": "{{ say }}"}"#, "{{ say }}", "", "{", r#"{"a":1,"a":2}"#, r#"{"a": {{ say | raw }}}"#]
    {
        assert_eq!(render(source).unwrap_err().what, TemplateRenderReason::NoJson, "{source}");
    }
}

#[test]
fn what_a_server_says_is_never_markup_and_never_a_template() {
    let values = values("en", "UTC");
    let hostile = r##"{"x":"{{ 7 * 7 }} {% for a in b %} <img src=x onerror=alert(1)> [a](javascript:b) **b** `c` | # \n\n# h\n- i\u001b[31m"}"##;
    let printed = render("md", "| {{ x }} |", hostile, &[], &values).unwrap();
    assert_eq!(
        printed,
        "| {{ 7 \\* 7 }} {% for a in b %} \\<img src=x onerror=alert(1)\\> \\[a\\](javascript:b) \\*\\*b\\*\\* \\`c\\` \\| # # h - i\u{fffd}\\[31m |"
    );
    for source in [
        "{{ x | upper }}",
        "{{ x ~ '' }}",
        "{% set y %}{{ x }}{% endset %}{{ y }}",
        "{{ x | trim | default('') }}",
        "{{ [x] | join }}",
        "{{ [x] | list }}",
        "{{ [x] }}",
    ] {
        let printed = render("md", source, hostile, &[], &values).unwrap().to_lowercase();
        assert!(
            printed.contains("\\<img") && printed.contains("\\*\\*b") && !printed.contains('\n'),
            "{source}: {printed}"
        );
    }
    assert_eq!(render("txt", "{{ x }}", hostile, &[], &values).unwrap().matches('\u{1b}').count(), 0);
    // What a template writes itself stays markup, also out of a variable or a macro.
    let source = "{% macro bold(text) %}**{{ text }}**{% endmacro %}{{ bold(x) }}";
    let printed = render("md", source, r#"{"x":"*"}"#, &[], &values).unwrap();
    assert_eq!(printed, "**\\***");
}

#[test]
fn statements_leave_no_lines_and_tables_stay_whole() {
    let source = "| a |\n|---|\n{% for stop in stops %}\n| {{ stop }} |\n{% endfor %}\n";
    let printed = render("md", source, DATA, &[], &values("en", "UTC")).unwrap();
    assert_eq!(printed, "| a |\n|---|\n| Bern |\n| Olten |\n| Basel |\n");
}

#[test]
fn a_failure_says_where_and_what_and_nothing_of_the_data() {
    let values = values("en", "UTC");
    let secret = r#"{"secret":"hunter2","list":["hunter2"],"n":3,"map":{"a":"hunter2"},"huge":170141183460469231731687303715884105727}"#;
    for (source, expected) in [
        ("a\nb {{ typo }}", "line 2: `typo` has no value; ask for it with `if`, or give a `default`"),
        ("{{ map.typo }}", "line 1: `map.typo` has no value; ask for it with `if`, or give a `default`"),
        (
            "{% for x in typo %}{% endfor %}",
            "line 1: `typo` has no value; ask for it with `if`, or give a `default`",
        ),
        ("{{ typo.more }}", "line 1: `typo.more` has no value; ask for it with `if`, or give a `default`"),
        ("\n\n{{ secret | number }}", "line 3: `number` takes a number, and this is text that is none"),
        ("{{ list | number }}", "line 1: `number` takes a number, and this is a list"),
        ("{{ typo | number }}", "line 1: `number` takes a number, and this has no value: `typo | number`"),
        (
            "{{ secret | date }}",
            "line 1: `date` takes a date or time such as \"2026-11-15T09:30:00Z\", or seconds since 1970, and this is text that is none",
        ),
        ("{{ n | date('huge') }}", "line 1: `date` takes short, medium, long or full as `length`"),
        (
            "{{ n | date(zone='Mars') }}",
            "line 1: `date` takes the name of a zone, such as \"Europe/Zurich\", or true as `zone`",
        ),
        ("{{ n | currency }}", "line 1: `currency` takes a code of three letters, such as \"CHF\""),
        (
            "{{ n | unit('furlong') }}",
            "line 1: `unit` takes the name of a unit, such as \"kilometer-per-hour\"",
        ),
        ("{{ n | percent(of=7) }}", "line 1: `percent` takes 1 or 100 as `of`"),
        ("{{ n | number(colour=1) }}", "line 1: `number` was given an option that it does not have"),
        ("{{ n | plural(one='x') }}", "line 1: `plural` takes at least the form `other`"),
        ("{{ secret | list }}", "line 1: `list` takes a list, and this is text"),
        ("{{ n | link }}", "line 1: `link` takes a URL, and this is a number"),
        ("{{ secret - 1 }}", "line 1: `secret - 1` cannot be done with these values"),
        ("{{ huge + huge }}", "line 1: `huge + huge` cannot be done with these values"),
        ("{{ list | sort(attribute='x') | sum }}", "x"),
    ] {
        let failed = render("md", source, secret, &[], &values).unwrap_err().to_string();
        assert!(!failed.contains("hunter2") && !failed.contains("17014118346"), "{failed}");
        if expected != "x" {
            assert_eq!(failed, expected, "{source}");
        }
    }
}

#[test]
fn what_is_no_template_is_told_with_its_place() {
    for (source, expected) in [
        (
            "a\n{{ b",
            "2:4: this is no template: unexpected end of input, expected end of variable block; close what is open, and write braces that are text as {{ \"{{\" }}",
        ),
        ("{% if x %}", ""),
        ("a {{ x | nubmer }}", "1:10: there is no filter `nubmer`; did you mean `number`?"),
        (
            "{% filter embolden %}x{% endfilter %}",
            "1:11: there is no filter `embolden`; the filters are in docs/templates.md",
        ),
        ("{{ x is weekend }}", "1:9: there is no test `weekend`; write a comparison, such as `== 1`"),
        ("{{ x is not definde }}", "1:13: there is no test `definde`; did you mean `defined`?"),
        (
            "{{ environ('x') }}",
            "1:4: there is no function `environ`; write a filter, such as `| number`, or a macro of your own",
        ),
        (
            "{{ namespace(a=1) }}",
            "1:4: there is no function `namespace`; write a filter, such as `| number`, or a macro of your own",
        ),
        (
            "\n{% include 'etc/passwd' %}",
            "2:4: `include` needs another file; write what is needed into this file; a template stands alone",
        ),
        (
            "{% extends 'a' %}",
            "1:4: `extends` needs another file; write what is needed into this file; a template stands alone",
        ),
    ] {
        let wrong = Template::compile("md", source).unwrap_err();
        let told = format!("{}:{}: {wrong}; {}", wrong.line, wrong.column, wrong.hint());
        if !expected.is_empty() {
            assert_eq!(told, expected, "{source}");
        }
    }
    let long = "x".repeat(256 * 1024 + 1);
    assert_eq!(Template::compile("md", &long).unwrap_err().to_string(), "too long for a template");
    assert!(Template::compile("md", &long[1..]).is_ok());
}

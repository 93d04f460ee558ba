//! Any data through a fixed set of templates: never a panic, never more text than the bound, JSON where JSON was promised, and
//! no sign of control in what is printed.
#![no_main]

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::format::ValueFormatter;
use mcp_attune::language::Tag;
use mcp_attune_shape::template::{MAX_OUTPUT, Template, TemplateContext};
use mcp_attune_wire::message::Message;

const FILTERS: &str = "number number(2) currency('CHF') percent percent(of=100) unit('kilometer') date date('full') time datetime \
    datetime(zone=true) relative plural('a','b') list list('or') t(default='x') t(n=b) link link(b) tojson join join(b) \
    replace('a','b') truncate(3) upper lower title capitalize trim split lines string length first last sort reverse unique \
    items dictsort min max sum abs round int float bool default('x') map('number') groupby('a') selectattr('a')";

const WHOLE: [&str; 7] = [
    "{{ data }}{% for x in data %}{{ x }}{% endfor %}",
    "{% for k, v in data | items %}{{ k }}: {{ v }}{% endfor %}",
    "{{ a == b }}{{ a < b }}{{ a in b }}{{ a ~ b }}{{ a and b }}{{ not a }}{{ a[0] }}{{ a[:2] }}{{ a[-1:] }}",
    "{{ a + b }}{{ a - b }}{{ a * 2 }}",
    "{{ a // b }}{{ a % b }}{{ a ** b }}",
    "{{ range(a) }}{{ range(0, a, b) }}",
    "{% macro m(x) %}{{ x }}{% for y in x %}{{ m(y) }}{% endfor %}{% endmacro %}{{ m(data) }}",
];

static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let each = FILTERS
        .split_whitespace()
        .flat_map(|filter| ["data", "a", "b.a"].map(|value| format!("{{{{ {value} | {filter} }}}}")));
    let sources: Vec<String> = each.chain(WHOLE.map(str::to_owned)).collect();
    let compiled = |kind| sources.iter().map(move |source| Template::compile(kind, source).unwrap());
    ["md", "txt", "json"].into_iter().flat_map(compiled).collect()
});

static VALUES: LazyLock<Vec<ValueFormatter>> = LazyLock::new(|| {
    let of = |(locale, zone)| {
        mcp_attune_format::english().for_locales([&Tag::parse(locale).unwrap()], TimeZone::get(zone).unwrap())
    };
    [
        ("en-US", "America/New_York"),
        ("de-CH", "Europe/Zurich"),
        ("ar-EG", "Africa/Cairo"),
        ("ja", "Asia/Tokyo"),
    ]
    .map(of)
    .into()
});

fuzz_target!(|input: (u8, i64, &[u8])| {
    let (locale, now, text) = input;
    let Ok(data) = Message::parse(text) else { return };
    let values = &VALUES[usize::from(locale) % VALUES.len()];
    let now = Timestamp::from_second(now).unwrap_or(Timestamp::MAX);
    let wanted = FeaturePreferences::read(["agent", "x-a=1"]);
    let scene = TemplateContext::new(data.body(), &wanted, values, now);
    for template in TEMPLATES.iter() {
        let Ok(printed) = template.render(&scene) else { continue };
        assert!(printed.len() <= MAX_OUTPUT);
        match template.variant().kind() {
            format if format.is_structured() => assert!(Message::parse(printed.as_bytes()).is_ok(), "{printed}"),
            // What is written as JSON has its controls in escapes, or above those that JSON escapes.
            _ if template.source().contains("tojson") => {}
            _ => assert!(
                !printed.contains(|char: char| char.is_control() && !"\n\t".contains(char)),
                "{printed:?}"
            ),
        }
    }
});

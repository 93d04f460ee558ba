//! Templates that would never end, and data of any kind: a rendering ends, in bounded memory, and never panics.

use std::sync::LazyLock;

use allocation_counter::measure;
use jiff::Timestamp;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::format::ValueFormatter;
use mcp_attune_shape::template::{
    MAX_DATA, MAX_OUTPUT, Template, TemplateContext, TemplateRenderReason, ToolHints,
};
use mcp_attune_wire::message::Message;
use proptest::prelude::*;
use serde_json::Value;

use super::template::{NOW, render, values};

static VALUES: LazyLock<ValueFormatter> = LazyLock::new(|| values("en", "UTC"));

/// What becomes of a rendering that must not take more memory than this, in MiB.
#[track_caller]
fn check(source: &str, data: &str, expected: &TemplateRenderReason, most: u64) {
    // What is made once for all renderings is not this one's.
    render("md", "{{ 1 | number }}", "{}", &[], &VALUES).unwrap();
    let mut failed = None;
    let used = measure(|| failed = Some(render("md", source, data, &[], &VALUES).unwrap_err()));
    assert_eq!(failed.unwrap().what, *expected, "{source}");
    assert!(used.bytes_max < most << 20, "{} bytes at once for {source}", used.bytes_max);
}

#[test]
fn a_loop_that_goes_on_is_stopped() {
    let loops = "{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}";
    check(
        &format!("{loops}{{% endfor %}}{{% endfor %}}{{% endfor %}}"),
        "{}",
        &TemplateRenderReason::TooManySteps,
        1,
    );
    let list = format!("[{}]", vec!["1"; 1000].join(","));
    let source = "{% for a in data %}{% for b in data %}{% if a == b %}{% endif %}{% endfor %}{% endfor %}";
    check(source, &list, &TemplateRenderReason::TooManySteps, 1);
}

#[test]
fn text_that_goes_on_is_stopped() {
    let kilobyte = "x".repeat(1024);
    let body = format!("{{% for a in range(100000) %}}{kilobyte}{{% endfor %}}");
    check(&body, "{}", &TemplateRenderReason::TooLong, 20);
    check(
        &format!("{{% set x %}}{body}{{% endset %}}{{{{ x }}}}"),
        "{}",
        &TemplateRenderReason::TooManySteps,
        200,
    );
    check(
        &format!("{{% macro m() %}}{body}{{% endmacro %}}{{% set x = m() %}}"),
        "{}",
        &TemplateRenderReason::TooManySteps,
        200,
    );
    let data = format!(r#"{{"x":"{}","list":[{}]}}"#, "y".repeat(100_000), vec!["1"; 10_000].join(","));
    check("{% for a in list %}{{ x }}{% endfor %}", &data, &TemplateRenderReason::TooLong, 20);
    check(
        "{% set all %}{% for a in list %}{{ x }}{% endfor %}{% endset %}",
        &data,
        &TemplateRenderReason::TooLong,
        60,
    );
    check("{{ list | join(x) }}", &data, &TemplateRenderReason::TooLong, 20);
    check("{{ x | replace('y', x) }}", &data, &TemplateRenderReason::TooLong, 20);
    // minijinja bounds repetition itself, at a hundred megabytes.
    check(
        "{{ 'x' * 1000000000 }}",
        "{}",
        &TemplateRenderReason::Impossible("'x' * 1000000000".to_owned()),
        1,
    );
    check("{{ 'x' * 90000000 }}", "{}", &TemplateRenderReason::TooLong, 300);
    check(
        "{{ range(1000000000) }}",
        "{}",
        &TemplateRenderReason::Impossible("range(1000000000)".to_owned()),
        1,
    );
}

#[test]
fn data_that_is_too_much_is_not_looked_at_and_what_is_given_takes_bounded_memory() {
    let list = |bytes: usize| format!("[{}[]]", "[],".repeat(bytes / 3 - 1));
    check("{{ 1 }}", &list(MAX_DATA + 3), &TemplateRenderReason::TooMuchData, 1);
    check("{{ typo }}", &list(MAX_DATA - 8), &TemplateRenderReason::NoValue("typo".to_owned()), 100);
}

#[test]
fn macros_that_call_themselves_are_stopped() {
    check("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}", &TemplateRenderReason::TooDeep, 2);
    let tree = format!("{}{}", r#"{"c":["#.repeat(60), "]}".repeat(60));
    let source = "{% for a in [data] recursive %}.{{ loop(a.c) }}{% endfor %}";
    // So deep is fine: a tree is a result like any other.
    assert_eq!(render("md", source, &tree, &[], &VALUES).unwrap().len(), 60);
    check("{% for a in [1] recursive %}{{ loop([a]) }}{% endfor %}", "{}", &TemplateRenderReason::TooDeep, 2);
}

#[test]
fn nothing_is_remembered_from_one_rendering_to_the_next() {
    let template = Template::compile("md", "{% set x = n %}{{ x }}").unwrap();
    let wanted = FeaturePreferences::default();
    for n in ["1", "2", "1"] {
        let text = format!(r#"{{"n":{n}}}"#);
        let data = Message::parse(text.as_bytes()).unwrap();
        let scene = TemplateContext::new(data.body(), &wanted, &VALUES, Timestamp::UNIX_EPOCH);
        assert_eq!(template.render(&scene).unwrap(), n);
    }
}

/// Every filter on every member, wherever there is one.
static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let filters = "number number(2) currency('CHF') percent percent(of=100) unit('kilometer') date date('full') time \
         datetime datetime(zone=true) relative plural('a','b') list list('or') t(default='x') t(n=a) link link(a) raw tojson \
         join join(a) replace('a','b') truncate(3) upper lower title capitalize trim split lines string length first last \
         sort reverse unique items dictsort min max sum abs round int float bool default('x') map('number')";
    let each = filters.split_whitespace().flat_map(|filter| {
        let source = |value: &str| format!("{{{{ {value} | {filter} }}}}");
        [source("data"), source("a"), source("data.b.a")]
    });
    let whole = [
        "{{ data }}{{ a }}{{ b.a }}{% for x in data %}{{ x }}{% endfor %}{{ arguments }}",
        "{% for k, v in data | items %}{{ k }}: {{ v }}{% endfor %}",
        "{{ a == b }}{{ a < b }}{{ a in b }}{{ a ~ b }}{{ a and b }}{{ not a }}{{ a[0] }}{{ a[:2] }}{{ a is none }}",
        "{{ a + b }}",
        "{{ a * 2 }}",
        "{{ a // b }}{{ a % b }}",
        "{{ a[1:] }}{{ a[-1:] }}{{ a[:-1] }}",
        "{{ range(a) }}{{ range(0, a, b) }}",
        "{{ a | round(b) }}",
        "{{ a ** b }}",
        "{{ a - b }}{{ -a }}",
        "{{ data | tojson }}",
    ];
    let sources: Vec<String> = each.chain(whole.map(str::to_owned)).collect();
    let compile = |(source, kind): (&String, &str)| Template::compile(kind, source).unwrap();
    ["md", "txt", "json"]
        .iter()
        .flat_map(|kind| sources.iter().map(move |source| compile((source, kind))))
        .collect()
});

fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        "[-+]?[0-9]{1,40}(\\.[0-9]{1,20})?(e[-+]?[0-9]{1,3})?",
        "-?[0-9]{1,6}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[+-][0-9]{2}:[0-9]{2})?)?",
        "(https?|javascript|mailto):[ -~]{0,20}",
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from)
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text.prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let name = prop_oneof![Just("a".to_owned()), Just("b".to_owned()), any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn numbers_at_the_edge_are_rendered_or_fail() {
    let numbers = [
        "0",
        "-0",
        "0.0",
        "-9223372036854775808",
        "9223372036854775807",
        "18446744073709551615",
        "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105728",
        "1e308",
        "-1e308",
        "5e-324",
        "1e-400",
        "1e400",
        "253402300799",
        "-377705116800",
        "1e18",
        "-1",
        "\"\"",
        "[]",
        "\"9999-12-31T23:59:59Z\"",
        "\"-009999-01-01T00:00:00Z\"",
        "\"9999-12-31\"",
        "\"-009999-01-01\"",
    ];
    let wanted = FeaturePreferences::default();
    let check = |text: &str, now: Timestamp| {
        let data = Message::parse(text.as_bytes()).unwrap();
        let scene = TemplateContext::new(data.body(), &wanted, &VALUES, now);
        for template in TEMPLATES.iter().take(TEMPLATES.len() / 3) {
            let _ = template.render(&scene);
        }
    };
    for (at, a) in numbers.iter().enumerate() {
        for now in [NOW.parse().unwrap(), Timestamp::MIN, Timestamp::MAX] {
            check(&format!(r#"{{"a":{a},"b":{{"a":{a}}}}}"#), now);
        }
        for b in numbers.iter().skip(at % 4).step_by(4) {
            check(&format!(r#"{{"a":{a},"b":{b}}}"#), NOW.parse().unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_data_is_rendered_or_fails_and_what_is_rendered_is_bounded(data in any_value()) {
        let text = data.to_string();
        let data = Message::parse(text.as_bytes()).unwrap();
        let wanted = FeaturePreferences::read(["agent", "x-a=1"]);
        let scene = TemplateContext::new(data.body(), &wanted, &VALUES, NOW.parse().unwrap());
        for template in TEMPLATES.iter() {
            match template.render(&scene) {
                Ok(printed) => prop_assert!(printed.len() <= MAX_OUTPUT),
                Err(failed) => prop_assert!(!failed.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn any_text_is_a_template_or_is_told(source in any::<String>(), words in prop::collection::vec(
        prop::sample::select(&["{{", "}}", "{%", "%}", "{#", "#}", "for", "in", "if", "a", "b.c", "set", "=", "endfor", "endif",
            "raw", "endraw", "macro", "(", ")", "|", "number", "'", "\"", "[", "]", "0", "\n", " ", "-", "\\", "é", "{", "}"][..]), 0..40)) {
        for source in [source, words.join(" "), words.concat()] {
            if let Ok(template) = Template::compile("md", &source) {
                let _ = template.check(None);
            }
            let _ = ToolHints::compile(&source);
        }
    }
}

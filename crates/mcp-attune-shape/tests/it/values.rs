//! Values inside data: translated where people read them, and nowhere else.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::catalog::{
    CompiledLocale, LocaleChain, LocaleFileDraft, ParsedLocaleFile, PseudoLocale, coverage, lint,
    lint_with_relatives, mark_stale, pseudo_localize,
};
use mcp_attune::features::FeaturePreferences;
use mcp_attune::shaping::ShapeRequest;
use mcp_attune_shape::template::{Template, TemplateSet, ToolHints};
use mcp_attune_shape::{
    CompiledSchema, OperatorContent, ResultSchema, ShapePlan, ShapedMessage, ToolShaping,
};
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

use crate::shape::{Case, tag};

const GERMAN: &str = r#"{"tools":{"w":{"title":"Wetter UV-Index","output":{
    "wind":{"title":"Wind","values":{"northwest":"Nordwest","{n} days late":"{ $n ->\n [one] einen Tag\n *[other] { $n } Tage\n} zu spät"}},
    "days[].sky":{"values":{"Sunny":"Sonnig","Cloudy":"Bewölkt"}},
    "tags[]":{"values":{"new":"neu","old":"alt"}},
    "place.kind":{"values":{"city":"Stadt"}},
    "uv_index":{"title":"UV-Index"},
    "$defs.State":{"values":{"open":"offen"}},
    "by_day.*":{"values":{"Sunny":"Sonne"}},
    "note":{"values":{"Two\nlines":"Eine Zeile","*odd*":"*seltsam*"}}
}}}}"#;

const DATA: &str = r#"{"wind":"northwest","city":"northwest","days":[{"day":"2026-11-15","sky":"Sunny"},{"day":"2026-11-16","sky":"Cloudy"}],
    "tags":["new","old","odd"],"place":{"kind":"city","name":"city"},"state":"open","by_day":{"monday":"Sunny"},"note":"Two\nlines"}"#;

const SCHEMA: &str = r##"{"properties":{"wind":{"type":"string"},"days":{"items":{"properties":{"sky":{"type":"string"}}}},
    "state":{"anyOf":[{"$ref":"#/$defs/State"},{"type":"null"}]},"by_day":{"additionalProperties":{"type":"string"}}},
    "$defs":{"State":{"enum":["open"]}}}"##;

fn chain() -> LocaleChain {
    let (locale, findings) = CompiledLocale::read(tag("de"), GERMAN.as_bytes()).unwrap();
    assert_eq!(findings, []);
    let formatters = mcp_attune_format::formatters(&tag("de"));
    let values = formatters.for_locales([], TimeZone::UTC);
    LocaleChain::new(&tag("de"), [Arc::new(locale)], &formatters, values)
}

/// The answer to a call of `w`, whose operator wrote these templates.
fn shaped(tags: &[&str], templates: &[(&str, &str)], hints: &str, data: &str) -> Option<ShapedMessage> {
    shaped_by(SCHEMA, tags, templates, hints, data)
}

fn shaped_by(
    schema: &str,
    tags: &[&str],
    templates: &[(&str, &str)],
    hints: &str,
    data: &str,
) -> Option<ShapedMessage> {
    let templates = templates.iter().map(|(name, source)| Template::compile(name, source).unwrap());
    let hints = (!hints.is_empty()).then(|| Arc::new(ToolHints::compile(hints).unwrap()));
    let tool =
        ToolShaping { templates: Arc::new(TemplateSet::new(templates)), hints, ..ToolShaping::default() };
    let mut content = OperatorContent::default();
    content.tools.insert("w".to_owned(), tool);
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "w"}}).to_string();
    let request = ShapeRequest::of(&Message::parse(request.as_bytes()).unwrap(), true, &content);
    let values = || mcp_attune_format::formatters(&tag("de")).for_locales([], TimeZone::UTC);
    let wanted = FeaturePreferences::read(tags.iter().copied());
    let shape = ShapePlan::new(request, wanted, Arc::new(content), values, Timestamp::UNIX_EPOCH)?;
    let shape = shape.with_schema(ResultSchema::Known(Arc::new(CompiledSchema::read(schema).unwrap())));
    let answer = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"x"}}],"structuredContent":{data}}}}}"#
    );
    shape.adapt(answer.as_bytes(), Some(&chain()))
}

fn text(tags: &[&str], templates: &[(&str, &str)], data: &str) -> String {
    let shaped = shaped(tags, templates, "", data).unwrap();
    assert_eq!(shaped.faults, []);
    let message: Value = serde_json::from_str(&shaped.text).unwrap();
    message["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn text_for_people_has_the_values_of_their_language_at_every_depth() {
    let expected = "\
- **Wind:** Nordwest
- **City:** northwest
- **Tags:** neu, alt, odd
- **State:** offen
- **Note:** Eine Zeile

## Days

| Day | Sky |
|---|---|
| 15.11.2026 | Sonnig |
| 16.11.2026 | Bewölkt |

## Place

- **Kind:** Stadt
- **Name:** city

## By day

- **Monday:** Sonne";
    assert_eq!(text(&["format=markdown"], &[], DATA), expected);
    assert!(text(&["format=text"], &[], DATA).contains("Sonnig"));
    assert!(shaped(&["format=text"], &[], "", r#"{"wind":"northwest"}"#).unwrap().translated);
}

#[test]
fn a_heading_is_the_title_of_the_tool_in_the_callers_language() {
    for (schema, expected) in [
        (r#"{"title":"OrdersOutput"}"#, "# Wetter UV-Index\\n\\n- **Wind:** Nordwest"),
        ("{}", "\"text\":\"- **Wind:** Nordwest"),
    ] {
        let text = shaped_by(schema, &["format=markdown"], &[], "", r#"{"wind":"northwest"}"#).unwrap().text;
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn a_title_of_a_locale_file_is_used_also_where_it_is_like_the_name() {
    assert_eq!(text(&["format=markdown"], &[], r#"{"uv_index":3}"#), "- **UV-Index:** 3");
}

#[test]
fn a_value_with_variable_parts_is_recognized_and_written_for_the_reader() {
    for (value, expected) in [
        ("1 days late", "einen Tag zu spät"),
        ("1,200 days late", "1.200 Tage zu spät"),
        ("days late", "days late"),
    ] {
        let data = json!({ "wind": value }).to_string();
        assert_eq!(text(&["format=markdown"], &[], &data), format!("- **Wind:** {expected}"));
    }
}

#[test]
fn structured_content_is_what_the_server_wrote() {
    let message = shaped(&["format=json"], &[], "", DATA).unwrap().text;
    let message: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(message["result"]["structuredContent"], serde_json::from_str::<Value>(DATA).unwrap());
    // Nor does a template that gives other structured content translate.
    let source = r#"{"wind": {{ wind }}, "tags": {{ tags | join(" ") }}}"#;
    let message = shaped(&["format=json"], &[("json", source)], "", DATA).unwrap().text;
    let message: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(message["result"]["structuredContent"], json!({"wind": "northwest", "tags": "new old odd"}));
}

#[test]
fn hints_for_models_say_what_the_data_say() {
    let shaped = shaped(&["sampling"], &[], "The wind is {{ wind }}", DATA).unwrap().text;
    assert!(shaped.contains("The wind is northwest"), "{shaped}");
}

#[test]
fn a_template_prints_what_people_read_and_compares_what_the_server_wrote() {
    #[track_caller]
    fn check(source: &str, expected: &str) {
        assert_eq!(text(&["format=text"], &[("txt", source)], DATA), expected, "{source}");
    }
    check("{{ wind }} {{ city }}", "Nordwest northwest");
    check("{% if wind == 'northwest' %}{{ data.wind }}{% endif %}", "Nordwest");
    check("{% for day in days %}{{ day.sky }} {% endfor %}", "Sonnig Bewölkt");
    check("{{ tags | join(', ') }}; {{ tags | list }}", "neu, alt, odd; neu, alt und odd");
    check(
        "{% set it = place.kind %}{{ it }} {{ days | map(attribute='sky') | join('/') }}",
        "Stadt Sonnig/Bewölkt",
    );
    check("{% macro m(x) %}[{{ x }}]{% endmacro %}{{ m(state) }}", "[offen]");
    check("{{ wind | truncate(4) }} {{ wind | truncate(20) }}", "Nor… Nordwest");
    // Other filters see what the server wrote, unless they are told otherwise.
    check("{{ wind | upper }} {{ wind | translated | upper }}", "NORTHWEST NORDWEST");
    check("{{ wind ~ '!' }} {{ (wind | translated) ~ '!' }}", "northwest! Nordwest!");
    check("{{ 5 | translated }} {{ city | translated }}", "5 northwest");
}

#[test]
fn a_translated_value_is_text_and_no_markup() {
    let data = r#"{"note":"*odd*"}"#;
    assert_eq!(text(&["format=markdown"], &[], data), "- **Note:** \\*seltsam\\*");
    assert_eq!(text(&["format=markdown"], &[("md", "{{ note }}")], data), "\\*seltsam\\*");
}

fn sheet(file: &str) -> ParsedLocaleFile {
    ParsedLocaleFile::read(file.as_bytes()).unwrap().0
}

/// A file with these values of the field `wind` of the tool `w`.
fn wind(values: &str) -> String {
    format!(r#"{{"tools":{{"w":{{"title":"W","output":{{"wind":{{"values":{{{values}}}}}}}}}}}}}"#)
}

#[test]
fn a_value_that_cannot_be_used_is_told_and_the_others_are_used() {
    let file = wind(r#""a":"{ $n }","{n} b":"{ $n","c":"","d":7,"e":"E""#);
    let (locale, findings) = CompiledLocale::read(tag("de"), file.as_bytes()).unwrap();
    let told: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told.iter().any(|it| it.starts_with("tools.w.output.wind.values.d: not text")), "{told:?}");
    assert!(told.iter().any(|it| it.starts_with("tools.w.output.wind.values.a: ")), "{told:?}");
    let formatters = mcp_attune_format::formatters(&tag("de"));
    let chain = LocaleChain::new(
        &tag("de"),
        [Arc::new(locale)],
        &formatters,
        formatters.for_locales([], TimeZone::UTC),
    );
    assert_eq!(chain.translate_value("w", "wind", "e").as_deref(), Some("E"));
    assert_eq!(chain.translate_value("w", "wind", "a"), None);
    // Only output has values.
    let (_, findings) =
        ParsedLocaleFile::read(br#"{"tools":{"w":{"arguments":{"a":{"values":{"x":"y"}}}}}}"#).unwrap();
    assert_eq!(findings[0].to_string(), "tools.w.arguments.a.values: there is no such key here");
}

#[test]
fn values_are_looked_for_in_relatives_too() {
    let read = |name, values| Arc::new(CompiledLocale::read(tag(name), wind(values).as_bytes()).unwrap().0);
    let formatters = mcp_attune_format::formatters(&tag("de"));
    let locales = [read("de-CH", r#""a":"Schweiz""#), read("de", r#""a":"Deutsch","b":"auch""#)];
    let chain =
        LocaleChain::new(&tag("de-CH"), locales, &formatters, formatters.for_locales([], TimeZone::UTC));
    assert_eq!(chain.translate_value("w", "wind", "a").as_deref(), Some("Schweiz"));
    assert_eq!(chain.translate_value("w", "wind", "b").as_deref(), Some("auch"));
}

#[test]
fn status_counts_values_and_lint_knows_them() {
    let default = sheet(&wind(
        r#""north":"north","south":"south","{n} knots":"{ $n } knots","partly_cloudy":"partly_cloudy""#,
    ));
    let german =
        sheet(&wind(r#""north":"Nord","Süd":"Süd","{n} knots":"Knoten","partly_cloudy":"Teils bewölkt""#));
    let found = coverage(&default, &german);
    assert_eq!((found.total, found.missing.len(), found.surplus.len()), (5, 1, 1));
    let told = |remarks: Vec<mcp_attune::catalog::TranslationFinding>| -> Vec<String> {
        remarks.iter().map(|it| format!("{} [{}]", it, it.what.kind())).collect()
    };
    assert_eq!(
        told(lint(&tag("de"), &german, Some(&default))),
        [
            "tools.w.output.wind.values.south: `south` is not translated, and other values of this field are [missing-value]",
            "tools.w.output.wind.values[\"Süd\"]: the default language has no value `Süd` of this field [unknown-value]",
            "tools.w.output.wind.values[\"{n} knots\"]: the variable $n is lost [lost-variable]",
        ]
    );
    // A file that translates no value of a field has simply not come so far, and a relative lends what it has.
    assert_eq!(lint(&tag("de"), &sheet(r#"{"tools":{"w":{"title":"Wind"}}}"#), Some(&default)), []);
    let swiss = sheet(&wind(r#""north":"Nord""#));
    let lent = sheet(&wind(r#""south":"Süd","{n} knots":"{ $n } Knoten","partly_cloudy":"Bewölkt""#));
    assert_eq!(lint_with_relatives(&tag("de-CH"), &swiss, Some(&default), &[&lent]), []);
    assert_eq!(lint(&tag("de-CH"), &swiss, Some(&default)).len(), 3);
}

#[test]
fn plural_forms_of_values_are_looked_at() {
    let file = wind(r#""{n} days":"{ $n ->\n [few] y\n *[other] { $n } Tage\n}""#);
    let remarks = lint(&tag("de"), &sheet(&file), None);
    let kinds: Vec<_> = remarks.iter().map(|remark| remark.what.kind()).collect();
    assert_eq!(kinds, ["unknown-form", "missing-form"]);
}

#[test]
fn values_that_were_collected_stay_while_their_tool_does() {
    let mut draft = LocaleFileDraft::default();
    assert!(draft.add_value("w", "wind", "north"));
    assert!(draft.add_value("w", "wind", "{odd}"));
    for no_word in ["", " north", "12", "a\nb", &"x".repeat(201)] {
        assert!(!draft.add_value("w", "wind", no_word), "{no_word}");
    }
    let first = draft.write();
    assert_eq!(CompiledLocale::read(tag("en"), first.as_bytes()).unwrap().1, []);
    // Somebody writes it better for readers of English, and a call finds another.
    let edited = first.replace(r#""north": "north""#, r#""north": "North""#);
    let mut again = LocaleFileDraft::default().with_existing(edited.as_bytes()).unwrap();
    again.add_value("w", "wind", "north");
    again.add_value("w", "wind", "south");
    let second = again.write();
    assert!(second.contains(r#""north": "North""#) && second.contains(r#""south": "south""#), "{second}");
    assert!(second.contains(r#""{{odd}}""#), "{second}");
    // Without the tool there is nothing to keep.
    assert_eq!(LocaleFileDraft::default().with_existing(second.as_bytes()).unwrap().write(), "{}\n");
    // A mark has no place among values.
    assert_eq!(mark_stale(&second, &sheet(&first), &sheet(&edited)), second);
}

#[test]
fn a_pseudo_translation_has_values_that_nothing_is_wrong_with() {
    let default = sheet(&wind(r#""north":"north","{n} knots":"{ $n } knots""#));
    let made = pseudo_localize(&default, PseudoLocale::Accented);
    assert!(made.contains(r#""north": "⟦ñööŕţĥ⟧""#) && made.contains("{ $n }"), "{made}");
    assert_eq!(lint(&tag("en-XA"), &sheet(&made), Some(&default)), []);
}

/// How numbers are written follows the reader's locale; words follow the language of the page.
#[test]
fn a_page_says_its_own_words_in_the_language_that_was_chosen() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"open":true,"price":1234.5}}}"#;
    let shape = Case::call("t").shape(&["format=text"]).unwrap();
    let formatters = mcp_attune_format::formatters(&tag("en"));
    for (language, yes) in [("fr", "oui"), ("en", "yes"), ("de", "ja")] {
        let chain =
            LocaleChain::new(&tag(language), [], &formatters, formatters.for_locales([], TimeZone::UTC));
        let page = shape.adapt(answer.as_bytes(), Some(&chain)).unwrap().text;
        assert!(page.contains(yes) && page.contains(r"Price: 1'234.5"), "{language}: {page}");
    }
    // Where no language was chosen, the locale is all that is known of the reader.
    assert!(shape.adapt(answer.as_bytes(), None).unwrap().text.contains("ja"));
}

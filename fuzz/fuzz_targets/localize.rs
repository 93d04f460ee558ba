//! A locale file and a message: never a panic, what is adapted stays JSON, and nothing outside of text and the report
//! changes.
//!
//! The input is the method of the request, the file and the message, with a line `--` between each.
#![no_main]

use std::sync::{Arc, LazyLock};

use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;
use mcp_attune::catalog::{CompiledLocale, LocaleChain, ParsedLocaleFile, coverage, mark_stale};
use mcp_attune::format::Formatters;
use mcp_attune::language::Tag;
use mcp_attune::localize::{LocalizeOptions, RequestSubject, TranslationScope, adapt};
use serde_json::Value;

static TAGS: LazyLock<[Tag; 2]> = LazyLock::new(|| ["en", "de"].map(|tag| Tag::parse(tag).unwrap()));
static FORMATTERS: LazyLock<Formatters> = LazyLock::new(|| mcp_attune_format::formatters(&TAGS[0]));

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, "\n--\n");
    let (Some(method), Some(file), Some(message)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    let [en, de] = &*TAGS;
    let Ok((locale, findings)) = CompiledLocale::read(de.clone(), file.as_bytes()) else { return };
    for finding in &findings {
        assert!(!finding.to_string().is_empty() && finding.position(file.as_bytes()).0 > 0);
    }
    let (sheet, _) = ParsedLocaleFile::read(file.as_bytes()).unwrap();
    assert!(coverage(&sheet, &sheet).missing.is_empty());
    assert_eq!(mark_stale(file, &sheet, &sheet), file);
    let chain =
        LocaleChain::new(de, [Arc::new(locale)], &FORMATTERS, FORMATTERS.for_locales([de], TimeZone::UTC));
    let asked = RequestSubject::new(method);
    let translate = TranslationScope { display: true, model: true, logs: true };
    let how =
        LocalizeOptions { asked: &asked, chain: Some(&chain), translate, default: Some(en), spoken: None };
    let adapted = adapt(message.as_bytes(), &how);
    let Ok(before) = serde_json::from_str::<Value>(message) else {
        // Half a surrogate pair, which serde_json does not read, and Attune lets pass.
        return;
    };
    let mut after: Value = serde_json::from_slice(&adapted.text).expect("what is adapted stays JSON");
    compare(&before, &mut after, "");
});

/// Everything that differs is text in a place that is called so, or the report.
fn compare(before: &Value, after: &mut Value, name: &str) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            after.retain(|name, _| {
                before.contains_key(name)
                    || matches!(name.as_str(), "title" | "_meta" | "data")
                    || name == "io.modelcontextprotocol/contentLanguage"
            });
            for (name, value) in before {
                compare(value, after.get_mut(name).expect("nothing is taken out"), name);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            assert_eq!(before.len(), after.len());
            before.iter().zip(after).for_each(|(before, after)| compare(before, after, name));
        }
        (Value::String(_), Value::String(_))
            if matches!(
                name,
                "title" | "description" | "message" | "text" | "instructions" | "enumNames"
            ) => {}
        (before, after) => assert_eq!(before, after, "{name}"),
    }
}

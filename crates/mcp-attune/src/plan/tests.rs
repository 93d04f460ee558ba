//! What a plan makes of requests and answers.

use super::*;
use crate::context::{ClientContextField, ContextForwarding};
use crate::language::Languages;
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;

fn plan(preference: Option<&str>, languages: Option<Languages>) -> Plan {
    let meta =
        preference.map(|value| format!("\"{}\":\"{value}\"", meta::ACCEPT_LANGUAGE)).unwrap_or_default();
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
    let policy = HeaderPolicy::default();
    let message = Message::parse(body.as_bytes()).unwrap();
    let HeaderAgreement::Done(agreed) = agree::begin(&MirroredHeaders::default(), message, &policy).unwrap()
    else {
        panic!()
    };
    negotiate(&Caller::read(&agreed), &Offer { languages, ..Offer::default() })
}

fn english() -> Option<Languages> {
    Some(Languages::new("en", []).unwrap())
}

fn check(plan: &Plan, message: &str, expected: &str, language: Option<&str>) {
    let adapted = plan.adapt(message.as_bytes());
    assert_eq!(String::from_utf8_lossy(&adapted.text), expected);
    assert_eq!(adapted.content_language.as_deref(), language, "{message}");
    assert_eq!(matches!(adapted.text, Cow::Borrowed(_)), message == expected);
}

#[test]
fn reports_the_language_of_a_result_and_changes_nothing_else() {
    let plan = plan(Some("de, en;q=0.5"), english());
    let key = "\"io.modelcontextprotocol/contentLanguage\":\"en\"";
    for (result, expected) in [
        ("{}", format!("{{\"_meta\":{{{key}}}}}")),
        ("{ \"a\" : 1.0 }", format!("{{\"_meta\":{{{key}}}, \"a\" : 1.0 }}")),
        ("{\"_meta\":{}}", format!("{{\"_meta\":{{{key}}}}}")),
        ("{\"_meta\": {\"x\":1}, \"z\":[]}", format!("{{\"_meta\": {{{key},\"x\":1}}, \"z\":[]}}")),
    ] {
        let answer = |result: &str| format!("{{\"jsonrpc\":\"2.0\", \"id\":1,\n\"result\":{result}}}");
        check(&plan, &answer(result), &answer(&expected), Some("en"));
    }
}

#[test]
fn leaves_alone_what_reports_a_language_already() {
    let plan = plan(Some("de"), english());
    let key = "\"io.modelcontextprotocol/contentLanguage\":\"de-CH\"";
    let result = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"_meta\":{{{key}}}}}}}");
    check(&plan, &result, &result, Some("de-CH"));
    let error =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":1,\"data\":{{\"_meta\":{{{key}}}}}}}}}");
    check(&plan, &error, &error, Some("de-CH"));
}

#[test]
fn leaves_alone_what_is_no_result() {
    let plan = plan(Some("de"), english());
    for message in [
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":null}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/contentLanguage":7}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        "not json",
        "",
    ] {
        check(&plan, message, message, None);
    }
}

#[test]
fn claims_nothing_without_a_preference_or_without_a_language_of_its_own() {
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (preference, languages, varies) in [
        (None, english(), true),
        (Some("de;q=2"), english(), true),
        (Some(""), english(), true),
        (Some("de"), None, false),
    ] {
        let plan = plan(preference, languages);
        check(&plan, message, message, None);
        assert_eq!((plan.may_edit(), plan.depends_on_language()), (false, varies), "{preference:?}");
    }
}

#[test]
fn the_context_beside_params_does_not_go_on() {
    let plan = plan(None, None);
    let bare = r#"{"jsonrpc":"2.0","id":1, "method":"tools/call"}"#;
    let told = bare.replace(" \"method", r#""clientContext":{"timezone":"Europe/Zurich"}, "method"#);
    for (message, onward) in [(told.as_str(), bare), (bare, bare)] {
        assert_eq!(plan.forward(&Message::parse(message.as_bytes()).unwrap()), onward);
    }
}

fn onward(fields: &[ClientContextField], placement: ContextPlacement, body: &str) -> String {
    let message = Message::parse(body.as_bytes()).unwrap();
    let agreed = agree::check_without_headers(message, &HeaderPolicy::default()).unwrap();
    let forward = ContextForwarding { fields: fields.to_vec(), placement, ..ContextForwarding::default() };
    let plan = negotiate(&Caller::read(&agreed), &Offer { forward, ..Offer::default() });
    let onward = plan.forward(agreed.message()).into_owned();
    Message::parse(onward.as_bytes()).unwrap();
    onward
}

const ZONE: &str = r#"{"timezone":"Europe/Zurich"}"#;
const BOTH: &str = r#"{"timezone":"Europe/Zurich", "locale":"de"}"#;

/// A request with a context beside `params`, in `_meta`, or without; white space where it might get lost.
fn asked(beside: &str, in_meta: &str) -> String {
    let beside = if beside.is_empty() { String::new() } else { format!("\"clientContext\": {beside},") };
    let key = "\"io.modelcontextprotocol/clientContext\"";
    let in_meta = if in_meta.is_empty() { String::new() } else { format!("{key}:{in_meta},") };
    format!(
        "{{{beside} \"jsonrpc\":\"2.0\",\"id\":1, \"method\":\"x\",\"params\":{{\"_meta\":{{{in_meta}\"a\":1 }}}}}}"
    )
}

#[test]
fn a_context_in_meta_does_not_go_on_either() {
    for (beside, in_meta) in [(BOTH, BOTH), ("", BOTH), ("7", "[]"), ("", "")] {
        assert_eq!(
            onward(&[], ContextPlacement::Meta, &asked(beside, in_meta)),
            asked("", ""),
            "{beside} {in_meta}"
        );
    }
}

#[test]
fn what_is_allowed_goes_on_in_meta() {
    for (beside, in_meta) in [(BOTH, BOTH), ("", BOTH), (BOTH, ""), (BOTH, "7")] {
        let sent = onward(&[ClientContextField::Timezone], ContextPlacement::Meta, &asked(beside, in_meta));
        assert_eq!(sent, asked("", ZONE), "{beside} {in_meta}");
    }
    let params = |params: &str, first: &str| {
        format!(r#"{{{first}"jsonrpc":"2.0","id":1,"method":"x"{params},"clientContext":{BOTH}}}"#)
    };
    let key = "\"io.modelcontextprotocol/clientContext\"";
    let gone = format!(",\"clientContext\":{BOTH}");
    for (before, after, first) in [
        (",\"params\":{}", format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}}}}"), String::new()),
        (
            ",\"params\":{\"b\":2}",
            format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}},\"b\":2}}"),
            String::new(),
        ),
        (",\"params\":{\"_meta\":{}}", format!(",\"params\":{{\"_meta\":{{{key}:{ZONE}}}}}"), String::new()),
        ("", String::new(), format!("\"params\":{{\"_meta\":{{{key}:{ZONE}}}}},")),
        // No room for it.
        (",\"params\":[]", ",\"params\":[]".to_owned(), String::new()),
        (",\"params\":{\"_meta\":7}", ",\"params\":{\"_meta\":7}".to_owned(), String::new()),
    ] {
        let sent = onward(&[ClientContextField::Timezone], ContextPlacement::Meta, &params(before, ""));
        assert_eq!(sent, params(&after, &first).replace(&gone, ""));
    }
}

#[test]
fn what_is_allowed_goes_on_beside_params() {
    for (beside, in_meta) in [(BOTH, BOTH), (BOTH, "")] {
        let sent = onward(&[ClientContextField::Timezone], ContextPlacement::Beside, &asked(beside, in_meta));
        assert_eq!(sent, asked(ZONE, ""), "{beside} {in_meta}");
    }
    let sent = onward(&[ClientContextField::Timezone], ContextPlacement::Beside, &asked("", BOTH));
    assert_eq!(sent, asked(ZONE, "").replace(": {", ":{"));
}

#[test]
fn debug_of_a_plan_shows_nothing_of_the_context() {
    let body = asked(BOTH, "");
    let agreed =
        agree::check_without_headers(Message::parse(body.as_bytes()).unwrap(), &HeaderPolicy::default())
            .unwrap();
    let forward =
        ContextForwarding { fields: vec![ClientContextField::Timezone], ..ContextForwarding::default() };
    let plan = negotiate(&Caller::read(&agreed), &Offer { forward, ..Offer::default() });
    assert!(plan.onward.as_ref().is_some_and(|(_, context)| context.contains("Zurich")));
    assert!(!format!("{plan:?}").contains("Zurich"));
}

#[test]
fn says_what_was_chosen_and_why() {
    let languages = Languages::new("en", ["de-CH"]).unwrap();
    let plan = plan(Some("de"), Some(languages));
    let (tag, why) = plan.chosen_language().unwrap();
    assert_eq!((tag.as_str(), why), ("de-CH", Why::Covered));
}

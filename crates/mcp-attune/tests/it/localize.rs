//! Messages in their caller's language: every field of every method, in the shapes of both eras.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::tz::TimeZone;
use mcp_attune::catalog::{CompiledLocale, LocaleChain, LocaleIndex};
use mcp_attune::language::Tag;
use mcp_attune::localize::{LocalizeOptions, RequestSubject, TranslationScope, adapt, visit_named_texts};
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

pub(crate) const KEY: &str = "io.modelcontextprotocol/contentLanguage";
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

pub(crate) fn tag(text: &str) -> Tag {
    Tag::parse(text).unwrap()
}

/// A chain of these files, the first of which is the chosen language.
pub(crate) fn chain(files: &[(&str, Value)]) -> LocaleChain {
    let locale = |(name, file): &(&str, Value)| {
        let (locale, findings) = CompiledLocale::read(tag(name), file.to_string().as_bytes()).unwrap();
        assert_eq!(findings, []);
        Arc::new(locale)
    };
    let (formatters, chosen) = (mcp_attune_format::formatters(&tag("en")), tag(files[0].0));
    let values = formatters.for_locales([&chosen], TimeZone::UTC);
    LocaleChain::new(&chosen, files.iter().map(locale), &formatters, values)
}

fn german() -> Value {
    json!({
        "server": {"title": "Wetterdienst", "description": "Wetter", "instructions": "Frag nach dem Wetter."},
        "tools": {"get_weather": {
            "title": "Aktuelles Wetter",
            "description": "Sagt das Wetter.",
            "invoking": "Wetter wird geholt …",
            "invoked": "Wetter geholt",
            "arguments": {"location": {"title": "Ort", "description": "Wo"}, "days[].name": {"description": "Tag"}},
            "output": {"temperature": {"title": "Temperatur"}},
        }},
        "prompts": {"plan_trip": {
            "title": "Reise planen", "description": "Plant eine Reise.",
            "arguments": {"city": {"title": "Stadt", "description": "Wohin"}},
        }},
        "resources": {"map://a": {"title": "Karte", "description": "Eine Karte"}},
        "resource_templates": {"map://{id}": {"title": "Karten", "description": "Viele Karten"}},
        "messages": {
            "pages": {"source": "Fetched {count} of {total} pages", "text": "{ $count } von { $total } Seiten geladen"},
            "city": {"source": "Unknown city: {city}", "text": "Unbekannte Stadt: { $city }"},
            "seat": {"source": "Choose a seat", "text": "Platz wählen"},
            "window": {"source": "Window", "text": "Fenster"},
            "aisle": {"source": "Aisle", "text": "Gang"},
            "which": {"source": "Where you sit", "text": "Wo Sie sitzen"},
            "quote": {"source": "Say \"hi\"\n", "text": "Sag \"hallo\""},
            "sunny": {"source": "It is sunny in {city}.", "text": "In { $city } scheint die Sonne."},
        },
    })
}

const DISPLAY: TranslationScope = TranslationScope { display: true, model: false, logs: false };
pub(crate) const BOTH: TranslationScope = TranslationScope { display: true, model: true, logs: false };

pub(crate) fn adapted<'m>(
    message: &'m str,
    asked: &RequestSubject,
    chain: &LocaleChain,
    translate: TranslationScope,
) -> (Cow<'m, str>, Option<String>) {
    let english = tag("en");
    let how = LocalizeOptions { asked, chain: Some(chain), translate, default: Some(&english), spoken: None };
    let adapted = adapt(message.as_bytes(), &how);
    let text = match adapted.text {
        Cow::Borrowed(text) => Cow::Borrowed(std::str::from_utf8(text).unwrap()),
        Cow::Owned(text) => Cow::Owned(String::from_utf8(text).unwrap()),
    };
    (text, adapted.content_language)
}

/// Adapts a result and compares it, the report left out and said beside.
#[track_caller]
fn check(method: &str, translate: TranslationScope, result: &Value, expected: &Value, language: &str) {
    check_asked(&RequestSubject::new(method), translate, result, expected, language);
}

#[track_caller]
fn check_asked(
    asked: &RequestSubject,
    translate: TranslationScope,
    result: &Value,
    expected: &Value,
    language: &str,
) {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let (text, reported) = adapted(&message, asked, &chain(&[("de", german())]), translate);
    let mut after: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(reported.as_deref(), Some(language), "{text}");
    assert_eq!(after["result"]["_meta"][KEY], language, "{text}");
    let meta = after["result"]["_meta"].as_object_mut().unwrap();
    meta.remove(KEY);
    if meta.is_empty() && result.get("_meta").is_none() {
        after["result"].as_object_mut().unwrap().remove("_meta");
    }
    assert_eq!(&after["result"], expected);
}

#[test]
fn titles_of_tools() {
    let tools = |title: &str, hint: &str| {
        json!({"tools": [
            {"name": "get_weather", "title": title, "description": "Says the weather.", "annotations": {"title": hint},
             "inputSchema": {"type": "object", "properties": {"location": {"title": "Location"}}}},
            {"name": "other", "title": "Current weather", "description": "Unknown city: x"},
        ], "nextCursor": "Window"})
    };
    check(
        "tools/list",
        DISPLAY,
        &tools("Current weather", "Weather"),
        &tools("Aktuelles Wetter", "Aktuelles Wetter"),
        "de",
    );
    // The same names in an answer to another method are none of its texts.
    let other = tools("Current weather", "Weather");
    check("prompts/list", BOTH, &other, &other, "en");
}

#[test]
fn what_is_seen_while_a_tool_runs() {
    let tools = |invoking: &str, invoked: &str| {
        json!({"tools": [{"name": "get_weather", "title": "Aktuelles Wetter", "_meta": {"openai/outputTemplate": "ui://Window",
            "openai/toolInvocation/invoking": invoking, "openai/toolInvocation/invoked": invoked, "invoking": "Fetching"}},
            {"name": "other", "_meta": {"openai/toolInvocation/invoking": "Window", "openai/toolInvocation/invoked": 7}}]})
    };
    let (before, after) = (tools("Fetching", "Fetched"), tools("Wetter wird geholt …", "Wetter geholt"));
    check("tools/list", DISPLAY, &before, &after, "de");
    check("prompts/list", BOTH, &before, &before, "en");
    // Nothing is added where the server says nothing.
    let bare = json!({"tools": [{"name": "get_weather", "title": "Aktuelles Wetter", "_meta": {}}]});
    check("tools/list", DISPLAY, &bare, &bare, "de");
    // And they are written into the file of the server's own language.
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": before}).to_string();
    let mut found = Vec::new();
    visit_named_texts(
        &Message::parse(message.as_bytes()).unwrap(),
        &RequestSubject::new("tools/list"),
        |slot, text| {
            found.push(format!("{} {text}", slot.path()));
        },
    );
    let expected = [
        "tools.get_weather.title Aktuelles Wetter",
        "tools.get_weather.invoking Fetching",
        "tools.get_weather.invoked Fetched",
        "tools.other.invoking Window",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_title_that_the_server_lacks_is_added_and_nothing_else_is() {
    let bare = json!({"tools": [{"name": "get_weather"}, {"name": "get_weather", "annotations": {"title": "W"}}, {"name": "other"}]});
    let titled = json!({"tools": [{"name": "get_weather", "title": "Aktuelles Wetter"},
        {"name": "get_weather", "annotations": {"title": "Aktuelles Wetter"}}, {"name": "other"}]});
    check("tools/list", BOTH, &bare, &titled, "de");
    let odd = json!({"tools": [{"name": "get_weather", "title": 7}, {"title": "nameless"}, "get_weather", null, []]});
    check("tools/list", BOTH, &odd, &odd, "en");
}

#[test]
fn text_for_models_only_where_the_operator_opted_in() {
    let tools = |description: &str, title: &str, wher: &str, day: &str, temperature: &str| {
        json!({"tools": [{"title": "Aktuelles Wetter", "description": description, "name": "get_weather",
            "inputSchema": {"type": "object", "description": "root", "properties": {
                "location": {"title": title, "description": wher, "enum": ["Where", "Window"], "default": "Where"},
                "days": {"items": {"properties": {"name": {"description": day, "const": "Day"}}}}}},
            "outputSchema": {"properties": {"temperature": {"title": temperature, "examples": ["Temperature"]}}}}]})
    };
    let before = tools("Says the weather.", "Location", "Where", "Day", "Temperature");
    check("tools/list", BOTH, &before, &tools("Sagt das Wetter.", "Ort", "Wo", "Tag", "Temperatur"), "de");
    check("tools/list", DISPLAY, &before, &before, "de");
    let nothing = TranslationScope { display: false, model: false, logs: false };
    check("tools/list", nothing, &before, &before, "en");
}

#[test]
fn the_server_in_both_eras() {
    let legacy = |title: &str, description: &str, instructions: &str| {
        json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "serverInfo": {"name": "weather", "title": title, "version": "1", "description": description},
            "instructions": instructions})
    };
    let before = legacy("Weather", "Weather service", "Ask.");
    check("initialize", DISPLAY, &before, &legacy("Wetterdienst", "Weather service", "Ask."), "de");
    check("initialize", BOTH, &before, &legacy("Wetterdienst", "Wetter", "Frag nach dem Wetter."), "de");
    let modern = |title: &str, instructions: &str| {
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "instructions": instructions,
            "_meta": {"x": 1, SERVER: {"name": "weather", "title": title}}})
    };
    check("server/discover", DISPLAY, &modern("Weather", "Ask."), &modern("Wetterdienst", "Ask."), "de");
    check(
        "server/discover",
        BOTH,
        &modern("Weather", "Ask."),
        &modern("Wetterdienst", "Frag nach dem Wetter."),
        "de",
    );
    // Every modern result says who the server is.
    let any = |title: &str| json!({"tools": [], "_meta": {SERVER: {"name": "weather", "title": title}}});
    check("tools/list", DISPLAY, &any("Weather"), &any("Wetterdienst"), "de");
    check("ping", DISPLAY, &json!({}), &json!({}), "en");
}

#[test]
fn prompts_and_their_arguments() {
    let prompts = |title: &str, description: &str, argument: &str, wher: &str| {
        json!({"prompts": [{"name": "plan_trip", "title": title, "description": description,
            "arguments": [{"name": "city", "title": argument, "description": wher, "required": true}, {"name": "plan_trip"}]}]})
    };
    let before = prompts("Plan a trip", "Plans.", "City", "Where to");
    check("prompts/list", DISPLAY, &before, &prompts("Reise planen", "Plans.", "Stadt", "Where to"), "de");
    check(
        "prompts/list",
        BOTH,
        &before,
        &prompts("Reise planen", "Plant eine Reise.", "Stadt", "Wohin"),
        "de",
    );
}

#[test]
fn resources_and_templates() {
    let list = |member: &str, key: &str, id: &str, title: &str, description: &str| {
        json!({member: [{key: id, "name": "Map", "title": title, "description": description, "mimeType": "text/plain",
            "annotations": {"audience": ["user"], "title": "Map"}}]})
    };
    let before = list("resources", "uri", "map://a", "Map", "A map");
    check("resources/list", DISPLAY, &before, &list("resources", "uri", "map://a", "Karte", "A map"), "de");
    check("resources/list", BOTH, &before, &list("resources", "uri", "map://a", "Karte", "Eine Karte"), "de");
    let before = list("resourceTemplates", "uriTemplate", "map://{id}", "Maps", "Many maps");
    let after = list("resourceTemplates", "uriTemplate", "map://{id}", "Karten", "Viele Karten");
    check("resources/templates/list", BOTH, &before, &after, "de");
}

#[test]
fn links_and_content_of_tools_prompts_and_resources() {
    let content = |title: &str, description: &str, text: &str| {
        json!([
            {"type": "resource_link", "uri": "map://a", "name": "Window", "title": title, "description": description},
            {"type": "text", "text": text},
            {"type": "resource", "resource": {"uri": "Window", "mimeType": "Window", "text": text}},
            {"type": "image", "data": "Window", "mimeType": "image/png", "text": "Window"},
        ])
    };
    let before = content("Map", "A map", "It is sunny in Bern.");
    let (display, model) = (
        content("Karte", "A map", "It is sunny in Bern."),
        content("Karte", "Eine Karte", "In Bern scheint die Sonne."),
    );
    for method in ["tools/call", "tasks/result"] {
        let result = |content: &Value| json!({"content": content, "structuredContent": {"text": "Window", "title": "Window"}});
        check(method, DISPLAY, &result(&before), &result(&display), "de");
        check(method, BOTH, &result(&before), &result(&model), "de");
    }
    let messages = |content: &Value, description: &str| {
        let each = content.as_array().unwrap().iter().map(|block| json!({"role": "user", "content": block}));
        let mut messages: Vec<_> = each.collect();
        messages.push(json!({"role": "assistant", "content": content}));
        json!({"description": description, "messages": messages})
    };
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"plan_trip","arguments":{"language":"ga"}}}"#;
    let request = Message::parse(request).unwrap();
    let asked = RequestSubject::of(&request);
    check_asked(&asked, DISPLAY, &messages(&before, "Plans."), &messages(&display, "Plans."), "de");
    check_asked(&asked, BOTH, &messages(&before, "Plans."), &messages(&model, "Plant eine Reise."), "de");
    let read = |text: &str| json!({"contents": [{"uri": "map://a", "mimeType": "Window", "text": text, "blob": "Window"}]});
    check("resources/read", DISPLAY, &read("Window"), &read("Window"), "en");
    check("resources/read", BOTH, &read("Window"), &read("Fenster"), "de");
}

#[test]
fn an_explicit_language_argument_keeps_its_content() {
    let body = |language: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"law","arguments":{{{language}}}}}}}"#
        )
    };
    let result = |text: &str, info: &str| json!({"content": [{"type": "text", "text": text}], "_meta": {SERVER: {"name": "weather", "title": info}}});
    for (language, content) in [
        ("\"language\":\"ga\"", "Window"),
        ("", "Fenster"),
        ("\"language\":null", "Fenster"),
        ("\"x\":1", "Fenster"),
    ] {
        let body = body(language);
        let request = Message::parse(body.as_bytes()).unwrap();
        let asked = RequestSubject::of(&request).with_language_argument(&request, "language");
        // What stands beside the content still follows the preference.
        check_asked(&asked, BOTH, &result("Window", "W"), &result(content, "Wetterdienst"), "de");
    }
}

fn form(message: &str, title: &str, description: &str, [window, aisle]: [&str; 2]) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": {"type": "object", "title": "Window", "properties": {
        "Window": {"type": "string", "title": title, "description": description,
            "oneOf": [{"const": "Window", "title": window}, {"const": "Aisle", "title": aisle}], "default": "Window"},
        "legacy": {"type": "string", "enum": ["Window", "Aisle"], "enumNames": [window, aisle]},
        "several": {"type": "array", "items": {"anyOf": [{"const": "Window", "title": window}]}, "default": ["Window"]},
        "plain": {"type": "array", "items": {"type": "string", "enum": ["Window"]}},
    }, "required": ["Window"]}})
}

#[test]
fn forms_in_both_eras() {
    let before = form("Choose a seat", "Window", "Where you sit", ["Window", "Aisle"]);
    let after = form("Platz wählen", "Fenster", "Wo Sie sitzen", ["Fenster", "Gang"]);
    // Inside a result, beside a request that is none of ours.
    let required = |params: &Value| {
        json!({"resultType": "input_required", "requestState": "Window", "inputRequests": {
            "Window": {"method": "elicitation/create", "params": params},
            "url": {"method": "elicitation/create", "params": {"mode": "url", "url": "Window", "message": params["message"]}},
            "ask": {"method": "sampling/createMessage", "params": {"message": "Window", "systemPrompt": "Window"}}}})
    };
    check("tools/call", DISPLAY, &required(&before), &required(&after), "de");
    let none = TranslationScope { display: false, model: true, logs: false };
    check("tools/call", none, &required(&before), &required(&before), "en");
    // A question of a legacy server.
    let question = |method: &str, params: &Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let asked = RequestSubject::new("tools/call");
    let message = question("elicitation/create", &before);
    let (text, reported) = adapted(&message, &asked, &chain(&[("de", german())]), DISPLAY);
    assert_eq!(
        (serde_json::from_str::<Value>(&text).unwrap(), reported),
        (serde_json::from_str(&question("elicitation/create", &after)).unwrap(), None)
    );
    let message = question("sampling/createMessage", &before);
    assert!(matches!(adapted(&message, &asked, &chain(&[("de", german())]), BOTH).0, Cow::Borrowed(_)));
}

/// Adapts any message and compares it as text.
#[track_caller]
fn check_text(message: &str, expected: &str, language: Option<&str>) {
    let (text, reported) =
        adapted(message, &RequestSubject::new("tools/call"), &chain(&[("de", german())]), BOTH);
    assert_eq!(text, expected);
    assert_eq!(reported.as_deref(), language, "{message}");
    assert_eq!(matches!(text, Cow::Borrowed(_)), message == expected, "{message}");
}

#[test]
fn progress_says_its_language() {
    let progress =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
    let german = format!(r#""{KEY}":"de""#);
    check_text(
        &progress(r#"{"progressToken":"Window", "progress":1200,"message":"Fetched 1,200 of 5000 pages"}"#),
        &progress(&format!(
            r#"{{"_meta":{{{german}}},"progressToken":"Window", "progress":1200,"message":"1.200 von 5000 Seiten geladen"}}"#
        )),
        Some("de"),
    );
    check_text(
        &progress(r#"{"message":"Window","_meta":{"a":1}}"#),
        &progress(&format!(r#"{{"message":"Fenster","_meta":{{{german},"a":1}}}}"#)),
        Some("de"),
    );
    for untouched in
        [r#"{"message":"unknown"}"#, r#"{"message":"Window","_meta":7}"#, r#"{"message":7}"#, "[]", "7"]
    {
        check_text(&progress(untouched), &progress(untouched), None);
    }
    let own = format!(r#"{{"message":"Window","_meta":{{"{KEY}":"ca"}}}}"#);
    check_text(&progress(&own), &progress(&own), Some("ca"));
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"message":"Window","data":"Window"}}"#;
    check_text(log, log, None);
}

#[test]
fn what_is_logged_is_translated_where_the_operator_says_so() {
    let log =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{params}}}"#);
    let chain = chain(&[("de", german())]);
    let logs = TranslationScope { logs: true, ..DISPLAY };
    let adapted = |message: &str, translate| {
        let (text, reported) = adapted(message, &RequestSubject::new("tools/call"), &chain, translate);
        (text.into_owned(), reported)
    };
    let report = format!(r#""_meta":{{"{KEY}":"de"}},"#);
    for (data, translated) in [
        (r#""Unknown city: Bern""#, r#""Unbekannte Stadt: Bern""#),
        (
            r#"{"message":"Window","error":"Window","details":{"message":"Window"}}"#,
            r#"{"message":"Fenster","error":"Window","details":{"message":"Window"}}"#,
        ),
    ] {
        let params = |data: &str, report: &str| {
            format!(r#"{{{report}"level":"error","logger":"Window","data":{data}}}"#)
        };
        let before = log(&params(data, ""));
        assert_eq!(adapted(&before, logs), (log(&params(translated, &report)), Some("de".to_owned())));
        for not in [DISPLAY, BOTH] {
            assert_eq!(adapted(&before, not), (before.clone(), None));
        }
    }
    for untouched in [
        r#"{"data":"unknown"}"#,
        r#"{"data":["Window"]}"#,
        r#"{"data":{"message":7}}"#,
        r#"{"message":"Window"}"#,
        r#"{"data":"Window","_meta":7}"#,
    ] {
        assert_eq!(adapted(&log(untouched), logs), (log(untouched), None));
    }
}

#[test]
fn errors_keep_their_code_and_say_their_language() {
    let error = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
    let german = format!(r#""{KEY}":"de""#);
    check_text(
        &error(r#"{"code":-32602,"message":"Unknown city: Bielefeld"}"#),
        &error(&format!(
            r#"{{"data":{{"_meta":{{{german}}}}},"code":-32602,"message":"Unbekannte Stadt: Bielefeld"}}"#
        )),
        Some("de"),
    );
    check_text(
        &error(r#"{"code":1,"message":"Window","data":{"why":"Window"}}"#),
        &error(&format!(
            r#"{{"code":1,"message":"Fenster","data":{{"_meta":{{{german}}},"why":"Window"}}}}"#
        )),
        Some("de"),
    );
    check_text(
        &error(r#"{"code":1,"message":"Window","data":{}}"#),
        &error(&format!(r#"{{"code":1,"message":"Fenster","data":{{"_meta":{{{german}}}}}}}"#)),
        Some("de"),
    );
    for untouched in [
        r#"{"code":1,"message":"Window","data":"oops"}"#,
        r#"{"code":1,"message":"Window","data":null}"#,
        r#"{"code":1,"message":"Window","data":{"_meta":[]}}"#,
        r#"{"code":1,"message":"unknown"}"#,
        r#"{"code":1,"message":7}"#,
        r#"{"code":1}"#,
        "{}",
        "7",
    ] {
        check_text(&error(untouched), &error(untouched), None);
    }
    let own = format!(r#"{{"code":1,"message":"Window","data":{{"_meta":{{"{KEY}":"ca"}}}}}}"#);
    check_text(&error(&own), &error(&own), Some("ca"));
}

#[test]
fn a_server_that_localizes_by_itself_is_left_alone() {
    let result = |meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"Window"}}],"_meta":{meta}}}}}"#
        )
    };
    let own = result(&format!(r#"{{"{KEY}":"ca"}}"#));
    check_text(&own, &own, Some("ca"));
    // No room for a report: nobody could tell that it was translated.
    for meta in ["7", "null", &format!(r#"{{"{KEY}":7}}"#)] {
        check_text(&result(meta), &result(meta), None);
    }
    for odd in [
        "not json",
        "",
        "[]",
        r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
    ] {
        check_text(odd, odd, None);
    }
}

#[test]
fn nothing_is_translated_without_a_preference_that_is_honoured() {
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"Window"}]}}"#;
    let (asked, chain) = (RequestSubject::new("tools/call"), chain(&[("de", german())]));
    let how =
        LocalizeOptions { asked: &asked, chain: Some(&chain), translate: BOTH, default: None, spoken: None };
    assert!(matches!(adapt(message.as_bytes(), &how).text, Cow::Borrowed(_)));
}

#[test]
fn each_text_falls_back_by_itself() {
    let swiss = json!({"tools": {"a": {"title": "A (CH)"}, "b": {"description": "B (CH)"}}, "messages": {"m": {"source": "M", "text": "M (CH)"}}});
    let german = json!({"tools": {"a": {"title": "A (DE)", "description": "A* (DE)"}, "b": {"title": "B (DE)"}},
        "messages": {"n": {"source": "N", "text": "N (DE)"}, "m2": {"source": "M", "text": "M (DE)"}}});
    let chain = chain(&[("de-CH", swiss), ("de", german)]);
    let tools = |texts: [&str; 6]| {
        let [a, a2, b, b2, c, c2] = texts;
        json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a", "title": a, "description": a2},
            {"name": "b", "title": b, "description": b2}, {"name": "c", "title": c, "description": c2}]}})
    };
    let message = tools(["a", "a*", "b", "b*", "c", "c*"]).to_string();
    let (text, reported) = adapted(&message, &RequestSubject::new("tools/list"), &chain, BOTH);
    let mut after: Value = serde_json::from_str(&text).unwrap();
    after["result"].as_object_mut().unwrap().remove("_meta");
    assert_eq!(after, tools(["A (CH)", "A* (DE)", "B (DE)", "B (CH)", "c", "c*"]));
    // Text of a relative counts as the chosen language.
    assert_eq!(reported.as_deref(), Some("de-CH"));
    assert_eq!(chain.translate_text("M").as_deref(), Some("M (CH)"));
    assert_eq!(chain.translate_text("N").as_deref(), Some("N (DE)"));
    assert_eq!(chain.translate_text("O"), None);
}

#[test]
fn a_choice_wants_its_own_file_and_those_of_its_relatives() {
    let files =
        ["es", "es-MX", "fr", "zh-Hans", "zh-Hant", "zh-HK", "iw", "en-GB", "x-own", "pt-PT", "pt", "de"]
            .map(tag);
    let catalogs = LocaleIndex::new(tag("en"), files).unwrap();
    for (chosen, wanted) in [
        ("es-UY", &["es-MX", "es"][..]),
        ("es-MX", &["es-MX", "es"]),
        ("es", &["es", "es-MX"]),
        ("zh-HK", &["zh-HK", "zh-Hant"]),
        ("zh-Hans", &["zh-Hans"]),
        ("he", &["iw"]),
        // The server's own text is nearer than any file of a relative.
        ("en", &[]),
        ("en-AU", &["en-GB"]),
        ("x-own", &["x-own"]),
        ("pt-AO", &["pt-PT", "pt"]),
        ("gsw", &[]),
        ("ja", &[]),
    ] {
        let found = catalogs.required_locales(&tag(chosen));
        assert_eq!(found.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(), wanted, "{chosen}");
    }
    let catalogs = LocaleIndex::new(tag("de"), ["de-AT", "de", "de-CH"].map(tag)).unwrap();
    assert_eq!(catalogs.required_locales(&tag("de-CH")), [&tag("de-CH"), &tag("de")]);
    assert_eq!(catalogs.required_locales(&tag("de")), [&tag("de")]);
}

#[test]
fn names_are_compared_as_they_read_not_as_they_are_written() {
    let message = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{ "title" : "\u0043urrent" , "name":"get\u005fweather"}]}}"#;
    let (text, _) =
        adapted(message, &RequestSubject::new("tools/list"), &chain(&[("de", german())]), DISPLAY);
    assert!(text.contains(r#"{ "title" : "Aktuelles Wetter" , "name":"get\u005fweather"}"#), "{text}");
    let message =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"S\u0061y \"hi\"\n"}]}}"#;
    let (text, _) = adapted(message, &RequestSubject::new("tools/call"), &chain(&[("de", german())]), BOTH);
    assert!(text.contains(r#""text":"Sag \"hallo\"""#), "{text}");
    // What is there already is not put in once more.
    let escaped = |title: &str, meta: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"get_weather","t\u0069tle":"{title}"}}],"\u005fmeta":{{{meta}}}}}}}"#
        )
    };
    let message = escaped("Current", "");
    let (text, _) =
        adapted(&message, &RequestSubject::new("tools/list"), &chain(&[("de", german())]), DISPLAY);
    assert_eq!(text, escaped("Aktuelles Wetter", &format!("\"{KEY}\":\"de\"")));
    let half =
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"\ud83d","title":"\ud83d"}],"content":[]}}"#;
    let (text, _) = adapted(half, &RequestSubject::new("tools/list"), &chain(&[("de", german())]), DISPLAY);
    assert!(text.contains(r#"[{"name":"\ud83d","title":"\ud83d"}]"#), "{text}");
}

#[test]
fn the_texts_of_a_server_can_be_listed() {
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"prompts": [{"name": "p", "title": "P", "description": "D",
        "arguments": [{"name": "a", "description": "A"}, {"name": "b"}]}], "_meta": {SERVER: {"name": "s", "title": "S"}}}})
    .to_string();
    let mut found = Vec::new();
    let read = Message::parse(answer.as_bytes()).unwrap();
    visit_named_texts(&read, &RequestSubject::new("prompts/list"), |slot, text| {
        found.push(format!("{} = {text}", slot.path()));
    });
    assert_eq!(
        found,
        [
            "prompts.p.title = P",
            "prompts.p.description = D",
            "prompts.p.arguments.a.description = A",
            "server.title = S"
        ]
    );
}

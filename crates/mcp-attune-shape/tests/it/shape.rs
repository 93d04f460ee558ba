//! Answers as agents and people get them: every kind of answer, tag by tag.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use mcp_attune::features::FeaturePreferences;
use mcp_attune::language::Tag;
use mcp_attune::shaping::{AnswerOmissions, ShapeRequest};
use mcp_attune_shape::template::{Template, TemplateSet, ToolHints};
use mcp_attune_shape::{
    CompiledSchema, OperatorContent, ResultSchema, ShapePlan, ShapedMessage, ToolShaping,
};
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

pub(crate) fn tag(text: &str) -> Tag {
    Tag::parse(text).unwrap()
}

/// What a caller with these tags gets for a request; none where the answer stays as it came.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) request: Value,
    pub(crate) modern: bool,
    pub(crate) content: OperatorContent,
    pub(crate) schema: ResultSchema,
}

impl Case {
    pub(crate) fn call(tool: &str) -> Self {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": {"city": "Bern"}}});
        Self { request, modern: true, content: OperatorContent::default(), schema: ResultSchema::None }
    }

    pub(crate) fn of(method: &str, params: &Value) -> Self {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        Self { request, ..Self::call("t") }
    }

    fn with_schema(self, schema: &Value) -> Self {
        Self {
            schema: ResultSchema::Known(Arc::new(CompiledSchema::read(&schema.to_string()).unwrap())),
            ..self
        }
    }

    fn with_tool(mut self, tool: ToolShaping) -> Self {
        let name = self.request["params"]["name"].as_str().unwrap().to_owned();
        self.content.tools.insert(name, tool);
        self
    }

    pub(crate) fn shape(&self, tags: &[&str]) -> Option<ShapePlan> {
        let body = self.request.to_string();
        let request = ShapeRequest::of(&Message::parse(body.as_bytes()).unwrap(), self.modern, &self.content);
        let values = || mcp_attune_format::formatters(&tag("de-CH")).for_locales([], TimeZone::UTC);
        let wanted = FeaturePreferences::read(tags.iter().copied());
        let shape =
            ShapePlan::new(request, wanted, Arc::new(self.content.clone()), values, Timestamp::UNIX_EPOCH);
        shape.map(|shape| shape.with_schema(self.schema.clone()))
    }

    pub(crate) fn answer(&self, tags: &[&str], answer: &str) -> Option<ShapedMessage> {
        self.shape(tags)?.adapt(answer.as_bytes(), None)
    }

    /// The result that comes out for a result that goes in.
    fn result(&self, tags: &[&str], result: &Value) -> Value {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let Some(shaped) = self.answer(tags, &answer) else { return result.clone() };
        Message::parse(shaped.text.as_bytes()).expect("a message that can be read in one way");
        let mut shaped: Value = serde_json::from_str(&shaped.text).unwrap();
        assert_eq!((&shaped["jsonrpc"], &shaped["id"]), (&json!("2.0"), &json!(1)));
        shaped["result"].take()
    }

    #[track_caller]
    fn check(&self, tags: &[&str], result: &Value, expected: &Value) {
        assert_eq!(self.result(tags, result), *expected, "{tags:?}");
    }
}

const JSON: &[&str] = &["format=json"];
const MARKDOWN: &[&str] = &["format=markdown"];
const TEXT: &[&str] = &["format=text"];

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})
}

#[test]
fn the_data_comes_once_to_who_wants_json() {
    let data = json!({"city": "Bern", "temperature_c": 8});
    let twice = json!({"content": [text(&data.to_string()), image(), text("It is cold.")], "structuredContent": data});
    let once = json!({"content": [image()], "structuredContent": data});
    Case::call("t").check(JSON, &twice, &once);
    Case::call("t").check(&["agent"], &twice, &once);
    Case::call("t").check(&["agent", "format!=json"], &twice, &twice);
    let bare = json!({"content": [], "structuredContent": data});
    Case::call("t").check(JSON, &bare, &bare);
    let alone = json!({"structuredContent": data, "_meta": {"a": 1}});
    Case::call("t").check(JSON, &alone, &alone);
}

#[test]
fn what_is_left_out_is_counted() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"cold"},{"type":"text","text":"8"}],"structuredContent":{"a":1}}}"#;
    let shaped = Case::call("t").answer(JSON, answer).unwrap();
    assert_eq!(shaped.left_out, AnswerOmissions { blocks: 2, fields: 0, bytes: 29 + 26 });
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"a":1,"b":null,"c":[]}}}"#;
    let shaped = Case::call("t").answer(&["format=json", "verbosity=compact"], answer).unwrap();
    assert_eq!((shaped.left_out.fields, shaped.left_out.blocks), (2, 0));
    assert!(shaped.text.contains(r#""structuredContent":{"a":1}"#), "{}", shaped.text);
}

#[test]
fn a_text_that_is_data_becomes_structured_content() {
    let data = json!({"city": "Bern"});
    let given = json!({"content": [text(" {\"city\" : \"Bern\"}\n"), image()], "_meta": {"a": 1}});
    let lifted = json!({"content": [image()], "structuredContent": data, "_meta": {"a": 1}});
    Case::call("t").check(JSON, &given, &lifted);
    // Where the server said that there is none.
    let null = json!({"content": [text("{\"city\":\"Bern\"}")], "structuredContent": null});
    Case::call("t").check(JSON, &null, &json!({"content": [], "structuredContent": data}));

    let list = json!({"content": [text("[1, 2]")]});
    Case::call("t").check(JSON, &list, &json!({"content": [], "structuredContent": [1, 2]}));
    Case { modern: false, ..Case::call("t") }.check(JSON, &list, &list);

    for stays in ["It is cold.", "7", "\"a\"", "null", "{\"a\":1,\"a\":2}", "{\"a\":", "", "[1] {}"] {
        let result = json!({"content": [text(stays)]});
        Case::call("t").check(JSON, &result, &result);
    }
    let two = json!({"content": [text("{\"a\":1}"), text("{\"b\":1}")]});
    Case::call("t").check(JSON, &two, &two);
}

/// Over pipes a message is a line. Data that is lifted or written by a template has the lines of whoever wrote it.
#[test]
fn a_message_stays_on_its_line_whatever_is_put_into_it() {
    let data = "{\r\n  \"city\": \"Be rn\",\r  \"far\": [\n    1.50,\n    null\n  ]\n}";
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [text(data)]}}).to_string();
    let brief = templates(&[("json", "{\n  \"city\":\n    {{ city }}\n}\n")]);
    let hints = Some(Arc::new(ToolHints::compile("cold").unwrap()));
    for (tags, tool, expected) in [
        (&["agent"][..], ToolShaping::default(), r#"{"city": "Be rn","far": [1.50,null]}"#),
        (&["agent", "verbosity=compact"], ToolShaping::default(), r#"{"city": "Be rn","far": [1.50,null]}"#),
        (&["agent", "sampling"], ToolShaping { hints, ..ToolShaping::default() }, r#""hints":["cold"]}"#),
        (&["agent"], ToolShaping { templates: brief, ..ToolShaping::default() }, r#"{"city":"Be rn"}"#),
    ] {
        let shaped = Case::call("t").with_tool(tool).answer(tags, &answer).unwrap().text;
        assert!(shaped.contains(expected) && !shaped.contains(['\n', '\r']), "{tags:?} {shaped}");
    }
}

#[test]
fn a_text_becomes_structured_content_only_where_the_schema_lets_it() {
    let schema = json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    let case = Case::call("t").with_schema(&schema);
    case.check(
        JSON,
        &json!({"content": [text("{\"city\":\"Bern\"}")]}),
        &json!({"content": [], "structuredContent": {"city": "Bern"}}),
    );
    for stays in ["{}", "{\"city\":7}"] {
        let result = json!({"content": [text(stays)]});
        case.check(JSON, &result, &result);
    }
    // A schema that nobody could find, or that cannot be used, promises what we do not know.
    let result = json!({"content": [text("{\"city\":\"Bern\"}")]});
    Case { schema: ResultSchema::Unknown, ..Case::call("t") }.check(JSON, &result, &result);
    Case::call("t")
        .with_schema(&json!({"$ref": "https://example.com/elsewhere"}))
        .check(JSON, &result, &result);
}

#[test]
fn people_get_text_and_no_structured_content() {
    let data = json!({"city": "Bern", "inhabitants": 134_794});
    let result = json!({"content": [text("{}"), image(), text("again")], "structuredContent": data, "x": 1});
    let shown = "- **City:** Bern\n- **Inhabitants:** 134'794";
    Case::call("t").check(MARKDOWN, &result, &json!({"content": [text(shown), image()], "x": 1}));
    Case::call("t").check(&["human"], &result, &json!({"content": [text(shown), image()], "x": 1}));
    let plain = Case::call("t").result(TEXT, &result);
    assert_eq!(plain["content"][0]["text"], "City: Bern\nInhabitants: 134'794");
    assert_eq!(plain.get("structuredContent"), None);

    // Wherever there was no text, and wherever there is no content at all.
    Case::call("t").check(
        MARKDOWN,
        &json!({"structuredContent": data, "content": [image()]}),
        &json!({"content": [text(shown), image()]}),
    );
    Case::call("t").check(MARKDOWN, &json!({"structuredContent": data}), &json!({"content": [text(shown)]}));
    Case::call("t").check(
        MARKDOWN,
        &json!({"a": 1, "structuredContent": data, "content": []}),
        &json!({"a": 1, "content": [text(shown)]}),
    );
    // Text that is data is written too; what belongs to the block stays.
    let annotated =
        json!({"content": [{"type": "text", "text": data.to_string(), "annotations": {"priority": 1}}]});
    let expected = json!({"content": [{"type": "text", "text": shown, "annotations": {"priority": 1}}]});
    Case::call("t").check(MARKDOWN, &annotated, &expected);
    let prose = json!({"content": [text("It is cold.")]});
    Case::call("t").check(MARKDOWN, &prose, &prose);
}

#[test]
fn a_block_that_says_it_is_text_and_has_none_breaks_nothing() {
    let result = json!({"content": [{"type": "text", "Text": "x"}], "structuredContent": {"a": 1}});
    for tags in [JSON, MARKDOWN, TEXT] {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
        let shaped = Case::call("t").answer(tags, &answer).unwrap().text;
        Message::parse(shaped.as_bytes()).unwrap_or_else(|why| panic!("{why}: {shaped}"));
    }
}

#[test]
fn errors_and_questions_are_not_shaped() {
    for result in [
        json!({"isError": true, "content": [text("{\"a\":1}")], "structuredContent": {"a": 1}}),
        json!({"resultType": "input_required", "inputRequests": {}, "content": [text("{\"a\":1}")], "structuredContent": {"a": 1}}),
        json!({"resultType": "task", "task": {"taskId": "7"}}),
    ] {
        for tags in [JSON, MARKDOWN, TEXT, &["format=json", "verbosity=compact", "sampling"]] {
            Case::call("t").check(tags, &result, &result);
        }
    }
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"{\"a\":1}"}}"#;
    assert_eq!(Case::call("t").answer(JSON, error), None);
    // What could be read in two ways.
    let both =
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1},"result":{"content":[],"structuredContent":{}}}"#;
    assert_eq!(Case::call("t").answer(MARKDOWN, both), None);
}

#[test]
fn without_a_tag_that_asks_for_something_there_is_nothing_to_do() {
    for tags in [
        &[][..],
        &["@#$%", "format==json"],
        &["format=xml"],
        &["!agent"],
        &["verbosity=compact"],
        &["sampling"],
        &["x-a"],
    ] {
        for case in [
            Case::call("t"),
            Case::of("tools/list", &json!({})),
            Case::of("resources/read", &json!({"uri": "a:b"})),
            Case::of("prompts/get", &json!({"name": "p"})),
            Case::of("ping", &json!({})),
        ] {
            assert!(case.shape(tags).is_none(), "{tags:?} {}", case.request);
        }
    }
}

#[test]
fn compact_leaves_out_what_says_nothing_but_never_what_is_required() {
    let data = json!({"city": "Bern", "note": null, "tags": [], "source": "Met", "wind": {"gusts": null}});
    let result = json!({"content": [text("x")], "structuredContent": data});
    let tags = &["format=json", "verbosity=compact"];
    let tool = || ToolShaping { low_priority: vec!["source".to_owned()], ..ToolShaping::default() };
    Case::call("t").with_tool(tool()).check(
        tags,
        &result,
        &json!({"content": [], "structuredContent": {"city": "Bern"}}),
    );
    let schema = json!({"type": "object", "required": ["note", "source"]});
    Case::call("t").with_tool(tool()).with_schema(&schema).check(
        tags,
        &result,
        &json!({"content": [], "structuredContent": {"city": "Bern", "note": null, "source": "Met"}}),
    );
    // Where the schema is not known, all of it may be required.
    let unknown = Case { schema: ResultSchema::Unknown, ..Case::call("t").with_tool(tool()) };
    unknown.check(tags, &result, &json!({"content": [], "structuredContent": data}));
}

#[test]
fn a_listing_shows_no_schema_to_who_gets_no_structured_content() {
    let tools = json!({"tools": [
        {"name": "a", "outputSchema": {"type": "object"}, "inputSchema": {}},
        {"outputSchema": {}, "name": "b"},
        {"name": "c"},
    ], "nextCursor": "x"});
    let hidden =
        json!({"tools": [{"name": "a", "inputSchema": {}}, {"name": "b"}, {"name": "c"}], "nextCursor": "x"});
    let case = Case::of("tools/list", &json!({}));
    case.check(MARKDOWN, &tools, &hidden);
    case.check(TEXT, &tools, &hidden);
    case.check(&["human"], &tools, &hidden);
    case.check(JSON, &tools, &tools);
    case.check(&["human", "format!=markdown"], &tools, &tools);
}

#[test]
fn what_was_shaped_for_one_caller_is_not_for_everybodys_cache() {
    let listing =
        |scope: &str| json!({"tools": [{"name": "a", "outputSchema": {}}], "cacheScope": scope, "ttlMs": 5});
    let hidden = |scope: &str| json!({"tools": [{"name": "a"}], "cacheScope": scope, "ttlMs": 5});
    let case = Case::of("tools/list", &json!({}));
    case.check(MARKDOWN, &listing("public"), &hidden("private"));
    case.check(MARKDOWN, &listing("private"), &hidden("private"));
    // Nothing of it is this caller's own.
    case.check(JSON, &listing("public"), &listing("public"));
    case.check(
        MARKDOWN,
        &json!({"tools": [{"name": "a"}], "cacheScope": "public"}),
        &json!({"tools": [{"name": "a"}], "cacheScope": "public"}),
    );
    let mut case = Case::of("server/discover", &json!({}));
    let discovered = json!({"capabilities": {}, "cacheScope": "public"});
    assert_eq!(case.result(MARKDOWN, &discovered)["cacheScope"], "public");
    case.content.announce = true;
    assert_eq!(case.result(MARKDOWN, &discovered)["cacheScope"], "private");
}

#[test]
fn the_server_says_that_it_negotiates() {
    let case = Case::of("initialize", &json!({}));
    let ours = json!({"io.modelcontextprotocol/content-negotiation": {}});
    for (capabilities, expected) in [
        (json!({}), json!({"extensions": ours})),
        (json!({"tools": {}}), json!({"tools": {}, "extensions": ours})),
        (json!({"extensions": {}}), json!({"extensions": ours})),
        (
            json!({"extensions": {"a": {}}}),
            json!({"extensions": {"a": {}, "io.modelcontextprotocol/content-negotiation": {}}}),
        ),
        (json!({"extensions": ours}), json!({"extensions": ours})),
        (json!({"extensions": 7}), json!({"extensions": 7})),
    ] {
        let result =
            |capabilities: &Value| json!({"serverInfo": {"name": "a"}, "capabilities": capabilities});
        for method in ["initialize", "server/discover"] {
            let case = Case::of(method, &json!({}));
            case.check(&[], &result(&capabilities), &result(&expected));
        }
    }
    let nothing = json!({"serverInfo": {"name": "a"}});
    case.check(&[], &nothing, &nothing);
}

#[test]
fn instructions_say_what_this_caller_gets() {
    let mut case = Case::of("initialize", &json!({}));
    case.content.announce = true;
    let result = json!({"capabilities": {}, "instructions": "Ask for the weather."});
    for (tags, word) in [
        (JSON, "structured content"),
        (MARKDOWN, "Markdown"),
        (TEXT, "plain text"),
        (&["tasks"], "no format is asked for"),
        (&[], "asks for nothing"),
    ] {
        let said = case.result(tags, &result)["instructions"].as_str().unwrap().to_owned();
        assert!(said.starts_with("Ask for the weather.\n\n") && said.contains(word), "{said}");
    }
    let said = case.result(JSON, &json!({"capabilities": {}}));
    assert!(said["instructions"].as_str().unwrap().starts_with("Content negotiation: "), "{said}");
}

#[test]
fn a_json_resource_is_text_for_people_and_stays_json_for_programs() {
    let case = Case::of("resources/read", &json!({"uri": "map://a"}));
    let contents = |kind: &str, text: &str| json!({"contents": [{"uri": "map://a", "mimeType": kind, "text": text, "_meta": {}}]});
    for kind in ["application/json", "application/geo+json; charset=utf-8", "Application/JSON"] {
        let given = contents(kind, "{\"name\": \"Valley\", \"note\": null}");
        case.check(
            MARKDOWN,
            &given,
            &contents("text/markdown", "- **Name:** Valley\n- **Note:** keine Angabe"),
        );
        case.check(TEXT, &given, &contents("text/plain", "Name: Valley\nNote: keine Angabe"));
        case.check(JSON, &given, &given);
        case.check(&["format=json", "verbosity=compact"], &given, &contents(kind, "{\"name\": \"Valley\"}"));
    }
    for (kind, text) in [("text/plain", "{\"a\":1}"), ("application/json", "not"), ("application/json", "7")]
    {
        let given = contents(kind, text);
        case.check(MARKDOWN, &given, &given);
    }
    let blob = json!({"contents": [{"uri": "map://a", "mimeType": "application/json", "blob": "e30="}]});
    case.check(MARKDOWN, &blob, &blob);
}

fn document(uri: &str, kind: &str, text: &str) -> Value {
    json!({"contents": [{"uri": uri, "mimeType": kind, "text": text, "_meta": {}}]})
}

#[test]
fn html_and_markdown_resources_are_text_for_people() {
    let case = Case::of("resources/read", &json!({"uri": "doc://a"}));
    let page = "<html><head><style>p{}</style></head><p>See <a href=\"/a\">here</a></p><ul><li>x</ul><script>y()</script>";
    for kind in ["text/html", "Text/HTML; charset=utf-8", "application/xhtml+xml"] {
        let given = document("doc://a", kind, page);
        case.check(TEXT, &given, &document("doc://a", "text/plain", "See here (/a)\n\n- x"));
        case.check(MARKDOWN, &given, &document("doc://a", "text/markdown", "See [here](/a)\n\n- x"));
        case.check(&["human"], &given, &document("doc://a", "text/markdown", "See [here](/a)\n\n- x"));
        case.check(JSON, &given, &given);
        case.check(&[], &given, &given);
    }
    let given = document("doc://a", "text/markdown", "# T\n\nSee [here](/a), **now**.");
    case.check(TEXT, &given, &document("doc://a", "text/plain", "T\n=\n\nSee here (/a), now."));
    case.check(MARKDOWN, &given, &given);
    case.check(JSON, &given, &given);
    let empty = document("doc://a", "text/html", "<script>y()</script>");
    case.check(TEXT, &empty, &empty);
}

#[test]
fn the_page_of_a_view_stays_as_it_is() {
    let page = "<p>x</p>";
    let case = Case::of("resources/read", &json!({"uri": "doc://a"}));
    for given in [
        document("ui://a", "text/html", page),
        document("UI://a", "text/html", page),
        document("doc://a", "text/html;profile=mcp-app", page),
        document("doc://a", "text/html; profile=\"mcp-app\"", page),
        document("doc://a", "text/html+skybridge", page),
    ] {
        case.check(TEXT, &given, &given);
        case.check(MARKDOWN, &given, &given);
    }
    let asked = Case::of("resources/read", &json!({"uri": "ui://a"}));
    let given = document("doc://a", "text/html", page);
    asked.check(TEXT, &given, &given);
}

fn templates(files: &[(&str, &str)]) -> Arc<TemplateSet> {
    let compile = |(name, source): &(&str, &str)| Template::compile(name, source).unwrap();
    Arc::new(TemplateSet::new(files.iter().map(compile)))
}

fn weather() -> ToolShaping {
    ToolShaping {
        templates: templates(&[
            ("md", "# {{ city }}: {{ temperature_c | number }} °C for {{ arguments.city }}"),
            ("compact.md", "{{ temperature_c }} °C"),
            ("!interactive.json", "{\"city\": {{ city }}, \"status\": \"success\"}"),
        ]),
        hints: ToolHints::compile("{% if temperature_c < 10 %}It is cold in {{ city }}{% endif %}\n\nAlways")
            .ok()
            .map(Arc::new),
        low_priority: Vec::new(),
    }
}

#[test]
fn the_operators_template_is_used_where_there_is_one() {
    let result = json!({"content": [text("x")], "structuredContent": {"city": "Bern", "temperature_c": 8}});
    let case = Case::call("w").with_tool(weather());
    let shown = |said: &str| json!({"content": [text(said)]});
    case.check(MARKDOWN, &result, &shown("# Bern: 8 °C for Bern"));
    case.check(&["format=markdown", "verbosity=compact"], &result, &shown("8 °C"));
    case.check(TEXT, &result, &shown("City: Bern\nTemperature: 8\u{a0}°C"));
    case.check(
        &["agent", "!interactive"],
        &result,
        &json!({"content": [], "structuredContent": {"city": "Bern", "status": "success"}}),
    );
}

#[test]
fn a_template_that_fails_costs_nobody_an_answer() {
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"city":"Bern","n":[]}}}"#;
    let tool = ToolShaping { templates: templates(&[("md", "{{ n | number }}")]), ..ToolShaping::default() };
    let shaped = Case::call("w").with_tool(tool).answer(MARKDOWN, answer).unwrap();
    assert!(shaped.text.contains("**City:** Bern"), "{}", shaped.text);
    assert_eq!(shaped.faults.len(), 1);
    assert_eq!(shaped.faults[0].template, "md of w");

    // A variant that is not what the caller was promised is none.
    let schema = json!({"type": "object", "required": ["temperature_c"]});
    let case = Case::call("w").with_tool(weather()).with_schema(&schema);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"city":"Bern","temperature_c":8}}}"#;
    let shaped = case.answer(&["agent", "!interactive"], answer).unwrap();
    assert!(
        shaped.text.contains("\"temperature_c\":8") && !shaped.text.contains("status"),
        "{}",
        shaped.text
    );
    assert_eq!(shaped.faults.len(), 1);
}

#[test]
fn hints_are_for_callers_that_reason() {
    let data = json!({"city": "Bern", "temperature_c": 8});
    let result = json!({"content": [text("x")], "structuredContent": data});
    let case = || Case::call("w").with_tool(weather());
    let hints = json!(["It is cold in Bern", "Always"]);
    let hinted = json!({"city": "Bern", "temperature_c": 8, "hints": hints});
    case().check(&["agent", "sampling"], &result, &json!({"content": [], "structuredContent": hinted}));
    // No format is asked for: they are added, and nothing else changes.
    case().check(&["sampling"], &result, &json!({"content": [text("x")], "structuredContent": hinted}));
    case().check(&["!sampling"], &result, &result);
    // Where the schema has no room for them, they are beside it.
    let closed = json!({"type": "object", "properties": {"city": {}, "temperature_c": {}}, "additionalProperties": false});
    let beside = text("It is cold in Bern\nAlways");
    case().with_schema(&closed).check(
        &["agent", "sampling"],
        &result,
        &json!({"content": [beside], "structuredContent": data}),
    );
    let mut named = result.clone();
    named["structuredContent"]["hints"] = json!("mine");
    case().check(
        &["sampling"],
        &named,
        &json!({"content": [text("x"), beside], "structuredContent": named["structuredContent"]}),
    );
    case().check(
        &["human", "sampling"],
        &result,
        &json!({"content": [text("# Bern: 8 °C for Bern"), beside]}),
    );
}

#[test]
fn a_prompt_has_the_variant_for_its_caller() {
    let files = [
        ("mcp-capable.sampling.md", "Reason step by step about {{ arguments.city }}."),
        ("interactive.!sampling.md", "## Where to?"),
    ];
    let mut case = Case::of("prompts/get", &json!({"name": "p", "arguments": {"city": "Bern"}}));
    case.content.prompts.insert("p".to_owned(), templates(&files));
    let prompt =
        |blocks: Value| json!({"description": "d", "messages": [{"role": "user", "content": blocks}]});
    let given = prompt(text("Plan a trip."));
    case.check(
        &["agent", "mcp-capable", "sampling"],
        &given,
        &prompt(text("Reason step by step about Bern.")),
    );
    case.check(&["human", "interactive", "!sampling"], &given, &prompt(text("## Where to?")));
    case.check(&["agent"], &given, &given);
    // What is no text stays, and other texts go.
    let several = json!({"messages": [
        {"role": "user", "content": [image(), text("one"), text("two")]},
        {"role": "assistant", "content": text("three")},
        {"role": "user", "content": image()},
    ]});
    let expected = json!({"messages": [
        {"role": "user", "content": [image(), text("## Where to?")]},
        {"role": "user", "content": image()},
    ]});
    case.check(&["interactive", "!sampling"], &several, &expected);
    let empty = json!({"messages": []});
    case.check(
        &["interactive", "!sampling"],
        &empty,
        &json!({"messages": [{"role": "user", "content": text("## Where to?")}]}),
    );
}

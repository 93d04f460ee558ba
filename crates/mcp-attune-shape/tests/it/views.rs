//! Views: what a host draws from structured content stays, and so does the schema of it.

use mcp_attune::session::ViewSupport;
use mcp_attune::shaping::{ListedSchema, ListedTool, has_view};
use mcp_attune_wire::message::Message;
use serde_json::{Value, json};

use crate::shape::Case;

/// The result that a person gets, by what their host draws and what is known of the tool.
fn result(views: ViewSupport, view: Option<bool>, result: &Value) -> Value {
    let shape = Case::call("map").shape(&["human"]).unwrap().for_views(views);
    let shape = shape.with_tool(ListedTool { output: ListedSchema::None, view });
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let shaped = shape.adapt(answer.as_bytes(), None).unwrap().text;
    Message::parse(shaped.as_bytes()).expect("a message that can be read in one way");
    serde_json::from_str::<Value>(&shaped).unwrap()["result"].take()
}

#[test]
fn a_view_keeps_the_data_that_it_is_drawn_from() {
    let data = json!({"city": "Bern"});
    let page = json!({"type": "text", "text": "- **City:** Bern"});
    for (support, view, stays) in [
        (ViewSupport::Declared, Some(true), true),
        (ViewSupport::Vendor, Some(true), true),
        (ViewSupport::None, Some(true), false),
        (ViewSupport::Declared, Some(false), false),
        (ViewSupport::Vendor, Some(false), false),
        // Nobody knows which tool it was.
        (ViewSupport::Declared, None, true),
        (ViewSupport::Vendor, None, false),
        (ViewSupport::None, None, false),
    ] {
        let mut expected = json!({"content": [page]});
        if stays {
            expected["structuredContent"] = data.clone();
        }
        let given =
            json!({"content": [{"type": "text", "text": data.to_string()}], "structuredContent": data});
        assert_eq!(result(support, view, &given), expected, "{support:?} {view:?}");
        assert_eq!(
            result(support, view, &json!({"structuredContent": data})),
            expected,
            "{support:?} {view:?}"
        );
    }
    // What was text is no structured content that was promised to a view.
    let given = json!({"content": [{"type": "text", "text": data.to_string()}]});
    assert_eq!(result(ViewSupport::Declared, Some(true), &given), json!({"content": [page]}));
}

const TOOLS: [(&str, bool); 8] = [
    (r#"{"ui":{"resourceUri":"ui://map"}}"#, true),
    (r#"{"ui/resourceUri":"ui://map"}"#, true),
    (r#"{"openai/outputTemplate":"ui://map"}"#, true),
    (r#"{"openai/output\u0054emplate":"ui://map"}"#, true),
    (r#"{"ui":{"visibility":["app"]},"openai/widgetAccessible":true}"#, false),
    (r#"{"ui":{"resourceUri":7}}"#, false),
    ("7", false),
    ("{}", false),
];

#[test]
fn a_view_is_named_in_three_ways() {
    for (meta, has) in TOOLS {
        let tool = format!(r#"{{"name":"map","_meta":{meta}}}"#);
        assert_eq!(has_view(Message::parse(tool.as_bytes()).unwrap().body()), has, "{meta}");
    }
    assert!(!has_view(Message::parse(br#"{"name":"map"}"#).unwrap().body()));
}

#[test]
fn a_listing_keeps_the_schema_that_a_view_is_drawn_by() {
    for support in [ViewSupport::Declared, ViewSupport::Vendor, ViewSupport::None] {
        for (meta, has) in TOOLS {
            let answer = format!(
                r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"map","outputSchema":{{}},"_meta":{meta}}},{{"name":"b","outputSchema":{{}}}}]}}}}"#
            );
            let shape = Case::of("tools/list", &json!({})).shape(&["human"]).unwrap().for_views(support);
            let shaped = shape.adapt(answer.as_bytes(), None).unwrap().text;
            let shaped: Value = serde_json::from_str(&shaped).unwrap();
            let shown = |at: usize| shaped["result"]["tools"][at].get("outputSchema").is_some();
            assert_eq!(shown(0), has && support != ViewSupport::None, "{support:?} {meta}");
            assert!(!shown(1), "{support:?}");
        }
    }
}

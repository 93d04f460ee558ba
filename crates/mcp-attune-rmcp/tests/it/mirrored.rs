//! Arguments in headers, from the client's side: which tools are left out, and what happens when a schema has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_attune_rmcp::{ClientError, Connection};
use serde_json::json;

use crate::support::{Asked, legacy, modern, options};

const BAD: &str = r#"{"resultType":"complete","tools":[
    {"name":"good","inputSchema":{"properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}},
    {"name":"bad\u001b[2J","inputSchema":{"properties":{"n":{"type":"number","x-mcp-header":"N"}}}}]}"#;

fn badly(asked: &Asked) -> String {
    if asked.method() == "tools/list" { asked.result(BAD) } else { asked.result(r#"{"content":[]}"#) }
}

#[tokio::test]
async fn a_tool_that_is_annotated_badly_is_left_out_and_not_called() {
    let (target, heard) = modern("{}", badly).await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let error = connection.call("bad\u{1b}[2J", json!({ "n": 1 })).await.unwrap_err();
    assert!(matches!(error, ClientError::Dropped { .. }) && !error.is_refusal());
    assert_eq!(
        error.to_string(),
        "the tool `bad [2J` cannot be called, because its schema is invalid: x-mcp-header at properties.n \
         stands on a property whose type is not just string, integer or boolean; its server has to mend it"
    );
    assert_eq!(heard.methods(), ["server/discover", "tools/list"]);
    let tools = connection.tools().await.unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("good")));
    let [dropped] = tools.dropped() else { panic!("{tools:?}") };
    assert_eq!((dropped.name(), &*dropped.why.at), ("bad\u{1b}[2J", "properties.n"));
    connection.call("good", json!({ "zone": "Zürich" })).await.unwrap();
    let call = heard.take().pop().unwrap();
    assert_eq!(
        call.lines("mcp-param-zone"),
        ["=?base64?wso8cmljaa==?="],
        "in small letters, as the head is here"
    );
}

#[tokio::test]
async fn where_nothing_is_mirrored_nothing_is_left_out() {
    let (target, heard) = legacy("{}", badly).await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let tools = connection.tools().await.unwrap();
    assert_eq!((tools.len(), tools.dropped().len()), (2, 0));
    connection.call("good", json!({ "zone": "x" })).await.unwrap();
    assert!(!heard.take().pop().unwrap().head.contains("mcp-param-"));
}

/// A server whose tool declares another header each time it is listed, up to a number of times, and that refuses a
/// call without the header of now.
async fn changing(
    times: usize,
    refusal: &'static str,
) -> (mcp_attune_rmcp::ServerTarget, crate::support::Heard) {
    let listed = Arc::new(AtomicUsize::new(0));
    modern("{}", move |asked| match asked.method() {
        "tools/list" => {
            let now = listed.fetch_add(1, Ordering::SeqCst);
            asked.result(&format!(
                r#"{{"tools":[{{"name":"t","inputSchema":{{"properties":{{"zone":{{"type":"string","x-mcp-header":"Zone-{now}"}}}}}}}}]}}"#
            ))
        }
        _ if asked.lines(&format!("mcp-param-zone-{times}")) == ["utc"] => asked.result(r#"{"content":[]}"#),
        _ => asked.refusal(400, -32020, refusal),
    })
    .await
}

#[tokio::test]
async fn a_call_that_is_refused_for_its_parameters_is_repeated_once_after_a_new_listing() {
    let (target, heard) = changing(1, "missing Mcp-Param-Zone-1 header").await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    connection.call("t", json!({ "zone": "utc" })).await.unwrap();
    assert_eq!(heard.methods()[1..], ["tools/list", "tools/call", "tools/list", "tools/call"]);
    connection.call("t", json!({ "zone": "utc" })).await.unwrap();
    assert_eq!(heard.methods(), ["tools/call"], "what was learned stays");
}

#[tokio::test]
async fn a_call_is_not_tried_a_third_time() {
    let (target, heard) = changing(9, "missing Mcp-Param-Zone-9 header").await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let error = connection.call("t", json!({ "zone": "utc" })).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { code: -32020, .. }), "{error}");
    assert_eq!(heard.methods()[1..], ["tools/list", "tools/call", "tools/list", "tools/call"]);
}

#[tokio::test]
async fn a_refusal_of_other_headers_is_the_answer() {
    let (target, heard) = changing(9, "Mcp-Name header `a` does not match body value `t`").await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let error = connection.call("t", json!({ "zone": "utc" })).await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert_eq!(heard.methods()[1..], ["tools/list", "tools/call"]);
}

#[tokio::test]
async fn a_server_that_cannot_list_is_asked_to_once() {
    let (target, heard) = modern("{}", |asked| match asked.method() {
        "tools/list" => asked.refusal(404, -32601, "unknown"),
        _ => asked.result(r#"{"content":[]}"#),
    })
    .await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    for _ in 0..2 {
        connection.call("t", json!({})).await.unwrap();
    }
    assert_eq!(heard.methods()[1..], ["tools/list", "tools/call", "tools/call"]);
}

//! The stateless era: every request by itself.

use std::time::Duration;

use hyper::{Method, StatusCode};
use mcp_attune_demo::DemoOptions;
use serde_json::{Value, json};

use crate::http::{Demo, MODERN, Stream, modern};

const SEAT: &str = "bern-zurich-2026-02-22-0831";

#[tokio::test]
async fn discover_says_who_answers_and_what_it_can_do() {
    let answer = Demo::start().await.request("server/discover", json!({})).await;
    let result = &answer.json()["result"];
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
    assert_eq!(result["capabilities"], json!({ "prompts": {}, "resources": {}, "tools": {} }));
    let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!((&server["name"], &server["title"]), (&json!("swiss-travel"), &json!("Swiss travel service")));
    assert_eq!(result["cacheScope"], "public");
}

#[tokio::test]
async fn tools_are_listed_with_titles_and_both_schemas() {
    let answer = Demo::start().await.request("tools/list", json!({})).await;
    let result = &answer.json()["result"];
    assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(3_600_000), &json!("public")));
    let tools = result["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "get_weather",
            "find_connections",
            "book_seat",
            "build_report",
            "execute_sql",
            "sales_report",
            "local_time",
            "query_sales",
            "query_tickets",
            "query_activity"
        ]
    );
    for tool in tools {
        assert!(tool["title"].is_string() && tool["inputSchema"].is_object(), "{tool}");
        assert!(tool["outputSchema"].is_object(), "{tool}");
    }
}

#[tokio::test]
async fn headers_are_declared_on_three_types_and_on_a_nested_property() {
    let answer = Demo::start().await.request("tools/list", json!({})).await;
    let tools = answer.json()["result"]["tools"].clone();
    let sql = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "execute_sql").unwrap();
    let at = |path: &str| {
        let property = sql["inputSchema"].pointer(&format!("/properties/{path}")).unwrap();
        (property["type"].as_str().unwrap().to_owned(), property["x-mcp-header"].as_str().unwrap().to_owned())
    };
    let declared = ["region", "shard", "dry_run", "options/properties/priority"].map(at);
    let expected =
        [("string", "Region"), ("integer", "Shard"), ("boolean", "Dry-Run"), ("string", "Priority")];
    assert_eq!(declared, expected.map(|(kind, header)| (kind.to_owned(), header.to_owned())));
}

#[tokio::test]
async fn a_seat_is_booked_in_two_rounds() {
    let demo = Demo::start().await;
    let call = json!({ "name": "book_seat", "arguments": { "connection": SEAT } });
    let asked = demo.request("tools/call", call.clone()).await.json()["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let question = &asked["inputRequests"]["seat"];
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["mode"], "form");
    assert_eq!(question["params"]["message"], "Which seat would you like on IC 1 from Bern to Zurich?");
    let class = &question["params"]["requestedSchema"]["properties"]["travel_class"];
    assert_eq!(class["title"], "Class");
    assert_eq!(class["oneOf"][0], json!({ "const": "first", "title": "First class" }));

    let content = json!({ "travel_class": "first", "position": "window" });
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({ "seat": { "action": "accept", "content": content } });
    let booked = demo.request("tools/call", again.clone()).await.json()["result"].clone();
    assert_eq!(booked["resultType"], "complete");
    assert_eq!(booked["structuredContent"]["connection"], SEAT);
    assert_eq!(
        (&booked["structuredContent"]["coach"], &booked["structuredContent"]["seat"]),
        (&json!(3), &json!("42A"))
    );

    again["inputResponses"] = json!({ "seat": { "action": "decline" } });
    let declined = demo.request("tools/call", again).await.json()["result"].clone();
    assert_eq!(
        (&declined["isError"], &declined["content"][0]["text"]),
        (&json!(true), &json!("No seat was booked"))
    );
}

#[tokio::test]
async fn an_answer_counts_only_for_the_connection_that_was_asked_about() {
    let demo = Demo::start().await;
    let reply = json!({ "action": "accept", "content": { "travel_class": "first", "position": "window" } });
    for state in [json!("seat:bern-basel-2026-02-22-0804"), Value::Null] {
        let answer = demo
            .request(
                "tools/call",
                json!({
                    "name": "book_seat", "arguments": { "connection": SEAT },
                    "requestState": state, "inputResponses": { "seat": reply },
                }),
            )
            .await;
        assert_eq!(answer.json()["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn a_missing_answer_is_asked_for_again() {
    let answer = Demo::start()
        .await
        .request(
            "tools/call",
            json!({
                "name": "book_seat", "arguments": { "connection": SEAT },
                "requestState": format!("seat:{SEAT}"), "inputResponses": { "other": {} },
            }),
        )
        .await;
    assert_eq!(answer.json()["result"]["resultType"], "input_required");
}

#[tokio::test]
async fn a_client_that_takes_no_forms_is_told_what_it_lacks() {
    let demo = Demo::start().await;
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let meta = json!({ "io.modelcontextprotocol/clientCapabilities": capabilities });
        let call = json!({ "name": "book_seat", "arguments": { "connection": SEAT }, "_meta": meta });
        let answer = demo.request("tools/call", call).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST);
        assert_eq!(answer.json()["error"]["code"], -32021);
    }
}

#[tokio::test]
async fn progress_comes_before_the_result() {
    let call =
        json!({ "name": "build_report", "arguments": { "pages": 3 }, "_meta": { "progressToken": "mine" } });
    let messages = Demo::start().await.request("tools/call", call).await.messages();
    assert_eq!(messages.len(), 4);
    assert_eq!(messages[0]["method"], "notifications/progress");
    assert_eq!(
        messages[0]["params"],
        json!({ "progressToken": "mine", "progress": 1.0, "total": 3.0, "message": "Fetched 1 of 3 pages" })
    );
    assert_eq!(messages[2]["params"]["progress"], 3.0);
    assert_eq!(messages[3]["result"]["structuredContent"]["pages"], 3);
}

#[tokio::test]
async fn progress_is_sent_while_the_report_is_still_built() {
    let demo =
        Demo::with(DemoOptions { step_delay: Duration::from_millis(400), ..DemoOptions::default() }).await;
    let body = modern(
        "tools/call",
        json!({
            "name": "build_report", "arguments": { "pages": 50 }, "_meta": { "progressToken": 1 },
        }),
    );
    let headers =
        [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "build_report")];
    let mut stream = Stream::of(demo.send(Method::POST, &headers, &body.to_string()).await);
    assert_eq!(stream.next().await.unwrap()["params"]["message"], "Fetched 1 of 50 pages");
    demo.stop().await;
    assert_eq!(stream.next().await, None, "a demo that stops ends its streams");
}

#[tokio::test]
async fn answers_are_streams_where_json_is_turned_off() {
    let demo = Demo::with(DemoOptions { json_answers: false, ..DemoOptions::default() }).await;
    let answer = demo.request("tools/call", json!({ "name": "local_time" })).await;
    assert_eq!(answer.last()["result"]["structuredContent"]["timezone"], "UTC");
}

#[tokio::test]
async fn the_map_is_read_as_json() {
    let demo = Demo::start().await;
    let listed = demo.request("resources/list", json!({})).await.json()["result"]["resources"].clone();
    assert_eq!(listed[0]["uri"], "map://features/alpine-valley-1");
    assert_eq!(
        (&listed[0]["title"], &listed[0]["mimeType"]),
        (&json!("Alpine valley"), &json!("application/json"))
    );
    let templates = demo.request("resources/templates/list", json!({})).await.json()["result"].clone();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "map://features/{id}");
    assert_eq!(templates["resourceTemplates"][0]["title"], "Map feature");

    for id in ["alpine-valley-1", "rhine-falls-1"] {
        let uri = format!("map://features/{id}");
        let result = demo.request("resources/read", json!({ "uri": uri })).await.json()["result"].clone();
        let contents = &result["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&json!(uri), &json!("application/json")));
        let feature: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
        assert_eq!(feature["type"], "Feature");
        assert_eq!(result["cacheScope"], "public");
    }
    let missing = demo.request("resources/read", json!({ "uri": "map://features/atlantis" })).await;
    assert_eq!(missing.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn the_prompt_is_listed_and_filled_in() {
    let demo = Demo::start().await;
    let prompt = demo.request("prompts/list", json!({})).await.json()["result"]["prompts"][0].clone();
    assert_eq!((&prompt["name"], &prompt["title"]), (&json!("plan_trip"), &json!("Plan a trip")));
    assert_eq!(prompt["arguments"][0]["title"], "City");
    let arguments = json!({ "city": "Genf", "days": "2" });
    let got = demo.request("prompts/get", json!({ "name": "plan_trip", "arguments": arguments })).await;
    let text = got.json()["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("Plan a trip of 2 days to Geneva."), "{text}");
    let missing = demo.request("prompts/get", json!({ "name": "plan_trip" })).await;
    assert_eq!(missing.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn an_unknown_tool_is_an_error() {
    let answer = Demo::start().await.request("tools/call", json!({ "name": "nothing" })).await;
    assert_eq!(answer.json()["error"], json!({ "code": -32602, "message": "Unknown tool: nothing" }));
}

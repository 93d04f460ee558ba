//! What the tools promise in `outputSchema` is what they send.

use serde_json::{Value, json};

use crate::http::Demo;

#[tokio::test]
async fn every_structured_result_fits_its_output_schema() {
    let demo = Demo::start().await;
    let listed = demo.request("tools/list", json!({})).await.json()["result"]["tools"].clone();
    let seat = json!({
        "name": "book_seat",
        "arguments": { "connection": "bern-zurich-2026-02-22-0831" },
        "requestState": "seat:bern-zurich-2026-02-22-0831",
        "inputResponses": {
            "seat": { "action": "accept", "content": { "travel_class": "second", "position": "window" } }
        },
    });
    for tool in listed.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let arguments = match name {
            "get_weather" => json!({ "location": "Zermatt" }),
            "find_connections" => json!({ "from": "Geneva", "to": "Zermatt" }),
            "execute_sql" => json!({ "query": "SELECT 1", "region": "eu" }),
            "sales_report" => json!({ "from": "2026-01-01", "to": "2026-12-31" }),
            "query_sales" | "query_tickets" | "query_activity" => json!({ "query": "how many last month" }),
            _ => json!({}),
        };
        let result = match name {
            "book_seat" => demo.request("tools/call", seat.clone()).await.json()["result"].clone(),
            _ => demo.call(name, arguments).await,
        };
        fits(&result["structuredContent"], &tool["outputSchema"], name);
    }
}

/// As much of JSON Schema as the demo uses; a property that no schema names is a promise that was forgotten.
fn fits(value: &Value, schema: &Value, path: &str) {
    match schema["type"].as_str().unwrap_or_else(|| panic!("{path}: no type")) {
        "string" => assert!(value.is_string(), "{path}: {value}"),
        "boolean" => assert!(value.is_boolean(), "{path}: {value}"),
        "integer" => assert!(value.is_i64(), "{path}: {value}"),
        "number" => assert!(value.is_number(), "{path}: {value}"),
        "array" => {
            let items = value.as_array().unwrap_or_else(|| panic!("{path}: {value}"));
            for (item, schema) in items.iter().filter_map(|item| Some((item, schema.get("items")?))) {
                fits(item, schema, &format!("{path}[]"));
            }
        }
        _ => {
            for required in schema["required"].as_array().into_iter().flatten() {
                assert!(value.get(required.as_str().unwrap()).is_some(), "{path}: no {required}");
            }
            for (key, member) in value.as_object().unwrap_or_else(|| panic!("{path}: {value}")) {
                fits(member, &schema["properties"][key], &format!("{path}.{key}"));
            }
        }
    }
    if let Some(choices) = schema["enum"].as_array() {
        assert!(choices.contains(value), "{path}: {value}");
    }
}

//! Every tool, called as a modern client calls it.

use serde_json::{Value, json};

use crate::http::Demo;

#[tokio::test]
async fn get_weather_answers_in_prose_and_in_structure() {
    let result = Demo::start().await.call("get_weather", json!({ "location": "Bern" })).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Current temperature in Bern: 8°C. Humidity is 72%. There is a 30% chance"),
        "{text}"
    );
    let weather = &result["structuredContent"];
    assert_eq!(weather["location"], "Bern");
    assert_eq!(weather["temperature_c"], 8);
    assert_eq!(weather["humidity_percent"], 72);
    assert_eq!(weather["precipitation_probability"], 0.3);
    assert_eq!(weather["wind_speed_kmh"], 15);
    assert_eq!(weather["uv_index"], 2);
    assert_eq!(weather["observed_at"], "2026-02-22T08:30:00+00:00");
    assert_eq!(result["isError"], false);
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["title"], "Swiss travel service");
}

#[tokio::test]
async fn get_weather_tells_the_time_in_the_zone_that_was_asked_for() {
    let arguments = json!({ "location": "Bern", "tz": "Asia/Tokyo" });
    let result = Demo::start().await.call("get_weather", arguments).await;
    assert_eq!(result["structuredContent"]["observed_at"], "2026-02-22T17:30:00+09:00");
}

#[tokio::test]
async fn find_connections_lists_the_trains_of_a_day() {
    let arguments = json!({ "from": "Bern", "to": "Zürich", "date": "2026-07-01" });
    let result = Demo::start().await.call("find_connections", arguments).await;
    let connections = result["structuredContent"]["connections"].as_array().unwrap();
    assert_eq!(connections.len(), 3);
    assert_eq!(connections[0]["id"], "bern-zurich-2026-07-01-0831");
    assert_eq!(connections[0]["departure"], "2026-07-01T08:31:00+02:00");
    assert_eq!(connections[0]["duration_minutes"], 56);
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"], "the text is the same as JSON");
}

#[tokio::test]
async fn find_connections_may_find_none() {
    let arguments = json!({ "from": "Lugano", "to": "Zermatt" });
    let result = Demo::start().await.call("find_connections", arguments).await;
    assert_eq!(result["structuredContent"], json!({ "connections": [] }));
}

#[tokio::test]
async fn build_report_without_a_token_gives_the_result_alone() {
    let result = Demo::start().await.call("build_report", json!({ "pages": 2 })).await;
    assert_eq!(result["structuredContent"], json!({ "title": "Travel report", "pages": 2, "words": 500 }));
}

#[tokio::test]
async fn execute_sql_gives_back_what_its_headers_are_about() {
    let arguments = json!({
        "query": "SELECT * FROM users", "region": "us-west1", "shard": 42, "dry_run": true,
        "options": { "priority": "high" },
    });
    let demo = Demo::start().await;
    let result = demo.call("execute_sql", arguments).await;
    let answer = &result["structuredContent"];
    assert_eq!((&answer["region"], &answer["shard"]), (&json!("us-west1"), &json!(42)));
    assert_eq!((&answer["dry_run"], &answer["priority"]), (&json!(true), &json!("high")));
    assert_eq!(answer["row_count"], 0);
    let result = demo.call("execute_sql", json!({ "query": "SELECT 1", "region": "Zürich" })).await;
    assert_eq!(result["structuredContent"]["row_count"], 3);
    assert_eq!(result["structuredContent"]["priority"], "normal");
}

#[tokio::test]
async fn sales_report_counts_both_ends() {
    let arguments = json!({ "from": "2026-02-20", "to": "2026-02-22" });
    let result = Demo::start().await.call("sales_report", arguments).await;
    let report = &result["structuredContent"];
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0], json!({ "date": "2026-02-20", "tickets": 1119, "revenue": 26240.55 }));
    assert_eq!(report["total_tickets"], 4166);
    assert_eq!(report["total_revenue"], 97692.7);
    assert_eq!(report["currency"], "CHF");
}

#[tokio::test]
async fn local_time_knows_every_zone_and_its_summer() {
    let demo = Demo::start().await;
    let cases = [
        (json!({}), "2026-02-22T08:30:00+00:00", "UTC"),
        (json!({ "tz": "Europe/Vienna" }), "2026-02-22T09:30:00+01:00", "Europe/Vienna"),
        (json!({ "tz": "Pacific/Honolulu" }), "2026-02-21T22:30:00-10:00", "Pacific/Honolulu"),
        (
            json!({ "tz": "America/Los_Angeles", "at": "2026-07-01T12:00:00Z" }),
            "2026-07-01T05:00:00-07:00",
            "America/Los_Angeles",
        ),
    ];
    for (arguments, time, zone) in cases {
        let result = demo.call("local_time", arguments).await;
        assert_eq!(result["structuredContent"]["local_time"], time);
        assert_eq!(result["structuredContent"]["timezone"], zone);
    }
}

#[tokio::test]
async fn what_a_caller_can_put_right_is_a_result_that_says_so() {
    let demo = Demo::start().await;
    let cases = [
        ("get_weather", json!({}), "The arguments do not fit: missing field `location`"),
        ("get_weather", json!({ "location": "Paris" }), "Unknown city: Paris. Known cities: Bern, Zurich"),
        ("find_connections", json!({ "from": "Bern", "to": "Basel", "date": "tomorrow" }), "Not a date like"),
        ("local_time", json!({ "tz": "Mars/Base" }), "Not a time zone like Europe/Zurich: Mars/Base"),
        ("sales_report", json!({ "from": "2026-02-22", "to": "2026-02-20" }), "The first day must not come"),
        ("sales_report", json!({ "from": "0001-01-01", "to": "9999-12-31" }), "The first day must not come"),
        ("build_report", json!({ "pages": 51 }), "The report has from 1 to 50 pages"),
        ("execute_sql", json!({ "query": "", "region": "", "shard": 4.5 }), "The shard is a whole number"),
        ("book_seat", json!({ "connection": "bern-paris" }), "Unknown connection: bern-paris"),
    ];
    for (tool, arguments, expected) in cases {
        let result = demo.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
}

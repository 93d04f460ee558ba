//! Arguments that the caller's context fills, from the configuration to the server behind: a server written with rmcp
//! over HTTP, which checks headers itself, and a program; in both eras. Rules: C9, G6.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::child::script;
use crate::outage::Log;
use crate::support::{behind, message, soon};
use crate::whole::{ACCEPT, ask, demo, gateway, gateway_here};

const BINDINGS: &str = "
    [tools.local_time.context]
    tz = { from = 'timezone', hide = true }
    at = { from = 'now', hide = true }
    [tools.sales_report.context]
    from = { interval = 'period', part = 'start', as = 'date', hide = true }
    to = { interval = 'period', part = 'end', as = 'date', end = 'inclusive', hide = true }
    [tools.execute_sql.context]
    region = { from = 'region', hide = true, default = 'eu-west1' }
    [tools.echo.context]
    day = { from = 'today', hide = true }
";

/// Half past midnight in Zurich, and the evening before in Los Angeles.
const ZURICH: &str =
    r#"{"timezone":"Europe/Zurich","locale":"de-CH","currentTimestamp":"2026-11-12T23:30:00Z"}"#;
const LOS_ANGELES: &str = r#"{"timezone":"America/Los_Angeles","locale":"en-US","currentTimestamp":"2026-11-12T23:30:00Z","userLocation":{"region":"us-west1"}}"#;

async fn in_front_of(server: SocketAddr) -> crate::whole::Running {
    gateway(&format!("[upstream]\nurl = 'http://{server}/mcp'\n{BINDINGS}"), None).await
}

/// A caller of either era, who has begun where that is needed.
struct Caller {
    gateway: SocketAddr,
    /// The id of a legacy session.
    session: Option<String>,
}

impl Caller {
    fn modern(gateway: SocketAddr) -> Self {
        Self { gateway, session: None }
    }

    async fn legacy(gateway: SocketAddr) -> Self {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"it","version":"1"}}}"#;
        let (status, head, body) = soon(ask(gateway, "POST /mcp", &ACCEPT, hello)).await;
        assert_eq!(status, 200, "{body}");
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
        let caller = Self { gateway, session: Some(session) };
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(caller.post(&[], ready).await.0, 202);
        caller
    }

    async fn post(&self, more: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let mut headers = [&ACCEPT[..], more].concat();
        match &self.session {
            Some(session) => {
                headers.extend([("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", session)]);
            }
            None => headers.push(("MCP-Protocol-Version", "2026-07-28")),
        }
        soon(ask(self.gateway, "POST /mcp", &headers, body)).await
    }

    /// Asks, and reads the answer, JSON or an event.
    async fn ask(&self, method: &str, mut params: Value, context: &str, more: &[(&str, &str)]) -> Value {
        let mut headers = more.to_vec();
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        if self.session.is_none() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
            headers.push(("Mcp-Method", method));
            if !name.is_empty() {
                headers.push(("Mcp-Name", &name));
            }
        }
        let context: Value = serde_json::from_str(context).unwrap();
        let body =
            json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params, "clientContext": context});
        let (_, _, answer) = self.post(&headers, &body.to_string()).await;
        let event = answer.lines().filter_map(|line| line.strip_prefix("data: ")).find(|data| data.len() > 2);
        serde_json::from_str(event.unwrap_or(&answer)).unwrap_or_else(|_| panic!("{answer}"))
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Option<Value>,
        context: &str,
        more: &[(&str, &str)],
    ) -> Value {
        let mut params = json!({ "name": tool });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments;
        }
        self.ask("tools/call", params, context, more).await
    }

    async fn schema(&self, tool: &str) -> Value {
        let listed = self.ask("tools/list", json!({}), "{}", &[]).await;
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools.clone().find(|listed| listed["name"] == tool).unwrap()["inputSchema"].clone()
    }
}

fn names(schema: &Value) -> Vec<&str> {
    schema["properties"].as_object().unwrap().keys().map(String::as_str).collect()
}

async fn both(gateway: SocketAddr) -> [Caller; 2] {
    [Caller::modern(gateway), Caller::legacy(gateway).await]
}

#[tokio::test]
async fn two_callers_get_their_own_day_over_http() {
    let gateway = in_front_of(demo().await).await;
    for caller in both(gateway.callers).await {
        for (context, local) in
            [(ZURICH, "2026-11-13T00:30:00+01:00"), (LOS_ANGELES, "2026-11-12T15:30:00-08:00")]
        {
            let answer = caller.call("local_time", None, context, &[]).await;
            assert_eq!(answer["result"]["structuredContent"]["local_time"], local, "{answer}");
        }
        let report =
            |context| caller.call("sales_report", Some(json!({"period": "last week"})), context, &[]);
        for (context, from, to) in
            [(ZURICH, "2026-11-02", "2026-11-08"), (LOS_ANGELES, "2026-11-01", "2026-11-07")]
        {
            let answer = report(context).await;
            let data = &answer["result"]["structuredContent"];
            assert_eq!((&data["from"], &data["to"]), (&json!(from), &json!(to)), "{answer}");
        }
        let given = Some(json!({"tz": "Asia/Tokyo", "at": "2026-01-01T00:00:00Z"}));
        let answer = caller.call("local_time", given, ZURICH, &[]).await;
        assert_eq!(answer["result"]["structuredContent"]["local_time"], "2026-01-01T09:00:00+09:00");
        let answer = caller.call("sales_report", Some(json!({"period": "soon"})), ZURICH, &[]).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("N U ago"), "{answer}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_zone_that_a_vendor_key_tells_reaches_the_server() {
    let gateway = in_front_of(demo().await).await;
    for caller in both(gateway.callers).await {
        for (location, offset) in [
            (json!({"city": "Wien", "country": "AT", "timezone": "Europe/Vienna"}), "+01:00"),
            (
                json!({"city": "Los Angeles", "timezone": "America/Los_Angeles", "latitude": "34.05"}),
                "-08:00",
            ),
            // What is no zone is ignored.
            (json!({"city": "Wien", "timezone": "CET+1"}), "+00:00"),
        ] {
            let params = json!({"name": "local_time", "_meta": {"openai/userLocation": location}});
            let context = r#"{"currentTimestamp":"2026-11-12T23:30:00-00:00"}"#;
            let answer = caller.ask("tools/call", params, context, &[]).await;
            let local = answer["result"]["structuredContent"]["local_time"].as_str().unwrap_or_default();
            assert!(local.ends_with(offset), "{answer}");
        }
    }
    gateway.stop().await;
}

#[tokio::test]
async fn the_last_week_means_what_the_operator_says() {
    let server = demo().await;
    for (past, expected) in [
        ("", Some(("2026-11-06", "2026-11-13"))),
        ("[context]\npast = 'rolling'\n", Some(("2026-11-06", "2026-11-13"))),
        ("[context]\npast = 'calendar'\n", Some(("2026-11-02", "2026-11-08"))),
        ("[context]\npast = 'refuse'\n", None),
    ] {
        let gateway =
            gateway(&format!("[upstream]\nurl = 'http://{server}/mcp'\n{past}{BINDINGS}"), None).await;
        let caller = Caller::modern(gateway.callers);
        let period = Some(json!({"period": "the last week"}));
        let answer = caller.call("sales_report", period, ZURICH, &[]).await;
        match expected {
            Some((from, to)) => {
                let data = &answer["result"]["structuredContent"];
                assert_eq!((&data["from"], &data["to"]), (&json!(from), &json!(to)), "{past}: {answer}");
            }
            None => {
                let told = answer["result"]["content"][0]["text"].as_str().unwrap();
                assert!(answer["result"]["isError"] == true && told.contains("ambiguous"), "{answer}");
            }
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn callers_see_the_schema_that_is_left() {
    let gateway = in_front_of(demo().await).await;
    for caller in both(gateway.callers).await {
        assert_eq!(names(&caller.schema("local_time").await), [""; 0]);
        let report = caller.schema("sales_report").await;
        assert_eq!((names(&report), &report["required"]), (vec!["period"], &json!(["period"])));
        let told = report["properties"]["period"]["description"].as_str().unwrap();
        assert!(told.contains("last 3 days") && told.contains("`from` and `to`"), "{told}");
        let sql = caller.schema("execute_sql").await;
        assert_eq!(sql["required"], json!(["query"]));
        assert!(!sql.to_string().contains("\"Region\"") && sql.to_string().contains("\"Shard\""), "{sql}");
        // No binding names it.
        let weather = caller.schema("get_weather").await;
        assert!(!weather["required"].as_array().unwrap().is_empty());
    }
    gateway.stop().await;
}

#[tokio::test]
async fn headers_agree_on_both_legs() {
    // The server refuses a call whose `Mcp-Param-Region` is not what its arguments say, or is not there.
    let gateway = in_front_of(demo().await).await;
    let caller = Caller::modern(gateway.callers);
    let sql = || Some(json!({"query": "SELECT 1", "shard": 7}));
    for (context, region) in [(ZURICH, "eu-west1"), (LOS_ANGELES, "us-west1")] {
        for more in
            [&[("Mcp-Param-Shard", "7")][..], &[("Mcp-Param-Shard", "07"), ("Mcp-Param-Region", "mars")]]
        {
            let answer = caller.call("execute_sql", sql(), context, more).await;
            assert_eq!(answer["result"]["structuredContent"]["region"], region, "{answer}");
        }
    }
    // What callers were shown, they are held to.
    let answer = caller.call("execute_sql", sql(), ZURICH, &[]).await;
    assert_eq!(answer["error"]["data"]["mismatches"][0]["header"], "Mcp-Param-Shard", "{answer}");
    assert_eq!(answer["error"]["data"]["mismatches"].as_array().unwrap().len(), 1);
    gateway.stop().await;
}

#[tokio::test]
async fn two_callers_get_their_own_day_from_a_program() {
    for script in ["modern-bound", "legacy-bound"] {
        let gateway = gateway(&format!("{}{BINDINGS}", script::command(script)), None).await;
        let caller = match script {
            "modern-bound" => Caller::modern(gateway.callers),
            _ => Caller::legacy(gateway.callers).await,
        };
        assert_eq!(names(&caller.schema("echo").await), ["a"]);
        for (context, day) in [(ZURICH, "2026-11-13"), (LOS_ANGELES, "2026-11-12")] {
            let answer = caller.call("echo", Some(json!({"a": 1})), context, &[]).await;
            assert_eq!(answer["result"]["arguments"], json!({"day": day, "a": 1}), "{answer}");
        }
        gateway.stop().await;
    }
}

#[tokio::test]
async fn bindings_that_do_not_fit_are_told_when_the_gateway_starts() {
    let fits = "[tools.local_time.context]\ntz = { from = 'timezone' }\n";
    let wrong = "[tools.local_tim.context]\ntz = { from = 'timezone' }\n\
        [tools.sales_report.context]\nfrom = { from = 'now' }\nform = { from = 'today' }\n";
    let told = [
        "tools.local_tim.context: the server lists no tool `local_tim`; did you mean `local_time`?",
        "tools.sales_report.context.from: a date-time is written, and the argument takes a date; set `as = \"date\"`",
        "tools.sales_report.context.form: the tool has no argument `form`; it has `to`",
    ];
    let log = Log::default();
    let _listening = log.listen();
    let upstream = format!("[upstream]\nurl = 'http://{}/mcp'\n", demo().await);
    let gateway = gateway_here(&format!("{upstream}{fits}{wrong}")).await;
    let logged = log.until(told[0]).await;
    for line in told {
        assert_eq!(logged.matches(line).count(), 1, "{logged}");
    }
    assert_eq!(logged.matches("does not fit").count(), told.len(), "{logged}");
    // Once is enough: the listings of callers say nothing new.
    Caller::modern(gateway.callers).schema("local_time").await;
    assert_eq!(log.count("does not fit"), 0);
}

#[tokio::test]
async fn a_legacy_server_is_looked_at_too() {
    let log = Log::default();
    let _listening = log.listen();
    let binding = "[tools.ecko.context]\nday = { from = 'today' }\n";
    let _gateway = gateway_here(&format!("{}{binding}", script::command("legacy-bound"))).await;
    log.until("the server lists no tool `ecko`; did you mean `echo`?").await;
}

#[tokio::test]
async fn a_listing_that_leads_back_is_given_up_when_the_gateway_starts() {
    let log = Log::default();
    let _listening = log.listen();
    let server = behind(|_, mut tcp| async move {
        message(&mut tcp).await;
        let body = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"again"}}"#;
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n";
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        tcp.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let _gateway = gateway_here(&format!("[upstream]\nurl = 'http://{server}/mcp'\n{BINDINGS}")).await;
    log.until("the server's listing has a page that leads back to one before it").await;
}

#[tokio::test]
async fn a_server_that_cannot_be_asked_is_looked_at_when_somebody_lists() {
    let log = Log::default();
    let _listening = log.listen();
    // It lists its tools to those that it knows.
    let server = behind(|_, mut tcp| async move {
        let body = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#;
        let known = message(&mut tcp).await.contains("authorization: Bearer me");
        let (status, body) = if known { ("200 OK", body) } else { ("401 Unauthorized", "") };
        let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\n");
        let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        tcp.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let gateway = gateway_here(&format!("[upstream]\nurl = 'http://{server}/mcp'\n{BINDINGS}")).await;
    let logged = log.until("the server could not be asked for its tools").await;
    assert!(!logged.contains("does not fit"), "{logged}");
    let caller = Caller::modern(gateway.callers);
    caller.ask("tools/list", json!({}), "{}", &[("Authorization", "Bearer me")]).await;
    assert_eq!(log.until("does not fit").await.matches("the server lists no tool").count(), 4);
}

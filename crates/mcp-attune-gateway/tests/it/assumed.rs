//! What the gateway assumes of callers that say nothing, from headers of trusted proxies and from the file. Rules: A1–A6.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;

use crate::outage::Log;
use crate::support::{behind, message, soon};
use crate::whole::{ACCEPT, Running, ask, gateway, gateway_here};

/// A server that answers a call with the arguments that it got.
pub(crate) async fn echo() -> SocketAddr {
    behind(|_, mut tcp| async move {
        loop {
            let got = message(&mut tcp).await;
            let Some((_, body)) = got.split_once("\r\n\r\n") else { return };
            let Ok(call) = serde_json::from_str::<serde_json::Value>(body) else { return };
            let (id, text) = (&call["id"], call["params"].to_string());
            let content = serde_json::json!([{"type": "text", "text": text}]);
            let answer =
                serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"content": content}}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            if tcp.write_all(format!("{head}{answer}").as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await
}

const BINDINGS: &str =
    "[tools.day.context]\ntz = { from = 'timezone', default = 'UTC' }\ntoday = { from = 'today' }\n";
const HEADERS: &str = "[callers]\nheaders = { timezone = 'CF-Timezone', language = 'Accept-Language', country = 'CF-IPCountry', city = 'CF-IPCity' }\n";

async fn front(server: SocketAddr, more: &str) -> Running {
    gateway(&file(server, more), None).await
}

fn file(server: SocketAddr, more: &str) -> String {
    format!("default_language = 'en'\n[upstream]\nurl = 'http://{server}/mcp'\n{BINDINGS}{more}")
}

/// A call of the tool with these headers: the head of the answer, and its text.
pub(crate) async fn call(gateway: SocketAddr, headers: &[(&str, &str)]) -> (u16, String, String) {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"day","arguments":{}}}"#;
    ask(gateway, "POST /mcp", &[&ACCEPT, headers].concat(), body).await
}

pub(crate) fn zone(answer: &str) -> String {
    let (_, rest) = answer.split_once(r#"\"tz\":\""#).unwrap_or_else(|| panic!("no zone in {answer}"));
    rest.split('\\').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_header_counts_from_a_trusted_proxy_and_from_nobody_else() {
    let server = echo().await;
    let headers =
        [("CF-Timezone", "Asia/Kathmandu"), ("CF-IPCountry", "NP"), ("Accept-Language", "ne, en;q=0.5")];
    // Everybody here comes from loopback, which is trusted until something else is said.
    for (proxies, expected) in [
        ("", "Asia/Kathmandu"),
        ("[server]\ntrusted_proxies = ['127.0.0.1']\n", "Asia/Kathmandu"),
        ("[server]\ntrusted_proxies = []\n", "UTC"),
        ("[server]\ntrusted_proxies = ['10.0.0.0/8']\n", "UTC"),
    ] {
        let gateway = front(server, &format!("{HEADERS}{proxies}")).await;
        let (status, head, answer) = call(gateway.callers, &headers).await;
        assert_eq!((status, zone(&answer).as_str()), (200, expected), "{proxies}");
        let head = head.to_ascii_lowercase();
        let is_named = head.contains("vary: accept-language, cf-timezone, cf-ipcountry, cf-ipcity");
        assert_eq!(is_named, expected != "UTC", "{head}");
        // An answer that was assumed for one caller is nobody else's.
        assert!(expected == "UTC" || head.contains("cache-control: private"), "{head}");
        // Whoever is trusted for the caller's address is trusted here, too: the connection counts, not a header.
        let spoofed = [&headers[..], &[("X-Forwarded-For", "127.0.0.1")]].concat();
        assert_eq!(zone(&call(gateway.callers, &spoofed).await.2), expected, "{proxies}");
    }
}

#[tokio::test]
async fn without_the_setting_no_header_counts() {
    let gateway = front(echo().await, "").await;
    let (_, head, answer) = call(gateway.callers, &[("CF-Timezone", "Asia/Kathmandu")]).await;
    assert_eq!(zone(&answer), "UTC");
    assert!(!head.to_ascii_lowercase().contains("cf-timezone"), "{head}");
}

#[tokio::test]
async fn absurd_headers_are_ignored_and_the_call_goes_on() {
    let gateway = front(echo().await, &format!("{HEADERS}[limits]\nheader_bytes = '256 KiB'\n")).await;
    let huge = "a".repeat(64 << 10);
    let long = "de, ".repeat(2000) + "de";
    for (name, value) in [
        ("CF-Timezone", "Mars/Olympus"),
        ("CF-Timezone", "+05:45"),
        ("CF-Timezone", ""),
        ("CF-Timezone", &*huge),
        ("CF-Timezone", "../../etc/passwd"),
        ("CF-IPCountry", "XX"),
        ("CF-IPCity", &*huge),
        ("Accept-Language", &*long),
        ("Accept-Language", "de;q=7"),
        ("Accept-Language", "*"),
    ] {
        let (status, _, answer) = call(gateway.callers, &[(name, value)]).await;
        let shown = &value[..value.len().min(20)];
        assert_eq!((status, zone(&answer).as_str()), (200, "UTC"), "{name}: {shown}");
    }
    let twice = [("CF-Timezone", "Asia/Tokyo"), ("CF-Timezone", "Asia/Kathmandu")];
    assert_eq!(zone(&call(gateway.callers, &twice).await.2), "UTC");
}

#[tokio::test]
async fn callers_at_the_same_time_never_get_each_others_zone() {
    let gateway = front(echo().await, HEADERS).await;
    let zones = ["Asia/Kathmandu", "Pacific/Apia", "America/Los_Angeles", ""];
    let calls = (0..80).map(|number| {
        let (address, zone) = (gateway.callers, zones[number % zones.len()]);
        tokio::spawn(async move {
            let headers = if zone.is_empty() { vec![] } else { vec![("CF-Timezone", zone)] };
            (zone, call(address, &headers).await.2)
        })
    });
    for call in calls.collect::<Vec<_>>() {
        let (asked, answer) = call.await.unwrap();
        assert_eq!(zone(&answer), if asked.is_empty() { "UTC" } else { asked });
    }
}

#[tokio::test]
async fn what_was_taken_from_where_is_counted_and_no_value_is() {
    let more = format!("{HEADERS}[callers.default]\nlanguage = 'de'\n");
    let gateway = front(echo().await, &more).await;
    for _ in 0..3 {
        call(gateway.callers, &[("CF-Timezone", "Asia/Kathmandu"), ("CF-IPCountry", "NP")]).await;
    }
    let (_, _, counted) = ask(gateway.admin, "GET /metrics", &[], "").await;
    for line in [
        r#"attune_assumed_total{mount="default",field="timezone",source="header"} 3"#,
        r#"attune_assumed_total{mount="default",field="place",source="header"} 3"#,
        r#"attune_assumed_total{mount="default",field="language",source="default"} 3"#,
    ] {
        assert!(counted.contains(line), "{line}\n{counted}");
    }
    assert!(!counted.contains("Kathmandu") && !counted.contains("\"NP\""), "{counted}");
}

#[tokio::test]
async fn each_mount_has_its_own_defaults() {
    let server = echo().await;
    let mount = |name: &str, zone: &str| {
        format!(
            "[mounts.{name}]\npath = '/{name}'\nupstream = {{ url = 'http://{server}/mcp' }}\n\
             callers = {{ default = {{ timezone = '{zone}' }} }}\n\
             tools = {{ day = {{ context = {{ tz = {{ from = 'timezone' }} }} }} }}\n"
        )
    };
    let gateway = gateway(&(mount("a", "Asia/Kathmandu") + &mount("b", "Pacific/Apia")), None).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"day","arguments":{}}}"#;
    for (path, expected) in [("POST /a", "Asia/Kathmandu"), ("POST /b", "Pacific/Apia")] {
        let (_, _, answer) = ask(gateway.callers, path, &ACCEPT, body).await;
        assert_eq!(zone(&answer), expected);
    }
}

#[tokio::test]
async fn a_header_that_is_not_trusted_is_told_once() {
    let server = echo().await;
    let log = Log::default();
    let _listening = log.listen();
    let more = format!("{HEADERS}[server]\ntrusted_proxies = []\n");
    let gateway = gateway_here(&file(server, &more)).await;
    for _ in 0..5 {
        call(gateway.callers, &[("CF-Timezone", "Asia/Kathmandu")]).await;
    }
    let logged = log.until("the header cf-timezone is ignored").await;
    assert_eq!(logged.matches("is ignored").count(), 1, "{logged}");
    assert!(logged.contains("trusted_proxies") && !logged.contains("Kathmandu"), "{logged}");
}

#[tokio::test]
async fn the_debug_log_has_sources_and_no_values() {
    let server = echo().await;
    let log = Log::default();
    let _listening = log.listen_from(tracing::Level::DEBUG);
    let more = format!("{HEADERS}[callers.default]\nlocale = 'ne-NP'\n");
    let gateway = gateway_here(&file(server, &more)).await;
    let headers = [("CF-Timezone", "Asia/Kathmandu"), ("CF-IPCity", "Patan"), ("CF-IPCountry", "NP")];
    // Whether anybody listens is remembered for each line of the log, and the logs of tests that begin or end beside this one
    // can make that wrong for a moment.
    let logged = soon(async {
        loop {
            tracing::callsite::rebuild_interest_cache();
            call(gateway.callers, &headers).await;
            let until = log.until("sources=language=default");
            if let Ok(logged) = tokio::time::timeout(std::time::Duration::from_secs(1), until).await {
                break logged;
            }
        }
    })
    .await;
    let expected = "language=default timezone=header:cf-timezone locale=default place=header:cf-ipcountry";
    assert!(logged.contains(expected), "{logged}");
    for value in ["Kathmandu", "Patan", "ne-NP"] {
        assert!(!logged.contains(value), "{value} in {logged}");
    }
}

/// A server whose results come twice: as structured content, and as the same JSON in a text block.
async fn twice() -> SocketAddr {
    behind(|_, mut tcp| async move {
        loop {
            let got = message(&mut tcp).await;
            let Some((_, body)) = got.split_once("\r\n\r\n") else { return };
            let Ok(call) = serde_json::from_str::<serde_json::Value>(body) else { return };
            let data = serde_json::json!({"city": "Bern"});
            let content = serde_json::json!([{"type": "text", "text": data.to_string()}]);
            let result = match call["method"].as_str() {
                Some("tools/list") => {
                    serde_json::json!({"tools": [{"name": "where", "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}]})
                }
                _ => serde_json::json!({"content": content, "structuredContent": data}),
            };
            let answer =
                serde_json::json!({"jsonrpc": "2.0", "id": call["id"], "result": result}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                answer.len()
            );
            if tcp.write_all(format!("{head}{answer}").as_bytes()).await.is_err() {
                return;
            }
        }
    })
    .await
}

/// What a client of this name gets: whether there is text, and whether there is structured content.
async fn fields(gateway: SocketAddr, path: &str, name: &str, version: &str) -> (bool, bool) {
    let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": "where", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": name, "version": version},
    }}});
    let routed =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "where")];
    let line = format!("POST {path}");
    let (status, _, answer) = ask(gateway, &line, &[&ACCEPT[..], &routed].concat(), &body.to_string()).await;
    assert_eq!(status, 200, "{answer}");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    let text = answer["result"]["content"].as_array().is_some_and(|blocks| !blocks.is_empty());
    (text, answer["result"].get("structuredContent").is_some())
}

const TWICE: (bool, bool) = (true, true);
const TEXT: (bool, bool) = (true, false);
const DATA: (bool, bool) = (false, true);

#[tokio::test]
async fn an_entry_in_the_file_decides_what_a_client_gets() {
    let server = twice().await;
    let file = |callers: &str| {
        format!("[upstream]\nurl = 'http://{server}/mcp'\n[content]\nenabled = true\n[callers]\n{callers}\n")
    };
    let entries = "[callers.clients.acme]\nname = 'acme-*'\nversions = '>=2'\nreads = 'content'\n\
                   [callers.clients.codex-mcp-client]\nfeatures = []\n\
                   [callers.clients.gemini]\nname = 'gemini-cli-mcp-client'\nreads = 'structuredContent'\n";
    let clients = [
        ("acme-desktop", "2.1"),
        ("acme-desktop", "1.9"),
        ("codex-mcp-client", "1.0.0"),
        ("gemini-cli-mcp-client", "1.0"),
    ];
    for (callers, expected) in [
        ("profile = 'auto'\n".to_owned(), [TWICE, TWICE, DATA, TEXT]),
        (format!("profile = 'auto'\n{entries}"), [TEXT, TWICE, TWICE, DATA]),
        // Without profiles no entry counts.
        (entries.to_owned(), [TWICE; 4]),
    ] {
        let gateway = gateway(&file(&callers), None).await;
        for ((name, version), expected) in clients.into_iter().zip(expected) {
            let got = fields(gateway.callers, "/mcp", name, version).await;
            assert_eq!(got, expected, "{name} {version} with {callers}");
        }
    }
}

#[tokio::test]
async fn an_entry_of_a_mount_comes_first_and_a_reload_changes_it() {
    let server = twice().await;
    let file = |own: &str| {
        let mount =
            |name: &str| format!("[mounts.{name}]\npath = '/{name}'\nupstream.url = 'http://{server}/mcp'\n");
        let top = "[content]\nenabled = true\n[callers]\nprofile = 'auto'\n[callers.clients.acme]\nreads = 'content'\n";
        format!("{top}{}{}{own}", mount("a"), mount("b"))
    };
    let path = std::env::temp_dir().join(format!("attune-clients-{}.toml", std::process::id()));
    let first = file("[mounts.b.callers.clients.here]\nname = 'acme'\nreads = 'both'\n");
    std::fs::write(&path, &first).unwrap();
    let gateway = gateway(&first, Some(path.clone())).await;
    assert_eq!(fields(gateway.callers, "/a", "acme", "1").await, TEXT);
    assert_eq!(fields(gateway.callers, "/b", "acme", "1").await, DATA);
    std::fs::write(&path, file("[mounts.b.callers.clients.here]\nname = 'acme'\nfeatures = []\n")).unwrap();
    soon(async { while fields(gateway.callers, "/b", "acme", "1").await != TWICE {} }).await;
    assert_eq!(fields(gateway.callers, "/a", "acme", "1").await, TEXT);
    std::fs::remove_file(&path).unwrap();
}

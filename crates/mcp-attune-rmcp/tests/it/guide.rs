//! docs/rust.md: its code is that of the example, which is asked here, and its Cargo lines are those of the workspace.

use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{AttuneTransport, CallerProfile, Connection, ConnectionOptions, ServerTarget};
use serde_json::json;

use crate::greeter::{Greeter, app, settings};

const PAGE: &str = include_str!("../../../../docs/rust.md");
const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../../examples/greeter/main.rs");
const GERMAN: &str = include_str!("../../examples/greeter/de.json");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");
const MANIFEST: &str = include_str!("../../Cargo.toml");

/// The blocks of one kind.
fn blocks<'p>(page: &'p str, kind: &str) -> Vec<&'p str> {
    let fence = format!("\n```{kind}\n");
    page.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
}

#[test]
fn the_code_of_the_page_is_that_of_the_example() {
    let example = EXAMPLE.replace("pub(crate) ", "");
    let quoted = blocks(PAGE, "rust");
    assert!(quoted.len() >= 5, "{}", quoted.len());
    for block in quoted {
        assert!(example.contains(block), "the example does not have\n{block}");
    }
    assert_eq!(blocks(PAGE, "json de.json"), [GERMAN.trim_end()]);
}

/// The versions that the workspace is built with, and the features that the crate and rmcp have.
#[test]
fn the_cargo_lines_of_the_page_are_those_of_the_workspace() {
    let lines = |text: &'static str| text.lines().filter_map(|line| line.split_once(" = "));
    let version = |text: &'static str, name: &str| {
        let (_, value) = lines(text).find(|(key, _)| *key == name).unwrap_or_else(|| panic!("no {name}"));
        value.split('"').nth(1).expect("a version").to_owned()
    };
    let pages = [PAGE, README].map(|page| blocks(page, "toml"));
    assert!(pages.iter().all(|blocks| !blocks.is_empty()), "{pages:?}");
    for block in pages.concat() {
        let line =
            block.lines().find(|line| line.starts_with("mcp-attune-rmcp = ")).expect("the crate itself");
        let named =
            line.split_once("features = [").and_then(|(_, rest)| rest.split_once(']')).expect("features").0;
        let features: Vec<_> = named.split(", ").map(|feature| feature.trim_matches('"')).collect();
        assert!(features.contains(&"server"), "{block}");
        for feature in features {
            assert!(lines(MANIFEST).any(|(key, _)| key == feature), "the crate has no feature {feature}");
        }
        for (name, _) in block.lines().filter_map(|line| line.split_once(" = ")) {
            if name != "mcp-attune-rmcp" {
                assert_eq!(version(block, name), version(WORKSPACE, name), "{name}");
            }
        }
    }
}

/// A title, and what a tool says, for a caller in Zurich.
async fn asked(connection: &Connection) -> (String, String) {
    let german = CallerProfile::default().language(AcceptLanguage::parse("de-CH").unwrap());
    let asking = connection.with_profile(&german);
    let title = asking.tools().await.unwrap()[0]["title"].as_str().unwrap().to_owned();
    let said = asking.call("today", json!({})).await.unwrap();
    (title, said["content"][0]["text"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_example_answers_in_german_over_http() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app()).await });
    let connection =
        Connection::open(&url.parse::<ServerTarget>().unwrap(), &ConnectionOptions::default()).await.unwrap();
    let (title, said) = asked(&connection).await;
    assert_eq!(title, "Welcher Tag ist heute?");
    // The date is in the language of the sentence: two numbers and a year.
    let day = said.strip_prefix("Heute ist der ").and_then(|rest| rest.strip_suffix('.')).unwrap_or_default();
    assert!(day.split('.').count() == 3 && day.split('.').all(|part| part.parse::<u16>().is_ok()), "{said}");
}

#[tokio::test]
async fn the_example_answers_in_german_over_pipes() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (theirs, mut ours) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    tokio::spawn(async move {
        rmcp::serve_server(Greeter, AttuneTransport::new(read, write, settings()))
            .await
            .unwrap()
            .waiting()
            .await
    });
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "io.modelcontextprotocol/acceptLanguage": "de" });
    let params = json!({ "name": "today", "arguments": {}, "_meta": meta });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    ours.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let mut answer = String::new();
    BufReader::new(ours).read_line(&mut answer).await.unwrap();
    assert!(answer.contains("\"Heute ist der ") && answer.contains("contentLanguage\":\"de\""), "{answer}");
}

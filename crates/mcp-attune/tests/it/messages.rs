//! What servers of other people's making say, in `spec/cases/messages.json`: recognized among all messages of their
//! locale file, and put in its place in whatever carries it.

use std::collections::{BTreeMap, BTreeSet};

use case_table::{check, same};
use mcp_attune::catalog::LocaleChain;
use mcp_attune::localize::RequestSubject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::localize::{BOTH, adapted, chain};

const FILE: &str = include_str!("../../../../spec/cases/messages.json");

#[derive(Deserialize)]
struct Catalogs {
    catalogs: BTreeMap<String, Catalog>,
    cases: Vec<Source>,
}

#[derive(Deserialize)]
struct Source {
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalog {
    language: String,
    messages: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    catalog: String,
    r#in: String,
    said: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    text: Option<String>,
}

#[test]
fn messages() {
    let file: Catalogs = serde_json::from_str(FILE).unwrap();
    let sources: BTreeSet<_> = file.cases.iter().map(|case| &case.source).collect();
    assert!(sources.len() >= 10, "only {} servers", sources.len());
    let read = |(name, catalog): (String, Catalog)| {
        (name, chain(&[(&catalog.language, json!({"messages": catalog.messages}))]))
    };
    let chains: BTreeMap<String, LocaleChain> = file.catalogs.into_iter().map(read).collect();
    check(FILE, 150, |input: Said, expected: Given| {
        let chain = chains.get(&input.catalog).ok_or("no such catalog")?;
        same("text", &chain.translate_text(&input.said), &expected.text)?;
        let (message, place) = carried(&input.r#in, &input.said)?;
        let (after, _) = adapted(&message, &RequestSubject::new("tools/call"), chain, BOTH);
        let after: Value = serde_json::from_str(&after).map_err(|wrong| wrong.to_string())?;
        let stands = after.pointer(place).and_then(Value::as_str).map(str::to_owned);
        same("text in its place", &stands, &Some(expected.text.unwrap_or(input.said)))?;
        let before: Value = serde_json::from_str(&message).map_err(|wrong| wrong.to_string())?;
        same("code", &after.pointer("/error/code"), &before.pointer("/error/code"))
    });
}

/// A message with the text in it, and where the text stands.
fn carried(place: &str, text: &str) -> Result<(String, &'static str), String> {
    let (message, place) = match place {
        "progress" => (
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": 1, "progress": 1, "message": text}}),
            "/params/message",
        ),
        "elicitation" => (
            json!({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": {"message": text}}),
            "/params/message",
        ),
        "error" => {
            (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": text}}), "/error/message")
        }
        "content" => (
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}}),
            "/result/content/0/text",
        ),
        _ => return Err(format!("{place} is no place")),
    };
    Ok((message.to_string(), place))
}

//! What a server protected by OAuth says to strangers, directly and through the gateway: it must be the same.

use anyhow::{Context, Result, ensure};
use reqwest::header::{CONTENT_TYPE, HeaderName, WWW_AUTHENTICATE};
use reqwest::{Client, RequestBuilder};

use crate::client::tell;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// What is compared: the status, the headers that matter here, and the body.
#[derive(PartialEq, Debug)]
struct Answer {
    status: u16,
    kind: String,
    challenge: String,
    body: String,
}

/// Asks without a token, with a wrong one, and for the metadata that the refusal names.
pub(crate) async fn run(direct: &str, through: &str) -> Result<()> {
    tell("challenges_strangers", &challenge(direct, through, None).await.map(|answer| answer.challenge));
    let wrong = challenge(direct, through, Some("wrong")).await;
    tell("challenges_wrong_tokens", &wrong.map(|answer| answer.challenge));
    tell("passes_metadata", &metadata(direct, through).await);
    Ok(())
}

async fn challenge(direct: &str, through: &str, token: Option<&str>) -> Result<Answer> {
    let ask = |url: &str| {
        let request = Client::new()
            .post(url)
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
            .body(PING);
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    };
    let (direct, through) = (answer(ask(direct)).await?, answer(ask(through)).await?);
    ensure!(direct.status == 401 && direct.challenge.starts_with("Bearer"), "directly: {direct:?}");
    ensure!(through == direct, "{through:?} instead of {direct:?}");
    Ok(through)
}

/// The address in the challenge is the server's own; the gateway has the same path.
async fn metadata(direct: &str, through: &str) -> Result<String> {
    let challenge = challenge(direct, through, None).await?.challenge;
    let named = challenge.split("resource_metadata=\"").nth(1).and_then(|rest| rest.split('"').next());
    let named = named.with_context(|| format!("no metadata in {challenge:?}"))?;
    let path = named.strip_prefix(direct.trim_end_matches("/mcp")).context("the metadata is elsewhere")?;
    let here = format!("{}{path}", through.trim_end_matches("/mcp"));
    let client = Client::new();
    let (direct, through) = (answer(client.get(named)).await?, answer(client.get(here)).await?);
    ensure!(direct.status == 200 && direct.body.contains("authorization_servers"), "directly: {direct:?}");
    ensure!(through == direct, "{through:?} instead of {direct:?}");
    Ok(path.to_owned())
}

async fn answer(request: RequestBuilder) -> Result<Answer> {
    let response = request.send().await?;
    let header = |name: HeaderName| {
        response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    let (kind, challenge) = (header(CONTENT_TYPE), header(WWW_AUTHENTICATE));
    let status = response.status().as_u16();
    Ok(Answer { status, kind, challenge, body: response.text().await? })
}

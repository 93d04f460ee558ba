//! Which way of speaking MCP a child follows.
//!
//! 1. A new child is asked `server/discover`. Whoever answers it, or refuses it with an error that only the modern
//!    era has, is modern, and says which versions it speaks.
//! 2. Any other error, and it is asked to `initialize`: whoever does that is legacy.
//! 3. Some legacy servers end, or never answer, when they are asked what they do not know: one that ended is started
//!    again, unless it never read what it was asked; one that is silent is asked to `initialize` too, and if that does not help, started again.
//! 4. What was found out is known for as long as the command stays the same.
//! 5. A modern child that is started again is asked `server/discover` before any caller's request goes to it, so that
//!    whether it can run does not depend on what callers ask of it.
//!
//! Rules: G9, H14.

use std::sync::Arc;
use std::time::Duration;

use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::{code, meta, version};
use tokio::time::timeout;

use super::shared::Shared;
use crate::upstream::UpstreamError;

/// What a child speaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Speaks {
    /// The versions.
    pub(super) versions: Vec<String>,
    /// Whether it answers modern requests.
    pub(super) modern: bool,
}

impl Speaks {
    /// Whether it is known to speak nothing that begins with `initialize`.
    pub(super) fn is_modern_only(&self) -> bool {
        self.modern && !self.versions.iter().any(|version| version::LEGACY.contains(&version.as_str()))
    }
}

fn discover() -> String {
    let (version, client, capabilities) =
        (meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES);
    let (modern, own) = (version::MODERN, env!("CARGO_PKG_VERSION"));
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{"_meta":{{"{version}":"{modern}","{client}":{{"name":"attune","version":"{own}"}},"{capabilities}":{{}}}}}}}}"#
    )
}

fn initialize() -> String {
    let newest = version::NEWEST_LEGACY;
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{newest}","capabilities":{{}},"clientInfo":{{"name":"attune","version":"{}"}}}}}}"#,
        env!("CARGO_PKG_VERSION")
    )
}

/// Finds out what a child speaks, and gives back one that is ready for modern requests, where it is modern.
/// `start` starts a child; `patience` is how long it may take to answer what it may not know, `at_most` what it does.
pub(super) async fn probe(
    start: impl Fn() -> Result<Arc<Shared>, UpstreamError>,
    patience: Duration,
    at_most: Duration,
) -> Result<(Speaks, Option<Arc<Shared>>), UpstreamError> {
    let child = start()?;
    let mut asked = ask(&child, &discover()).await?;
    match timeout(patience, asked.answer()).await {
        Ok(Ok(answer)) => match discovered(&answer) {
            Some(speaks) => Ok((speaks, Some(child))),
            // It lives and knows no better: a handshake is what it waits for, or another start of it does.
            None => match timeout(at_most, handshake(&child)).await {
                Ok(Ok(speaks)) => Ok((speaks, None)),
                _ => begin_again(start, at_most).await,
            },
        },
        // What ended before it read anything was not ended by what it was asked: it would end again.
        Ok(Err(error)) if child.read_nothing() => Err(error),
        Ok(Err(_)) => begin_again(start, at_most).await,
        Err(_) => {
            let both = async {
                let shaken = handshake(&child);
                tokio::pin!(shaken);
                tokio::select! {
                    biased;
                    answer = asked.answer() => match answer.ok().as_deref().and_then(discovered) {
                        Some(speaks) => Ok(speaks),
                        None => shaken.await,
                    },
                    speaks = &mut shaken => speaks,
                }
            };
            match timeout(patience, both).await {
                // It was slow; but it was also asked to initialize, so it is not what modern requests go to.
                Ok(Ok(speaks)) => Ok((speaks, None)),
                _ => {
                    drop(asked);
                    drop(child);
                    begin_again(start, at_most).await
                }
            }
        }
    }
}

/// Waits until a child that is known to be modern answers, or has had time to.
pub(super) async fn greet(child: &Shared, patience: Duration) -> Result<(), UpstreamError> {
    let mut asked = ask(child, &discover()).await?;
    match timeout(patience, asked.answer()).await {
        Ok(Err(error @ (UpstreamError::Broken | UpstreamError::Ended(_)))) => Err(error),
        // What it says is known, and one that is slow is for its callers to wait for.
        _ => Ok(()),
    }
}

/// A new child that is never asked anything but to initialize.
async fn begin_again(
    start: impl Fn() -> Result<Arc<Shared>, UpstreamError>,
    at_most: Duration,
) -> Result<(Speaks, Option<Arc<Shared>>), UpstreamError> {
    let child = start()?;
    let speaks = timeout(at_most, handshake(&child)).await.map_err(|_| UpstreamError::FirstByteTimeout)??;
    Ok((speaks, None))
}

async fn ask(child: &Shared, text: &str) -> Result<super::shared::Call, UpstreamError> {
    let message = Message::parse(text.as_bytes()).map_err(|_| UpstreamError::Broken)?;
    child.ask_first(&message).await
}

async fn handshake(child: &Shared) -> Result<Speaks, UpstreamError> {
    let answer = ask(child, &initialize()).await?.answer().await?;
    let version = Message::parse(answer.as_bytes())
        .ok()
        .and_then(|message| Some(text(message.member("result")?.member("protocolVersion")?)?.into_owned()));
    let version = version.ok_or(UpstreamError::Broken)?;
    Ok(Speaks { versions: vec![version], modern: false })
}

/// What an answer to `server/discover` says; none where it is no modern answer.
fn discovered(answer: &str) -> Option<Speaks> {
    let message = Message::parse(answer.as_bytes()).ok()?;
    let versions = |list: Option<Value<'_>>| -> Vec<String> {
        list.into_iter()
            .flat_map(Value::elements)
            .filter_map(text)
            .map(std::borrow::Cow::into_owned)
            .collect()
    };
    if let Some(result) = message.member("result") {
        let versions = versions(result.member("supportedVersions"));
        return (!versions.is_empty()).then_some(Speaks { versions, modern: true });
    }
    let error = message.member("error")?;
    let code = error.member("code")?.raw().parse().ok()?;
    let mut versions = versions(error.member("data").and_then(|data| data.member("supported")));
    if versions.is_empty() {
        versions.push(version::MODERN.to_owned());
    }
    code::MODERN_ONLY.contains(&code).then_some(Speaks { versions, modern: true })
}

fn text(value: Value<'_>) -> Option<std::borrow::Cow<'_, str>> {
    value.text().and_then(Text::decode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_modern_answers_from_others() {
        let modern = |versions: &[&str]| {
            Some(Speaks {
                versions: versions.iter().map(|version| (*version).to_owned()).collect(),
                modern: true,
            })
        };
        for (answer, expected) in [
            (
                r#""result":{"supportedVersions":["2026-07-28","2025-11-25"]}"#,
                modern(&["2026-07-28", "2025-11-25"]),
            ),
            (r#""error":{"code":-32022,"data":{"supported":["2027-01-01"]}}"#, modern(&["2027-01-01"])),
            (r#""error":{"code":-32021}"#, modern(&["2026-07-28"])),
            (r#""error":{"code":-32601}"#, None),
            (r#""error":{"code":-32602}"#, None),
            (r#""error":{"code":-32000}"#, None),
            (r#""error":{}"#, None),
            (r#""result":{"protocolVersion":"2025-11-25"}"#, None),
            (r#""result":{"supportedVersions":[]}"#, None),
        ] {
            assert_eq!(discovered(&format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#)), expected, "{answer}");
        }
    }

    #[test]
    fn asks_in_messages_that_can_be_read() {
        for text in [discover(), initialize()] {
            assert!(Message::parse(text.as_bytes()).is_ok(), "{text}");
        }
    }
}

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

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_attune_wire::handshake;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::version;
use tokio::time::timeout;

use super::shared::{Call, Shared};
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

/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Finds out what a child speaks, and gives back one that is ready for modern requests, where it is modern.
/// `start` starts a child; `patience` is how long it may take to answer what it may not know, `at_most` what it does.
pub(super) async fn probe(
    start: impl Fn() -> Result<Arc<Shared>, UpstreamError>,
    patience: Duration,
    at_most: Duration,
) -> Result<(Speaks, Option<Arc<Shared>>), UpstreamError> {
    let child = start()?;
    let mut asked = ask(&child, &handshake::discover(Some(OWN))).await?;
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
        Err(_) => match timeout(patience, either_answer(&child, asked)).await {
            // It was slow; but it was also asked to initialize, so it is not what modern requests go to.
            Ok(Ok(speaks)) => Ok((speaks, None)),
            _ => {
                drop(child);
                begin_again(start, at_most).await
            }
        },
    }
}

/// Asks a child that has not answered `server/discover` yet to initialize too, and returns what the first useful answer of the
/// two says.
async fn either_answer(child: &Shared, mut discovery: Call) -> Result<Speaks, UpstreamError> {
    let mut shaken = pin!(handshake(child));
    tokio::select! {
        biased;
        answer = discovery.answer() => match answer.ok().as_deref().and_then(discovered) {
            Some(speaks) => Ok(speaks),
            None => shaken.await,
        },
        speaks = &mut shaken => speaks,
    }
}

/// Waits until a child that is known to be modern answers, or has had time to.
pub(super) async fn greet(child: &Shared, patience: Duration) -> Result<(), UpstreamError> {
    let mut asked = ask(child, &handshake::discover(Some(OWN))).await?;
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

async fn ask(child: &Shared, text: &str) -> Result<Call, UpstreamError> {
    let message = Message::parse(text.as_bytes()).map_err(|_| UpstreamError::Broken)?;
    child.ask_first(&message).await
}

async fn handshake(child: &Shared) -> Result<Speaks, UpstreamError> {
    let answer = ask(child, &handshake::initialize(OWN)).await?.answer().await?;
    let version = Message::parse(answer.as_bytes()).ok();
    let version = version.as_ref().and_then(handshake::session_version).ok_or(UpstreamError::Broken)?;
    Ok(Speaks { versions: vec![version.into_owned()], modern: false })
}

/// What an answer to `server/discover` says; `None` where it is no modern answer.
fn discovered(answer: &str) -> Option<Speaks> {
    let versions = handshake::supported_versions(&Message::parse(answer.as_bytes()).ok()?)?;
    Some(Speaks { versions, modern: true })
}

//! Which era of MCP a child speaks, found out by asking it.
//!
//! 1. A new child is asked `server/discover`. Whoever answers it, or refuses it with an error that only the
//!    modern era has, is modern, and says which versions it speaks.
//! 2. Any other error, and it is asked to `initialize`: whoever does that is legacy.
//! 3. Some legacy servers end, or never answer, when they are asked what they do not know: one that ended is
//!    started again, unless it never read what it was asked; one that is silent is asked to `initialize` too,
//!    and if that does not help, started again.
//! 4. What was found out is known for as long as the command stays the same.
//! 5. A modern child that is started again is asked `server/discover` before any caller's request goes to it,
//!    so that whether it can run does not depend on what callers ask of it.
//!
//! Rules: G9, H14.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mcp_attune_wire::handshake;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::version;
use tokio::time::timeout;

use super::shared_child::{SharedCall, SharedChild};
use crate::upstream::UpstreamError;

/// What a program speaks, as [`probe_protocol`] found it. The supervisor keeps it for all later children of
/// the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ChildProtocol {
    /// The versions that it named: all that `server/discover` lists, or the one version that it answered
    /// `initialize` with. Callers who ask for another are told these.
    pub(super) versions: Vec<String>,
    /// Whether it answers modern requests, so that modern callers can share a child. If not, each of its
    /// children serves one legacy session.
    pub(super) modern: bool,
}

impl ChildProtocol {
    /// Whether it is modern and lists no legacy version. Some such programs answer `initialize` all the same;
    /// `Supervisor::is_modern_only` knows when one did.
    pub(super) fn is_modern_only(&self) -> bool {
        self.modern && !self.versions.iter().any(|version| version::LEGACY.contains(&version.as_str()))
    }
}

/// The version of the gateway, which children are told in `clientInfo`.
const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Finds out what a program speaks. Returns that, and with it the child that was asked, where it is modern
/// and was asked nothing but `server/discover`. Modern requests can go to that child; where it is `None`,
/// whoever needs a shared child starts another.
///
/// `start` starts a child, and is called twice at most. `patience` is how long a child may take to answer a
/// question that it may not know, `at_most` how long one that every legacy server knows. All steps together
/// can take longer than `at_most`; the supervisor limits how long callers wait for them.
///
/// Fails where a child cannot be started or written to, where the first one ended without having read its
/// input (another would end as well), or where the second one does not initialize.
pub(super) async fn probe_protocol(
    start: impl Fn() -> Result<Arc<SharedChild>, UpstreamError>,
    patience: Duration,
    at_most: Duration,
) -> Result<(ChildProtocol, Option<Arc<SharedChild>>), UpstreamError> {
    let child = start()?;
    let mut asked = ask(&child, &handshake::discover_request(Some(OWN_VERSION))).await?;
    match timeout(patience, asked.answer()).await {
        Ok(Ok(answer)) => match read_discovery(&answer) {
            Some(speaks) => Ok((speaks, Some(child))),
            // It lives and knows no better: a handshake is what it waits for, or another start of it does.
            None => match timeout(at_most, run_initialize(&child)).await {
                Ok(Ok(speaks)) => Ok((speaks, None)),
                _ => restart_with_initialize(start, at_most).await,
            },
        },
        // What ended before it read anything was not ended by what it was asked: it would end again.
        Ok(Err(error)) if child.left_input_unread() => Err(error),
        Ok(Err(_)) => restart_with_initialize(start, at_most).await,
        Err(_) => match timeout(patience, first_useful_answer(&child, asked)).await {
            // It was slow; but it was also asked to initialize, so it is not what modern requests go to.
            Ok(Ok(speaks)) => Ok((speaks, None)),
            _ => {
                drop(child);
                restart_with_initialize(start, at_most).await
            }
        },
    }
}

/// Asks a child that has not answered `server/discover` yet to initialize too, and returns what the first
/// useful answer of the two says. The late answer to `server/discover` wins where both are there.
async fn first_useful_answer(
    child: &SharedChild,
    mut discovery: SharedCall,
) -> Result<ChildProtocol, UpstreamError> {
    let mut shaken = pin!(run_initialize(child));
    tokio::select! {
        biased;
        answer = discovery.answer() => match answer.ok().as_deref().and_then(read_discovery) {
            Some(speaks) => Ok(speaks),
            None => shaken.await,
        },
        speaks = &mut shaken => speaks,
    }
}

/// Waits until a child of a program that is known to be modern answers `server/discover`, whatever the answer
/// is, or has had `patience` to do so. Fails only where the child ended; one that is slow is passed to its
/// callers, who have time limits of their own.
pub(super) async fn wait_until_answering(
    child: &SharedChild,
    patience: Duration,
) -> Result<(), UpstreamError> {
    let mut asked = ask(child, &handshake::discover_request(Some(OWN_VERSION))).await?;
    match timeout(patience, asked.answer()).await {
        Ok(Err(error @ (UpstreamError::Broken | UpstreamError::Ended(_)))) => Err(error),
        // What it says is known, and one that is slow is for its callers to wait for.
        _ => Ok(()),
    }
}

/// Starts a child that is never asked anything but to initialize, for programs that cannot cope with
/// `server/discover`. The child is ended again: sessions start their own.
async fn restart_with_initialize(
    start: impl Fn() -> Result<Arc<SharedChild>, UpstreamError>,
    at_most: Duration,
) -> Result<(ChildProtocol, Option<Arc<SharedChild>>), UpstreamError> {
    let child = start()?;
    let speaks =
        timeout(at_most, run_initialize(&child)).await.map_err(|_| UpstreamError::FirstByteTimeout)??;
    Ok((speaks, None))
}

/// Sends a request of the gateway's own, under a small number in place of its id.
async fn ask(child: &SharedChild, text: &str) -> Result<SharedCall, UpstreamError> {
    let message = Message::parse(text.as_bytes()).map_err(|_| UpstreamError::Broken)?;
    child.ask_as_gateway(&message).await
}

/// Asks a child to initialize and returns the version that it answers with. An answer without one, such as an
/// error, is `UpstreamError::Broken`. The handshake is not completed with `notifications/initialized`: the
/// child is only being asked what it speaks.
async fn run_initialize(child: &SharedChild) -> Result<ChildProtocol, UpstreamError> {
    let answer = ask(child, &handshake::initialize_request(OWN_VERSION)).await?.answer().await?;
    let version = Message::parse(answer.as_bytes()).ok();
    let version = version.as_ref().and_then(handshake::session_version).ok_or(UpstreamError::Broken)?;
    Ok(ChildProtocol { versions: vec![version.into_owned()], modern: false })
}

/// Reads an answer to `server/discover`. Returns `None` where no modern server would answer so.
fn read_discovery(answer: &str) -> Option<ChildProtocol> {
    let versions = handshake::supported_versions(&Message::parse(answer.as_bytes()).ok()?)?;
    Some(ChildProtocol { versions, modern: true })
}

//! Modern requests (MCP 2026-07-28): each stands by itself, and all go to one shared child.
//!
//! 1. A request waits until the child is ready and has sent a first message for it, for `first_byte` at most.
//! 2. Where that message is the answer, the caller gets it as JSON, with the HTTP status that its error code
//!    asks for. Otherwise a stream begins with it.
//! 3. A request in a version that the program does not list is refused with the versions that it does list.
//! 4. A caller that goes away, before or during its answer, cancels its request at the child.
//!
//! Rules: G2, G5, G9, G11, H14.

use std::sync::Arc;

use http::Response;
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::{correlate, handshake, multiplex};
use tokio::time::timeout;

use super::answer;
use super::events::{CallEventSource, ChildEventBody, encode_event};
use super::shared_child::CallUpdate;
use super::supervisor::Supervisor;
use crate::Body;
use crate::upstream::UpstreamError;

impl Supervisor {
    /// Answers a modern POST. What is neither a request nor a notification is refused.
    pub(super) async fn handle_modern(
        self: &Arc<Self>,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        match message.kind() {
            MessageKind::Request => {}
            MessageKind::Notification => return self.handle_notification(message).await,
            MessageKind::Answer | MessageKind::Batch | MessageKind::Other => {
                return Ok(answer::not_a_request(message));
            }
        }
        let first = async {
            let (speaks, shared) = self.ensure_ready().await?;
            let version = handshake::request_version(message).unwrap_or_default();
            let Some(shared) = shared.filter(|_| speaks.versions.iter().any(|spoken| *spoken == version))
            else {
                return Ok(Err(answer::unsupported_version(message, &version, &speaks.versions)));
            };
            let mut call = shared.ask(message).await?;
            let heard = call.next().await.ok_or(UpstreamError::Broken)?;
            Ok(Ok((call, heard)))
        };
        let first = timeout(self.options().first_byte, first).await;
        let (call, heard) = match first.map_err(|_| UpstreamError::FirstByteTimeout)?? {
            Ok(first) => first,
            Err(refused) => return Ok(refused),
        };
        match heard {
            CallUpdate::Answer(text, status) => Ok(answer::json(answer::status(status), text)),
            CallUpdate::Failed(error) => Err(error),
            CallUpdate::Notification(text) => {
                let listens = correlate::opens_subscription(message);
                let source = CallEventSource { call, listens, ended: false };
                let events =
                    ChildEventBody::new(source, Some(encode_event(None, &text)), self.options().stream_idle);
                Ok(answer::stream(events))
            }
        }
    }

    /// Passes a notification to the shared child and answers 202.
    ///
    /// One that names a request (`notifications/cancelled`, `notifications/progress`) is accepted and
    /// dropped: the child knows the requests of all callers under other numbers, and the id could be that of
    /// another caller.
    async fn handle_notification(
        self: &Arc<Self>,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        if multiplex::refers_to_request(message) {
            tracing::debug!("a cancellation or progress was posted, and names no request of the child");
            return Ok(answer::accepted());
        }
        let (speaks, shared) = self.ensure_ready().await?;
        match shared {
            Some(shared) => {
                let tell = shared.notify(message);
                timeout(self.options().first_byte, tell)
                    .await
                    .map_err(|_| UpstreamError::FirstByteTimeout)??;
                Ok(answer::accepted())
            }
            None => Ok(answer::unsupported_version(message, "", &speaks.versions)),
        }
    }
}

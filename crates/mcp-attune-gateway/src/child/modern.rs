//! Modern requests: each by itself, all in one child.
//!
//! Rules: G2, G5, G9, G11, H14.

use std::sync::Arc;

use http::Response;
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::{correlate, handshake, multiplex};
use tokio::time::timeout;

use super::answer;
use super::events::{CallEvents, Events, event};
use super::shared::Heard;
use super::supervisor::Supervisor;
use crate::Body;
use crate::upstream::UpstreamError;

impl Supervisor {
    pub(super) async fn modern(
        self: &Arc<Self>,
        message: &Message<'_>,
    ) -> Result<Response<Body>, UpstreamError> {
        match message.kind() {
            Kind::Request => {}
            Kind::Notification => return self.notification(message).await,
            Kind::Answer | Kind::Batch | Kind::Other => return Ok(answer::no_request(message)),
        }
        let first = async {
            let (speaks, shared) = self.ready().await?;
            let version = handshake::request_version(message).unwrap_or_default();
            let Some(shared) = shared.filter(|_| speaks.versions.iter().any(|spoken| *spoken == version))
            else {
                return Ok(Err(answer::other_version(message, &version, &speaks.versions)));
            };
            let mut call = shared.ask(message).await?;
            let heard = call.next().await.ok_or(UpstreamError::Broken)?;
            Ok(Ok((call, heard)))
        };
        let first = timeout(self.options().first_byte, first)
            .await
            .map_err(|_| UpstreamError::FirstByteTimeout)??;
        let (call, heard) = match first {
            Ok(first) => first,
            Err(refused) => return Ok(refused),
        };
        match heard {
            Heard::Answer(text, status) => Ok(answer::json(answer::status(status), text)),
            Heard::Failed(error) => Err(error),
            Heard::Notification(text) => {
                let listens = correlate::opens_subscription(message);
                let source = CallEvents { call, listens, ended: false };
                let events = Events::new(source, Some(event(None, &text)), self.options().stream_idle);
                Ok(answer::stream(events))
            }
        }
    }

    async fn notification(self: &Arc<Self>, message: &Message<'_>) -> Result<Response<Body>, UpstreamError> {
        if multiplex::names_request(message) {
            tracing::debug!("a cancellation or progress was posted, and names no request of the child");
            return Ok(answer::taken());
        }
        let (speaks, shared) = self.ready().await?;
        match shared {
            Some(shared) => {
                let tell = shared.tell(message);
                timeout(self.options().first_byte, tell)
                    .await
                    .map_err(|_| UpstreamError::FirstByteTimeout)??;
                Ok(answer::taken())
            }
            None => Ok(answer::other_version(message, "", &speaks.versions)),
        }
    }
}

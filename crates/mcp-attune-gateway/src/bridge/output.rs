//! Answers that are streams of the bridge's own: events that a task writes and the caller reads.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use mcp_attune_tower::boxed;
use tokio::sync::mpsc;

use crate::{Body, BoxError};

/// How many events wait for a caller that reads slowly, before the task waits.
const MAX_WAITING: usize = 16;
/// A comment, which keeps proxies from cutting a quiet stream.
const COMMENT: &[u8] = b": \n\n";

/// Where a task writes the events of an answer.
#[derive(Clone, Debug)]
pub(super) struct EventSender(mpsc::Sender<Bytes>);

impl EventSender {
    /// Sends a message as an event. Returns `false` where the caller is gone.
    pub(super) async fn send(&self, message: &str) -> bool {
        let mut event = Vec::with_capacity(message.len() + 32);
        event.extend_from_slice(b"event: message\n");
        for line in message.split(['\n', '\r']) {
            event.extend_from_slice(b"data: ");
            event.extend_from_slice(line.as_bytes());
            event.push(b'\n');
        }
        event.push(b'\n');
        self.0.send(event.into()).await.is_ok()
    }

    /// Sends a sign of life. Returns `false` where the caller is gone.
    pub(super) async fn send_comment(&self) -> bool {
        self.0.send(Bytes::from_static(COMMENT)).await.is_ok()
    }

    /// Waits until the caller is gone.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// Makes a stream: where it is written, and the body that the caller reads.
pub(super) fn event_stream() -> (EventSender, Body) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    (EventSender(sender), boxed(EventBody(receiver)))
}

struct EventBody(mpsc::Receiver<Bytes>);

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

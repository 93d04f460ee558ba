//! The standard input of a program: whole messages, one after the other, and no more of them waiting than
//! memory allows.
//!
//! Many callers write to one program. Each message goes into a queue, and one task writes the queue out, so
//! that a caller who goes away in the middle of a write leaves no half message behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_attune_process::lines::encode_line;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// How many bytes may wait for a program that does not read. A longer message waits until the queue is empty.
const MAX_QUEUED_BYTES: usize = 8 << 20;
/// Up to this size, messages that wait are put together into one write: it is what a pipe holds on Linux.
const WRITE_BATCH_BYTES: usize = 64 << 10;

/// The sending half of a program's input. Clones send to the same program; when the last one is dropped, the
/// input is closed.
#[derive(Clone, Debug)]
pub(crate) struct ChildInput {
    /// The queue. It is bounded by `room`, in bytes rather than in messages.
    to: mpsc::UnboundedSender<QueuedChildInput>,
    /// One permit for each byte that may still be queued.
    room: Arc<Semaphore>,
    /// Whether a write to the program has succeeded.
    wrote: Arc<AtomicBool>,
}

/// Lines that wait to be written.
#[derive(Debug)]
struct QueuedChildInput {
    line: Vec<u8>,
    /// The room that they take, given back when they were written; `None` for short messages of our own.
    room: Option<OwnedSemaphorePermit>,
}

impl QueuedChildInput {
    /// Appends lines, together with the room that they take.
    fn join(&mut self, more: Self) {
        self.line.extend(more.line);
        match (&mut self.room, more.room) {
            (Some(room), Some(more)) => room.merge(more),
            (room, more) => *room = room.take().or(more),
        }
    }
}

/// The program does not read any more: it has closed its input, or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChildInputClosed;

impl ChildInput {
    /// Returns the sending half, and the future that writes what is sent. The future is to be run in a task
    /// of its own: it ends when the last [`ChildInput`] is gone or a write fails, and dropping it closes the
    /// program's input.
    pub(crate) fn new(into: impl AsyncWrite + Send + Unpin) -> (Self, impl Future<Output = ()> + Send) {
        let (to, waiting) = mpsc::unbounded_channel();
        let pipe = Self { to, room: Arc::new(Semaphore::new(MAX_QUEUED_BYTES)), wrote: Arc::default() };
        let wrote = Arc::clone(&pipe.wrote);
        (pipe, write_queued(waiting, into, wrote))
    }

    /// Returns a flag that tells whether anything was written so far. It can be read when the pipe is gone.
    pub(crate) fn wrote_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wrote)
    }

    /// Queues a message as one line, as soon as there is room for it. That it returns does not mean that the
    /// program has read the message. Where the future is dropped before it is ready, nothing was queued.
    pub(crate) async fn send(&self, message: &[u8]) -> Result<(), ChildInputClosed> {
        let line = encode_line(message);
        let bytes = u32::try_from(line.len().min(MAX_QUEUED_BYTES)).unwrap_or(u32::MAX);
        let room = tokio::select! {
            room = Arc::clone(&self.room).acquire_many_owned(bytes) => room.map_err(|_| ChildInputClosed)?,
            () = self.to.closed() => return Err(ChildInputClosed),
        };
        self.to.send(QueuedChildInput { line, room: Some(room) }).map_err(|_| ChildInputClosed)
    }

    /// Queues a short message of our own, such as a cancellation, without waiting for room, so that it can be
    /// called when something is dropped. The caller must see to it that such messages are few: one for each
    /// message that found room.
    pub(crate) fn send_short(&self, message: &str) {
        // Nobody there to read it is as good as having read it.
        let _ = self.to.send(QueuedChildInput { line: encode_line(message.as_bytes()), room: None });
    }
}

/// Writes the queue out until it is closed or a write fails.
async fn write_queued(
    mut waiting: mpsc::UnboundedReceiver<QueuedChildInput>,
    mut into: impl AsyncWrite + Unpin,
    wrote: Arc<AtomicBool>,
) {
    while let Some(mut first) = waiting.recv().await {
        // What waits already goes in one piece: the program wakes up once for all of it.
        while first.line.len() < WRITE_BATCH_BYTES
            && let Ok(more) = waiting.try_recv()
        {
            first.join(more);
        }
        if let Err(error) = into.write_all(&first.line).await {
            tracing::debug!(%error, "the program reads no more");
            return;
        }
        wrote.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;
    use tokio::io::AsyncReadExt;
    use tokio::time::timeout;

    #[tokio::test(start_paused = true)]
    async fn lets_no_more_wait_than_there_is_room_for() {
        let (mut out, into) = tokio::io::duplex(16);
        let (pipe, carry) = ChildInput::new(into);
        let carry = tokio::spawn(carry);
        let half = vec![b'x'; MAX_QUEUED_BYTES / 2 - 1];
        pipe.send(&half).await.unwrap();
        pipe.send(&half).await.unwrap();
        assert!(timeout(Duration::from_secs(1), pipe.send(b"more")).await.is_err());
        pipe.send_short("short");
        let mut read = vec![0; MAX_QUEUED_BYTES];
        out.read_exact(&mut read).await.unwrap();
        pipe.send(b"more").await.unwrap();
        drop(pipe);
        carry.await.unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).await.unwrap();
        assert_eq!(rest, "short\nmore\n");
    }

    #[tokio::test]
    async fn says_when_nobody_reads_any_more() {
        let (out, into) = tokio::io::duplex(16);
        let (pipe, carry) = ChildInput::new(into);
        let carry = tokio::spawn(carry);
        drop(out);
        let _ = pipe.send(b"lost").await;
        carry.await.unwrap();
        assert_eq!(pipe.send(&vec![b'x'; MAX_QUEUED_BYTES]).await, Err(ChildInputClosed));
        assert_eq!(pipe.send(b"x").await, Err(ChildInputClosed));
    }

    /// Remembers each write.
    #[derive(Default)]
    struct Writes(Vec<String>);

    impl AsyncWrite for Writes {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, text: &[u8]) -> Poll<io::Result<usize>> {
            self.0.push(String::from_utf8(text.to_vec()).unwrap());
            Poll::Ready(Ok(text.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn writes_what_waits_in_one_piece_and_makes_room_for_more() {
        let mut writes = Writes::default();
        let (pipe, carry) = ChildInput::new(&mut writes);
        let long = "x".repeat(WRITE_BATCH_BYTES);
        for message in ["one", "two", &long, "three"] {
            pipe.send(message.as_bytes()).await.unwrap();
        }
        pipe.send_short("four");
        let room = Arc::clone(&pipe.room);
        drop(pipe);
        carry.await;
        assert_eq!(writes.0, [format!("one\ntwo\n{long}\n"), "three\nfour\n".to_owned()]);
        assert_eq!(room.available_permits(), MAX_QUEUED_BYTES);
    }
}

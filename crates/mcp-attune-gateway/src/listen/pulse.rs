//! Whether a connection is alive: what moves on it, and for how long nothing did.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::Limits;
use crate::{Body, BoxError};

/// What goes on on one connection, counted where it happens.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    begun: AtomicU64,
    running: AtomicUsize,
    held: AtomicUsize,
    written: AtomicU64,
    blocked: AtomicBool,
    last_answer: AtomicBool,
}

/// A pulse at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Beat {
    /// Requests so far.
    begun: u64,
    /// Requests whose answer has not left.
    running: usize,
    /// Answers of which a piece was taken, and no next one was asked for yet.
    held: usize,
    /// Bytes so far.
    written: u64,
    /// Whether the last bytes could not be written.
    blocked: bool,
}

impl Pulse {
    pub(super) fn beat(&self) -> Beat {
        Beat {
            begun: self.begun.load(Relaxed),
            running: self.running.load(Relaxed),
            held: self.held.load(Relaxed),
            written: self.written.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
        }
    }

    /// Whether the next answer is the last of its connection.
    pub(super) fn close_after_answer(&self, close: bool) {
        self.last_answer.store(close, Relaxed);
    }

    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.written.fetch_add(u64::try_from(*bytes).unwrap_or(u64::MAX), Relaxed);
        }
        self.blocked.store(written.is_pending(), Relaxed);
        written
    }
}

/// Why a connection was cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dead {
    /// No request came.
    Silent,
    /// What waits for the caller is not read.
    Unread,
}

/// Looks at a pulse from time to time and says when it is gone.
#[derive(Debug)]
pub(super) struct Watch {
    silent: Duration,
    unread: Duration,
    last: Beat,
    heard: Instant,
    moved: Instant,
}

impl Watch {
    pub(super) fn new(limits: &Limits, now: Instant) -> Self {
        Self { silent: limits.head, unread: limits.unread, last: Beat::default(), heard: now, moved: now }
    }

    /// How often to look.
    pub(super) fn every(&self) -> Duration {
        (self.silent.min(self.unread) / 4).max(Duration::from_millis(1))
    }

    pub(super) fn look(&mut self, beat: Beat, now: Instant) -> Option<Dead> {
        let waits = beat.blocked || beat.held > 0;
        if beat.running > 0 || beat.begun != self.last.begun {
            self.heard = now;
        }
        if !waits || beat.written != self.last.written {
            self.moved = now;
        }
        self.last = beat;
        if now.duration_since(self.moved) >= self.unread {
            Some(Dead::Unread)
        } else if now.duration_since(self.heard) >= self.silent {
            Some(Dead::Silent)
        } else {
            None
        }
    }
}

/// One running request, from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct Running(Arc<Pulse>);

impl Running {
    pub(super) fn new(pulse: &Arc<Pulse>) -> Self {
        pulse.begun.fetch_add(1, Relaxed);
        pulse.running.fetch_add(1, Relaxed);
        Self(Arc::clone(pulse))
    }
}

impl Running {
    /// Whether the answer to this request is the last of its connection.
    pub(super) fn is_last(&self) -> bool {
        self.0.last_answer.load(Relaxed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
    }
}

/// An answer's body that says whether it is asked for more.
#[derive(Debug)]
pub(super) struct Answer {
    inner: Body,
    running: Running,
    held: bool,
}

impl Answer {
    pub(super) fn new(inner: Body, running: Running) -> Self {
        Self { inner, running, held: false }
    }

    fn hold(&mut self, held: bool) {
        let count = &self.running.0.held;
        match (self.held, held) {
            (false, true) => count.fetch_add(1, Relaxed),
            (true, false) => count.fetch_sub(1, Relaxed),
            _ => return,
        };
        self.held = held;
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.hold(false);
    }
}

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        self.hold(matches!(polled, Poll::Ready(Some(Ok(_)))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A connection that counts what is written to it.
#[derive(Debug)]
pub(super) struct Counted<I> {
    inner: I,
    pulse: Arc<Pulse>,
}

impl<I> Counted<I> {
    pub(super) fn new(inner: I, pulse: Arc<Pulse>) -> Self {
        Self { inner, pulse }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Counted<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Counted<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.pulse.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.pulse.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks once a second at the beats, each as often as it says, and returns when the connection was dead.
    #[track_caller]
    fn check(beats: &[(u64, Beat)], expected: Option<(u64, Dead)>) {
        let limits =
            Limits { head: Duration::from_secs(10), unread: Duration::from_secs(5), ..Limits::default() };
        let start = Instant::now();
        let mut watch = Watch::new(&limits, start);
        let mut seconds = 0;
        for (times, beat) in beats {
            for _ in 0..*times {
                seconds += 1;
                if let Some(dead) = watch.look(*beat, start + Duration::from_secs(seconds)) {
                    assert_eq!(Some((seconds, dead)), expected);
                    return;
                }
            }
        }
        assert_eq!(None, expected);
    }

    const NEW: Beat = Beat { begun: 0, running: 0, held: 0, written: 0, blocked: false };
    const RUNS: Beat = Beat { begun: 1, running: 1, ..NEW };
    const DONE: Beat = Beat { begun: 1, written: 9, ..NEW };

    #[test]
    fn a_connection_without_a_request_is_dead() {
        check(&[(9, NEW)], None);
        check(&[(20, NEW)], Some((10, Dead::Silent)));
        check(&[(3, NEW), (20, DONE)], Some((14, Dead::Silent)));
    }

    #[test]
    fn a_request_may_run_for_long_and_wait_for_its_answer() {
        check(&[(1000, RUNS)], None);
        check(&[(1000, RUNS), (20, DONE)], Some((1010, Dead::Silent)));
    }

    #[test]
    fn an_answer_that_is_not_read_is_dead() {
        for stuck in [Beat { blocked: true, ..RUNS }, Beat { held: 1, ..RUNS }] {
            check(&[(20, RUNS), (20, stuck)], Some((25, Dead::Unread)));
            check(&[(4, stuck), (1, RUNS), (4, stuck), (9, RUNS)], None);
        }
    }

    #[test]
    fn an_answer_that_is_read_slowly_lives() {
        let read = |written| (4, Beat { blocked: true, held: 1, written, ..RUNS });
        check(&[read(1), read(2), read(3), read(4)], None);
    }
}

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

use super::ListenerLimits;
use crate::{Body, BoxError};

/// What goes on on one connection, counted where it happens.
#[derive(Debug, Default)]
pub(super) struct ConnectionActivity {
    begun: AtomicU64,
    running: AtomicUsize,
    held: AtomicUsize,
    written: AtomicU64,
    blocked: AtomicBool,
    last_answer: AtomicBool,
}

/// A pulse at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ActivitySnapshot {
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

impl ConnectionActivity {
    pub(super) fn snapshot(&self) -> ActivitySnapshot {
        ActivitySnapshot {
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

    fn note_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.written.fetch_add(u64::try_from(*bytes).unwrap_or(u64::MAX), Relaxed);
        }
        self.blocked.store(written.is_pending(), Relaxed);
        written
    }
}

/// Why a connection was cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeadConnectionReason {
    /// No request came.
    Silent,
    /// What waits for the caller is not read.
    Unread,
}

/// Looks at a pulse from time to time and says when it is gone.
#[derive(Debug)]
pub(super) struct LivenessWatch {
    silent: Duration,
    unread: Duration,
    last: ActivitySnapshot,
    heard: Instant,
    moved: Instant,
}

impl LivenessWatch {
    pub(super) fn new(limits: &ListenerLimits, now: Instant) -> Self {
        Self {
            silent: limits.head,
            unread: limits.unread,
            last: ActivitySnapshot::default(),
            heard: now,
            moved: now,
        }
    }

    /// How often to look.
    pub(super) fn check_interval(&self) -> Duration {
        (self.silent.min(self.unread) / 4).max(Duration::from_millis(1))
    }

    pub(super) fn check_liveness(
        &mut self,
        beat: ActivitySnapshot,
        now: Instant,
    ) -> Option<DeadConnectionReason> {
        let waits = beat.blocked || beat.held > 0;
        if beat.running > 0 || beat.begun != self.last.begun {
            self.heard = now;
        }
        if !waits || beat.written != self.last.written {
            self.moved = now;
        }
        self.last = beat;
        if now.duration_since(self.moved) >= self.unread {
            Some(DeadConnectionReason::Unread)
        } else if now.duration_since(self.heard) >= self.silent {
            Some(DeadConnectionReason::Silent)
        } else {
            None
        }
    }
}

/// One running request, from its head to the end of its answer.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<ConnectionActivity>);

impl ActiveRequest {
    pub(super) fn new(pulse: &Arc<ConnectionActivity>) -> Self {
        pulse.begun.fetch_add(1, Relaxed);
        pulse.running.fetch_add(1, Relaxed);
        Self(Arc::clone(pulse))
    }
}

impl ActiveRequest {
    /// Whether the answer to this request is the last of its connection.
    pub(super) fn closes_connection(&self) -> bool {
        self.0.last_answer.load(Relaxed)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
    }
}

/// An answer's body that says whether it is asked for more.
#[derive(Debug)]
pub(super) struct TrackedAnswerBody {
    inner: Body,
    running: ActiveRequest,
    held: bool,
}

impl TrackedAnswerBody {
    pub(super) fn new(inner: Body, running: ActiveRequest) -> Self {
        Self { inner, running, held: false }
    }

    fn set_held(&mut self, held: bool) {
        let count = &self.running.0.held;
        match (self.held, held) {
            (false, true) => count.fetch_add(1, Relaxed),
            (true, false) => count.fetch_sub(1, Relaxed),
            _ => return,
        };
        self.held = held;
    }
}

impl Drop for TrackedAnswerBody {
    fn drop(&mut self) {
        self.set_held(false);
    }
}

impl http_body::Body for TrackedAnswerBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        self.set_held(matches!(polled, Poll::Ready(Some(Ok(_)))));
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
pub(super) struct WriteCountingIo<I> {
    inner: I,
    pulse: Arc<ConnectionActivity>,
}

impl<I> WriteCountingIo<I> {
    pub(super) fn new(inner: I, pulse: Arc<ConnectionActivity>) -> Self {
        Self { inner, pulse }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for WriteCountingIo<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for WriteCountingIo<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.pulse.note_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.pulse.note_write(written)
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
    fn check(beats: &[(u64, ActivitySnapshot)], expected: Option<(u64, DeadConnectionReason)>) {
        let limits = ListenerLimits {
            head: Duration::from_secs(10),
            unread: Duration::from_secs(5),
            ..ListenerLimits::default()
        };
        let start = Instant::now();
        let mut watch = LivenessWatch::new(&limits, start);
        let mut seconds = 0;
        for (times, beat) in beats {
            for _ in 0..*times {
                seconds += 1;
                if let Some(dead) = watch.check_liveness(*beat, start + Duration::from_secs(seconds)) {
                    assert_eq!(Some((seconds, dead)), expected);
                    return;
                }
            }
        }
        assert_eq!(None, expected);
    }

    const NEW: ActivitySnapshot =
        ActivitySnapshot { begun: 0, running: 0, held: 0, written: 0, blocked: false };
    const RUNS: ActivitySnapshot = ActivitySnapshot { begun: 1, running: 1, ..NEW };
    const DONE: ActivitySnapshot = ActivitySnapshot { begun: 1, written: 9, ..NEW };

    #[test]
    fn a_connection_without_a_request_is_dead() {
        check(&[(9, NEW)], None);
        check(&[(20, NEW)], Some((10, DeadConnectionReason::Silent)));
        check(&[(3, NEW), (20, DONE)], Some((14, DeadConnectionReason::Silent)));
    }

    #[test]
    fn a_request_may_run_for_long_and_wait_for_its_answer() {
        check(&[(1000, RUNS)], None);
        check(&[(1000, RUNS), (20, DONE)], Some((1010, DeadConnectionReason::Silent)));
    }

    #[test]
    fn an_answer_that_is_not_read_is_dead() {
        for stuck in [ActivitySnapshot { blocked: true, ..RUNS }, ActivitySnapshot { held: 1, ..RUNS }] {
            check(&[(20, RUNS), (20, stuck)], Some((25, DeadConnectionReason::Unread)));
            check(&[(4, stuck), (1, RUNS), (4, stuck), (9, RUNS)], None);
        }
    }

    #[test]
    fn an_answer_that_is_read_slowly_lives() {
        let read = |written| (4, ActivitySnapshot { blocked: true, held: 1, written, ..RUNS });
        check(&[read(1), read(2), read(3), read(4)], None);
    }
}

//! Decides whether a connection is still alive, from what moves on it.
//!
//! 1. A connection is *silent* if no request runs on it and none began for [`ListenerLimits::head`].
//! 2. It is *unread* if something waits to be sent to its caller (a write blocked, or a piece of an answer is
//!    held) and nothing was written for [`ListenerLimits::unread`].
//! 3. A request that runs and has nothing to send yet is neither, for as long as the upstream takes.
//!
//! The connection's I/O, its requests and the bodies of its answers count what they do in one
//! [`ConnectionActivity`]. Its driver looks at a snapshot of that a few times within the shortest time-out
//! and asks a [`LivenessWatch`], so that time-outs need one timer for a connection and none for a read or
//! write.

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

/// Counters of what happens on one connection, shared by everything that belongs to it.
#[derive(Debug, Default)]
pub(super) struct ConnectionActivity {
    /// Requests that have begun so far.
    begun: AtomicU64,
    /// Requests whose answer is not completely sent.
    running: AtomicUsize,
    /// Answers of which a piece was taken, and the next was not asked for yet: the connection cannot send as
    /// fast as they come.
    held: AtomicUsize,
    /// Bytes written so far.
    written: AtomicU64,
    /// Whether the last write could not be done, because the caller does not read.
    blocked: AtomicBool,
    /// Whether the next answer is to close the connection.
    last_answer: AtomicBool,
}

/// The counters of a [`ConnectionActivity`] at one moment.
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
    /// Returns the counters now. They are read one after the other, which is exact enough for time-outs.
    pub(super) fn snapshot(&self) -> ActivitySnapshot {
        ActivitySnapshot {
            begun: self.begun.load(Relaxed),
            running: self.running.load(Relaxed),
            held: self.held.load(Relaxed),
            written: self.written.load(Relaxed),
            blocked: self.blocked.load(Relaxed),
        }
    }

    /// Sets whether the next answer closes its connection.
    pub(super) fn close_after_answer(&self, close: bool) {
        self.last_answer.store(close, Relaxed);
    }

    /// Counts the result of a write, and returns it.
    fn note_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.written.fetch_add(u64::try_from(*bytes).unwrap_or(u64::MAX), Relaxed);
        }
        self.blocked.store(written.is_pending(), Relaxed);
        written
    }
}

/// Why a connection is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeadConnectionReason {
    /// No request came for [`ListenerLimits::head`]: the connection is idle, or the head of a request does
    /// not arrive.
    Silent,
    /// For [`ListenerLimits::unread`], the caller did not read anything of what waits for it.
    Unread,
}

/// Compares snapshots of one connection over time and finds out when it is dead. It has no timer of its own.
#[derive(Debug)]
pub(super) struct LivenessWatch {
    /// How long there may be no request.
    silent: Duration,
    /// How long nothing may be written while something waits.
    unread: Duration,
    /// The snapshot of the last check.
    last: ActivitySnapshot,
    /// When a request last began or ran.
    heard: Instant,
    /// When something was last written, or nothing waited to be.
    moved: Instant,
}

impl LivenessWatch {
    /// Begins to watch a connection that was accepted at `now`.
    pub(super) fn new(limits: &ListenerLimits, now: Instant) -> Self {
        Self {
            silent: limits.head,
            unread: limits.unread,
            last: ActivitySnapshot::default(),
            heard: now,
            moved: now,
        }
    }

    /// Returns how often [`check_liveness`](Self::check_liveness) wants to be called: a quarter of the
    /// shorter time-out, at least a millisecond.
    pub(super) fn check_interval(&self) -> Duration {
        (self.silent.min(self.unread) / 4).max(Duration::from_millis(1))
    }

    /// Returns why the connection is dead, or `None` if it lives. A running request keeps it from being
    /// silent, however long it takes; an unread answer is dead even while requests run.
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

/// One running request, counted from its head to the end of its answer, when it is dropped.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<ConnectionActivity>);

impl ActiveRequest {
    /// Counts a request that begins.
    pub(super) fn new(pulse: &Arc<ConnectionActivity>) -> Self {
        pulse.begun.fetch_add(1, Relaxed);
        pulse.running.fetch_add(1, Relaxed);
        Self(Arc::clone(pulse))
    }
}

impl ActiveRequest {
    /// Returns whether the answer to this request has to close the connection.
    pub(super) fn closes_connection(&self) -> bool {
        self.0.last_answer.load(Relaxed)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
    }
}

/// The body of an answer. It keeps its request counted as running, and counts as *held* from the moment a
/// piece is taken until the next is asked for.
#[derive(Debug)]
pub(super) struct TrackedAnswerBody {
    inner: Body,
    running: ActiveRequest,
    /// Whether this body is counted as held.
    held: bool,
}

impl TrackedAnswerBody {
    pub(super) fn new(inner: Body, running: ActiveRequest) -> Self {
        Self { inner, running, held: false }
    }

    /// Counts this body as held, or not.
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

/// A connection that counts what is written to it. It is next to the socket, below TLS, so that it sees what
/// the caller really takes.
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

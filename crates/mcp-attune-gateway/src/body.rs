//! Bodies that fail instead of waiting for ever.
//!
//! [`IdleTimeoutBody`] bounds the pause between two frames and is used in both directions: for requests from
//! callers and for answers of upstreams. [`MinRateBody`] bounds the whole time of a request's body. Both turn
//! the time-out into an error of the body, which whoever reads it translates into an answer.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::BoxError;

/// A time-out for waiting that costs little where waiting is rare: the timer is created by the first wait and
/// kept. When it fires, it first checks whether something arrived since it was set, and if so is set again
/// for the rest.
#[derive(Debug)]
pub(crate) struct IdleTimeout {
    /// How long nothing may arrive.
    limit: Duration,
    /// When the first poll found nothing; `None` right after something arrived.
    since: Option<Instant>,
    /// Created by the first wait. Its deadline may be earlier than `since + limit`, never later.
    timer: Option<Pin<Box<Sleep>>>,
    /// The waker that the timer knows.
    waits: Option<Waker>,
}

impl IdleTimeout {
    /// Makes a time-out that counts from the first wait on.
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, since: None, timer: None, waits: None }
    }

    /// Notes that something arrived: the time begins anew with the next wait.
    pub(crate) fn touch(&mut self) {
        self.since = None;
    }

    /// Returns ready when nothing arrived for the whole limit. Call it in every poll that found nothing.
    ///
    /// The time is counted from the first such poll: time in which nobody polled, for example because the
    /// reader was busy, does not count against the sender.
    pub(crate) fn poll_elapsed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let since = *self.since.get_or_insert_with(Instant::now);
        let end = since + self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        // It is set and known to who waits, as it is for every call but the first on a connection.
        if self.waits.as_ref().is_some_and(|waits| waits.will_wake(cx.waker())) && !timer.is_elapsed() {
            return Poll::Pending;
        }
        self.waits = Some(cx.waker().clone());
        while timer.deadline() < end {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(end);
        }
        timer.as_mut().poll(cx)
    }
}

pin_project_lite::pin_project! {
    /// A body that fails if its next frame does not come within a limit. All its errors are of one small type
    /// `E`: those of the inner body that are already of this type are passed on, all others are logged and
    /// become `broken`.
    pub(crate) struct IdleTimeoutBody<B, E> {
        #[pin]
        inner: B,
        idle: IdleTimeout,
        stalled: E,
        broken: E,
    }
}

impl<B, E> IdleTimeoutBody<B, E> {
    /// Wraps a body. `stalled` is the error of a pause above `limit`, `broken` the error of whatever else
    /// breaks the body.
    pub(crate) fn new(inner: B, limit: Duration, stalled: E, broken: E) -> Self {
        Self { inner, idle: IdleTimeout::new(limit), stalled, broken }
    }
}

impl<B, E> http_body::Body for IdleTimeoutBody<B, E>
where
    B: http_body::Body,
    B::Error: Into<BoxError>,
    E: Error + Copy + Send + Sync + 'static,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.project();
        match this.inner.poll_frame(cx) {
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(match error.into().downcast::<E>() {
                Ok(known) => known,
                Err(error) => {
                    tracing::debug!(error = %ErrorChain(&*error), "{}", this.broken);
                    Box::new(*this.broken)
                }
            }))),
            Poll::Ready(frame) => {
                this.idle.touch();
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            Poll::Pending => {
                ready!(this.idle.poll_elapsed(cx));
                Poll::Ready(Some(Err(Box::new(*this.stalled))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

pin_project_lite::pin_project! {
    /// A body that must come at a minimum rate: within `time`, plus one second for each `rate` bytes that
    /// have come. A caller that sends one byte now and then never pauses for long, and would otherwise hold
    /// its connection for ever (Slowloris).
    ///
    /// With the default limits (30 s, and 4 KiB for a second), a body that comes at 4 KiB a second or faster
    /// is never late, and one that comes in single bytes is cut off after 30 s.
    pub(crate) struct MinRateBody<B, E> {
        #[pin]
        inner: B,
        began: Instant,
        time: Duration,
        rate: u64,
        came: u64,
        timer: Option<Pin<Box<Sleep>>>,
        late: E,
    }
}

impl<B, E> MinRateBody<B, E> {
    /// Wraps a body; its time begins now. A `rate` of 0 counts as 1. `late` is the error of a body that takes
    /// too long.
    pub(crate) fn new(inner: B, time: Duration, rate: usize, late: E) -> Self {
        let rate = u64::try_from(rate).unwrap_or(u64::MAX).max(1);
        Self { inner, began: Instant::now(), time, rate, came: 0, timer: None, late }
    }
}

impl<B, E> http_body::Body for MinRateBody<B, E>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
    E: Error + Copy + Send + Sync + 'static,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.project();
        if let Poll::Ready(frame) = this.inner.poll_frame(cx) {
            if let Some(Ok(frame)) = &frame {
                *this.came += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        // The time in which nobody asked counts, too: a body is read as fast as it comes.
        let end = *this.began + *this.time + Duration::from_secs(*this.came / *this.rate);
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        while timer.deadline() < end {
            ready!(timer.as_mut().poll(cx));
            timer.as_mut().reset(end);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Some(Err(Box::new(*this.late))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Writes an error and all its causes, separated by `: `, for the log.
pub(crate) struct ErrorChain<'a>(pub(crate) &'a (dyn Error + 'static));

impl std::fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::{advance, timeout};

    const LIMIT: Duration = Duration::from_secs(10);

    async fn is_over(idle: &mut IdleTimeout) -> bool {
        timeout(Duration::ZERO, poll_fn(|cx| idle.poll_elapsed(cx))).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn is_over_when_nothing_came_for_the_limit() {
        let mut idle = IdleTimeout::new(LIMIT);
        assert!(!is_over(&mut idle).await);
        advance(LIMIT / 2).await;
        assert!(!is_over(&mut idle).await);
        advance(LIMIT / 2).await;
        assert!(is_over(&mut idle).await);
    }

    #[tokio::test(start_paused = true)]
    async fn starts_anew_when_something_came() {
        let mut idle = IdleTimeout::new(LIMIT);
        for _ in 0..5 {
            assert!(!is_over(&mut idle).await);
            advance(LIMIT * 2 / 3).await;
            idle.touch();
        }
        assert!(!is_over(&mut idle).await);
        advance(LIMIT).await;
        assert!(is_over(&mut idle).await);
    }

    #[tokio::test(start_paused = true)]
    async fn does_not_count_the_time_in_which_nobody_asked() {
        let mut idle = IdleTimeout::new(LIMIT);
        advance(LIMIT * 3).await;
        assert!(!is_over(&mut idle).await);
        idle.touch();
        advance(LIMIT * 3).await;
        assert!(!is_over(&mut idle).await);
    }
}

//! A body that does not wait for ever.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::BoxError;

/// A time-out for waiting, cheap for what rarely waits: the timer is armed by the first wait, and when it rings
/// it looks whether something came in between before it says that nothing did.
#[derive(Debug)]
pub(crate) struct IdleTimeout {
    limit: Duration,
    /// Since when nothing came; `None` right after something did.
    since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Who is woken when it rings.
    waits: Option<Waker>,
}

impl IdleTimeout {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { limit, since: None, timer: None, waits: None }
    }

    /// Something came.
    pub(crate) fn touch(&mut self) {
        self.since = None;
    }

    /// Ready when nothing came for the whole limit, counted from the first of the polls that found nothing:
    /// the time in which nobody asked does not count.
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
    /// A body whose frames must not be further apart than a limit. Its errors are of one small type.
    pub(crate) struct IdleTimeoutBody<B, E> {
        #[pin]
        inner: B,
        idle: IdleTimeout,
        stalled: E,
        broken: E,
    }
}

impl<B, E> IdleTimeoutBody<B, E> {
    /// `stalled` is what a pause above the limit means, `broken` any error of the body itself that is not of their type.
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
    /// A body that must come in time: `time`, and a second more with each `rate` bytes of it. A caller that sends a byte now
    /// and then makes no pause, and would take for ever.
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
    /// `late` is what it means when the time is over.
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

/// An error with all that caused it, for the log.
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

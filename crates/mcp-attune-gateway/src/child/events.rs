//! What a child says, as the events of an HTTP answer.
//!
//! 1. One message is one event, and leaves when it is there.
//! 2. A stream that is silent says so now and then, in comments, so that nobody on the way takes it for dead.
//! 3. A call that is silent for too long is over, unless it is the child that waits for its caller; a stream that
//!    only listens may be silent for ever.
//!
//! Rules: G2, G5.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep};

use super::place::Place;
use super::session::Reader;
use super::shared::{Call, Heard};
use crate::BoxError;
use crate::upstream::UpstreamError;

/// How often a silent stream says that it is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where events come from.
pub(super) trait Source {
    /// The next one; none at the end.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>>;

    /// Whether it may be silent for as long as it likes.
    fn may_be_silent(&self) -> bool;
}

/// The events of one answer.
pub(super) struct Events<S> {
    source: S,
    /// What goes before all that the source has to say.
    first: Option<Bytes>,
    limit: Duration,
    silent_since: Instant,
    timer: Pin<Box<Sleep>>,
    over: bool,
}

impl<S> Events<S> {
    /// `limit`: how long a call may be silent.
    pub(super) fn new(source: S, first: Option<Bytes>, limit: Duration) -> Self {
        let timer = Box::pin(sleep(pause(limit)));
        Self { source, first, limit, silent_since: Instant::now(), timer, over: false }
    }
}

impl<S: Source + Unpin> http_body::Body for Events<S> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        if this.over {
            return Poll::Ready(None);
        }
        let pause = pause(this.limit);
        let error = match this.source.poll_event(cx) {
            Poll::Ready(Some(Ok(event))) => {
                this.silent_since = Instant::now();
                this.timer.as_mut().reset(this.silent_since + pause);
                return Poll::Ready(Some(Ok(Frame::data(event))));
            }
            Poll::Ready(Some(Err(error))) => error,
            Poll::Ready(None) => {
                this.over = true;
                return Poll::Ready(None);
            }
            Poll::Pending => {
                ready!(this.timer.as_mut().poll(cx));
                if this.source.may_be_silent() {
                    this.silent_since = Instant::now();
                }
                if this.silent_since.elapsed() < this.limit || this.source.may_be_silent() {
                    this.timer.as_mut().reset(Instant::now() + pause);
                    // The timer must know whom to wake.
                    cx.waker().wake_by_ref();
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": still here\n\n")))));
                }
                UpstreamError::Stalled
            }
        };
        this.over = true;
        Poll::Ready(Some(Err(error.into())))
    }
}

/// Silence is looked at twice at least before it is too long: the time in which a child waited for its caller is
/// noticed when it is looked at, and must not count against the child afterwards.
fn pause(limit: Duration) -> Duration {
    KEEP_ALIVE.min(limit / 2)
}

/// A message as an event. It is one line but for carriage returns, which JSON has only between its parts.
pub(super) fn event(place: Option<Place>, text: &str) -> Bytes {
    let id = place.map(|place| format!("id: {place}\n")).unwrap_or_default();
    let text =
        if text.contains('\r') { text.replace('\r', " ").into() } else { std::borrow::Cow::Borrowed(text) };
    format!("{id}data: {text}\n\n").into()
}

/// A modern call.
pub(super) struct CallEvents {
    pub(super) call: Call,
    /// Whether it is a subscription.
    pub(super) listens: bool,
    pub(super) ended: bool,
}

impl Source for CallEvents {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        Poll::Ready(ready!(self.call.poll_next(cx)).map(|heard| match heard {
            Heard::Notification(text) => Ok(event(None, &text)),
            Heard::Answer(text, _) => {
                self.ended = true;
                Ok(event(None, &text))
            }
            Heard::Failed(error) => Err(error),
        }))
    }

    fn may_be_silent(&self) -> bool {
        self.listens
    }
}

impl Source for Reader {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        self.poll_next(cx)
            .map(|heard| heard.map(|heard| heard.map(|heard| event(Some(heard.place), &heard.text))))
    }

    fn may_be_silent(&self) -> bool {
        self.waits_for_caller()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;
    use tokio::time::advance;

    /// A source that says nothing.
    struct Silent(bool);

    impl Source for Silent {
        fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
            Poll::Pending
        }

        fn may_be_silent(&self) -> bool {
            self.0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_says_that_it_is_there_until_it_has_to_end() {
        let mut events = Events::new(Silent(false), Some("first".into()), KEEP_ALIVE * 3);
        let mut said = Vec::new();
        let error = loop {
            match events.frame().await.unwrap() {
                Ok(frame) => said.push(frame.into_data().unwrap()),
                Err(error) => break error,
            }
        };
        assert_eq!(said, ["first", ": still here\n\n", ": still here\n\n"]);
        assert_eq!(error.downcast_ref(), Some(&UpstreamError::Stalled));
        assert!(events.frame().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_listens_may_be_silent_for_ever() {
        let mut events = Events::new(Silent(true), None, KEEP_ALIVE * 3);
        for _ in 0..20 {
            advance(KEEP_ALIVE).await;
            assert!(events.frame().await.unwrap().is_ok());
        }
    }

    #[test]
    fn an_event_has_one_line_of_data() {
        let place = Some(Place { stream: 1, event: 2 });
        assert_eq!(event(place, "{\r \"a\":1}"), "id: 1-2\ndata: {  \"a\":1}\n\n");
    }
}

//! The messages of a child as the server-sent events of an HTTP answer.
//!
//! 1. One message is one event, and leaves when it is there.
//! 2. A stream that is silent says so now and then, in comments (`: still here`), so that no proxy on the way
//!    takes it for dead.
//! 3. A call that is silent for too long is over, unless it is the child that waits for its caller; a stream
//!    that only listens may be silent for ever.
//!
//! Rules: G2, G5.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::time::{Instant, Sleep, sleep};

use super::event_id::LegacyEventId;
use super::session::LegacyStreamReader;
use super::shared_child::{CallUpdate, SharedCall};
use crate::BoxError;
use crate::upstream::UpstreamError;

/// The longest time between two events or comments on a stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The messages of one stream, for [`ChildEventBody`]: a modern call ([`CallEventSource`]) or a stream of a
/// legacy session ([`LegacyStreamReader`]).
pub(super) trait ChildEventSource {
    /// Polls for the next event, encoded as it goes onto the wire. `None` ends the stream in order. An error
    /// ends it too; the layer outside tells the caller of it in a last event.
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>>;

    /// Whether silence is fine now: the stream only listens, or the child waits for its caller. It is asked
    /// whenever the stream was silent for a while, and the answer may change in between.
    fn may_be_silent(&self) -> bool;
}

/// The body of an answer that is a stream of events, with comments in the pauses and a limit on silence.
///
/// Dropping it drops the source. That cancels a modern call at the child, and only detaches from a legacy
/// stream.
pub(super) struct ChildEventBody<S> {
    source: S,
    /// Events that are there already, sent before all that the source has to say.
    first: Option<Bytes>,
    /// How long the source may be silent while it may not be.
    limit: Duration,
    /// When the last event came, or when silence was last found to be fine.
    silent_since: Instant,
    /// Rings when silence is to be looked at, and a comment to be sent.
    timer: Pin<Box<Sleep>>,
    /// Whether the end or the error was returned.
    over: bool,
}

impl<S> ChildEventBody<S> {
    /// Streams `first` and then the events of `source`. A silence of `limit` ends the body with
    /// [`UpstreamError::Stalled`], unless the source may be silent.
    pub(super) fn new(source: S, first: Option<Bytes>, limit: Duration) -> Self {
        let timer = Box::pin(sleep(silence_check_interval(limit)));
        Self { source, first, limit, silent_since: Instant::now(), timer, over: false }
    }
}

impl<S: ChildEventSource + Unpin> http_body::Body for ChildEventBody<S> {
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
        let pause = silence_check_interval(this.limit);
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

/// Returns how long a stream is silent before a comment is sent.
///
/// Silence is looked at twice at least before it is too long: the time in which a child waited for its caller
/// is noticed when it is looked at, and must not count against the child afterwards.
fn silence_check_interval(limit: Duration) -> Duration {
    KEEP_ALIVE_INTERVAL.min(limit / 2)
}

/// Encodes a message as an event: `id: 3-7`, where it has an id, and one `data:` line.
///
/// The message came as one line, so the only line ends in it are carriage returns, which JSON has only
/// between its parts; they become spaces.
pub(super) fn encode_event(place: Option<LegacyEventId>, text: &str) -> Bytes {
    let id = place.map(|place| format!("id: {place}\n")).unwrap_or_default();
    let text =
        if text.contains('\r') { text.replace('\r', " ").into() } else { std::borrow::Cow::Borrowed(text) };
    format!("{id}data: {text}\n\n").into()
}

/// The events of a modern call: notifications that name it, and at last its answer. They have no ids, because
/// modern streams are not resumed.
pub(super) struct CallEventSource {
    pub(super) call: SharedCall,
    /// Whether the call is a subscription, whose answer may never come.
    pub(super) listens: bool,
    /// Whether the answer was returned. Nothing comes after it.
    pub(super) ended: bool,
}

impl ChildEventSource for CallEventSource {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        Poll::Ready(ready!(self.call.poll_next(cx)).map(|heard| match heard {
            CallUpdate::Notification(text) => Ok(encode_event(None, &text)),
            CallUpdate::Answer(text, _) => {
                self.ended = true;
                Ok(encode_event(None, &text))
            }
            CallUpdate::Failed(error) => Err(error),
        }))
    }

    fn may_be_silent(&self) -> bool {
        self.listens
    }
}

impl ChildEventSource for LegacyStreamReader {
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
        self.poll_next(cx)
            .map(|heard| heard.map(|heard| heard.map(|heard| encode_event(Some(heard.place), &heard.text))))
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

    impl ChildEventSource for Silent {
        fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, UpstreamError>>> {
            Poll::Pending
        }

        fn may_be_silent(&self) -> bool {
            self.0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_says_that_it_is_there_until_it_has_to_end() {
        let mut events = ChildEventBody::new(Silent(false), Some("first".into()), KEEP_ALIVE_INTERVAL * 3);
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
        let mut events = ChildEventBody::new(Silent(true), None, KEEP_ALIVE_INTERVAL * 3);
        for _ in 0..20 {
            advance(KEEP_ALIVE_INTERVAL).await;
            assert!(events.frame().await.unwrap().is_ok());
        }
    }

    #[test]
    fn an_event_has_one_line_of_data() {
        let place = Some(LegacyEventId { stream: 1, event: 2 });
        assert_eq!(encode_event(place, "{\r \"a\":1}"), "id: 1-2\ndata: {  \"a\":1}\n\n");
    }
}

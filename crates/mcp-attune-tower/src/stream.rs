//! A stream of server-sent events whose messages are adapted one by one as they pass.
//!
//! Rules: G2, G4, G5, G8.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;

use crate::body::BoxError;
use crate::failed::HttpFailure;
use crate::held::BufferReservation;
use crate::lines::remove_stale_headers;
use crate::logging;
use crate::response_adapter::ResponseAdapter;
use crate::sse::{SsePiece, SseSplitter, event_data, replace_event_data, replace_event_id};

pin_project! {
    /// The body of an answer that is a stream of events. Each event is passed on as soon as it is complete, changed
    /// where the plan says so. Dropping it cancels the event that is being adapted.
    pub(crate) struct AdaptedEventBody<B> {
        #[pin]
        inner: B,
        adapter: EventAdapter,
    }
}

impl<B> AdaptedEventBody<B> {
    /// Wraps the body `inner`, which answers the request that `asked` knows. `limit` is the maximum size of an
    /// event; `held` counts the bytes of an unfinished one.
    pub(crate) fn new(inner: B, asked: ResponseAdapter, limit: usize, held: BufferReservation) -> Self {
        Self { inner, adapter: EventAdapter::new(asked, limit, held) }
    }
}

impl<B> Body for AdaptedEventBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        loop {
            if let Some(bytes) = ready!(this.adapter.poll_adapted(cx)) {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if this.adapter.ended {
                return Poll::Ready(this.adapter.last_frame());
            }
            let taken = match ready!(this.inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => this.adapter.push(&bytes),
                    // Nothing comes after trailers.
                    Err(frame) => return Poll::Ready(Some(Ok(this.adapter.clean_trailers(frame)))),
                },
                Some(Err(error)) => Err(HttpFailure::from_service_error(&error.into())),
                None => {
                    this.adapter.finish();
                    Ok(())
                }
            };
            if let Err(failed) = taken {
                this.adapter.fail(failed);
            }
        }
    }
}

/// Adapts the events of one stream: takes the bytes that come, and gives those that are passed on, in order.
///
/// Bytes pass through `splitter` into `waiting`, and from there adapted into `ready`. An event that takes long
/// blocks those behind it, and the body reads no more from the service meanwhile, so the memory stays bounded.
struct EventAdapter {
    splitter: SseSplitter,
    held: BufferReservation,
    asked: ResponseAdapter,
    /// Adapted bytes to be passed on.
    ready: VecDeque<Bytes>,
    /// Pieces that are not adapted yet.
    waiting: VecDeque<SsePiece>,
    /// The event that is being adapted on another thread.
    long: Option<LongEvent>,
    /// The JSON-RPC error event that ends a stream which failed, for a request that waits for its answer.
    last: Option<Bytes>,
    /// The error that cuts off a stream which failed and that no request waits for.
    broken: Option<HttpFailure>,
    /// Whether the service's body is over or failed: no more bytes are read.
    ended: bool,
}

impl EventAdapter {
    fn new(asked: ResponseAdapter, limit: usize, held: BufferReservation) -> Self {
        Self {
            splitter: SseSplitter::new(limit),
            held,
            asked,
            ready: VecDeque::new(),
            waiting: VecDeque::new(),
            long: None,
            last: None,
            broken: None,
            ended: false,
        }
    }

    /// Returns the next bytes to be passed on. `None` if all events that came have been passed on.
    fn poll_adapted(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if let Some(long) = &mut self.long {
                let event = ready!(long.as_mut().poll(cx));
                self.long = None;
                self.ready.push_back(seal_event_id(&self.asked, event));
            } else if self.waiting.is_empty() {
                return Poll::Ready(None);
            } else {
                let (done, long) = adapt_pieces(&self.asked, &mut self.waiting);
                self.ready.extend(done);
                self.long = long;
            }
        }
    }

    /// Takes bytes of the stream. Fails with 502 if an event is too large, and with 503 if the budget has no
    /// room.
    fn push(&mut self, bytes: &Bytes) -> Result<(), HttpFailure> {
        match self.splitter.push(bytes) {
            Ok(pieces) => self.waiting.extend(pieces),
            Err(error) => {
                let failed = HttpFailure::new(502, error.notice());
                self.waiting.extend(error.before);
                return Err(failed);
            }
        }
        let held = self.held.resize(self.splitter.buffered_bytes());
        held.map_err(|full| HttpFailure::new(503, full.notice()))
    }

    /// Takes the end of the stream; the bytes of an unfinished event are passed on unchanged.
    fn finish(&mut self) {
        self.ended = true;
        self.ready.extend(self.splitter.finish());
    }

    /// Ends the stream with a failure. The events that were complete are still passed on; what was held of an
    /// unfinished one is dropped. A request that waits for its answer gets a JSON-RPC error as the last event.
    /// A stream without one is cut off, because a client can resume that.
    fn fail(&mut self, failed: HttpFailure) {
        self.ended = true;
        self.asked.account.mark_failed();
        match self.asked.answering.failure_reply(failed.status, failed.notice.clone()) {
            Some(reply) => self.last = Some(format!("data: {}\n\n", reply.body).into()),
            // No request waits here for an error; a stream that is cut can be resumed once more.
            None => self.broken = Some(failed),
        }
    }

    /// Returns what is left when all events have been passed on: why the stream failed, or `None`.
    fn last_frame(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        let last = self.last.take().map(|last| Ok(Frame::data(last)));
        last.or_else(|| self.broken.take().map(|failed| Err(failed.into())))
    }

    /// Removes from trailers what describes bytes that may have changed, such as digests.
    fn clean_trailers(&self, mut frame: Frame<Bytes>) -> Frame<Bytes> {
        if let Some(trailers) = frame.trailers_mut().filter(|_| self.asked.answering.edits_events()) {
            remove_stale_headers(trailers);
        }
        frame
    }
}

/// An event that is being adapted on another thread, with its id not sealed yet.
type LongEvent = Pin<Box<dyn Future<Output = Bytes> + Send>>;

/// Adapts all waiting pieces up to the first event that takes long, which is returned as a future. The pieces
/// before it leave in one frame, because a frame for each would cost more than the pieces; those behind it stay
/// in `pieces`.
fn adapt_pieces(
    asked: &ResponseAdapter,
    pieces: &mut VecDeque<SsePiece>,
) -> (Option<Bytes>, Option<LongEvent>) {
    let mut first = None;
    let mut all: Option<BytesMut> = None;
    while let Some(piece) = pieces.pop_front() {
        let piece = match adapt_piece(asked, piece) {
            Ok(piece) => piece,
            Err(long) => return (all.map(BytesMut::freeze).or(first), Some(long)),
        };
        match (&mut all, first.take()) {
            (Some(all), _) => all.extend_from_slice(&piece),
            (None, None) => first = Some(piece),
            (None, Some(before)) => {
                let mut both = BytesMut::from(before);
                both.extend_from_slice(&piece);
                all = Some(both);
            }
        }
    }
    (all.map(BytesMut::freeze).or(first), None)
}

/// Adapts one piece. It stays the same bytes unless the message in it changed or its id is sealed.
fn adapt_piece(asked: &ResponseAdapter, piece: SsePiece) -> Result<Bytes, LongEvent> {
    let event = match piece {
        SsePiece::Raw(bytes) => return Ok(bytes),
        SsePiece::Event(bytes) => bytes,
    };
    adapt_event(asked, event).map(|event| seal_event_id(asked, event))
}

/// Replaces the id of an event by a sealed one, if this stream has those. If it cannot be sealed, that is
/// logged and the id stays, so that a stream resumed after it is not adapted.
fn seal_event_id(asked: &ResponseAdapter, event: Bytes) -> Bytes {
    if !asked.answering.rewrites_event_ids() {
        return event;
    }
    let shown = |id: &[u8]| {
        asked.answering.event_id(id).unwrap_or_else(|notice| {
            logging::log_notices(&Some(notice));
            None
        })
    };
    replace_event_id(&event, shown).map_or(event, Bytes::from)
}

/// Adapts the message in an event. The error is the future of an event that takes long.
fn adapt_event(asked: &ResponseAdapter, event: Bytes) -> Result<Bytes, LongEvent> {
    let Some(message) = event_data(&event) else { return Ok(event) };
    match asked.adapt_message(&message) {
        Some(adapted) => {
            Ok(adapted.changed.map_or(event.clone(), |changed| replace_event_data(&event, &changed).into()))
        }
        None => Err(adapt_long_event(asked, message, event)),
    }
}

#[cold]
fn adapt_long_event(asked: &ResponseAdapter, message: Vec<u8>, event: Bytes) -> LongEvent {
    let adapted = asked.adapt_long_message(message);
    Box::pin(async move {
        adapted.await.changed.map_or(event.clone(), |changed| replace_event_data(&event, &changed).into())
    })
}

//! The events of one answer, each adapted as it passes.
//!
//! Rules: G2, G4, G5, G8.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use pin_project_lite::pin_project;

use crate::asked::Asked;
use crate::body::BoxError;
use crate::failed::Failed;
use crate::held::Held;
use crate::lines::forget_old_bytes;
use crate::sse::{Piece, Splitter, data, with_data, with_id};
use crate::told;

pin_project! {
    /// A stream of events: each goes on as soon as it is whole, changed where the plan says so.
    pub(crate) struct Events<B> {
        #[pin]
        inner: B,
        adapter: EventAdapter,
    }
}

impl<B> Events<B> {
    /// `asked` is what the stream answers.
    pub(crate) fn new(inner: B, asked: Asked, limit: usize, held: Held) -> Self {
        Self { inner, adapter: EventAdapter::new(asked, limit, held) }
    }
}

impl<B> Body for Events<B>
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
                    Err(frame) => return Poll::Ready(Some(Ok(this.adapter.trailers(frame)))),
                },
                Some(Err(error)) => Err(Failed::of(&error.into())),
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

/// Adapts the events of one stream: takes the bytes that come, and gives those that go on.
struct EventAdapter {
    splitter: Splitter,
    held: Held,
    asked: Asked,
    ready: VecDeque<Bytes>,
    /// What came behind an event that takes long.
    waiting: VecDeque<Piece>,
    /// An event that takes long.
    long: Option<LongEvent>,
    /// What is said at the end, behind all events.
    last: Option<Bytes>,
    broken: Option<Failed>,
    /// Whether no more bytes are taken.
    ended: bool,
}

impl EventAdapter {
    fn new(asked: Asked, limit: usize, held: Held) -> Self {
        Self {
            splitter: Splitter::new(limit),
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

    /// Returns the next bytes that go on, or `None` where all events that came have gone.
    fn poll_adapted(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(bytes));
            }
            if let Some(long) = &mut self.long {
                let event = ready!(long.as_mut().poll(cx));
                self.long = None;
                self.ready.push_back(sealed(&self.asked, event));
            } else if self.waiting.is_empty() {
                return Poll::Ready(None);
            } else {
                let (done, long) = together(&self.asked, &mut self.waiting);
                self.ready.extend(done);
                self.long = long;
            }
        }
    }

    /// Takes bytes of the stream.
    fn push(&mut self, bytes: &Bytes) -> Result<(), Failed> {
        match self.splitter.push(bytes) {
            Ok(pieces) => self.waiting.extend(pieces),
            Err(error) => {
                let failed = Failed { status: 502, what: error.to_string() };
                self.waiting.extend(error.before);
                return Err(failed);
            }
        }
        let held = self.held.set(self.splitter.held());
        held.map_err(|full| Failed { status: 503, what: full.to_string() })
    }

    /// Takes the end of the stream.
    fn finish(&mut self) {
        self.ended = true;
        self.ready.extend(self.splitter.finish());
    }

    /// Ends the stream with a failure. What was held of an unfinished event is dropped: half a message helps nobody.
    fn fail(&mut self, failed: Failed) {
        self.ended = true;
        self.asked.account.fail();
        match self.asked.answering.failed(failed.status, &failed) {
            Some(reply) => self.last = Some(format!("data: {}\n\n", reply.body).into()),
            // No request waits here for an error; a stream that is cut can be resumed once more.
            None => self.broken = Some(failed),
        }
    }

    /// Returns what is left to be said when all events have gone: why the stream failed.
    fn last_frame(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        let last = self.last.take().map(|last| Ok(Frame::data(last)));
        last.or_else(|| self.broken.take().map(|failed| Err(failed.into())))
    }

    /// Returns trailers without what described bytes that may have changed.
    fn trailers(&self, mut frame: Frame<Bytes>) -> Frame<Bytes> {
        if let Some(trailers) = frame.trailers_mut().filter(|_| self.asked.answering.edits_events()) {
            forget_old_bytes(trailers);
        }
        frame
    }
}

/// An event on its way through long work.
type LongEvent = Pin<Box<dyn Future<Output = Bytes> + Send>>;

/// Pieces that are there at the same time leave in one frame: a frame for each would cost more than the pieces. What is
/// behind an event that takes long waits for it.
fn together(asked: &Asked, pieces: &mut VecDeque<Piece>) -> (Option<Bytes>, Option<LongEvent>) {
    let mut first = None;
    let mut all: Option<BytesMut> = None;
    while let Some(piece) = pieces.pop_front() {
        let piece = match adapted(asked, piece) {
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

/// A piece as the caller gets it: the same bytes, unless the message in it changed or its id is sealed.
fn adapted(asked: &Asked, piece: Piece) -> Result<Bytes, LongEvent> {
    let event = match piece {
        Piece::Raw(bytes) => return Ok(bytes),
        Piece::Event(bytes) => bytes,
    };
    with_message(asked, event).map(|event| sealed(asked, event))
}

fn sealed(asked: &Asked, event: Bytes) -> Bytes {
    if !asked.answering.names_events() {
        return event;
    }
    let shown = |id: &[u8]| {
        asked.answering.event_id(id).unwrap_or_else(|notice| {
            told::notices(&Some(notice));
            None
        })
    };
    with_id(&event, shown).map_or(event, Bytes::from)
}

fn with_message(asked: &Asked, event: Bytes) -> Result<Bytes, LongEvent> {
    let Some(message) = data(&event) else { return Ok(event) };
    match asked.message(&message) {
        Some(adapted) => {
            Ok(adapted.changed.map_or(event.clone(), |changed| with_data(&event, &changed).into()))
        }
        None => Err(long_event(asked, message, event)),
    }
}

#[cold]
fn long_event(asked: &Asked, message: Vec<u8>, event: Bytes) -> LongEvent {
    let adapted = asked.long_message(message);
    Box::pin(async move {
        adapted.await.changed.map_or(event.clone(), |changed| with_data(&event, &changed).into())
    })
}

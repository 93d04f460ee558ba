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
        splitter: Splitter,
        held: Held,
        asked: Asked,
        ready: VecDeque<Bytes>,
        // What came behind an event that takes long.
        waiting: VecDeque<Piece>,
        // An event that takes long.
        long: Option<LongEvent>,
        // What is said at the end, behind all events.
        last: Option<Bytes>,
        broken: Option<Failed>,
        ended: bool,
    }
}

impl<B> Events<B> {
    /// `asked` is what the stream answers.
    pub(crate) fn new(inner: B, asked: Asked, limit: usize, held: Held) -> Self {
        Self {
            inner,
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
            if let Some(bytes) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if let Some(long) = this.long {
                let event = ready!(long.as_mut().poll(cx));
                *this.long = None;
                this.ready.push_back(sealed(this.asked, event));
                continue;
            }
            if !this.waiting.is_empty() {
                let (done, long) = together(this.asked, this.waiting);
                this.ready.extend(done);
                *this.long = long;
                continue;
            }
            if let Some(last) = this.last.take() {
                return Poll::Ready(Some(Ok(Frame::data(last))));
            }
            if let Some(failed) = this.broken.take() {
                return Poll::Ready(Some(Err(failed.into())));
            }
            if *this.ended {
                return Poll::Ready(None);
            }
            let failed = match ready!(this.inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => match this.splitter.push(&bytes) {
                        Ok(pieces) => {
                            this.waiting.extend(pieces);
                            match this.held.set(this.splitter.held()) {
                                Ok(()) => continue,
                                Err(full) => Failed { status: 503, what: full.to_string() },
                            }
                        }
                        Err(error) => {
                            let failed = Failed { status: 502, what: error.to_string() };
                            this.waiting.extend(error.before);
                            failed
                        }
                    },
                    // Trailers: nothing after them.
                    Err(mut frame) => {
                        if let Some(trailers) =
                            frame.trailers_mut().filter(|_| this.asked.answering.edits_events())
                        {
                            forget_old_bytes(trailers);
                        }
                        return Poll::Ready(Some(Ok(frame)));
                    }
                },
                Some(Err(error)) => Failed::of(&error.into()),
                None => {
                    *this.ended = true;
                    this.ready.extend(this.splitter.finish());
                    continue;
                }
            };
            // What was held of an unfinished event is dropped: half a message helps nobody.
            *this.ended = true;
            this.asked.account.fail();
            match this.asked.answering.failed(failed.status, &failed) {
                Some(reply) => *this.last = Some(format!("data: {}\n\n", reply.body).into()),
                // No request waits here for an error; a stream that is cut can be resumed once more.
                None => *this.broken = Some(failed),
            }
        }
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

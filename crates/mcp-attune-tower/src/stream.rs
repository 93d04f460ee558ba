//! The events of one answer, each adapted as it passes.
//!
//! Rules: G2, G4, G5, G8.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use mcp_attune::language::AcceptLanguage;
use mcp_attune_wire::reply::Reply;
use pin_project_lite::pin_project;

use crate::answer::Asked;
use crate::body::BoxError;
use crate::failed::Failed;
use crate::sse::{Piece, Splitter, data, with_data, with_id};
use crate::{told, words};

pin_project! {
    /// A stream of events: each goes on as soon as it is whole, changed where the plan says so.
    pub(crate) struct Events<B> {
        #[pin]
        inner: B,
        splitter: Splitter,
        asked: Asked,
        ready: VecDeque<Bytes>,
        broken: Option<Failed>,
        ended: bool,
    }
}

impl<B> Events<B> {
    /// `asked` is what the stream answers.
    pub(crate) fn new(inner: B, asked: Asked, limit: usize) -> Self {
        Self {
            inner,
            splitter: Splitter::new(limit),
            asked,
            ready: VecDeque::new(),
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
                            this.ready.extend(together(this.asked, pieces));
                            continue;
                        }
                        Err(error) => {
                            let failed = Failed { status: 502, what: error.to_string() };
                            this.ready.extend(together(this.asked, error.before));
                            failed
                        }
                    },
                    // Trailers: nothing after them.
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
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
            match this.asked.id.as_deref() {
                Some(id) => {
                    let reply = Reply::failed(failed.status, Some(id), &failed);
                    let (reply, _) =
                        words::say(reply, this.asked.wish.as_ref().unwrap_or(&AcceptLanguage::default()));
                    this.ready.push_back(format!("data: {}\n\n", reply.body).into());
                }
                // No request waits here for an error; a stream that is cut can be resumed once more.
                None => *this.broken = Some(failed),
            }
        }
    }
}

/// Pieces that are there at the same time leave in one frame: a frame for each would cost more than the pieces.
fn together(asked: &Asked, pieces: Vec<Piece>) -> Option<Bytes> {
    let mut pieces = pieces.into_iter().map(|piece| adapted(asked, piece));
    let first = pieces.next()?;
    let Some(second) = pieces.next() else { return Some(first) };
    let mut all = BytesMut::from(first);
    all.extend_from_slice(&second);
    pieces.for_each(|piece| all.extend_from_slice(&piece));
    Some(all.freeze())
}

/// A piece as the caller gets it: the same bytes, unless the message in it changed or its id is sealed.
fn adapted(asked: &Asked, piece: Piece) -> Bytes {
    let event = match piece {
        Piece::Raw(bytes) => return bytes,
        Piece::Event(bytes) => bytes,
    };
    let event = with_message(asked, event);
    let sealed = asked.events.as_ref().and_then(|ids| with_id(&event, |id| ids.shown(id)));
    sealed.map_or(event, Bytes::from)
}

fn with_message(asked: &Asked, event: Bytes) -> Bytes {
    let Some(message) = data(&event) else { return event };
    asked.watch.see(&message);
    if !asked.plan.changes() {
        return event;
    }
    let adapted = asked.plan.adapt(&message);
    told::shaped(&adapted, &asked.account);
    match adapted.text {
        std::borrow::Cow::Borrowed(_) => event,
        std::borrow::Cow::Owned(changed) => with_data(&event, &changed).into(),
    }
}

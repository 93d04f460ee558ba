//! One body type for requests and answers, and reading a body up to a bound.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use crate::held::{BudgetFull, BufferReservation};

/// Any error of a body or a service.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An HTTP body of any origin, with [`Bytes`] as its data.
///
/// A body that is complete in memory needs no allocation ([`full`]), and one that already is a `Body` is not
/// boxed again ([`boxed`]). It may carry a reservation of the [`BufferBudget`](crate::BufferBudget), released
/// when the body is dropped.
pub struct Body(BodyRepr);

enum BodyRepr {
    /// All data in one frame. `None` when it is empty or was taken.
    Whole(Option<Bytes>),
    /// The same, with its reservation of the budget.
    Held(Option<Bytes>, BufferReservation),
    /// Any other body.
    Any(UnsyncBoxBody<Bytes, BoxError>),
}

impl Body {
    /// Returns whether all of the body is in memory, so that reading it can neither wait nor fail.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        matches!(self.0, BodyRepr::Whole(_) | BodyRepr::Held(..))
    }
}

impl Body {
    /// Returns all data of a body that is complete in memory, with its reservation of the budget if it has one.
    ///
    /// # Errors
    ///
    /// The body itself, if it is not complete in memory.
    pub(crate) fn into_whole(self) -> Result<(Bytes, Option<BufferReservation>), Self> {
        match self.0 {
            BodyRepr::Whole(bytes) => Ok((bytes.unwrap_or_default(), None)),
            BodyRepr::Held(bytes, held) => Ok((bytes.unwrap_or_default(), Some(held))),
            BodyRepr::Any(_) => Err(self),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            BodyRepr::Whole(bytes) | BodyRepr::Held(bytes, _) => {
                Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes))))
            }
            BodyRepr::Any(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            BodyRepr::Whole(bytes) | BodyRepr::Held(bytes, _) => bytes.is_none(),
            BodyRepr::Any(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            BodyRepr::Whole(bytes) | BodyRepr::Held(bytes, _) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64)
            }
            BodyRepr::Any(body) => body.size_hint(),
        }
    }
}

/// Makes a body of bytes that are all there.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    let bytes = bytes.into();
    Body(BodyRepr::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())))
}

/// Makes a body of bytes that are all there, and keeps their reservation of the budget until it is dropped.
pub(crate) fn full_reserved(bytes: Bytes, held: BufferReservation) -> Body {
    if held.is_counted() && !bytes.is_empty() { Body(BodyRepr::Held(Some(bytes), held)) } else { full(bytes) }
}

/// Appends trailers to a body.
pub(crate) fn with_trailers(body: Body, trailers: HeaderMap) -> Body {
    boxed(body.with_trailers(std::future::ready(Some(Ok(trailers)))))
}

/// Turns any body into a [`Body`]. One that already is a [`Body`] is returned as it is.
pub fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mut body = Some(body);
    if let Some(body) = (&mut body as &mut dyn Any).downcast_mut::<Option<Body>>().and_then(Option::take) {
        return body;
    }
    match body {
        Some(body) => Body(BodyRepr::Any(body.map_err(Into::into).boxed_unsync())),
        None => full(Bytes::new()),
    }
}

/// Why a body could not be read to its end.
#[derive(Debug)]
pub(crate) enum BodyCollectError {
    /// It has, or announces, more bytes than its limit.
    TooLarge,
    /// The shared budget has no room for it.
    Full(BudgetFull),
    /// Whoever sends it failed or went away.
    Broken(BoxError),
}

/// Reads a body to its end, up to `limit` bytes, and counts what is held of it in `held`. A body that announces
/// a larger size is refused before anything is read. Trailers are dropped.
pub(crate) async fn collect<B>(
    body: B,
    limit: usize,
    held: &mut BufferReservation,
) -> Result<Bytes, BodyCollectError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    collect_with_trailers(body, limit, held).await.map(|(bytes, _)| bytes)
}

/// Reads a body as [`collect`] does, and returns its trailers if there are any.
pub(crate) async fn collect_with_trailers<B>(
    body: B,
    limit: usize,
    held: &mut BufferReservation,
) -> Result<(Bytes, Option<HeaderMap>), BodyCollectError>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = std::pin::pin!(body);
    if body.size_hint().lower() > limit as u64 {
        return Err(BodyCollectError::TooLarge);
    }
    let mut whole = BodyCollector { first: None, more: Vec::new(), limit };
    let mut trailers = None;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| BodyCollectError::Broken(error.into()))?;
        let data = match frame.into_data() {
            Ok(data) => data,
            Err(frame) => {
                trailers = frame.into_trailers().ok();
                continue;
            }
        };
        if whole.len() + data.len() > limit {
            return Err(BodyCollectError::TooLarge);
        }
        held.grow(data.len()).map_err(BodyCollectError::Full)?;
        whole.push(data);
    }
    Ok((whole.into_bytes(), trailers))
}

/// The frames of a body, put together. A body that comes in one frame, as most do, is not copied.
struct BodyCollector {
    /// The first frame, as long as it is the only one.
    first: Option<Bytes>,
    /// All frames in one buffer, once there are two.
    more: Vec<u8>,
    /// Maximum size of the body, and so of the capacity that the buffer is given.
    limit: usize,
}

impl BodyCollector {
    fn len(&self) -> usize {
        self.first.as_ref().map_or(0, Bytes::len).max(self.more.len())
    }

    fn push(&mut self, data: Bytes) {
        match self.first.take() {
            None if self.more.is_empty() => self.first = Some(data),
            None => append_bounded(&mut self.more, &data, self.limit),
            Some(before) => {
                append_bounded(&mut self.more, &before, self.limit);
                append_bounded(&mut self.more, &data, self.limit);
            }
        }
    }

    fn into_bytes(self) -> Bytes {
        self.first.unwrap_or_else(|| self.more.into())
    }
}

/// Appends to a buffer, and lets its capacity double, but never beyond the limit. A buffer that grows on its
/// own could end with twice the capacity that may be used, and holds both the old and the new allocation while
/// it grows.
fn append_bounded(held: &mut Vec<u8>, data: &[u8], limit: usize) {
    if held.capacity() - held.len() < data.len() {
        let room = held.len().min(limit.saturating_sub(held.len()));
        held.reserve_exact(room.max(data.len()));
    }
    held.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::BufferBudget;
    use http_body_util::StreamBody;

    fn held() -> BufferReservation {
        BufferBudget::default().start_reservation()
    }

    fn pieces(pieces: &'static [&'static str]) -> impl http_body::Body<Data = Bytes, Error = BoxError> {
        let frames = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        StreamBody::new(tokio_stream::iter(frames))
    }

    #[tokio::test]
    async fn reads_a_body_in_any_number_of_pieces() {
        for (given, expected) in
            [(&[][..], ""), (&["abc"], "abc"), (&["ab", "c"], "abc"), (&["", "a", "", "bc"], "abc")]
        {
            assert_eq!(collect(pieces(given), 3, &mut held()).await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn boxes_once() {
        let whole = boxed(boxed(full("abc")));
        assert!(whole.is_whole(), "{whole:?}");
        assert_eq!(whole.size_hint().exact(), Some(3));
        assert_eq!(collect(whole, 3, &mut held()).await.unwrap(), "abc");
        assert!(full("").is_end_stream());
        assert_eq!(collect(boxed(boxed(pieces(&["ab", "c"]))), 3, &mut held()).await.unwrap(), "abc");
    }

    #[test]
    fn makes_room_for_the_bound_and_no_more() {
        let mut held = Vec::new();
        for _ in 0..999 {
            append_bounded(&mut held, &[0; 100], 100_000);
            assert!(held.capacity() <= 100_000, "{}", held.capacity());
        }
        assert_eq!(held.len(), 99_900);
    }

    #[tokio::test]
    async fn stops_at_the_bound() {
        assert!(matches!(
            collect(pieces(&["ab", "cd"]), 3, &mut held()).await,
            Err(BodyCollectError::TooLarge)
        ));
        assert!(matches!(collect(full("abcd"), 3, &mut held()).await, Err(BodyCollectError::TooLarge)));
        assert!(collect(full("abc"), 3, &mut held()).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_for_which_there_is_no_room_is_not_read_on() {
        const LARGE: &[u8] = &[b'x'; 40_000];
        let large = || {
            let frames = (0..3).map(|_| Ok::<_, BoxError>(Frame::data(Bytes::from_static(LARGE))));
            StreamBody::new(tokio_stream::iter(frames))
        };
        let budget = BufferBudget::new(200_000);
        let mut first = budget.start_reservation();
        let body = collect(large(), 1 << 20, &mut first).await.unwrap();
        let mut second = budget.start_reservation();
        assert!(matches!(collect(large(), 1 << 20, &mut second).await, Err(BodyCollectError::Full(_))));
        drop(second);
        let body = full_reserved(body, first);
        assert!(body.is_whole() && budget.used() == 120_000, "{}", budget.used());
        drop(body);
        assert_eq!(budget.used(), 0);
    }
}

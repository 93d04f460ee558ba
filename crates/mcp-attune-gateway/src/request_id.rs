//! A name for every request: the caller's own, or one of ours, in the answer and in the log. Where the caller traces
//! its requests (W3C `traceparent`), its trace is in the log too; the header itself goes on as it came.
//!
//! Rules: G12.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use http::{HeaderName, HeaderValue, Request, Response};
use tower_service::Service;
use tracing::Instrument;
use tracing::instrument::Instrumented;

/// The header that names a request.
pub(crate) const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The header of a trace.
const TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// The longest name that a caller can give.
const LONGEST: usize = 128;

/// Names each request of a service.
#[derive(Clone, Debug)]
pub(crate) struct Named<S> {
    inner: S,
    count: Arc<AtomicU64>,
    key: RandomState,
}

impl<S> Named<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { inner, count: Arc::default(), key: RandomState::new() }
    }

    /// The caller's name where it is short and plain, else one that this process has not given before.
    fn name(&self, given: Option<&HeaderValue>) -> HeaderValue {
        let plain = |value: &&HeaderValue| {
            value.len() <= LONGEST && !value.is_empty() && value.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        given.filter(plain).cloned().unwrap_or_else(|| {
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            let name = hex(self.key.hash_one(number));
            HeaderValue::from_bytes(&name).unwrap_or(HeaderValue::from_static("unnamed"))
        })
    }
}

/// A number in sixteen digits.
fn hex(mut number: u64) -> [u8; 16] {
    let mut digits = [0; 16];
    for digit in digits.iter_mut().rev() {
        *digit = match number as u8 & 15 {
            low @ ..10 => b'0' + low,
            high => b'a' + high - 10,
        };
        number >>= 4;
    }
    digits
}

/// The id of the trace, where the header is what the W3C says: `00-4bf9…4736-00f0…02b7-01`.
fn trace(parent: &HeaderValue) -> Option<&str> {
    let mut parts = parent.to_str().ok()?.split('-');
    let hex = |text: &&str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let version = parts.next().filter(|version| version.len() == 2).filter(hex)?;
    let trace = parts.next().filter(|trace| trace.len() == 32).filter(hex)?;
    parts.next().filter(|parent| parent.len() == 16).filter(hex)?;
    parts.next().filter(|flags| flags.len() == 2).filter(hex)?;
    let known = version != "ff" && trace.bytes().any(|byte| byte != b'0');
    (known && (version != "00" || parts.next().is_none())).then_some(trace)
}

impl<S, B, R> Service<Request<B>> for Named<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Naming<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let name = self.name(request.headers().get(ID_HEADER));
        let trace = request.headers().get(TRACE_HEADER).and_then(trace);
        let span = tracing::info_span!("request", id = name.to_str().unwrap_or_default(), trace);
        request.headers_mut().insert(ID_HEADER, name.clone());
        // The span is also there for what is done before the first wait.
        let answer = span.in_scope(|| self.inner.call(request));
        Naming { answer: answer.instrument(span), name: Some(name) }
    }
}

pin_project_lite::pin_project! {
    /// A request that is being answered.
    pub(crate) struct Naming<F> {
        #[pin]
        answer: Instrumented<F>,
        name: Option<HeaderValue>,
    }
}

impl<F, R, E> Future for Naming<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = ready!(this.answer.poll(cx));
        if let (Ok(answer), Some(name)) = (&mut answer, this.name.take()) {
            answer.headers_mut().insert(ID_HEADER, name);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_plain_name_and_gives_new_ones() {
        let named = Named::new(());
        let name = |given: &str| named.name(Some(&HeaderValue::from_bytes(given.as_bytes()).unwrap()));
        assert_eq!(name("abc-123"), "abc-123");
        for given in ["", "a b", "caf\u{e9}", &"x".repeat(129)] {
            assert_eq!(name(given).len(), 16, "{given}");
        }
        assert_ne!(named.name(None), named.name(None));
        assert_eq!(hex(0x0123_4567_89ab_cdef), *b"0123456789abcdef");
    }

    #[test]
    fn reads_a_trace_only_where_it_is_one() {
        const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let read = |text: String| trace(&HeaderValue::from_str(&text).unwrap()).map(str::to_owned);
        for good in [format!("00-{ID}-00f067aa0ba902b7-01"), format!("01-{ID}-00f067aa0ba902b7-01-later")] {
            assert_eq!(read(good).as_deref(), Some(ID));
        }
        for bad in [
            String::new(),
            ID.to_owned(),
            format!("00-{ID}-00f067aa0ba902b7"),
            format!("00-{ID}-00f067aa0ba902b7-01-more"),
            format!("ff-{ID}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", ID.to_uppercase()),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{}-00f067aa0ba902b7-01", "zzzz".repeat(8)),
        ] {
            assert_eq!(read(bad.clone()), None, "{bad}");
        }
    }
}

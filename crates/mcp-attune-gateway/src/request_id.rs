//! A name for every request: the caller's own, or one of ours, in the answer and in the log. Where the caller traces
//! its requests (W3C `traceparent`), its trace is in the log too; the header itself goes on as it came.
//!
//! Rules: G12.

use std::cell::RefCell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use http::{HeaderName, HeaderValue, Request, Response};
use hyper::service::Service;
use tracing::Instrument;
use tracing::instrument::Instrumented;

/// The target of the span that each request has. A log that writes [`with_current`] by itself can do without the spans, which cost
/// more than all the rest of a name.
pub const SPAN_TARGET: &str = "mcp_attune_gateway::request";

/// The header that names a request.
pub(crate) const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The header of a trace.
const TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// The longest name that a caller can give.
const MAX_NAME_BYTES: usize = 128;

thread_local! {
    static CURRENT: RefCell<Option<RequestName>> = const { RefCell::new(None) };
}

/// Tells which request this thread works on; none where it works on none. A thread that ends can ask, too.
pub fn with_current<T>(tell: impl FnOnce(&RequestName) -> T) -> Option<T> {
    CURRENT.try_with(|name| name.try_borrow().ok()?.as_ref().map(tell)).ok()?
}

/// What a request is called: `request="9b0c…" trace="4bf9…"`.
#[derive(Clone, Debug)]
pub struct RequestName {
    id: HeaderValue,
    /// The header of its trace, as it came.
    parent: Option<HeaderValue>,
}

impl RequestName {
    /// The id of the request.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The id of the caller's trace, where it traces its requests.
    #[must_use]
    pub fn trace(&self) -> Option<&str> {
        self.parent.as_ref().and_then(parse_trace_id)
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request={:?}", self.id.to_str().unwrap_or_default())?;
        match self.parent.as_ref().and_then(parse_trace_id) {
            Some(trace) => write!(f, " trace={trace:?}"),
            None => Ok(()),
        }
    }
}

/// Makes a name the current one until it is dropped.
struct CurrentRequestGuard<'n> {
    name: &'n mut Option<RequestName>,
}

impl<'n> CurrentRequestGuard<'n> {
    fn on(name: &'n mut Option<RequestName>) -> Self {
        CURRENT.with_borrow_mut(|current| mem::swap(current, name));
        Self { name }
    }
}

impl Drop for CurrentRequestGuard<'_> {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| mem::swap(current, self.name));
    }
}

/// A service whose requests have names.
#[derive(Debug)]
pub(crate) struct RequestIds<S> {
    names: RequestNamer,
    inner: S,
}

impl<S> RequestIds<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self { names: RequestNamer::default(), inner }
    }
}

impl<S, B, R> Service<Request<B>> for RequestIds<S>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = RequestIdsFuture<S::Future>;

    fn call(&self, mut request: Request<B>) -> RequestIdsFuture<S::Future> {
        let id = self.names.name_request(request.headers().get(ID_HEADER));
        let parent = request.headers().get(TRACE_HEADER).cloned();
        let trace = parent.as_ref().and_then(parse_trace_id);
        let span =
            tracing::info_span!(target: SPAN_TARGET, "request", id = id.to_str().unwrap_or_default(), trace);
        request.headers_mut().insert(ID_HEADER, id.clone());
        let mut name = Some(RequestName { id, parent });
        // Also for what is done before the first wait.
        let working = CurrentRequestGuard::on(&mut name);
        let answer = span.in_scope(|| self.inner.call(request));
        drop(working);
        RequestIdsFuture { answer: answer.instrument(span), name }
    }
}

/// Gives names to requests.
#[derive(Debug)]
struct RequestNamer {
    /// Begins anywhere, so that two processes do not give the same names.
    count: AtomicU64,
}

impl Default for RequestNamer {
    fn default() -> Self {
        Self { count: AtomicU64::new(RandomState::new().hash_one(())) }
    }
}

impl RequestNamer {
    /// The caller's name where it is short and plain, else one that this process has not given before.
    fn name_request(&self, given: Option<&HeaderValue>) -> HeaderValue {
        let plain = |value: &&HeaderValue| {
            value.len() <= MAX_NAME_BYTES
                && !value.is_empty()
                && value.as_bytes().iter().all(u8::is_ascii_graphic)
        };
        given.filter(plain).cloned().unwrap_or_else(|| {
            let number = self.count.fetch_add(1, Ordering::Relaxed);
            let name = hex(mix_bits(number));
            HeaderValue::from_bytes(&name).unwrap_or(HeaderValue::from_static("unnamed"))
        })
    }
}

/// Another number for each number, so that names which follow each other do not look alike: the last step of SplitMix64.
fn mix_bits(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
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
fn parse_trace_id(parent: &HeaderValue) -> Option<&str> {
    let mut parts = parent.to_str().ok()?.split('-');
    let hex = |text: &&str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let version = parts.next().filter(|version| version.len() == 2).filter(hex)?;
    let trace = parts.next().filter(|trace| trace.len() == 32).filter(hex)?;
    parts.next().filter(|parent| parent.len() == 16).filter(hex)?;
    parts.next().filter(|flags| flags.len() == 2).filter(hex)?;
    let known = version != "ff" && trace.bytes().any(|byte| byte != b'0');
    (known && (version != "00" || parts.next().is_none())).then_some(trace)
}

pin_project_lite::pin_project! {
    /// A request that is being answered.
    pub(crate) struct RequestIdsFuture<F> {
        #[pin]
        answer: Instrumented<F>,
        name: Option<RequestName>,
    }
}

impl<F, R, E> Future for RequestIdsFuture<F>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<R>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let working = CurrentRequestGuard::on(this.name);
        let answer = this.answer.poll(cx);
        drop(working);
        let mut answer = ready!(answer);
        if let (Ok(answer), Some(name)) = (&mut answer, this.name.take()) {
            answer.headers_mut().insert(ID_HEADER, name.id);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_a_plain_name_and_gives_new_ones() {
        let named = RequestNamer::default();
        let name =
            |given: &str| named.name_request(Some(&HeaderValue::from_bytes(given.as_bytes()).unwrap()));
        assert_eq!(name("abc-123"), "abc-123");
        for given in ["", "a b", "caf\u{e9}", &"x".repeat(129)] {
            assert_eq!(name(given).len(), 16, "{given}");
        }
        assert_ne!(named.name_request(None), named.name_request(None));
        assert_eq!(hex(0x0123_4567_89ab_cdef), *b"0123456789abcdef");
    }

    #[test]
    fn reads_a_trace_only_where_it_is_one() {
        const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
        let read = |text: String| parse_trace_id(&HeaderValue::from_str(&text).unwrap()).map(str::to_owned);
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

//! Gives every request an id: the caller's own `X-Request-Id`, or one of ours, in the answer and in the log.
//! Where the caller traces its requests (W3C `traceparent`), the id of the trace is in the log too; the
//! header itself goes on as it came.
//!
//! The id is known in two ways while a request is worked on: as a `tracing` span with the target
//! [`SPAN_TARGET`], and through [`with_current`], which is much cheaper and enough for a log that writes the
//! id into each line.
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

/// The target of the span that each request has. A log that asks [`with_current`] itself can filter these
/// spans out; creating one costs more than everything else about a request's id.
pub const SPAN_TARGET: &str = "mcp_attune_gateway::request";

/// The header that carries the id: from the caller, to the upstream, and in the answer.
pub(crate) const ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// The header of the W3C Trace Context.
const TRACE_HEADER: HeaderName = HeaderName::from_static("traceparent");

/// The maximum length of an id that a caller can give; a longer one is replaced.
const MAX_NAME_BYTES: usize = 128;

thread_local! {
    /// The request that this thread is polling.
    static CURRENT: RefCell<Option<RequestName>> = const { RefCell::new(None) };
}

/// Calls `tell` with the name of the request that this thread is working on. Returns `None`, without calling
/// it, if the thread works on no request. Safe to call from anywhere, even from the destructor of a
/// thread-local value.
pub fn with_current<T>(tell: impl FnOnce(&RequestName) -> T) -> Option<T> {
    CURRENT.try_with(|name| name.try_borrow().ok()?.as_ref().map(tell)).ok()?
}

/// The id of a request and the id of its trace. `Display` writes them as fields of a log line:
/// `request="9b0c…" trace="4bf9…"`.
#[derive(Clone, Debug)]
pub struct RequestName {
    /// Printable ASCII without blanks, at most 128 bytes.
    id: HeaderValue,
    /// The value of `traceparent` as it came. It is parsed only when somebody asks for the trace.
    parent: Option<HeaderValue>,
}

impl RequestName {
    /// Returns the id of the request.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// Returns the id of the caller's trace, 32 hexadecimal digits. `None` if there is no `traceparent`, or
    /// none that is valid.
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

/// Makes a name the current one of this thread until it is dropped, by swapping it with the one before. No
/// allocation and no clone, because it is done for every poll.
struct CurrentRequestGuard<'n> {
    name: &'n mut Option<RequestName>,
}

impl<'n> CurrentRequestGuard<'n> {
    /// Makes `name` the current one. While the guard lives, `name` holds what was current before.
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

/// The layer that gives each request its id. It replaces `X-Request-Id` of the request, so that all layers
/// inside and the upstream see the same id, and sets it in the answer, also in answers of the gateway itself:
///
/// ```text
/// POST /mcp HTTP/1.1                 →  HTTP/1.1 403 Forbidden
/// X-Request-Id: abc-123                 X-Request-Id: abc-123
/// ```
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

/// Chooses the ids.
#[derive(Debug)]
struct RequestNamer {
    /// The number of the next id. It begins at a random value, so that two processes do not give the same
    /// ids.
    count: AtomicU64,
}

impl Default for RequestNamer {
    fn default() -> Self {
        Self { count: AtomicU64::new(RandomState::new().hash_one(())) }
    }
}

impl RequestNamer {
    /// Returns the caller's id if it is printable ASCII of at most [`MAX_NAME_BYTES`], else 16 hexadecimal
    /// digits that this process has not used before.
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

/// Maps each number to another one, so that consecutive ids do not look alike: the last step of `SplitMix64`,
/// a bijection.
fn mix_bits(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Formats a number as sixteen hexadecimal digits.
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

/// Returns the trace id of a `traceparent`, such as
/// `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. `None` if the header is malformed, has version
/// `ff`, or a trace id of zeros. Fields after the fourth are accepted in future versions only.
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
    /// The answer of [`RequestIds`] that is to come. The name is the current one of the thread during each
    /// poll.
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

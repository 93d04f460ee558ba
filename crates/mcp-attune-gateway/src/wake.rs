//! Fewer wake-ups of a connection's task, because each polls all that a connection is.
//!
//! 1. What rarely has anything to say is polled when it said so, not whenever anything else did ([`Rarely`]).
//! 2. hyper wakes a connection when a piece of a body that it read is taken, so that it reads the next one. Caller,
//!    call and server behind share one task here, so that the task wakes itself, and after the last piece for nothing:
//!    [`next_piece`] takes the last one without a word to who listens with an [`Ear`].

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;

/// A future that is polled only when it asked for it.
pub(crate) struct Rarely<F> {
    inner: Pin<Box<F>>,
    bell: Option<(Arc<Bell>, Waker)>,
}

struct Bell {
    rang: AtomicBool,
    task: Waker,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.rang.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F> Rarely<F> {
    pub(crate) fn new(inner: F) -> Self {
        Self { inner: Box::pin(inner), bell: None }
    }
}

impl<F: Future> Future for Rarely<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, bell } = &mut *self;
        let heard = bell.take().filter(|(bell, _)| bell.task.will_wake(cx.waker()));
        let (rings, waker) = bell.insert(heard.unwrap_or_else(|| {
            let bell = Arc::new(Bell { rang: AtomicBool::new(true), task: cx.waker().clone() });
            (Arc::clone(&bell), Waker::from(bell))
        }));
        if !rings.rang.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // Before it is polled: what rings then is for the next time.
        rings.rang.store(false, Ordering::Release);
        inner.as_mut().poll(&mut Context::from_waker(waker))
    }
}

thread_local! {
    /// Whether who listens with an [`Ear`] is not to be woken by this thread,
    static HUSHED: Cell<bool> = const { Cell::new(false) };
    /// and who would have been.
    static MISSED: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// Polls futures with a waker that can be hushed.
#[derive(Default)]
pub(crate) struct Ear(Option<(Arc<Hushable>, Waker)>);

struct Hushable {
    task: Waker,
}

impl Wake for Hushable {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Only what this very thread does is hushed; others wake as ever.
        if !HUSHED.get() {
            self.task.wake_by_ref();
        } else if let Some(other) = MISSED.replace(Some(self.task.clone())) {
            other.wake();
        }
    }
}

impl Ear {
    pub(crate) fn poll<F: Future>(&mut self, future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let same = self.0.take().filter(|(held, _)| held.task.will_wake(cx.waker()));
        let (_, waker) = self.0.insert(same.unwrap_or_else(|| {
            let held = Arc::new(Hushable { task: cx.waker().clone() });
            (Arc::clone(&held), Waker::from(held))
        }));
        future.poll(&mut Context::from_waker(waker))
    }
}

/// Ends the hush, also where hyper panics.
struct Hush;

impl Hush {
    fn begin() -> Self {
        HUSHED.set(true);
        Self
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        HUSHED.set(false);
    }
}

/// The next piece of a body of HTTP/1.1; the connection that it comes from is woken unless it was the last.
pub(crate) fn next_piece(
    body: &mut Incoming,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
    let hush = Hush::begin();
    let piece = Pin::new(&mut *body).poll_frame(cx);
    drop(hush);
    let missed = MISSED.take();
    // With a length that was told, all of it is here, and the connection went on before it gave the piece away.
    let last = matches!(piece, Poll::Ready(Some(Ok(_)))) && body.is_end_stream();
    if let Some(connection) = missed.filter(|_| !last) {
        connection.wake();
    }
    piece
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    #[derive(Default)]
    struct Counter(AtomicUsize);

    impl Wake for Counter {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn polls_rarely_and_when_it_rings() {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut cx = Context::from_waker(&waker);
        let (polls, held) = (Cell::new(0), Cell::new(None));
        let mut rarely = Rarely::new(poll_fn(|cx| {
            polls.set(polls.get() + 1);
            held.set(Some(cx.waker().clone()));
            if polls.get() < 3 { Poll::Pending } else { Poll::Ready(()) }
        }));
        let mut poll = |cx: &mut Context<'_>| Pin::new(&mut rarely).poll(cx);
        assert!(poll(&mut cx).is_pending() && poll(&mut cx).is_pending());
        assert_eq!(polls.get(), 1);
        held.take().unwrap().wake();
        assert_eq!(counter.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut cx).is_pending() && poll(&mut cx).is_pending());
        assert_eq!(polls.get(), 2);
        // Another task takes over: it has to be known to what is waited for.
        assert!(poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    #[test]
    fn hushes_its_own_thread_only_and_not_for_ever() {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let heard = || counter.0.load(Ordering::Relaxed);
        let mut ear = Ear::default();
        let mut polled = std::pin::pin!(poll_fn(|cx| {
            let waker = cx.waker().clone();
            let hush = Hush::begin();
            waker.wake_by_ref();
            assert_eq!(heard(), 0);
            MISSED.take().unwrap().wake();
            assert_eq!(heard(), 1);
            std::thread::scope(|scope| scope.spawn(|| waker.wake_by_ref()).join().unwrap());
            assert_eq!(heard(), 2);
            drop(hush);
            waker.wake_by_ref();
            assert_eq!(heard(), 3);
            Poll::Ready(())
        }));
        assert!(ear.poll(polled.as_mut(), &mut Context::from_waker(&waker)).is_ready());
    }
}

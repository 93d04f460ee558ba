//! A future that is polled only after it was woken itself, not whenever the task around it is.
//!
//! A connection's task is woken for every piece that is read or written. What happens rarely beside that,
//! such as the shutdown of the gateway or a timer, is not polled each time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// A future around another that skips polls in which the inner future was not woken. The inner future must be
/// well-behaved: it wakes its waker whenever it can make progress. The first poll, and the first one by
/// another task, always reach the inner future, so that it knows the waker to wake.
pub(crate) struct PollOnWake<F> {
    /// Boxed, so that the wrapper can be moved.
    inner: Pin<Box<F>>,
    /// The waker that the inner future gets, made for the task that polled last.
    waker: Option<(Arc<WakeFlag>, Waker)>,
}

/// The waker's state: it notes that the inner future was woken, and wakes the task around it.
struct WakeFlag {
    /// Whether the inner future has to be polled: `true` at first, and after each wake-up.
    is_woken: AtomicBool,
    /// The waker of the task.
    task: Waker,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F> PollOnWake<F> {
    pub(crate) fn new(inner: F) -> Self {
        Self { inner: Box::pin(inner), waker: None }
    }
}

impl<F: Future> Future for PollOnWake<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, waker } = &mut *self;
        let same_task = waker.take().filter(|(flag, _)| flag.task.will_wake(cx.waker()));
        // A new task has to be known to what is waited for, so that the first poll is always done.
        let (flag, waker) = waker.insert(same_task.unwrap_or_else(|| {
            let flag = Arc::new(WakeFlag { is_woken: AtomicBool::new(true), task: cx.waker().clone() });
            (Arc::clone(&flag), Waker::from(flag))
        }));
        if !flag.is_woken.load(Ordering::Acquire) {
            return Poll::Pending;
        }
        // Before it is polled: what wakes it meanwhile counts for the next time.
        flag.is_woken.store(false, Ordering::Release);
        inner.as_mut().poll(&mut Context::from_waker(waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
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
    fn is_polled_once_and_then_when_it_was_woken() {
        let counter = Arc::new(Counter::default());
        let waker = Waker::from(Arc::clone(&counter));
        let mut cx = Context::from_waker(&waker);
        let (polls, held) = (Cell::new(0), Cell::new(None));
        let mut rare = PollOnWake::new(poll_fn(|cx| {
            polls.set(polls.get() + 1);
            held.set(Some(cx.waker().clone()));
            if polls.get() < 3 { Poll::Pending } else { Poll::Ready(()) }
        }));
        let mut poll = |cx: &mut Context<'_>| Pin::new(&mut rare).poll(cx);
        assert!(poll(&mut cx).is_pending() && poll(&mut cx).is_pending());
        assert_eq!(polls.get(), 1);
        held.take().unwrap().wake();
        assert_eq!(counter.0.load(Ordering::Relaxed), 1);
        assert!(poll(&mut cx).is_pending() && poll(&mut cx).is_pending());
        assert_eq!(polls.get(), 2);
        // Another task takes over: it has to be known to what is waited for.
        assert!(poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
}

//! Long computations, done on threads where no other caller waits for them.
//!
//! 1. The threads that serve connections serve many callers each, so what takes long runs on tokio's blocking
//!    threads.
//! 2. No more of it runs at a time than there are cores. What waits for its turn costs only the memory that it
//!    holds.
//! 3. It belongs to its caller: what waits is not begun once the caller is gone. What runs cannot be stopped,
//!    which is why the rules bound how long it takes.
//!
//! Rules: G4.

use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::thread::available_parallelism;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// The pool of this process: as many permits as there are cores, for all mounts together.
static LONG_WORK: LazyLock<LongWorkPool> =
    LazyLock::new(|| LongWorkPool::new(available_parallelism().map_or(1, usize::from)));

/// Runs a long computation in the pool of this process and returns its result.
///
/// Dropping the future before the computation has begun cancels it; afterwards it runs to its end and its
/// result is dropped. A panic of the computation continues in whoever awaits the future.
#[cold]
pub(crate) fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = T> + Send + 'static {
    LONG_WORK.run(work)
}

/// Runs computations on blocking threads, a bounded number of them at a time.
#[derive(Clone, Debug)]
struct LongWorkPool {
    /// One permit for each computation that may run. Waiters are served in their order.
    permits: Arc<Semaphore>,
}

impl LongWorkPool {
    fn new(at_a_time: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(at_a_time)) }
    }

    /// Waits for a permit and runs the computation on a blocking thread; without a tokio runtime, on this
    /// thread. The permit is released when the computation ends, even if nobody waits for it any more.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let permits = Arc::clone(&self.permits);
        async move {
            let permit = permits.acquire_owned().await;
            let Ok(runtime) = Handle::try_current() else { return work() };
            // The permit goes with the work, which may outlive whoever waits for it.
            let running = AbortOnDropTask(runtime.spawn_blocking(move || {
                let done = work();
                drop(permit);
                done
            }));
            running.await
        }
    }
}

/// A computation that was handed to a blocking thread. Dropped before a thread takes it up, it is not run.
struct AbortOnDropTask<T>(JoinHandle<T>);

impl<T> Future for AbortOnDropTask<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.0).poll(cx)) {
            Ok(done) => Poll::Ready(done),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => resume_unwind(panic),
                // The runtime ends, and whoever waits with it.
                Err(_) => std::pin::pin!(pending()).poll(cx),
            },
        }
    }
}

impl<T> Drop for AbortOnDropTask<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_thread_serves_others_while_long_work_runs() {
        let (go_on, wait) = mpsc::channel();
        let work = tokio::spawn(LongWorkPool::new(1).run(move || wait.recv().unwrap()));
        // There is one thread for all tasks: if the work held it, nothing would be sent, and the work never end.
        tokio::task::yield_now().await;
        go_on.send(7).unwrap();
        assert_eq!(work.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn what_waits_is_not_done_when_its_caller_is_gone() {
        let (long, done) = (LongWorkPool::new(1), Arc::new(AtomicUsize::new(0)));
        let ((begun, begins), (go_on, wait)) = (mpsc::channel(), mpsc::channel::<()>());
        let first = tokio::spawn(long.run(move || {
            begun.send(()).unwrap();
            wait.recv().unwrap();
        }));
        while begins.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        let count = |by| {
            let done = Arc::clone(&done);
            long.run(move || done.fetch_add(by, Ordering::Relaxed))
        };
        let (gone, stays) = (tokio::spawn(count(1)), tokio::spawn(count(100)));
        tokio::task::yield_now().await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(done.load(Ordering::Relaxed), 0, "one at a time");
        go_on.send(()).unwrap();
        first.await.unwrap();
        stays.await.unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 100);
    }

    #[tokio::test]
    async fn work_that_outlives_its_caller_keeps_its_permit() {
        let long = LongWorkPool::new(1);
        let ((begun, begins), (go_on, wait)) = (mpsc::channel(), mpsc::channel::<()>());
        let work = tokio::spawn(long.run(move || {
            begun.send(()).unwrap();
            wait.recv().unwrap();
        }));
        while begins.try_recv().is_err() {
            tokio::task::yield_now().await;
        }
        work.abort();
        assert!(work.await.unwrap_err().is_cancelled());
        assert_eq!(long.permits.available_permits(), 0);
        go_on.send(()).unwrap();
        assert_eq!(long.run(|| 7).await, 7);
    }
}

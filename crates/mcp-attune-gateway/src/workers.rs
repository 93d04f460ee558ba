//! The threads that connections live on, each with a single-threaded tokio runtime of its own.
//!
//! A connection stays on the thread that it was given to, and so do its calls and the upstream connections
//! that they use: nothing that one call does wakes another thread. On a runtime that shares its tasks between
//! threads, every call woke a second thread, which found nothing to do.
//!
//! Caveat: all streams of one HTTP/2 connection share one thread.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread::{Builder, JoinHandle, available_parallelism};

use tokio::net::TcpStream;
use tokio::runtime::{self, Handle};
use tokio::sync::watch;

/// A set of threads that connections are given to. Dropping it stops the runtimes, which cuts all connections
/// on them, and joins the threads; so it must not be dropped on one of them.
#[derive(Debug, Default)]
pub struct Workers {
    threads: Vec<Worker>,
    /// The threads run until this sender is dropped.
    stop: watch::Sender<()>,
}

/// One thread and its runtime.
#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// How many connections it has.
    load: Arc<AtomicUsize>,
    /// Taken when the thread is joined.
    thread: Option<JoinHandle<()>>,
}

thread_local! {
    /// The number of the worker that this thread is; 0 also on threads that are none.
    static WORKER_NUMBER: Cell<usize> = const { Cell::new(0) };
}

/// Returns how many worker threads there are at most: one for each core that was available when this was
/// first asked.
pub(crate) fn max_workers() -> usize {
    static MAX_WORKERS: LazyLock<usize> = LazyLock::new(|| available_parallelism().map_or(1, usize::from));
    *MAX_WORKERS
}

/// Returns the number of the current worker thread, below [`max_workers`]; 0 on any other thread. It serves
/// to find the data of this thread in a table, for example its pooled connections.
pub(crate) fn worker_number() -> usize {
    WORKER_NUMBER.get()
}

impl Workers {
    /// Starts a thread for each available core.
    ///
    /// # Errors
    ///
    /// The error of the operating system, if a thread or its runtime cannot be created. Threads that were
    /// started already are stopped again.
    pub fn start() -> io::Result<Self> {
        let mut workers = Self::default();
        for number in 0..max_workers() {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            let handle = runtime.handle().clone();
            let mut stopped = workers.stop.subscribe();
            let run = move || {
                WORKER_NUMBER.set(number);
                // The sender only ever goes away.
                let _ = runtime.block_on(stopped.changed());
            };
            let thread = Builder::new().name(format!("worker {number}")).spawn(run)?;
            workers.threads.push(Worker { runtime: handle, load: Arc::default(), thread: Some(thread) });
        }
        Ok(workers)
    }

    /// Makes a set without threads: connections stay on the runtime that accepts them.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Gives a connection to the thread that has the fewest, and runs the future that `serve` makes of it
    /// there. The socket is registered with the new runtime before `serve` gets it. Without threads, the
    /// future is spawned on the current runtime.
    pub(crate) fn spawn_connection<F>(
        &self,
        tcp: TcpStream,
        serve: impl FnOnce(TcpStream) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let Some(worker) = self.threads.iter().min_by_key(|worker| worker.load.load(Relaxed)) else {
            tokio::spawn(serve(tcp));
            return;
        };
        let place = WorkerLoadGuard::new(&worker.load);
        // A socket belongs to the runtime that it was made on until it is taken out.
        let Ok(tcp) = tcp.into_std() else { return };
        worker.runtime.spawn(async move {
            let _place = place;
            match TcpStream::from_std(tcp) {
                Ok(tcp) => serve(tcp).await,
                Err(error) => tracing::warn!(%error, "a connection cannot be taken"),
            }
        });
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop = watch::Sender::default();
        for worker in &mut self.threads {
            if let Some(thread) = worker.thread.take() {
                // A thread that panicked has ended too.
                let _ = thread.join();
            }
        }
    }
}

/// Counts one connection of a worker until it is dropped.
struct WorkerLoadGuard(Arc<AtomicUsize>);

impl WorkerLoadGuard {
    fn new(load: &Arc<AtomicUsize>) -> Self {
        load.fetch_add(1, Relaxed);
        Self(Arc::clone(load))
    }
}

impl Drop for WorkerLoadGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (near, listener.accept().await.unwrap().0)
    }

    /// Says which thread it is on, and stays until the other end goes.
    async fn tell(mut tcp: TcpStream) {
        let number = u8::try_from(worker_number()).unwrap();
        tcp.write_all(&[number]).await.unwrap();
        let _ = tcp.read_u8().await;
    }

    #[tokio::test]
    async fn gives_every_thread_its_share() {
        let workers = Workers::start().unwrap();
        let (mut told, mut open) = (Vec::new(), Vec::new());
        for _ in 0..2 * max_workers() {
            let (mut near, far) = pair().await;
            workers.spawn_connection(far, tell);
            told.push(usize::from(near.read_u8().await.unwrap()));
            open.push(near);
        }
        let (first, second) = told.split_at(max_workers());
        let all: BTreeSet<usize> = (0..max_workers()).collect();
        for share in [first, second] {
            assert_eq!(share.iter().copied().collect::<BTreeSet<_>>(), all, "{told:?}");
        }
    }

    #[tokio::test]
    async fn takes_its_connections_along() {
        let workers = Workers::start().unwrap();
        let (mut near, far) = pair().await;
        workers.spawn_connection(far, tell);
        near.read_u8().await.unwrap();
        drop(workers);
        let cut = tokio::time::timeout(std::time::Duration::from_secs(10), near.read_u8()).await;
        assert!(cut.unwrap().is_err());
    }

    #[tokio::test]
    async fn without_threads_a_connection_stays() {
        let (mut near, far) = pair().await;
        Workers::none().spawn_connection(far, tell);
        assert_eq!(near.read_u8().await.unwrap(), 0);
    }
}

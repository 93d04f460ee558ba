//! Reloading of files while a program runs: one watcher for all of them.
//!
//! 1. Whoever reads files keeps what was read, and hands it out without touching the disk. Only
//!    [`WatchedFiles::refresh`] looks whether files changed, and replaces what was kept.
//! 2. A [`FileWatcher`] refreshes everything that it follows when it is told to. It has no clock and no thread,
//!    so that a program with a loop of its own can drive it; [`FileWatcher::spawn`] drives it on a thread, once
//!    a second.
//!
//! Files are polled, by size and modification time, so no notification service of the system is needed.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Files that were read, and can be reloaded when they change.
pub trait WatchedFiles: Send + Sync {
    /// Looks whether files changed, and reloads those that did.
    ///
    /// Blocks on the disk, so it must not be called where requests are served. Must not fail: what was read
    /// from a file stays in use if the file is broken now.
    fn refresh(&self);
}

/// A list of files to follow, and functions to call after each look at them.
///
/// Clones follow the same files.
///
/// ```
/// use std::sync::Arc;
///
/// use mcp_attune::language::Tag;
/// use mcp_attune_files::{LocaleFolder, LocaleFilePattern, FileWatcher};
///
/// let pattern = LocaleFilePattern::new("locales/${locale}.json")?;
/// let folder = Arc::new(LocaleFolder::new(pattern, Tag::parse("en")?));
/// // Follows the files until it is dropped.
/// let _following = FileWatcher::new().follow(folder.clone()).spawn()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct FileWatcher {
    watched: Vec<Arc<dyn WatchedFiles>>,
    /// Functions that are called after each look.
    after: Vec<Arc<dyn Fn() + Send + Sync>>,
}

impl FileWatcher {
    /// How often files should be looked at: the interval of [`spawn`](Self::spawn), and a suggestion to other
    /// loops.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// Returns a watcher that follows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows these files too, and returns the watcher, for chains of calls.
    #[must_use]
    pub fn follow(mut self, files: Arc<impl WatchedFiles + 'static>) -> Self {
        self.add(files);
        self
    }

    /// Follows these files too.
    pub fn add(&mut self, files: Arc<impl WatchedFiles + 'static>) {
        self.watched.push(files);
    }

    /// Calls a function after every look at the files, whether or not they changed, on the thread that looks.
    #[must_use]
    pub fn on_refresh(mut self, after: impl Fn() + Send + Sync + 'static) -> Self {
        self.after.push(Arc::new(after));
        self
    }

    /// Returns whether there is nothing to follow. Functions of [`on_refresh`](Self::on_refresh) do not count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Looks at all files once, reloads those that changed, and calls the functions of
    /// [`on_refresh`](Self::on_refresh). Blocks on the disk meanwhile.
    pub fn refresh(&self) {
        self.watched.iter().for_each(|files| files.refresh());
        self.after.iter().for_each(|after| after());
    }

    /// Calls [`refresh`](Self::refresh) every [`INTERVAL`](Self::INTERVAL) on a new thread, until the returned
    /// handle is dropped. The first look is one interval from now.
    ///
    /// # Errors
    ///
    /// The system cannot start another thread.
    pub fn spawn(self) -> io::Result<WatcherHandle> {
        let (end, ended) = mpsc::channel();
        thread::Builder::new().name("attune-files".to_owned()).spawn(move || {
            while ended.recv_timeout(Self::INTERVAL) == Err(RecvTimeoutError::Timeout) {
                self.refresh();
            }
        })?;
        Ok(WatcherHandle { _end: end })
    }
}

impl fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileWatcher").field("watched", &self.watched.len()).finish_non_exhaustive()
    }
}

/// Keeps the thread of [`FileWatcher::spawn`] running.
///
/// Dropping it ends the thread without waiting for it: a look that has begun is finished.
#[derive(Debug)]
#[must_use = "nothing is followed once this is dropped"]
pub struct WatcherHandle {
    /// The thread ends when the other side of this channel is gone.
    _end: mpsc::Sender<()>,
}

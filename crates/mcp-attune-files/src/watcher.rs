//! Following files: one watcher for all of them.
//!
//! 1. Whoever reads files keeps what was read, and hands it out without touching a disk. Only [`WatchedFiles::refresh`] looks
//!    whether files changed, and puts what is new in the place of the old.
//! 2. A [`Watcher`] refreshes everything that it follows when it is told to. It has no clock and no thread, so that a program
//!    with a loop of its own can drive it; [`Watcher::spawn`] drives it on a thread, once a second.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Files that were read, and can be read again when they change.
pub trait WatchedFiles: Send + Sync {
    /// Looks at the files, and reads those that changed. Blocks while it does. A file that is broken leaves what was there.
    fn refresh(&self);
}

/// Follows files while a program runs.
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
    after: Vec<Arc<dyn Fn() + Send + Sync>>,
}

impl FileWatcher {
    /// How often files are looked at.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// Makes a watcher that follows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows these files too.
    #[must_use]
    pub fn follow(mut self, files: Arc<impl WatchedFiles + 'static>) -> Self {
        self.add(files);
        self
    }

    /// Does the same to a watcher in its place.
    pub fn add(&mut self, files: Arc<impl WatchedFiles + 'static>) {
        self.watched.push(files);
    }

    /// Calls this after every look at the files, whether or not they changed.
    #[must_use]
    pub fn on_refresh(mut self, after: impl Fn() + Send + Sync + 'static) -> Self {
        self.after.push(Arc::new(after));
        self
    }

    /// Whether there is nothing to follow.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.watched.is_empty()
    }

    /// Looks at all files once, and reads those that changed. Blocks while it does.
    pub fn refresh(&self) {
        self.watched.iter().for_each(|files| files.refresh());
        self.after.iter().for_each(|after| after());
    }

    /// Looks at the files every [`INTERVAL`](Self::INTERVAL), on a thread of its own that ends when the returned value is dropped.
    ///
    /// # Errors
    ///
    /// The system has no thread left.
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

/// A thread that follows files. It ends when this is dropped; a look that has begun is finished.
#[derive(Debug)]
#[must_use = "nothing is followed once this is dropped"]
pub struct WatcherHandle {
    /// The thread waits for this to go away.
    _end: mpsc::Sender<()>,
}

//! The access log: one line for each call, together with the other lines of a host's log, written by a thread
//! of its own.
//!
//! 1. A call that is over leaves a record in a bounded queue; that is all it costs its own thread: one short
//!    lock, and no allocation. What does not fit is dropped and counted (`attune_log_lines_dropped_total`),
//!    so a log that nobody reads does not hold up any call. That is why a host's other lines go the same way
//!    ([`AccessLog::queue_line`]).
//! 2. The writer takes all records at once, formats them into one buffer that it keeps, and writes that in
//!    one piece. It sleeps for 50 ms in between, and is woken only when the queue was empty.
//! 3. Nothing in a line was said by a caller except the id of the request: a tool is named only if the server
//!    has listed it, a language is one that is served, and arguments are never written.
//!
//! Rules: G12.

mod line;

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, Thread};
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use mcp_attune::language::Tag;
use prometheus_client::metrics::counter::Counter;

use crate::config::{Config, LogFormat, LogLevelSetting};
use line::LineWriter;

/// How many lines may wait to be written; further ones are dropped.
const MAX_QUEUED: usize = 16_384;
/// How long records are gathered between two writes.
const GATHER: Duration = Duration::from_millis(50);
/// How long [`AccessLog::finish`] waits for the last lines.
const FINISH_TIMEOUT: Duration = Duration::from_secs(1);
/// The log of all calls. A clone is the same log.
///
/// A program creates one with `default()`, passes it to `Gateway::bind_with_access_log`, calls
/// [`start`](Self::start) once with the place to write to, and [`finish`](Self::finish) before it exits.
/// Until it is started it takes no records.
#[derive(Clone, Debug, Default)]
pub struct AccessLog(Arc<AccessLogState>);

/// What the clones of a log share.
#[derive(Debug, Default)]
struct AccessLogState {
    /// Whether records are taken: the log was started, and the configuration wants it. Read for every call.
    enabled: AtomicBool,
    /// Whether the configuration wants it.
    wanted: AtomicBool,
    /// Whether lines are JSON; may change while the log is written.
    json: AtomicBool,
    queue: Mutex<AccessLogQueue>,
    /// Counts the lines that did not fit into the queue.
    dropped: Counter,
}

/// What is behind the lock.
#[derive(Debug, Default)]
struct AccessLogQueue {
    /// The entries that wait, oldest first. The writer swaps this with its own empty vector, so that both
    /// keep their memory.
    entries: Vec<AccessLogEntry>,
    /// The writer's thread, if it sleeps until it is woken. Whoever adds an entry takes it out and wakes it.
    parked: Option<Thread>,
    /// `None` before the start and after the end.
    writer: Option<LogWriterThread>,
    /// Set by [`AccessLog::finish`]: the writer ends when the queue is empty.
    ends: bool,
}

/// One line that waits to be written.
#[derive(Debug)]
enum AccessLogEntry {
    /// A call, formatted by the writer.
    Call(AccessRecord),
    /// A line of the host's own log, formatted already, with its line break.
    Line(Box<[u8]>),
}

/// The thread that writes.
#[derive(Debug)]
struct LogWriterThread {
    thread: Thread,
    /// Receives a message when the thread has written everything and ends.
    over: mpsc::Receiver<()>,
}

/// One call that is over.
#[derive(Debug)]
pub(crate) struct AccessRecord {
    /// When its answer was over.
    pub(crate) at: SystemTime,
    /// The name of the mount.
    pub(crate) mount: Arc<str>,
    /// The method, as the metrics label it: one of MCP's, or `GET`, `DELETE`, `other`, `beside`.
    pub(crate) method: &'static str,
    /// The tool, where one was called; `other` if the server has not listed it.
    pub(crate) tool: Option<Arc<str>>,
    /// The language of the answer, where it is known.
    pub(crate) language: Option<Tag>,
    /// The format that the caller's feature tags ask for, where answers are shaped.
    pub(crate) format: Option<&'static str>,
    /// What became of it: `answered`, `error`, `refused`, `failed` or `gone`.
    pub(crate) outcome: &'static str,
    /// The HTTP status; `None` if the caller left before there was an answer.
    pub(crate) status: Option<u16>,
    /// How long it took from its arrival to the end of its answer.
    pub(crate) time: Duration,
    /// The id of the request.
    pub(crate) request: Option<HeaderValue>,
}

impl AccessLog {
    /// Starts the thread that writes to `into`. Call it once. Calls are recorded from now on if the
    /// configuration wants them (`access_log`, and a log level of `info` or more), and lines of
    /// [`queue_line`](Self::queue_line) in any case. Errors of `into` are ignored.
    ///
    /// # Errors
    ///
    /// The error of the operating system, if it has no thread for it.
    pub fn start(&self, mut into: impl Write + Send + 'static) -> std::io::Result<()> {
        let (tell, over) = mpsc::channel();
        let shared = Arc::clone(&self.0);
        let thread = thread::Builder::new().name("access-log".to_owned()).spawn(move || {
            shared.write(&mut into);
            let _ = tell.send(());
        })?;
        self.0.queue().writer = Some(LogWriterThread { thread: thread.thread().clone(), over });
        self.0.update_enabled();
        Ok(())
    }

    /// Writes what waits, and takes nothing any more after that. Blocks until everything is written, but for
    /// at most a second. Does nothing if the log was not started.
    pub fn finish(&self) {
        self.0.enabled.store(false, Ordering::Relaxed);
        let writer = {
            let mut queue = self.0.queue();
            queue.ends = true;
            queue.writer.take()
        };
        if let Some(LogWriterThread { thread, over }) = writer {
            thread.unpark();
            let _ = over.recv_timeout(FINISH_TIMEOUT);
        }
    }

    /// Follows this configuration from now on: `access_log`, `log` and `log_format`.
    pub(crate) fn apply_config(&self, config: &Config) {
        let wanted = config.server.access_log
            && matches!(config.log, LogLevelSetting::Info | LogLevelSetting::Debug | LogLevelSetting::Trace);
        self.0.wanted.store(wanted, Ordering::Relaxed);
        self.0.json.store(config.server.log_format == LogFormat::Json, Ordering::Relaxed);
        self.0.update_enabled();
    }

    /// Returns whether calls are recorded. Ask before making a record.
    pub(crate) fn is_enabled(&self) -> bool {
        self.0.enabled.load(Ordering::Relaxed)
    }

    /// Queues a line of the host's own log, with its line break, to be written in its turn. Returns `false`
    /// if no thread writes (before the start and after the end), and then the host has to write the line
    /// itself. Returns `true` also for a line that is dropped because the queue is full.
    pub fn queue_line(&self, line: &[u8]) -> bool {
        let queue = self.0.queue();
        let written = queue.writer.is_some() && !queue.ends;
        if written {
            self.0.push(queue, AccessLogEntry::Line(line.into()));
        }
        written
    }

    /// Queues the record of a call.
    pub(crate) fn record(&self, record: AccessRecord) {
        self.0.push(self.0.queue(), AccessLogEntry::Call(record));
    }

    /// Returns the counter of the lines that were dropped.
    pub(crate) fn dropped(&self) -> &Counter {
        &self.0.dropped
    }
}

impl AccessLogState {
    fn queue(&self) -> MutexGuard<'_, AccessLogQueue> {
        // Nothing that holds the lock can panic halfway through a change.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an entry, or counts it as dropped, and wakes the writer if it sleeps.
    fn push(&self, mut queue: MutexGuard<'_, AccessLogQueue>, entry: AccessLogEntry) {
        if queue.entries.len() >= MAX_QUEUED {
            self.dropped.inc();
            return;
        }
        queue.entries.push(entry);
        let parked = queue.parked.take();
        drop(queue);
        if let Some(writer) = parked {
            writer.unpark();
        }
    }

    /// Computes `enabled` anew.
    fn update_enabled(&self) {
        let starts = self.queue().writer.is_some();
        self.enabled.store(starts && self.wanted.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The loop of the writer: takes all entries, formats and writes them, and pauses. Returns when the log
    /// ends and the queue is empty.
    fn write(&self, into: &mut impl Write) {
        let (mut entries, mut lines, mut writer) = (Vec::new(), Vec::new(), LineWriter::default());
        loop {
            let ends = {
                let mut queue = self.queue();
                std::mem::swap(&mut queue.entries, &mut entries);
                if entries.is_empty() && !queue.ends {
                    queue.parked = Some(thread::current());
                }
                queue.ends
            };
            if entries.is_empty() {
                if ends {
                    return;
                }
                thread::park();
                continue;
            }
            let json = self.json.load(Ordering::Relaxed);
            lines.clear();
            for entry in entries.drain(..) {
                // Writing into a Vec does not fail.
                let _ = match entry {
                    AccessLogEntry::Line(line) => lines.write_all(&line),
                    AccessLogEntry::Call(call) if json => writer.write_json(&call, &mut lines),
                    AccessLogEntry::Call(call) => writer.write_text(&call, &mut lines),
                };
            }
            // A log that nobody reads any more is no reason to end.
            let _ = into.write_all(&lines).and_then(|()| into.flush());
            if !ends {
                thread::park_timeout(GATHER);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What was written, and a writer that waits to be let on.
    #[derive(Clone, Default)]
    struct Lines {
        all: Arc<Mutex<Vec<u8>>>,
        gate: Arc<Mutex<()>>,
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let _open = self.gate.lock();
            self.all.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn record(tool: Option<&str>) -> AccessRecord {
        AccessRecord {
            at: SystemTime::UNIX_EPOCH + Duration::from_micros(1_500_000),
            mount: "shop".into(),
            method: "tools/call",
            tool: tool.map(Into::into),
            language: Tag::parse("de-CH").ok(),
            format: Some("text"),
            outcome: "answered",
            status: Some(200),
            time: Duration::from_micros(1234),
            request: Some(HeaderValue::from_static("9b0c")),
        }
    }

    fn log(toml: &str) -> (AccessLog, Lines) {
        let (log, lines) = (AccessLog::default(), Lines::default());
        log.apply_config(&Config::parse(toml, "attune.toml").unwrap());
        log.start(lines.clone()).unwrap();
        (log, lines)
    }

    fn text(lines: &Lines) -> String {
        String::from_utf8(lines.all.lock().unwrap().clone()).unwrap()
    }

    #[track_caller]
    fn log_is(lines: &Lines, expected: &serde_json::Value) {
        let line: serde_json::Value = serde_json::from_str(&text(lines)).unwrap();
        assert_eq!(line, *expected);
    }

    #[test]
    fn a_call_is_one_line_of_text_or_of_json() {
        let (log, lines) = log("");
        log.record(record(Some("get_\"weather\"\n")));
        let later = SystemTime::UNIX_EPOCH + Duration::from_micros(60_000_042);
        log.record(AccessRecord { at: later, language: None, format: None, request: None, ..record(None) });
        log.finish();
        assert_eq!(
            text(&lines),
            "1970-01-01T00:00:01.500000Z  INFO attune::access: tools/call tool=\"get_\\\"weather\\\"\\n\" language=\"de-CH\" \
             format=\"text\" outcome=\"answered\" status=200 time=1.2ms mount=\"shop\" request=\"9b0c\"\n\
             1970-01-01T00:01:00.000042Z  INFO attune::access: tools/call outcome=\"answered\" status=200 time=1.2ms mount=\"shop\"\n"
        );
        let (log, lines) = self::log("server.log_format = 'json'");
        log.record(record(Some("get_weather")));
        log.finish();
        log_is(
            &lines,
            &json!({
                "timestamp": "1970-01-01T00:00:01.500000Z", "level": "INFO", "target": "attune::access",
                "message": "a call is over", "method": "tools/call", "tool": "get_weather", "language": "de-CH",
                "format": "text", "outcome": "answered", "status": 200, "seconds": 0.001_234, "mount": "shop",
                "request": "9b0c",
            }),
        );
    }

    #[test]
    fn a_log_that_nobody_reads_holds_up_no_call_and_what_is_dropped_is_counted() {
        let (log, lines) = log("");
        let shut = lines.gate.lock().unwrap();
        let (calling, (tell, over)) = (log.clone(), mpsc::channel());
        thread::spawn(move || {
            for _ in 0..3 * MAX_QUEUED {
                calling.record(record(None));
            }
            tell.send(()).unwrap();
        });
        over.recv_timeout(Duration::from_secs(60)).expect("no call waits for whoever reads the log");
        let dropped = log.dropped().get();
        assert!((MAX_QUEUED as u64..3 * MAX_QUEUED as u64).contains(&dropped), "{dropped}");
        drop(shut);
        log.finish();
        // On a machine with much to do, the last of them come after the end has stopped waiting for them.
        let written = || text(&lines).lines().count() as u64;
        let since = std::time::Instant::now();
        while written() + dropped < 3 * MAX_QUEUED as u64 && since.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(written() + dropped, 3 * MAX_QUEUED as u64);
    }

    #[test]
    fn other_lines_are_written_in_their_turn_and_by_nobody_once_it_is_over() {
        let (log, lines) = log("server.access_log = false");
        assert!(log.queue_line(b"one\n"));
        log.record(record(None));
        assert!(log.queue_line(b"two\n"));
        log.finish();
        assert!(!log.queue_line(b"three\n") && !AccessLog::default().queue_line(b"four\n"));
        let text = text(&lines);
        let starts: Vec<_> = text.lines().map(|line| &line[..3]).collect();
        assert_eq!(starts, ["one", "197", "two"]);
    }

    #[test]
    fn it_is_off_where_it_is_not_wanted_or_not_started() {
        assert!(log("").0.is_enabled());
        assert!(!log("log = 'warn'").0.is_enabled());
        assert!(!log("server.access_log = false").0.is_enabled());
        let unstarted = AccessLog::default();
        unstarted.apply_config(&Config::default());
        assert!(!unstarted.is_enabled());
    }
}

//! The log: lines on standard error, and never a flood of them.
//!
//! 1. Lines are of one kind when the same place in the code writes them. Of each kind at most [`MAX_LINES_PER_KIND`] are written in
//!    [`LIMIT_WINDOW`]: whoever sends a million bad requests fills no disk.
//! 2. What was left out is counted, and told in one line when that time is over.
//! 3. `debug` and `trace` are not limited: whoever asks for them wants all of them.
//! 4. At `debug` only Attune's own lines are written; at `trace` those of the libraries under it, too.
//! 5. A line that is about a request ends with the request's name. No span is made for that: every request would have one,
//!    and few write a line.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_attune_gateway::access::AccessLog;
use mcp_attune_gateway::config::{self, Config, LogFormat};
use mcp_attune_gateway::request_id;
use serde_json::Map;
use tokio::time::{Instant, sleep};
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::{DefaultFields, Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// How many lines of one kind are written in [`LIMIT_WINDOW`].
const MAX_LINES_PER_KIND: u32 = 20;
const LIMIT_WINDOW: Duration = Duration::from_secs(10);
/// Marks the lines that tell of others, which are as few as there are kinds.
const LEFT_OUT_TARGET: &str = "attune::left_out";
/// How much is shown of a line that was left out.
const MAX_EXCERPT_CHARS: usize = 120;

/// Counts the lines of each kind. A clone counts the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThrottledLog {
    kinds: Arc<Mutex<HashMap<Identifier, CallsiteCount>>>,
    chosen: Arc<LiveLogSettings>,
    /// Writes the lines of `attune serve`, so that no thread that serves waits for whoever reads them.
    calls: AccessLog,
    /// None where another log was there before.
    level: Option<reload::Handle<LevelFilter, Registry>>,
}

/// What can change while lines are written.
#[derive(Debug, Default)]
struct LiveLogSettings {
    json: AtomicBool,
    /// Whether lines of libraries are written at every level.
    everything: AtomicBool,
}

#[derive(Debug)]
struct CallsiteCount {
    since: Instant,
    written: u32,
    left_out: u64,
    /// What the first line said that was left out.
    said: String,
}

impl ThrottledLog {
    /// Logs to standard error from this level on.
    pub(crate) fn start(level: &str) -> Self {
        Self::start_as(level.parse().unwrap_or(LevelFilter::INFO), LogFormat::Text)
    }

    /// Logs to standard error as a configuration says.
    pub(crate) fn from_config(config: &Config) -> Self {
        Self::start_as(level(config), config.server.log_format)
    }

    fn start_as(level: LevelFilter, format: LogFormat) -> Self {
        let (layer, handle) = reload::Layer::new(level);
        let log = Self { level: Some(handle), ..Self::default() };
        log.apply_settings(level, format);
        let lines = tracing_subscriber::fmt::layer()
            .fmt_fields(FieldsWithRequestId::default())
            .event_format(LogLineFormat { chosen: Arc::clone(&log.chosen), text: Format::default() })
            .with_writer({
                let calls = log.calls.clone();
                move || QueuedLogWriter(calls.clone())
            });
        let chosen = Arc::clone(&log.chosen);
        let ours = filter_fn(move |about| {
            about.target() != request_id::SPAN_TARGET
                && (*about.level() <= Level::INFO
                    || is_ours(about.target())
                    || chosen.everything.load(Ordering::Relaxed))
        });
        // A second log, as in a test, changes nothing.
        let _ =
            tracing_subscriber::registry().with(layer).with(ours).with(log.clone()).with(lines).try_init();
        log
    }

    /// The log of calls: from now on, until it is [finished](Self::finish), all lines are written by a thread of their own.
    pub(crate) fn start_access_log(&self) -> std::io::Result<AccessLog> {
        self.calls.start(std::io::stderr())?;
        Ok(self.calls.clone())
    }

    /// Writes all that waits.
    pub(crate) fn finish(&self) {
        self.report_left_out();
        self.calls.finish();
    }

    /// Follows a configuration that changed.
    pub(crate) fn follow(&self, config: &Config) {
        self.apply_settings(level(config), config.server.log_format);
        if let Some(handle) = &self.level {
            // It fails only where the log is gone.
            let _ = handle.reload(level(config));
        }
    }

    fn apply_settings(&self, level: LevelFilter, format: LogFormat) {
        self.chosen.json.store(format == LogFormat::Json, Ordering::Relaxed);
        self.chosen.everything.store(level == LevelFilter::TRACE, Ordering::Relaxed);
    }

    /// Tells what was left out, from time to time.
    pub(crate) async fn report_periodically(self) {
        loop {
            sleep(LIMIT_WINDOW).await;
            self.report_left_out();
        }
    }

    /// Tells what was left out so far.
    pub(crate) fn report_left_out(&self) {
        // Not while the kinds are locked: telling is logging.
        let left_out: Vec<_> = self
            .kinds()
            .values_mut()
            .filter(|kind| kind.left_out > 0)
            .map(|kind| (std::mem::take(&mut kind.left_out), std::mem::take(&mut kind.said)))
            .collect();
        for (more, said) in left_out {
            tracing::warn!(target: LEFT_OUT_TARGET, "and {more} more like this: {said}");
        }
    }

    fn admits(&self, event: &Event<'_>) -> bool {
        let now = Instant::now();
        let mut kinds = self.kinds();
        let kind = kinds.entry(event.metadata().callsite()).or_insert_with(|| CallsiteCount {
            since: now,
            written: 0,
            left_out: 0,
            said: String::new(),
        });
        if now.duration_since(kind.since) >= LIMIT_WINDOW {
            (kind.since, kind.written) = (now, 0);
        }
        if kind.written < MAX_LINES_PER_KIND {
            kind.written += 1;
            return true;
        }
        if kind.left_out == 0 {
            event.record(&mut LogMessageVisitor(&mut kind.said));
        }
        kind.left_out += 1;
        false
    }

    fn kinds(&self) -> MutexGuard<'_, HashMap<Identifier, CallsiteCount>> {
        // Nothing that holds the lock can panic halfway through a change.
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn level(config: &Config) -> LevelFilter {
    match config.log {
        config::LogLevelSetting::Off => LevelFilter::OFF,
        config::LogLevelSetting::Error => LevelFilter::ERROR,
        config::LogLevelSetting::Warn => LevelFilter::WARN,
        config::LogLevelSetting::Info => LevelFilter::INFO,
        config::LogLevelSetting::Debug => LevelFilter::DEBUG,
        config::LogLevelSetting::Trace => LevelFilter::TRACE,
    }
}

/// Whether a line is Attune's own, and none of a library under it.
fn is_ours(target: &str) -> bool {
    ["mcp_attune", "attune"].iter().any(|start| target.starts_with(start))
}

impl<S: Subscriber> Layer<S> for ThrottledLog {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        let about = event.metadata();
        *about.level() > Level::INFO || about.target() == LEFT_OUT_TARGET || self.admits(event)
    }
}

/// The fields of a line, and the name of the request that it is about.
#[derive(Debug, Default)]
struct FieldsWithRequestId(DefaultFields);

impl<'w> FormatFields<'w> for FieldsWithRequestId {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        self.0.format_fields(writer.by_ref(), fields)?;
        request_id::with_current(|name| write!(writer, " {name}")).unwrap_or(Ok(()))
    }
}

/// Gives lines to the thread that writes them, or writes them itself where there is none.
struct QueuedLogWriter(AccessLog);

impl std::io::Write for QueuedLogWriter {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if !self.0.queue_line(line) {
            std::io::stderr().write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Writes lines for people, or one JSON object a line for programs.
struct LogLineFormat {
    chosen: Arc<LiveLogSettings>,
    text: Format,
}

impl<S, N> FormatEvent<S, N> for LogLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if !self.chosen.json.load(Ordering::Relaxed) {
            return self.text.format_event(context, writer, event);
        }
        let about = event.metadata();
        let mut fields = Map::new();
        event.record(&mut JsonFields(&mut fields));
        request_id::with_current(|name| {
            fields.insert("request".to_owned(), name.id().into());
            fields.extend(name.trace().map(|trace| ("trace".to_owned(), trace.into())));
        });
        fields.insert("timestamp".to_owned(), format!("{:.6}", jiff::Timestamp::now()).into());
        fields.insert("level".to_owned(), about.level().as_str().into());
        fields.insert("target".to_owned(), about.target().into());
        writeln!(writer, "{}", serde_json::Value::Object(fields))
    }
}

/// Takes the fields of an event.
struct JsonFields<'f>(&'f mut Map<String, serde_json::Value>);

impl Visit for JsonFields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

/// Takes the words of an event, without its other fields, and not too many of them.
struct LogMessageVisitor<'s>(&'s mut String);

impl Visit for LogMessageVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.extend(format!("{value:?}").chars().take(MAX_EXCERPT_CHARS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    /// What is written on this thread.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn take(&self) -> Vec<String> {
            let all = std::mem::take(&mut *self.0.lock().unwrap());
            String::from_utf8(all).unwrap().lines().map(|line| line.trim().to_owned()).collect()
        }
    }

    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn listen() -> (ThrottledLog, Lines, tracing::subscriber::DefaultGuard) {
        let (log, lines) = (ThrottledLog::default(), Lines::default());
        let into = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .without_time()
            .with_ansi(false)
            .with_writer(move || into.clone());
        let guard = tracing::subscriber::set_default(
            tracing_subscriber::registry().with(LevelFilter::DEBUG).with(log.clone()).with(layer),
        );
        (log, lines, guard)
    }

    fn refuse(times: usize) {
        for number in 0..times {
            tracing::warn!(number, "refused");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_one_kind_is_cut_short_and_counted() {
        let (log, lines, _guard) = listen();
        let telling = tokio::spawn(log.report_periodically());
        tokio::task::yield_now().await;
        refuse(1_000_000);
        let written = lines.take();
        assert_eq!(written.len(), 20, "{written:?}");
        assert!(written.iter().all(|line| line.contains("refused number=")), "{written:?}");

        // The next time it is as it was at first.
        for _ in 0..2 {
            advance(LIMIT_WINDOW).await;
            tokio::task::yield_now().await;
            let told = lines.take();
            assert_eq!(told, ["WARN attune::left_out: and 999980 more like this: refused"]);
            refuse(1_000_000);
            assert_eq!(lines.take().len(), 20);
        }
        telling.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_rare_is_written_whatever_else_is_flooding() {
        let (log, lines, _guard) = listen();
        refuse(1000);
        lines.take();
        for _ in 0..20 {
            tracing::error!("the disk is full");
        }
        assert_eq!(lines.take().len(), 20);
        for _ in 0..1000 {
            tracing::debug!("everything");
        }
        assert_eq!(lines.take().len(), 1000);
        log.report_left_out();
        assert_eq!(lines.take().len(), 1);
        log.report_left_out();
        assert_eq!(lines.take().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_now_and_then_are_all_written() {
        let (log, lines, _guard) = listen();
        for _ in 0..100 {
            refuse(10);
            advance(LIMIT_WINDOW / 2).await;
        }
        log.report_left_out();
        assert_eq!(lines.take().len(), 1000);
    }
}

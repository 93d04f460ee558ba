//! What the gateway counts, in the text format that Prometheus reads.
//!
//! 1. Nothing that a caller can make up is a label: methods are those of MCP or `other`, tools those that the server has
//!    listed (the first 256 of a mount) or `other`, languages those that are served, rules and errors our own names. So the number of series is bounded by the configuration.
//! 2. Requests are counted when their answer is over, so that a stream that failed or lost its caller is counted
//!    as that. `attune_calls` are those that still run.
//! 3. Times are until the head of an answer: how long a stream stays open says nothing about speed.
//!
//! Rules: G12, H10, H17.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use mcp_attune::shape::LeftOut;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::access::AccessLog;
use crate::health::{Health, UpstreamState};
use crate::listen::Traffic;
use crate::upstream_error::UpstreamError;

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds in seconds: a fast server answers in under a millisecond, a model in a minute.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

/// Everything that is counted. A clone counts the same. It outlives the configuration, which can change.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    requests: Family<RequestLabels, Counter>,
    tool_calls: Family<ToolLabels, Counter>,
    upstream_up: Family<MountLabels, Gauge>,
    refusals: Family<RefusalLabels, Counter>,
    unchecked: Family<MountLabels, Counter>,
    answer_time: Family<MethodLabels, Histogram, Timed>,
    upstream_time: Family<MountLabels, Histogram, Timed>,
    upstream_errors: Family<ErrorLabels, Counter>,
    shaped: Family<FormatLabels, Counter>,
    left_out: Family<PartLabels, Counter>,
    template_faults: Family<MountLabels, Counter>,
    reloads: Family<ReloadLabels, Counter>,
    running: Gauge,
    /// The connections of callers.
    pub(crate) traffic: Traffic,
    /// The log of calls, which is written where calls are counted.
    pub(crate) access: AccessLog,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RequestLabels {
    mount: Arc<str>,
    method: &'static str,
    outcome: &'static str,
    language: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ToolLabels {
    mount: Arc<str>,
    tool: Arc<str>,
    outcome: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct RefusalLabels {
    mount: Arc<str>,
    rule: &'static str,
    enforced: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct MountLabels {
    mount: Arc<str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct MethodLabels {
    mount: Arc<str>,
    method: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ErrorLabels {
    mount: Arc<str>,
    kind: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct FormatLabels {
    mount: Arc<str>,
    format: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct PartLabels {
    mount: Arc<str>,
    part: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct ReloadLabels {
    taken: bool,
}

static OTHER: LazyLock<Arc<str>> = LazyLock::new(|| "other".into());

/// The name of all tools that the server has not listed.
pub(crate) fn other() -> Arc<str> {
    OTHER.clone()
}

/// Makes a histogram of times.
#[derive(Clone, Copy, Debug)]
struct Timed;

impl MetricConstructor<Histogram> for Timed {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BUCKETS)
    }
}

impl Metrics {
    pub(crate) fn new(access: AccessLog) -> Self {
        let mut registry = Registry::with_prefix("attune");
        let metrics = Self {
            registry: Arc::default(),
            requests: Family::default(),
            tool_calls: Family::default(),
            upstream_up: Family::default(),
            refusals: Family::default(),
            unchecked: Family::default(),
            answer_time: Family::new_with_constructor(Timed),
            upstream_time: Family::new_with_constructor(Timed),
            upstream_errors: Family::default(),
            shaped: Family::default(),
            left_out: Family::default(),
            template_faults: Family::default(),
            reloads: Family::default(),
            running: Gauge::default(),
            traffic: Traffic::default(),
            access,
        };
        registry.register(
            "build",
            "The program that runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register(
            "requests",
            "Requests that are over. Outcomes: answered; error (the server's own HTTP error); refused (by a rule); \
             failed (no whole answer); gone (the caller left first)",
            metrics.requests.clone(),
        );
        registry.register(
            "tool_calls",
            "Calls of tools that are over, by tool; those that the server has not listed are called other",
            metrics.tool_calls.clone(),
        );
        registry.register(
            "upstream_up",
            "Whether the server behind could be reached when it was last needed or tried: 1 or 0",
            metrics.upstream_up.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Lines that are missing in the log, because it could not be written as fast as they came",
            metrics.access.dropped().clone(),
        );
        registry.register(
            "refusals",
            "Rules that requests broke; enforced=\"false\" passed and was only reported",
            metrics.refusals.clone(),
        );
        registry.register(
            "unchecked",
            "Calls whose argument headers went unchecked because the tools could not be listed",
            metrics.unchecked.clone(),
        );
        registry.register_with_unit(
            "answer",
            "Time until the head of an answer was ready",
            Unit::Seconds,
            metrics.answer_time.clone(),
        );
        registry.register_with_unit(
            "upstream",
            "The server's part of that time; listings of our own are counted here too",
            Unit::Seconds,
            metrics.upstream_time.clone(),
        );
        registry.register("upstream_errors", "Failures of servers behind", metrics.upstream_errors.clone());
        registry.register(
            "shaped",
            "Requests whose callers' tags ask for a format, by that format",
            metrics.shaped.clone(),
        );
        registry.register(
            "left_out",
            "What shaping left out of answers, as callers' tags ask: text blocks, fields of the data, and the bytes of both",
            metrics.left_out.clone(),
        );
        registry.register(
            "template_faults",
            "Templates that failed; the answers were written without them",
            metrics.template_faults.clone(),
        );
        registry.register(
            "reloads",
            "Changes of the configuration file; taken=\"false\" was wrong, and the old one keeps serving",
            metrics.reloads.clone(),
        );
        registry.register("calls", "Calls that run, streams included", metrics.running.clone());
        registry.register("connections", "Connections of callers", metrics.traffic.open.clone());
        registry.register(
            "connections_turned_away",
            "Connections over the limit",
            metrics.traffic.turned_away.clone(),
        );
        Self { registry: Arc::new(registry), ..metrics }
    }

    /// All of it, as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }

    /// The configuration changed, and was taken or not.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.reloads.get_or_create(&ReloadLabels { taken }).inc();
    }

    /// What one mount counts. Where no mount is meant, as for a stranger at the door, its name is empty.
    pub(crate) fn meter(&self, mount: &str) -> Meter {
        let mount: Arc<str> = mount.into();
        let upstream_time = self.upstream_time.get_or_create_owned(&MountLabels { mount: mount.clone() });
        let (requests, tool_calls, answer_time) = (Usual::default(), Usual::default(), Usual::default());
        let (metrics, health) = (self.clone(), Health::default());
        Meter(Arc::new(Counts { metrics, mount, upstream_time, requests, tool_calls, answer_time, health }))
    }
}

/// Counts for one mount. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    metrics: Metrics,
    mount: Arc<str>,
    upstream_time: Histogram,
    requests: Usual<(&'static str, &'static str, String), Counter>,
    tool_calls: Usual<(Arc<str>, &'static str), Counter>,
    answer_time: Usual<&'static str, Histogram>,
    health: Health,
}

/// The series that were counted in first, found without hashing their labels: most calls are of few kinds.
#[derive(Debug)]
struct Usual<K, V>([OnceLock<(K, V)>; 8]);

impl<K, V> Default for Usual<K, V> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; 8])
    }
}

impl<K, V> Usual<K, V> {
    /// The series that `is` the one, or that `make` makes; none where there is no place left for it.
    fn find(&self, is: impl Fn(&K) -> bool, make: impl Fn() -> (K, V)) -> Option<&V> {
        // Another thread may have been first to a place, with another series.
        self.0.iter().map(|place| place.get_or_init(&make)).find(|(key, _)| is(key)).map(|(_, value)| value)
    }
}

impl Meter {
    fn labels(&self) -> MountLabels {
        MountLabels { mount: self.0.mount.clone() }
    }

    pub(crate) fn began(&self) {
        self.0.metrics.running.inc();
    }

    pub(crate) fn over(&self, method: &'static str, outcome: &'static str, language: &str) {
        self.0.metrics.running.dec();
        let requests = &self.0.metrics.requests;
        let mount = || self.0.mount.clone();
        let labels = || RequestLabels { mount: mount(), method, outcome, language: language.to_owned() };
        let make = || ((method, outcome, language.to_owned()), requests.get_or_create_owned(&labels()));
        let is = |key: &(_, _, String)| key.0 == method && key.1 == outcome && key.2 == language;
        if let Some(series) = self.0.requests.find(is, make) {
            series.inc();
            return;
        }
        requests.get_or_create(&labels()).inc();
    }

    /// A call of a tool is over. `tool`: its name, where the server has listed it.
    pub(crate) fn called(&self, tool: Option<&Arc<str>>, outcome: &'static str) {
        let (tool, calls) = (tool.unwrap_or(&OTHER), &self.0.metrics.tool_calls);
        let labels = || ToolLabels { mount: self.0.mount.clone(), tool: tool.clone(), outcome };
        let make = || ((tool.clone(), outcome), calls.get_or_create_owned(&labels()));
        match self.0.tool_calls.find(|key| key.1 == outcome && Arc::ptr_eq(&key.0, tool), make) {
            Some(series) => series.inc(),
            None => calls.get_or_create(&labels()).inc(),
        };
    }

    /// The log of calls.
    pub(crate) fn access(&self) -> &AccessLog {
        &self.0.metrics.access
    }

    /// The name of the mount.
    pub(crate) fn mount(&self) -> &Arc<str> {
        &self.0.mount
    }

    /// How the server behind is.
    pub(crate) fn health(&self) -> &Health {
        &self.0.health
    }

    /// The server behind is in another state now.
    #[cold]
    pub(crate) fn upstream_is(&self, state: UpstreamState) -> bool {
        let changed = self.0.health.set(state);
        if let Some(up) = state.is_up() {
            self.0.metrics.upstream_up.get_or_create(&self.labels()).set(i64::from(up));
        }
        changed
    }

    pub(crate) fn broke(&self, rule: &'static str, enforced: bool) {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced };
        self.0.metrics.refusals.get_or_create(&labels).inc();
    }

    /// The counter of one rule that is enforced.
    pub(crate) fn refusals(&self, rule: &'static str) -> Counter {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced: true };
        self.0.metrics.refusals.get_or_create_owned(&labels)
    }

    pub(crate) fn unchecked(&self) {
        self.0.metrics.unchecked.get_or_create(&self.labels()).inc();
    }

    pub(crate) fn shaped(&self, format: &'static str) {
        let labels = FormatLabels { mount: self.0.mount.clone(), format };
        self.0.metrics.shaped.get_or_create(&labels).inc();
    }

    pub(crate) fn left_out(&self, left: LeftOut) {
        let parts = [("blocks", left.blocks), ("fields", left.fields), ("bytes", left.bytes)];
        for (part, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
            let labels = PartLabels { mount: self.0.mount.clone(), part };
            self.0.metrics.left_out.get_or_create(&labels).inc_by(count as u64);
        }
    }

    pub(crate) fn templates_failed(&self, count: usize) {
        self.0.metrics.template_faults.get_or_create(&self.labels()).inc_by(count as u64);
    }

    pub(crate) fn answered_in(&self, method: &'static str, time: Duration) {
        let (times, time) = (&self.0.metrics.answer_time, time.as_secs_f64());
        let labels = || MethodLabels { mount: self.0.mount.clone(), method };
        let make = || (method, times.get_or_create_owned(&labels()));
        match self.0.answer_time.find(|known| *known == method, make) {
            Some(series) => series.observe(time),
            None => times.get_or_create(&labels()).observe(time),
        }
    }

    /// The server behind answered, or failed to, after this time.
    pub(crate) fn upstream_took(&self, time: Duration, answered: bool) {
        self.0.upstream_time.observe(time.as_secs_f64());
        if answered && self.0.health.answered() {
            self.upstream_is(UpstreamState::Up);
        }
    }

    pub(crate) fn upstream_failed(&self, error: UpstreamError) {
        // A caller that breaks off, or asks for what is not served, is no fault of the server.
        if matches!(error, UpstreamError::Caller | UpstreamError::SlowCaller | UpstreamError::NotServed) {
            return;
        }
        if error.is_down() {
            self.upstream_is(UpstreamState::Down(error));
        }
        let labels = ErrorLabels { mount: self.0.mount.clone(), kind: error.name() };
        self.0.metrics.upstream_errors.get_or_create(&labels).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_every_series_however_many_there_are() {
        let metrics = Metrics::new(AccessLog::default());
        let meter = metrics.meter("m");
        let methods: Vec<&'static str> = (0..20u8).map(|n| &*String::leak(format!("method-{n}"))).collect();
        for _ in 0..3 {
            for method in &methods {
                meter.began();
                meter.over(method, "answered", "");
                meter.over(method, "answered", "de");
                meter.answered_in(method, Duration::from_millis(1));
            }
        }
        let text = metrics.text();
        for method in methods {
            for language in ["", "de"] {
                let labels =
                    format!(r#"mount="m",method="{method}",outcome="answered",language="{language}""#);
                assert!(text.contains(&format!("attune_requests_total{{{labels}}} 3\n")), "{labels}\n{text}");
            }
            let count = format!("attune_answer_seconds_count{{mount=\"m\",method=\"{method}\"}} 3\n");
            assert!(text.contains(&count), "{count}\n{text}");
        }
    }
}

//! What the gateway counts, in the OpenMetrics text format that Prometheus reads.
//!
//! 1. Nothing that a caller can make up is a label: methods are those of MCP, `GET`, `DELETE`, `beside` or
//!    `other`, tools those that the server has listed (the first 256 of a mount) or `other`, languages those
//!    that are served, rules and errors our own names. So the number of series is bounded by the
//!    configuration.
//! 2. Requests are counted when their answer is over, so that a stream that failed or lost its caller is
//!    counted as that. `attune_calls` are those that still run.
//! 3. Times are until the head of an answer: how long a stream stays open says nothing about speed.
//!
//! ```text
//! attune_requests_total{mount="shop",method="tools/call",outcome="answered",language="de"} 3
//! attune_answer_seconds_count{mount="shop",method="tools/call"} 3
//! attune_upstream_up{mount="shop"} 1
//! ```
//!
//! Rules: A3, G12, H10, H17.

use std::sync::Arc;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

mod labels;
mod meter;

pub(crate) use meter::{Meter, other_tool};

use crate::access::AccessLog;
use crate::listen::ListenerMetrics;
use labels::{
    AssumedLabels, BridgeLabels, ErrorLabels, FormatLabels, MethodLabels, MountLabels, PartLabels,
    RefusalLabels, ReloadLabels, RequestLabels, TokenLabels, ToolLabels,
};

/// The content type of [`Metrics::text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The upper bounds of the histograms, in seconds: a fast server answers in under a millisecond, a model in a
/// minute.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

/// Everything that is counted. A clone counts in the same series. There is one for each process, which
/// outlives reloads; a mount counts through a [`Meter`].
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// Knows all series by name, for [`text`](Self::text).
    registry: Arc<Registry>,
    /// `attune_requests_total`: requests that are over.
    requests: Family<RequestLabels, Counter>,
    /// `attune_tool_calls_total`: calls of tools that are over.
    tool_calls: Family<ToolLabels, Counter>,
    /// `attune_upstream_up`: 1 or 0; no series as long as it is not known.
    upstream_up: Family<MountLabels, Gauge>,
    /// `attune_refusals_total`: rules that requests broke.
    refusals: Family<RefusalLabels, Counter>,
    /// `attune_unchecked_total`: calls whose argument headers could not be checked.
    unchecked: Family<MountLabels, Counter>,
    /// `attune_answer_seconds`: time until the head of an answer.
    answer_time: Family<MethodLabels, Histogram, TimeHistogramConstructor>,
    /// `attune_upstream_seconds`: the upstream's part of that time, with requests of the gateway's own.
    upstream_time: Family<MountLabels, Histogram, TimeHistogramConstructor>,
    /// `attune_upstream_errors_total`: failures of upstreams.
    upstream_errors: Family<ErrorLabels, Counter>,
    /// `attune_shaped_total`: requests whose callers ask for a format.
    shaped: Family<FormatLabels, Counter>,
    /// `attune_left_out_total`: what shaping left out.
    left_out: Family<PartLabels, Counter>,
    /// `attune_template_faults_total`: templates that failed.
    template_faults: Family<MountLabels, Counter>,
    /// `attune_assumed_total`: what requests did not say of their callers themselves.
    assumed: Family<AssumedLabels, Counter>,
    /// `attune_tokens_total`: tokens that were looked at for what they say of their callers.
    tokens: Family<TokenLabels, Counter>,
    /// `attune_bridged_total`: requests between the eras of MCP.
    bridged: Family<BridgeLabels, Counter>,
    /// `attune_reloads_total`: changes of the configuration file.
    reloads: Family<ReloadLabels, Counter>,
    /// `attune_calls`: requests that run, open streams included.
    running: Gauge,
    /// `attune_connections` and `attune_connections_turned_away_total`, counted by the caller listener.
    pub(crate) traffic: ListenerMetrics,
    /// The access log. It is here because a call is logged where it is counted.
    pub(crate) access: AccessLog,
}

/// Makes the histograms of times, with [`BUCKETS`].
#[derive(Clone, Copy, Debug)]
struct TimeHistogramConstructor;

impl MetricConstructor<Histogram> for TimeHistogramConstructor {
    fn new_metric(&self) -> Histogram {
        Histogram::new(BUCKETS)
    }
}

impl Metrics {
    /// Registers all series. `access` is the log that calls are recorded in.
    pub(crate) fn new(access: AccessLog) -> Self {
        let mut registry = Registry::with_prefix("attune");
        let metrics = Self {
            registry: Arc::default(),
            requests: Family::default(),
            tool_calls: Family::default(),
            upstream_up: Family::default(),
            refusals: Family::default(),
            unchecked: Family::default(),
            answer_time: Family::new_with_constructor(TimeHistogramConstructor),
            upstream_time: Family::new_with_constructor(TimeHistogramConstructor),
            upstream_errors: Family::default(),
            shaped: Family::default(),
            left_out: Family::default(),
            template_faults: Family::default(),
            assumed: Family::default(),
            tokens: Family::default(),
            bridged: Family::default(),
            reloads: Family::default(),
            running: Gauge::default(),
            traffic: ListenerMetrics::default(),
            access,
        };
        metrics.register_requests(&mut registry);
        metrics.register_times(&mut registry);
        metrics.register_rest(&mut registry);
        Self { registry: Arc::new(registry), ..metrics }
    }

    /// Registers what became of requests.
    fn register_requests(&self, registry: &mut Registry) {
        registry.register(
            "build",
            "The program that runs",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register(
            "requests",
            "Requests that are over. Outcomes: answered; error (the server's own HTTP error); refused (by a rule); \
             failed (no whole answer); gone (the caller left first)",
            self.requests.clone(),
        );
        registry.register(
            "tool_calls",
            "Calls of tools that are over, by tool; those that the server has not listed are called other",
            self.tool_calls.clone(),
        );
        registry.register(
            "upstream_up",
            "Whether the server behind could be reached when it was last needed or tried: 1 or 0",
            self.upstream_up.clone(),
        );
        registry.register(
            "log_lines_dropped",
            "Lines that are missing in the log, because it could not be written as fast as they came",
            self.access.dropped().clone(),
        );
    }

    /// Registers what was refused, and how long answers took.
    fn register_times(&self, registry: &mut Registry) {
        registry.register(
            "refusals",
            "Rules that requests broke; enforced=\"false\" passed and was only reported",
            self.refusals.clone(),
        );
        registry.register(
            "unchecked",
            "Calls whose argument headers went unchecked because the tools could not be listed",
            self.unchecked.clone(),
        );
        registry.register_with_unit(
            "answer",
            "Time until the head of an answer was ready",
            Unit::Seconds,
            self.answer_time.clone(),
        );
        registry.register_with_unit(
            "upstream",
            "The server's part of that time; listings of our own are counted here too",
            Unit::Seconds,
            self.upstream_time.clone(),
        );
        registry.register("upstream_errors", "Failures of servers behind", self.upstream_errors.clone());
    }

    /// Registers what was done to answers, and what the gateway itself is doing.
    fn register_rest(&self, registry: &mut Registry) {
        registry.register(
            "shaped",
            "Requests whose callers' tags ask for a format, by that format",
            self.shaped.clone(),
        );
        registry.register(
            "left_out",
            "What shaping left out of answers, as callers' tags ask: text blocks, fields of the data, and the bytes of both",
            self.left_out.clone(),
        );
        registry.register(
            "template_faults",
            "Templates that failed; the answers were written without them",
            self.template_faults.clone(),
        );
        registry.register(
            "assumed",
            "What requests did not say of their callers themselves, by field and by where it was taken from",
            self.assumed.clone(),
        );
        registry.register(
            "tokens",
            "Tokens that were looked at for what they say of their callers; all but outcome=\"verified\" said nothing",
            self.tokens.clone(),
        );
        registry.register(
            "bridged",
            "Requests of callers of one era of MCP to servers of the other",
            self.bridged.clone(),
        );
        registry.register(
            "reloads",
            "Changes of the configuration file; taken=\"false\" was wrong, and the old one keeps serving",
            self.reloads.clone(),
        );
        registry.register("calls", "Calls that run, streams included", self.running.clone());
        registry.register("connections", "Connections of callers", self.traffic.open.clone());
        registry.register(
            "connections_turned_away",
            "Connections over the limit",
            self.traffic.turned_away.clone(),
        );
    }

    /// Returns all series as text, the body of `/metrics`; its content type is [`CONTENT_TYPE`].
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }

    /// Counts a change of the configuration file. `taken`: it took effect.
    pub(crate) fn reloaded(&self, taken: bool) {
        self.reloads.get_or_create(&ReloadLabels { taken }).inc();
    }

    /// Makes the meter of a mount. The empty name stands for requests that belong to no mount, such as those
    /// with a foreign `Host`.
    pub(crate) fn meter(&self, mount: &str) -> Meter {
        Meter::new(self, mount)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn counts_every_series_however_many_there_are() {
        let metrics = Metrics::new(AccessLog::default());
        let meter = metrics.meter("m");
        let methods: Vec<&'static str> = (0..20u8).map(|n| &*String::leak(format!("method-{n}"))).collect();
        for _ in 0..3 {
            for method in &methods {
                meter.request_began();
                meter.request_over(method, "answered", "");
                meter.request_over(method, "answered", "de");
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

//! Counts for one mount.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use mcp_attune::shaping::AnswerOmissions;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;
use super::labels::{
    AssumedLabels, BridgeLabels, ErrorLabels, FormatLabels, MethodLabels, MountLabels, PartLabels,
    RefusalLabels, RequestLabels, TokenLabels, ToolLabels,
};
use crate::access::AccessLog;
use crate::health::{UpstreamHealth, UpstreamState};
use crate::upstream_error::UpstreamError;

/// The label of tools that the server has not listed. One value, because series of tools are compared by
/// pointer.
static OTHER: LazyLock<Arc<str>> = LazyLock::new(|| "other".into());

/// Returns the label of all tools that the server has not listed.
pub(crate) fn other_tool() -> Arc<str> {
    OTHER.clone()
}

/// Counts for one mount, and knows the health of its upstream. A clone counts the same. It is made anew with
/// each stack; the series that it counts in are those of [`Metrics`] and go on.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<MeterState>);

/// What the clones of a meter share.
#[derive(Debug)]
struct MeterState {
    metrics: Metrics,
    mount: Arc<str>,
    /// The one series that every call of the mount observes.
    upstream_time: Histogram,
    /// The series by method, outcome and language.
    requests: SeriesCache<(&'static str, &'static str, String), Counter>,
    /// The series by tool and outcome. The tool is compared by pointer: a tool's name is one allocation for
    /// as long as it is listed.
    tool_calls: SeriesCache<(Arc<str>, &'static str), Counter>,
    /// The series by method.
    answer_time: SeriesCache<&'static str, Histogram>,
    health: UpstreamHealth,
}

/// The first eight series that were counted in, found without hashing their labels and without the lock of
/// the family: most calls are of few kinds. It is never emptied; series that come later are looked up in the
/// family.
#[derive(Debug)]
struct SeriesCache<K, V>([OnceLock<(K, V)>; 8]);

impl<K, V> Default for SeriesCache<K, V> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; 8])
    }
}

impl<K, V> SeriesCache<K, V> {
    /// Returns the series that `is` accepts, adding what `make` makes at the first free position. `None` if
    /// all eight positions have other series.
    fn find(&self, is: impl Fn(&K) -> bool, make: impl Fn() -> (K, V)) -> Option<&V> {
        // Another thread may have been first to a place, with another series.
        self.0.iter().map(|place| place.get_or_init(&make)).find(|(key, _)| is(key)).map(|(_, value)| value)
    }
}

impl Meter {
    /// Makes a meter that counts in the series of `metrics` under this mount.
    pub(super) fn new(metrics: &Metrics, mount: &str) -> Self {
        let mount: Arc<str> = mount.into();
        let upstream_time = metrics.upstream_time.get_or_create_owned(&MountLabels { mount: mount.clone() });
        let (requests, tool_calls, answer_time) =
            (SeriesCache::default(), SeriesCache::default(), SeriesCache::default());
        let (metrics, health) = (metrics.clone(), UpstreamHealth::default());
        Self(Arc::new(MeterState {
            metrics,
            mount,
            upstream_time,
            requests,
            tool_calls,
            answer_time,
            health,
        }))
    }

    /// Returns the labels of what is counted once for each mount.
    fn labels(&self) -> MountLabels {
        MountLabels { mount: self.0.mount.clone() }
    }

    /// Counts a request as running, until [`request_over`](Self::request_over).
    pub(crate) fn request_began(&self) {
        self.0.metrics.running.inc();
    }

    /// Counts a request that is over. `language` is empty where none is known.
    pub(crate) fn request_over(&self, method: &'static str, outcome: &'static str, language: &str) {
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

    /// Counts a call of a tool that is over. `tool` is its name if the server has listed it, and `None`
    /// otherwise.
    pub(crate) fn tool_called(&self, tool: Option<&Arc<str>>, outcome: &'static str) {
        let (tool, calls) = (tool.unwrap_or(&OTHER), &self.0.metrics.tool_calls);
        let labels = || ToolLabels { mount: self.0.mount.clone(), tool: tool.clone(), outcome };
        let make = || ((tool.clone(), outcome), calls.get_or_create_owned(&labels()));
        match self.0.tool_calls.find(|key| key.1 == outcome && Arc::ptr_eq(&key.0, tool), make) {
            Some(series) => series.inc(),
            None => calls.get_or_create(&labels()).inc(),
        };
    }

    /// Returns the access log.
    pub(crate) fn access(&self) -> &AccessLog {
        &self.0.metrics.access
    }

    /// Returns the name of the mount; empty for what belongs to none.
    pub(crate) fn mount(&self) -> &Arc<str> {
        &self.0.mount
    }

    /// Returns what is known of the mount's upstream.
    pub(crate) fn health(&self) -> &UpstreamHealth {
        &self.0.health
    }

    /// Sets the state of the upstream, and the gauge `attune_upstream_up` if the state is known. Returns
    /// whether it changed.
    #[cold]
    pub(crate) fn set_upstream_state(&self, state: UpstreamState) -> bool {
        let changed = self.0.health.set(state);
        if let Some(up) = state.is_up() {
            self.0.metrics.upstream_up.get_or_create(&self.labels()).set(i64::from(up));
        }
        changed
    }

    /// Counts a rule that a request broke. `enforced`: it was refused for that.
    pub(crate) fn rule_broken(&self, rule: &'static str, enforced: bool) {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced };
        self.0.metrics.refusals.get_or_create(&labels).inc();
    }

    /// Returns the counter of one rule that is enforced, for a layer that counts by itself.
    pub(crate) fn refusals(&self, rule: &'static str) -> Counter {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced: true };
        self.0.metrics.refusals.get_or_create_owned(&labels)
    }

    /// Counts a call whose argument headers could not be checked, because the tools could not be listed.
    pub(crate) fn call_unchecked(&self) {
        self.0.metrics.unchecked.get_or_create(&self.labels()).inc();
    }

    /// Counts a request whose caller asks for this format.
    pub(crate) fn shaped(&self, format: &'static str) {
        let labels = FormatLabels { mount: self.0.mount.clone(), format };
        self.0.metrics.shaped.get_or_create(&labels).inc();
    }

    /// Counts what shaping left out of an answer.
    pub(crate) fn left_out(&self, left: AnswerOmissions) {
        let parts = [("blocks", left.blocks), ("fields", left.fields), ("bytes", left.bytes)];
        for (part, count) in parts.into_iter().filter(|(_, count)| *count > 0) {
            let labels = PartLabels { mount: self.0.mount.clone(), part };
            self.0.metrics.left_out.get_or_create(&labels).inc_by(count as u64);
        }
    }

    /// Counts a field of a caller that its request did not say itself. Rules: A3.
    pub(crate) fn assumed(&self, field: &'static str, source: &'static str) {
        let labels = AssumedLabels { mount: self.0.mount.clone(), field, source };
        self.0.metrics.assumed.get_or_create(&labels).inc();
    }

    /// Counts a token that was looked at, by what became of it. Rules: A7.
    pub(crate) fn token(&self, outcome: &'static str) {
        let labels = TokenLabels { mount: self.0.mount.clone(), outcome };
        self.0.metrics.tokens.get_or_create(&labels).inc();
    }

    /// Counts a request of a caller of one era to a server of the other. Rules: X1.
    pub(crate) fn bridged(&self, caller: &'static str, server: &'static str) {
        let labels = BridgeLabels { mount: self.0.mount.clone(), caller, server };
        self.0.metrics.bridged.get_or_create(&labels).inc();
    }

    /// Counts templates that failed for an answer.
    pub(crate) fn templates_failed(&self, count: usize) {
        self.0.metrics.template_faults.get_or_create(&self.labels()).inc_by(count as u64);
    }

    /// Observes the time from the arrival of a request to the head of its answer.
    pub(crate) fn answered_in(&self, method: &'static str, time: Duration) {
        let (times, time) = (&self.0.metrics.answer_time, time.as_secs_f64());
        let labels = || MethodLabels { mount: self.0.mount.clone(), method };
        let make = || (method, times.get_or_create_owned(&labels()));
        match self.0.answer_time.find(|known| *known == method, make) {
            Some(series) => series.observe(time),
            None => times.get_or_create(&labels()).observe(time),
        }
    }

    /// Observes how long the upstream took until the head of its answer or its failure. An answer also shows
    /// that it is up.
    pub(crate) fn upstream_took(&self, time: Duration, answered: bool) {
        self.0.upstream_time.observe(time.as_secs_f64());
        if answered && self.0.health.note_first_answer() {
            self.set_upstream_state(UpstreamState::Up);
        }
    }

    /// Counts a failure of the upstream, and marks it as down if the error shows that it cannot be reached.
    /// Errors that the caller caused are not counted.
    pub(crate) fn upstream_failed(&self, error: UpstreamError) {
        // A caller that breaks off, or asks for what is not served, is no fault of the server.
        if matches!(error, UpstreamError::Caller | UpstreamError::SlowCaller | UpstreamError::NotServed) {
            return;
        }
        if error.is_down() {
            self.set_upstream_state(UpstreamState::Down(error));
        }
        let labels = ErrorLabels { mount: self.0.mount.clone(), kind: error.name() };
        self.0.metrics.upstream_errors.get_or_create(&labels).inc();
    }
}

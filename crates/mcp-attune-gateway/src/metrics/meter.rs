//! What one mount counts.

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use mcp_attune::shaping::AnswerOmissions;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::Metrics;
use super::labels::{
    ErrorLabels, FormatLabels, MethodLabels, MountLabels, PartLabels, RefusalLabels, RequestLabels,
    ToolLabels,
};
use crate::access::AccessLog;
use crate::health::{UpstreamHealth, UpstreamState};
use crate::upstream_error::UpstreamError;

static OTHER: LazyLock<Arc<str>> = LazyLock::new(|| "other".into());

/// The name of all tools that the server has not listed.
pub(crate) fn other_tool() -> Arc<str> {
    OTHER.clone()
}

/// Counts for one mount. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<MeterState>);

#[derive(Debug)]
struct MeterState {
    metrics: Metrics,
    mount: Arc<str>,
    upstream_time: Histogram,
    requests: SeriesCache<(&'static str, &'static str, String), Counter>,
    tool_calls: SeriesCache<(Arc<str>, &'static str), Counter>,
    answer_time: SeriesCache<&'static str, Histogram>,
    health: UpstreamHealth,
}

/// The series that were counted in first, found without hashing their labels: most calls are of few kinds.
#[derive(Debug)]
struct SeriesCache<K, V>([OnceLock<(K, V)>; 8]);

impl<K, V> Default for SeriesCache<K, V> {
    fn default() -> Self {
        Self([const { OnceLock::new() }; 8])
    }
}

impl<K, V> SeriesCache<K, V> {
    /// The series that `is` the one, or that `make` makes; none where there is no place left for it.
    fn find(&self, is: impl Fn(&K) -> bool, make: impl Fn() -> (K, V)) -> Option<&V> {
        // Another thread may have been first to a place, with another series.
        self.0.iter().map(|place| place.get_or_init(&make)).find(|(key, _)| is(key)).map(|(_, value)| value)
    }
}

impl Meter {
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

    fn labels(&self) -> MountLabels {
        MountLabels { mount: self.0.mount.clone() }
    }

    pub(crate) fn request_began(&self) {
        self.0.metrics.running.inc();
    }

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

    /// A call of a tool is over. `tool`: its name, where the server has listed it.
    pub(crate) fn tool_called(&self, tool: Option<&Arc<str>>, outcome: &'static str) {
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
    pub(crate) fn health(&self) -> &UpstreamHealth {
        &self.0.health
    }

    /// The server behind is in another state now.
    #[cold]
    pub(crate) fn set_upstream_state(&self, state: UpstreamState) -> bool {
        let changed = self.0.health.set(state);
        if let Some(up) = state.is_up() {
            self.0.metrics.upstream_up.get_or_create(&self.labels()).set(i64::from(up));
        }
        changed
    }

    pub(crate) fn rule_broken(&self, rule: &'static str, enforced: bool) {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced };
        self.0.metrics.refusals.get_or_create(&labels).inc();
    }

    /// The counter of one rule that is enforced.
    pub(crate) fn refusals(&self, rule: &'static str) -> Counter {
        let labels = RefusalLabels { mount: self.0.mount.clone(), rule, enforced: true };
        self.0.metrics.refusals.get_or_create_owned(&labels)
    }

    pub(crate) fn call_unchecked(&self) {
        self.0.metrics.unchecked.get_or_create(&self.labels()).inc();
    }

    pub(crate) fn shaped(&self, format: &'static str) {
        let labels = FormatLabels { mount: self.0.mount.clone(), format };
        self.0.metrics.shaped.get_or_create(&labels).inc();
    }

    pub(crate) fn left_out(&self, left: AnswerOmissions) {
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
        if answered && self.0.health.note_first_answer() {
            self.set_upstream_state(UpstreamState::Up);
        }
    }

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

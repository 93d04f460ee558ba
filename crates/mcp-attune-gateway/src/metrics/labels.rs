//! The label sets of the time series. No value in them can be chosen by a caller, so that callers cannot
//! create series.
//!
//! `mount` is the name of a mount, or empty for a request that belongs to none.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

/// Labels of `attune_requests_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) mount: Arc<str>,
    /// The MCP method, or `GET`, `DELETE`, `other` or `beside` (off the endpoint).
    pub(super) method: &'static str,
    /// `answered`, `error`, `refused`, `failed` or `gone`.
    pub(super) outcome: &'static str,
    /// The tag of the answer's language; empty where none is known.
    pub(super) language: String,
}

/// Labels of `attune_tool_calls_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ToolLabels {
    pub(super) mount: Arc<str>,
    /// The name of a tool that the server has listed, or `other`.
    pub(super) tool: Arc<str>,
    pub(super) outcome: &'static str,
}

/// Labels of `attune_refusals_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct RefusalLabels {
    pub(super) mount: Arc<str>,
    /// The id of the rule, such as `H1`.
    pub(super) rule: &'static str,
    /// `false` where the request passed and the rule was only reported.
    pub(super) enforced: bool,
}

/// Labels of what is counted once for each mount.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct MountLabels {
    pub(super) mount: Arc<str>,
}

/// Labels of `attune_answer_seconds`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct MethodLabels {
    pub(super) mount: Arc<str>,
    pub(super) method: &'static str,
}

/// Labels of `attune_upstream_errors_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ErrorLabels {
    pub(super) mount: Arc<str>,
    /// The name of the upstream error, such as `refused`.
    pub(super) kind: &'static str,
}

/// Labels of `attune_shaped_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct FormatLabels {
    pub(super) mount: Arc<str>,
    /// The format that the caller's tags ask for.
    pub(super) format: &'static str,
}

/// Labels of `attune_left_out_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct PartLabels {
    pub(super) mount: Arc<str>,
    /// `blocks`, `fields` or `bytes`.
    pub(super) part: &'static str,
}

/// Labels of `attune_assumed_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct AssumedLabels {
    pub(super) mount: Arc<str>,
    /// The field of the caller, such as `timezone`.
    pub(super) field: &'static str,
    /// The kind of source, such as `header`.
    pub(super) source: &'static str,
}

/// Labels of `attune_tokens_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) mount: Arc<str>,
    /// `verified`, or why the token counts for nothing.
    pub(super) outcome: &'static str,
}

/// Labels of `attune_bridged_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct BridgeLabels {
    pub(super) mount: Arc<str>,
    /// The era of the caller: `modern` or `legacy`.
    pub(super) caller: &'static str,
    /// The era of the server.
    pub(super) server: &'static str,
}

/// Labels of `attune_reloads_total`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ReloadLabels {
    /// Whether the new configuration took effect.
    pub(super) taken: bool,
}

//! The labels of the series. Nothing that a caller can make up is one.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) mount: Arc<str>,
    pub(super) method: &'static str,
    pub(super) outcome: &'static str,
    pub(super) language: String,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ToolLabels {
    pub(super) mount: Arc<str>,
    pub(super) tool: Arc<str>,
    pub(super) outcome: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct RefusalLabels {
    pub(super) mount: Arc<str>,
    pub(super) rule: &'static str,
    pub(super) enforced: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct MountLabels {
    pub(super) mount: Arc<str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct MethodLabels {
    pub(super) mount: Arc<str>,
    pub(super) method: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ErrorLabels {
    pub(super) mount: Arc<str>,
    pub(super) kind: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct FormatLabels {
    pub(super) mount: Arc<str>,
    pub(super) format: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct PartLabels {
    pub(super) mount: Arc<str>,
    pub(super) part: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct ReloadLabels {
    pub(super) taken: bool,
}

//! The scenarios, a file for each subject.

pub(super) mod bodies;
pub(super) mod context;
pub(super) mod features;
pub(super) mod headers;
pub(super) mod language;

//! What the operator wrote for the answers of a server.

use std::collections::BTreeMap;
use std::sync::Arc;

use core::fmt;

use super::template::{Hints, Templates};

/// How the answers of a server are shaped. Where there is none, nothing is.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// Whether `instructions` say what the caller gets.
    pub announce: bool,
    /// By the name of the tool.
    pub tools: BTreeMap<String, Tool>,
    /// By the URI of the resource.
    pub resources: BTreeMap<String, Arc<Templates>>,
    /// By the name of the prompt.
    pub prompts: BTreeMap<String, Arc<Templates>>,
}

/// What the operator wrote for one tool.
#[derive(Clone, Debug, Default)]
pub struct Tool {
    /// What its results are written with.
    pub templates: Arc<Templates>,
    /// What a caller that reasons is told beside the data.
    pub hints: Option<Arc<Hints>>,
    /// The fields that a compact answer can do without.
    pub low_priority: Vec<String>,
}

/// Where [`Content`] comes from. A host asks for what there is now, and looks for changes where waiting harms nobody.
pub trait Supply: Send + Sync + fmt::Debug {
    /// What there is now.
    fn content(&self) -> Arc<Content>;

    /// Whether it is time to look for changes; true to one asker only.
    fn is_due(&self) -> bool {
        false
    }

    /// Looks for changes. This may wait for a disk.
    fn look(&self) {}
}

/// What never changes.
impl Supply for Arc<Content> {
    fn content(&self) -> Arc<Content> {
        self.clone()
    }
}

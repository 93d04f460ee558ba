//! Everything that an operator wrote for the answers of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::shaping::{Shaper, ShaperSource};
use mcp_attune_shape::{OperatorContent, ToolShaping};

use crate::templates::TemplateFiles;
use crate::watcher::WatchedFiles;

/// Where what an operator wrote is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerTemplatePaths {
    /// Whether `instructions` say what the caller gets.
    pub announce: bool,
    /// By the name of the tool.
    pub tools: BTreeMap<String, ToolTemplatePaths>,
    /// What the templates of a resource begin with, by its URI.
    pub resources: BTreeMap<String, PathBuf>,
    /// What the templates of a prompt begin with, by its name.
    pub prompts: BTreeMap<String, PathBuf>,
}

/// Where what an operator wrote for a tool is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolTemplatePaths {
    /// What its templates begin with.
    pub templates: Option<PathBuf>,
    /// Its hints.
    pub hints: Option<PathBuf>,
    /// The fields that a compact answer can do without.
    pub low_priority: Vec<String>,
}

/// [`OperatorContent`] from files. A [`Watcher`](crate::FileWatcher) follows them when they change.
///
/// ```
/// use mcp_attune_files::{ServerTemplatePaths, ServerTemplateFiles};
///
/// let mut places = ServerTemplatePaths::default();
/// places.prompts.insert("plan_trip".to_owned(), "nowhere/plan_trip".into());
/// let content = ServerTemplateFiles::new(places).current_content();
/// assert!(content.prompts["plan_trip"].is_empty());
/// ```
pub struct ServerTemplateFiles {
    places: ServerTemplatePaths,
    tools: BTreeMap<String, TemplateFiles>,
    resources: BTreeMap<String, TemplateFiles>,
    prompts: BTreeMap<String, TemplateFiles>,
    content: Mutex<Arc<OperatorContent>>,
}

impl ServerTemplateFiles {
    /// Reads the files. What is wrong with them is logged.
    #[must_use]
    pub fn new(places: ServerTemplatePaths) -> Self {
        let shelf =
            |(name, place): (&String, &PathBuf)| (name.clone(), TemplateFiles::new(Some(place), None));
        let tool = |(name, tool): (&String, &ToolTemplatePaths)| {
            (name.clone(), TemplateFiles::new(tool.templates.as_deref(), tool.hints.as_deref()))
        };
        let shelves = Self {
            tools: places.tools.iter().map(tool).collect(),
            resources: places.resources.iter().map(shelf).collect(),
            prompts: places.prompts.iter().map(shelf).collect(),
            places,
            content: Mutex::default(),
        };
        shelves.rebuild_content();
        shelves
    }

    /// What was written as of now.
    #[must_use]
    pub fn current_content(&self) -> Arc<OperatorContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes content of what the shelves have now.
    fn rebuild_content(&self) {
        let templates = |shelves: &BTreeMap<String, TemplateFiles>| {
            shelves.iter().map(|(name, shelf)| (name.clone(), shelf.templates())).collect()
        };
        let tool = |(name, shelf): (&String, &TemplateFiles)| {
            let hints = Some(shelf.hints()).filter(|hints| !hints.is_empty());
            let low_priority = self.places.tools.get(name).map(|tool| tool.low_priority.clone());
            let low_priority = low_priority.unwrap_or_default();
            (name.clone(), ToolShaping { templates: shelf.templates(), hints, low_priority })
        };
        let content = OperatorContent {
            announce: self.places.announce,
            tools: self.tools.iter().map(tool).collect(),
            resources: templates(&self.resources),
            prompts: templates(&self.prompts),
        };
        *self.content.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
    }

    fn all(&self) -> impl Iterator<Item = &TemplateFiles> {
        self.tools.values().chain(self.resources.values()).chain(self.prompts.values())
    }
}

impl ShaperSource for ServerTemplateFiles {
    fn current_shaper(&self) -> Arc<dyn Shaper> {
        self.current_content()
    }
}

impl WatchedFiles for ServerTemplateFiles {
    fn refresh(&self) {
        // All of them, whichever is the first that changed.
        if self.all().filter(|shelf| shelf.refresh()).count() > 0 {
            self.rebuild_content();
        }
    }
}

impl fmt::Debug for ServerTemplateFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerTemplateFiles").field(&self.places).finish()
    }
}

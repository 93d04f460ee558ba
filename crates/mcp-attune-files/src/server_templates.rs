//! Everything that an operator wrote to shape the answers of one server, read from files.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::shaping::{Shaper, ShaperSource};
use mcp_attune_shape::{OperatorContent, ToolShaping};

use crate::templates::TemplateFiles;
use crate::watcher::WatchedFiles;

/// Where the templates and hints of one server are, as its configuration says.
///
/// A path of templates is a stem: `templates/get_weather` stands for `templates/get_weather.md`,
/// `templates/get_weather.compact.md` and so on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServerTemplatePaths {
    /// Whether a sentence is added to the server's `instructions` that tells the caller in which form results
    /// come.
    pub announce: bool,
    /// Paths of each tool, by its name.
    pub tools: BTreeMap<String, ToolTemplatePaths>,
    /// Stem of the templates of each resource, by its URI.
    pub resources: BTreeMap<String, PathBuf>,
    /// Stem of the templates of each prompt, by its name.
    pub prompts: BTreeMap<String, PathBuf>,
}

/// Where the templates and hints of one tool are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolTemplatePaths {
    /// Stem of its templates; `None` if it has none.
    pub templates: Option<PathBuf>,
    /// File of its hints, one a line; `None` if it has none.
    pub hints: Option<PathBuf>,
    /// Fields of its results that a compact answer may leave out. They are part of the configuration, not of a
    /// file.
    pub low_priority: Vec<String>,
}

/// The templates and hints of one server, compiled, and kept up to date by a
/// [`FileWatcher`](crate::FileWatcher).
///
/// As a [`ShaperSource`] it hands out [`OperatorContent`], which does not change any more: a request is shaped
/// by what held when it began, even if files change meanwhile.
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
    /// What is handed out now. It is replaced as a whole.
    content: Mutex<Arc<OperatorContent>>,
}

impl ServerTemplateFiles {
    /// Reads and compiles the files. Blocks on the disk. What is wrong with them is logged, and the files in
    /// question are left out.
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

    /// Returns the templates and hints as they were at the last look at the files.
    #[must_use]
    pub fn current_content(&self) -> Arc<OperatorContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces what is handed out by what the files contain now.
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

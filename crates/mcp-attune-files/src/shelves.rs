//! Everything that an operator wrote for the answers of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::shaping::{Shaper, Supply};
use mcp_attune_shape::{Content, Tool};

use crate::templates::Shelf;
use crate::watcher::Watched;

/// Where what an operator wrote is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    /// Whether `instructions` say what the caller gets.
    pub announce: bool,
    /// By the name of the tool.
    pub tools: BTreeMap<String, ToolPlaces>,
    /// What the templates of a resource begin with, by its URI.
    pub resources: BTreeMap<String, PathBuf>,
    /// What the templates of a prompt begin with, by its name.
    pub prompts: BTreeMap<String, PathBuf>,
}

/// Where what an operator wrote for a tool is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ToolPlaces {
    /// What its templates begin with.
    pub templates: Option<PathBuf>,
    /// Its hints.
    pub hints: Option<PathBuf>,
    /// The fields that a compact answer can do without.
    pub low_priority: Vec<String>,
}

/// [`Content`] from files. A [`Watcher`](crate::Watcher) follows them when they change.
///
/// ```
/// use mcp_attune_files::{Places, Shelves};
///
/// let mut places = Places::default();
/// places.prompts.insert("plan_trip".to_owned(), "nowhere/plan_trip".into());
/// let content = Shelves::new(places).now();
/// assert!(content.prompts["plan_trip"].is_empty());
/// ```
pub struct Shelves {
    places: Places,
    tools: BTreeMap<String, Shelf>,
    resources: BTreeMap<String, Shelf>,
    prompts: BTreeMap<String, Shelf>,
    content: Mutex<Arc<Content>>,
}

impl Shelves {
    /// Reads the files. What is wrong with them is logged.
    #[must_use]
    pub fn new(places: Places) -> Self {
        let shelf = |(name, place): (&String, &PathBuf)| (name.clone(), Shelf::new(Some(place), None));
        let tool = |(name, tool): (&String, &ToolPlaces)| {
            (name.clone(), Shelf::new(tool.templates.as_deref(), tool.hints.as_deref()))
        };
        let shelves = Self {
            tools: places.tools.iter().map(tool).collect(),
            resources: places.resources.iter().map(shelf).collect(),
            prompts: places.prompts.iter().map(shelf).collect(),
            places,
            content: Mutex::default(),
        };
        shelves.put();
        shelves
    }

    /// What was written as of now.
    #[must_use]
    pub fn now(&self) -> Arc<Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes content of what the shelves have now.
    fn put(&self) {
        let templates = |shelves: &BTreeMap<String, Shelf>| {
            shelves.iter().map(|(name, shelf)| (name.clone(), shelf.templates())).collect()
        };
        let tool = |(name, shelf): (&String, &Shelf)| {
            let hints = Some(shelf.hints()).filter(|hints| !hints.is_empty());
            let low_priority = self.places.tools.get(name).map(|tool| tool.low_priority.clone());
            let low_priority = low_priority.unwrap_or_default();
            (name.clone(), Tool { templates: shelf.templates(), hints, low_priority })
        };
        let content = Content {
            announce: self.places.announce,
            tools: self.tools.iter().map(tool).collect(),
            resources: templates(&self.resources),
            prompts: templates(&self.prompts),
        };
        *self.content.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(content);
    }

    fn all(&self) -> impl Iterator<Item = &Shelf> {
        self.tools.values().chain(self.resources.values()).chain(self.prompts.values())
    }
}

impl Supply for Shelves {
    fn content(&self) -> Arc<dyn Shaper> {
        self.now()
    }
}

impl Watched for Shelves {
    fn refresh(&self) {
        // All of them, whichever is the first that changed.
        if self.all().filter(|shelf| shelf.refresh()).count() > 0 {
            self.put();
        }
    }
}

impl fmt::Debug for Shelves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shelves").field(&self.places).finish()
    }
}

//! The names of the tools that a server has listed, which calls are counted and logged by.
//!
//! Only listings of the server add to them, so that no caller can make names up, and their number is bounded.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum number of names. Calls of further tools are counted without a name.
const MAX_NAMES: usize = 256;
/// Maximum length of a name in bytes; longer ones are not kept.
const MAX_NAME_BYTES: usize = 128;

/// The names of all tools that the server has listed to anybody. Names are never removed.
#[derive(Debug, Default)]
pub(crate) struct ListedToolNames(RwLock<HashSet<Arc<str>>>);

impl ListedToolNames {
    /// Returns the name if it was listed.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<str>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Adds a name of a listing, if it is short enough and there is room.
    pub(crate) fn learn(&self, name: &str) {
        if name.len() > MAX_NAME_BYTES || self.find(name).is_some() {
            return;
        }
        let mut names = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MAX_NAMES {
            names.insert(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_names_are_kept_and_none_that_is_long() {
        let names = ListedToolNames::default();
        for number in 0..MAX_NAMES + 10 {
            names.learn(&format!("tool-{number}"));
            names.learn(&"x".repeat(MAX_NAME_BYTES + 1));
        }
        assert_eq!(names.find("tool-0").as_deref(), Some("tool-0"));
        assert_eq!(names.find(&format!("tool-{MAX_NAMES}")), None);
        assert_eq!(names.find("never listed"), None);
        assert_eq!(names.find(&"x".repeat(MAX_NAME_BYTES + 1)), None);
        assert_eq!(names.0.read().unwrap().len(), MAX_NAMES);
    }
}

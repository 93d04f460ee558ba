//! The names of the tools that a server has listed, to count and log calls by.
//!
//! Only listings of the server add to them, so no caller can make a name up; and there is a bound.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

/// How many names are kept. Calls of other tools go without a name.
const MAX_NAMES: usize = 256;
/// How many bytes a name may have.
const MAX_NAME_BYTES: usize = 128;

/// The names of tools that were listed, by anybody.
#[derive(Debug, Default)]
pub(crate) struct ListedToolNames(RwLock<HashSet<Arc<str>>>);

impl ListedToolNames {
    /// Finds a name that was listed.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<str>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Adds a name of a listing.
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

//! The languages that a server says it answered in.

use std::sync::{Arc, Mutex, PoisonError};

use crate::language::{ContentLanguage, Tag};

/// The languages that a server's own code answers one request in: written where it chooses, read where it is reported.
///
/// Rules: L7.
#[derive(Clone, Debug, Default)]
pub struct ReportedLanguages(Arc<Mutex<Option<ContentLanguage>>>);

impl ReportedLanguages {
    /// Adds a language; one that is there already changes nothing.
    pub fn add(&self, language: &Tag) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            None => *held = Some(ContentLanguage::from(language.clone())),
            Some(languages) => languages.add(language),
        }
    }

    /// The languages so far.
    #[must_use]
    pub fn languages(&self) -> Option<ContentLanguage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

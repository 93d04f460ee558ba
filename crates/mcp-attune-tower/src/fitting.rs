//! Whether bindings and templates fit the tools of a server, told in the log: once for a listing, and again for templates that
//! change.
//!
//! Rules: C9, F6.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::exchange::listing::parse_pages;
use mcp_attune::shaping::Shaper;

use crate::listing_inspector::ListingInspector;

/// How many bytes of a listing are kept to hold templates against that change later.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// What was held against a listing.
#[derive(Debug, Default)]
pub(crate) struct ListingFitCheck {
    held: AtomicBool,
    /// The listing, where there are templates that can change.
    kept: Mutex<Option<CheckedListing>>,
}

#[derive(Debug)]
struct CheckedListing {
    pages: Vec<Box<[u8]>>,
    /// Whether these are all pages.
    whole: bool,
    content: Arc<dyn Shaper>,
    /// What was told of the templates.
    told: Vec<String>,
}

impl ListingFitCheck {
    /// Holds bindings and templates against the first listing that comes. `whole`: these are all of its pages.
    pub(crate) fn check_first_listing<'a>(
        &self,
        interest: &ListingInspector,
        pages: impl IntoIterator<Item = &'a [u8]>,
        whole: bool,
    ) {
        if self.held.swap(true, Ordering::Relaxed) {
            return;
        }
        let pages: Vec<&[u8]> = pages.into_iter().collect();
        // Before the check: what changes meanwhile is looked at again.
        let content = interest.content.as_ref().map(|supply| supply.current_shaper());
        let told = interest.check_configuration(&parse_pages(pages.iter().copied()), whole);
        let content = content.filter(|content| content.has_tools());
        if let Some(content) =
            content.filter(|_| pages.iter().map(|page| page.len()).sum::<usize>() <= MAX_KEPT_BYTES)
        {
            let pages = pages.into_iter().map(Into::into).collect();
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(CheckedListing { pages, whole, content, told });
        }
    }

    /// Holds templates that have changed since against the same listing, and tells what is new.
    pub(crate) fn recheck_kept_listing(&self, interest: &ListingInspector) {
        let Some(supply) = &interest.content else { return };
        let content = supply.current_shaper();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = kept.as_mut().filter(|kept| !Arc::ptr_eq(&kept.content, &content)) else { return };
        let pages = parse_pages(kept.pages.iter().map(AsRef::as_ref));
        let findings = content.check(&pages, kept.whole);
        for finding in findings.iter().filter(|finding| !kept.told.contains(finding)) {
            tracing::warn!("a template does not fit the server: {finding}");
        }
        kept.told = findings;
        kept.content = content;
    }
}

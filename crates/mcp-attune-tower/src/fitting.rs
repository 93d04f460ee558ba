//! Checks once whether bindings and templates fit the tools that a server lists, and again when templates
//! change. What does not fit is logged.
//!
//! Rules: C9, F6.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::exchange::listing::parse_pages;
use mcp_attune::shaping::{Shaper, ShaperFinding};

use crate::listing_inspector::ListingInspector;

/// Maximum size of a listing, in bytes, that is kept to check changed templates against. Larger ones are
/// checked once.
const MAX_KEPT_BYTES: usize = 4 << 20;

/// The state of the check for one mount.
#[derive(Debug, Default)]
pub(crate) struct ListingFitCheck {
    /// Whether a listing was checked already; only the first one is.
    held: AtomicBool,
    /// That listing, if there are templates of tools that can change.
    kept: Mutex<Option<CheckedListing>>,
}

/// The listing that was checked, with what it was checked against.
#[derive(Debug)]
struct CheckedListing {
    pages: Vec<Box<[u8]>>,
    /// Whether these are all pages of the listing.
    whole: bool,
    /// The templates that were checked last. Changed templates are another object.
    content: Arc<dyn Shaper>,
    /// The findings that were logged last, so that only new ones are logged after a change.
    told: Vec<ShaperFinding>,
}

impl ListingFitCheck {
    /// Checks bindings and templates against the first listing that comes, and ignores all later ones. `whole`
    /// says that these are all of its pages.
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

    /// Checks templates that have changed since against the kept listing, and logs the findings that are new.
    /// Does nothing if no listing was kept or no template changed.
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

//! Reads pages of `tools/list`: what the layer needs of them, and whether the operator's bindings and templates
//! fit them.
//!
//! Rules: C9, F6, F13.

use std::sync::Arc;

use mcp_attune::bind::Bindings;
use mcp_attune::exchange::listing::{self, ListingPageError, ToolListingPage};
use mcp_attune::shaping::{ShaperFinding, ShaperSource};
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::message::Message;

use crate::tool_names::ListedToolNames;

/// What the layer reads listings for. Clones share the learned names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListingInspector {
    /// The arguments that contexts fill. Callers are shown schemas without them, so the headers that callers
    /// must send differ from those that the server declares.
    pub(crate) bindings: Arc<Bindings>,
    /// How answers are shaped. If they are not (`None`), the `outputSchema` of tools is not read.
    pub(crate) content: Option<Arc<dyn ShaperSource>>,
    /// Learns the names of all tools that are seen.
    pub(crate) names: Arc<ListedToolNames>,
}

impl ListingInspector {
    /// Reads a page of a listing that passes by. Returns `None` if the message is not the answer to a
    /// `tools/list`.
    pub(crate) fn read_listing_page(&self, message: &Message<'_>) -> Option<ToolListingPage> {
        ToolListingPage::read(message, self.page_interest(), |name| self.names.learn(name))
            .inspect(log_page_notices)
    }

    /// Reads the answer to a `tools/list` of our own, and says whether to ask for another page.
    pub(crate) fn next_page(
        &self,
        answer: &[u8],
        pages: &mut Pages,
    ) -> Result<(ToolListingPage, ListingStep), ListingPageError> {
        let read = listing::read_page(answer, self.page_interest(), pages, |name| self.names.learn(name));
        read.inspect(|(page, _)| log_page_notices(page))
    }

    fn page_interest(&self) -> listing::ListingReadOptions<'_> {
        listing::ListingReadOptions { bindings: &self.bindings, outputs: self.content.is_some() }
    }

    /// Logs which bindings and templates do not fit these pages of a listing, and returns the findings about
    /// templates. `whole` says that these are all pages: only then is a tool that is not there known to be
    /// missing.
    pub(crate) fn check_configuration(&self, pages: &[Message<'_>], whole: bool) -> Vec<ShaperFinding> {
        for finding in self.bindings.check(pages, whole) {
            tracing::warn!("a binding does not fit the server: {finding}");
        }
        let of_templates = self.content.as_ref().map(|supply| supply.current_shaper().check(pages, whole));
        let of_templates = of_templates.unwrap_or_default();
        for finding in &of_templates {
            tracing::warn!("a template does not fit the server: {finding}");
        }
        of_templates
    }

    /// Learns the names of the tools on a page, and nothing else.
    pub(crate) fn learn_names(&self, page: &[u8]) {
        listing::for_each_tool_name(page, |name| self.names.learn(name));
    }

    /// Returns whether there are bindings, or templates of tools, that may not fit a listing.
    pub(crate) fn needs_fit_check(&self) -> bool {
        let content = self.content.as_ref();
        !self.bindings.is_empty() || content.is_some_and(|supply| supply.current_shaper().has_tools())
    }
}

fn log_page_notices(page: &ToolListingPage) {
    for notice in &page.notices {
        tracing::warn!("{notice}");
    }
}

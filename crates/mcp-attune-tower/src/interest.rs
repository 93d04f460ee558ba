//! What of a listing is of interest, and whether the configuration fits it.
//!
//! Rules: C9, F6, F13.

use std::sync::Arc;

use mcp_attune::bind::Bindings;
use mcp_attune::exchange::listing::{self, NotListed, Page};
use mcp_attune::shaping::Supply;
use mcp_attune_wire::listing::{Pages, Turn};
use mcp_attune_wire::message::Message;

use crate::tool_names::ToolNames;

/// What of a listing is of interest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interest {
    /// What callers are shown is made with these.
    pub(crate) bindings: Arc<Bindings>,
    /// How answers are shaped, for which the schemas of results are.
    pub(crate) content: Option<Arc<dyn Supply>>,
    /// Learns the names of all tools.
    pub(crate) names: Arc<ToolNames>,
}

impl Interest {
    /// Reads a page of a listing; `None` where a message is none.
    pub(crate) fn page(&self, message: &Message<'_>) -> Option<Page> {
        Page::read(message, self.of_listings(), |name| self.names.learn(name)).inspect(warn)
    }

    /// Reads the answer to a `tools/list` of our own, and says what to do next.
    pub(crate) fn next_page(&self, answer: &[u8], pages: &mut Pages) -> Result<(Page, Turn), NotListed> {
        let read = listing::read_page(answer, self.of_listings(), pages, |name| self.names.learn(name));
        read.inspect(|(page, _)| warn(page))
    }

    fn of_listings(&self) -> listing::Interest<'_> {
        listing::Interest { bindings: &self.bindings, outputs: self.content.is_some() }
    }

    /// Tells what in the configuration does not fit a listing, and returns what of it is about templates. `whole`: these are
    /// all of its pages.
    pub(crate) fn check(&self, pages: &[Message<'_>], whole: bool) -> Vec<String> {
        for finding in self.bindings.check(pages, whole) {
            tracing::warn!("a binding does not fit the server: {finding}");
        }
        let of_templates = self.content.as_ref().map(|supply| supply.content().check(pages, whole));
        let of_templates = of_templates.unwrap_or_default();
        for finding in &of_templates {
            tracing::warn!("a template does not fit the server: {finding}");
        }
        of_templates
    }

    /// Learns the names of the tools on a page.
    pub(crate) fn learn_names(&self, page: &[u8]) {
        listing::names(page, |name| self.names.learn(name));
    }

    /// Whether there is anything that may not fit.
    pub(crate) fn checks(&self) -> bool {
        let content = self.content.as_ref();
        !self.bindings.is_empty() || content.is_some_and(|supply| supply.content().has_tools())
    }
}

fn warn(page: &Page) {
    for notice in &page.notices {
        tracing::warn!("{notice}");
    }
}

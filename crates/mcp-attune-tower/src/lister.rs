//! Lists the tools of a server in the name of a caller, page by page, for the cache of listings.
//!
//! Rules: H5, H10, H11.

use http::{Request, StatusCode, request};
use mcp_attune::exchange::listing::{ListingPageError, ToolIndex, ToolListRequest, ToolListingPage};
use mcp_attune_wire::listing::{ListingStep, MAX_ITEMS, MAX_PAGES, Pages};
use mcp_attune_wire::protocol::method::TOOLS_LIST;

use crate::body::{BodyCollectError, collect, full};
use crate::held::BufferBudget;
use crate::inner::McpHttpService;
use crate::lines;
use crate::listing_inspector::ListingInspector;
use crate::media::{BodyMediaType, media};
use crate::mount::LayerState;
use crate::schemas::ListToolsOutcome;
use crate::settings::BodySizeLimits;
use crate::sse::{SsePiece, SseSplitter, event_data};

/// One listing of a server's tools. It owns everything that it needs, because it runs in a task of its own and
/// may outlive the call that wants the listing.
pub(crate) struct ToolLister<S> {
    inner: S,
    /// The head of every request for a page: that of the caller's request, with its credentials, and the
    /// headers of `tools/list`.
    head: request::Parts,
    /// Makes the body of the request for each page.
    envelope: ToolListRequest,
    limits: BodySizeLimits,
    held: BufferBudget,
    interest: ListingInspector,
}

impl<S: McpHttpService> ToolLister<S> {
    /// Prepares a listing in the name of whoever sent the request with the head `parts`.
    pub(crate) fn new(
        inner: S,
        mount: &LayerState,
        parts: &request::Parts,
        envelope: ToolListRequest,
    ) -> Self {
        let mut head = parts.clone();
        lines::apply_header_changes(&mut head.headers, envelope.header_changes());
        let (limits, interest) = (mount.settings.limits, mount.schemas.inspector().clone());
        let held = mount.settings.held.clone();
        Self { inner, head, envelope, limits, held, interest }
    }

    /// Asks for all pages, within the bounds on their number, their items and their bytes together.
    pub(crate) async fn list(mut self) -> ListToolsOutcome {
        let mut listing = ToolIndex::default();
        let mut pages = Pages::new(TOOLS_LIST).with_limits(MAX_PAGES, MAX_ITEMS, self.limits.answer);
        loop {
            let (page, turn) = match self.fetch_listing_page(&mut pages).await {
                Ok(page) => page,
                Err(listed) => return listed,
            };
            listing.add(&page);
            match turn {
                ListingStep::Next => {}
                ListingStep::Done => return ListToolsOutcome::Whole(Box::new(listing), page.public),
                ListingStep::Endless(why) => {
                    tracing::warn!("the server's listing does not end: {why}");
                    return ListToolsOutcome::Never;
                }
            }
        }
    }

    /// Asks for the page that `pages` is at, and says whether there is another. The error is the outcome of the
    /// whole listing: `Failed` for 5xx, 429 and broken connections, which may pass, and `Never` for everything
    /// else.
    ///
    /// The service may not be `Sync`, so it is cloned and not borrowed across an await.
    async fn fetch_listing_page(
        &mut self,
        pages: &mut Pages,
    ) -> Result<(ToolListingPage, ListingStep), ListToolsOutcome> {
        let body = full(self.envelope.body(pages.cursor()));
        let mut inner = self.inner.clone();
        inner.ready().await.map_err(|_| ListToolsOutcome::Failed)?;
        let answered = inner.ask(Request::from_parts(self.head.clone(), body)).await;
        let response = answered.map_err(|_| ListToolsOutcome::Failed)?;
        let status = response.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(ListToolsOutcome::Failed);
        }
        let stream = media(response.headers()) == BodyMediaType::Events;
        let mut held = self.held.start_reservation();
        let body = match collect(response.into_body(), self.limits.answer, &mut held).await {
            Ok(body) => body,
            Err(BodyCollectError::TooLarge) => return Err(ListToolsOutcome::Never),
            Err(BodyCollectError::Broken(_) | BodyCollectError::Full(_)) => {
                return Err(ListToolsOutcome::Failed);
            }
        };
        if stream { self.read_sse_page(&body, pages) } else { self.read_json_page(&body, pages) }
    }

    fn read_json_page(
        &self,
        body: &[u8],
        pages: &mut Pages,
    ) -> Result<(ToolListingPage, ListingStep), ListToolsOutcome> {
        self.interest.next_page(body, pages).map_err(|why| match why {
            ListingPageError::NotNow => ListToolsOutcome::Failed,
            ListingPageError::Never => ListToolsOutcome::Never,
        })
    }

    /// Reads a page from a stream of events: the first event that is one.
    fn read_sse_page(
        &self,
        body: &[u8],
        pages: &mut Pages,
    ) -> Result<(ToolListingPage, ListingStep), ListToolsOutcome> {
        let pieces = SseSplitter::new(usize::MAX).push(body).map_err(|_| ListToolsOutcome::Never)?;
        let events = pieces.iter().filter_map(|piece| match piece {
            SsePiece::Event(event) => event_data(event),
            SsePiece::Raw(_) => None,
        });
        let mut listed = Err(ListToolsOutcome::Never);
        for event in events {
            match self.read_json_page(&event, pages) {
                Ok(page) => return Ok(page),
                Err(ListToolsOutcome::Failed) => listed = Err(ListToolsOutcome::Failed),
                Err(_) => {}
            }
        }
        listed
    }
}

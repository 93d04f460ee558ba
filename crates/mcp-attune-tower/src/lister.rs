//! The tools of a server, listed in the name of a caller, page by page.
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

/// Lists the tools. It owns what it needs, because it may outlive the call that wants the listing.
pub(crate) struct ToolLister<S> {
    inner: S,
    /// Every page is asked for with these.
    head: request::Parts,
    envelope: ToolListRequest,
    limits: BodySizeLimits,
    held: BufferBudget,
    interest: ListingInspector,
}

impl<S: McpHttpService> ToolLister<S> {
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

    /// Asks for one page, or says what else came of it.
    /// The service may not be shared between threads, so neither is this.
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

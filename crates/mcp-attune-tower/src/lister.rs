//! The tools of a server, listed in the name of a caller, page by page.
//!
//! Rules: H5, H10, H11.

use http::{Request, StatusCode, request};
use mcp_attune::exchange::listing::{Envelope, Listing, NotListed, Page};
use mcp_attune_wire::listing::{MAX_ITEMS, MAX_PAGES, Pages, Turn};
use mcp_attune_wire::protocol::method::TOOLS_LIST;

use crate::body::{Incomplete, collect, full};
use crate::held::HeldBudget;
use crate::inner::Inner;
use crate::interest::Interest;
use crate::lines;
use crate::media::{Media, media};
use crate::mount::Mount;
use crate::schemas::Listed;
use crate::settings::Limits;
use crate::sse::{Piece, Splitter, data};

/// Lists the tools. It owns what it needs, because it may outlive the call that wants the listing.
pub(crate) struct Lister<S> {
    inner: S,
    /// Every page is asked for with these.
    head: request::Parts,
    envelope: Envelope,
    limits: Limits,
    held: HeldBudget,
    interest: Interest,
}

impl<S: Inner> Lister<S> {
    pub(crate) fn new(inner: S, mount: &Mount, parts: &request::Parts, envelope: Envelope) -> Self {
        let mut head = parts.clone();
        lines::change(&mut head.headers, envelope.headers());
        let (limits, interest) = (mount.settings.limits, mount.schemas.interest().clone());
        let held = mount.settings.held.clone();
        Self { inner, head, envelope, limits, held, interest }
    }

    pub(crate) async fn list(mut self) -> Listed {
        let mut listing = Listing::default();
        let mut pages = Pages::new(TOOLS_LIST).within(MAX_PAGES, MAX_ITEMS, self.limits.answer);
        loop {
            let (page, turn) = match self.page(&mut pages).await {
                Ok(page) => page,
                Err(listed) => return listed,
            };
            listing.add(&page);
            match turn {
                Turn::Next => {}
                Turn::Done => return Listed::Whole(Box::new(listing), page.public),
                Turn::Endless(why) => {
                    tracing::warn!("the server's listing does not end: {why}");
                    return Listed::Never;
                }
            }
        }
    }

    /// Asks for one page, or says what else came of it.
    /// The service may not be shared between threads, so neither is this.
    async fn page(&mut self, pages: &mut Pages) -> Result<(Page, Turn), Listed> {
        let body = full(self.envelope.request(pages.cursor()));
        let mut inner = self.inner.clone();
        inner.ready().await.map_err(|_| Listed::Failed)?;
        let answered = inner.ask(Request::from_parts(self.head.clone(), body)).await;
        let response = answered.map_err(|_| Listed::Failed)?;
        let status = response.status();
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(Listed::Failed);
        }
        let stream = media(response.headers()) == Media::Events;
        let mut held = self.held.hold();
        let body = match collect(response.into_body(), self.limits.answer, &mut held).await {
            Ok(body) => body,
            Err(Incomplete::TooLarge) => return Err(Listed::Never),
            Err(Incomplete::Broken(_) | Incomplete::Full(_)) => return Err(Listed::Failed),
        };
        if stream { self.page_of_stream(&body, pages) } else { self.page_of(&body, pages) }
    }

    fn page_of(&self, body: &[u8], pages: &mut Pages) -> Result<(Page, Turn), Listed> {
        self.interest.next_page(body, pages).map_err(|why| match why {
            NotListed::NotNow => Listed::Failed,
            NotListed::Never => Listed::Never,
        })
    }

    fn page_of_stream(&self, body: &[u8], pages: &mut Pages) -> Result<(Page, Turn), Listed> {
        let pieces = Splitter::new(usize::MAX).push(body).map_err(|_| Listed::Never)?;
        let events = pieces.iter().filter_map(|piece| match piece {
            Piece::Event(event) => data(event),
            Piece::Raw(_) => None,
        });
        let mut listed = Err(Listed::Never);
        for event in events {
            match self.page_of(&event, pages) {
                Ok(page) => return Ok(page),
                Err(Listed::Failed) => listed = Err(Listed::Failed),
                Err(_) => {}
            }
        }
        listed
    }
}

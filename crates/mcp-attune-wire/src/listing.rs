//! Listings that come in pages: what to ask for next, and when to stop.
//!
//! 1. The first page is asked for without a cursor, each other one with the `nextCursor` of the page before. A page whose
//!    `nextCursor` is missing or no string is the last.
//! 2. A cursor that came before would bring pages that were already read: the listing is endless.
//! 3. So is one of more than 100 pages, 100,000 items or 32 MiB of results; whoever asks may set other bounds.
//!
//! Nothing here sends or waits: a host asks with [`Pages::params`] and hands each result to [`Pages::take_result`].
//!
//! ```
//! use mcp_attune_wire::document::Document;
//! use mcp_attune_wire::listing::{Pages, ListingStep};
//!
//! let mut pages = Pages::new("tools/list");
//! assert_eq!(pages.params(), "{}");
//! let first = Document::parse(br#"{"tools":[{"name":"a"}],"nextCursor":"2"}"#)?;
//! assert_eq!(pages.take_result(first.root()), ListingStep::Next);
//! assert_eq!(pages.params(), r#"{"cursor":"2"}"#);
//! let last = Document::parse(br#"{"tools":[]}"#)?;
//! assert_eq!(pages.take_result(last.root()), ListingStep::Done);
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::json::{JsonKind, SpannedValue};
use crate::message::Message;
use crate::protocol::method;

/// How many pages a listing may have.
pub const MAX_PAGES: usize = 100;
/// How many items a listing may have, all its pages together.
pub const MAX_ITEMS: usize = 100_000;
/// How many bytes a listing may have, all its results together.
pub const MAX_LISTING_TOTAL_BYTES: usize = 32 << 20;

/// The pages of one listing, as far as they came.
#[derive(Clone, Debug)]
pub struct Pages {
    member: Option<&'static str>,
    max_pages: usize,
    max_items: usize,
    max_bytes: usize,
    pages: usize,
    items: usize,
    bytes: usize,
    /// The cursors so far, as JSON; the last is the one to ask with.
    cursors: Vec<Box<str>>,
}

/// What to do after a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListingStep {
    /// Ask for the next page.
    Next,
    /// That was the last page.
    Done,
    /// Stop: the listing does not come to an end that can be waited for.
    Endless(EndlessListingError),
}

/// Why a listing is taken for one without an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EndlessListingError {
    /// A page leads to one that was already read.
    RepeatedCursor,
    /// There are more pages than this.
    Pages(usize),
    /// There are more items than this.
    Items(usize),
    /// There are more bytes than this.
    Bytes(usize),
}

impl fmt::Display for EndlessListingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RepeatedCursor => f.write_str("a page that leads back to one before it"),
            Self::Pages(most) => write!(f, "more than {most} pages"),
            Self::Items(most) => write!(f, "more than {most} items"),
            Self::Bytes(most) => write!(f, "more than {most} bytes"),
        }
    }
}

impl core::error::Error for EndlessListingError {}

/// The member of a listing's result that holds its items: `tools` for `tools/list`.
#[must_use]
pub fn items_member(listing: &str) -> Option<&'static str> {
    Some(match listing {
        method::TOOLS_LIST => "tools",
        method::PROMPTS_LIST => "prompts",
        method::RESOURCES_LIST => "resources",
        method::RESOURCES_TEMPLATES_LIST => "resourceTemplates",
        method::TASKS_LIST => "tasks",
        method::ROOTS_LIST => "roots",
        _ => return None,
    })
}

impl Pages {
    /// Begins the listing that answers `method`.
    #[must_use]
    pub fn new(method: &str) -> Self {
        Self {
            member: items_member(method),
            max_pages: MAX_PAGES,
            max_items: MAX_ITEMS,
            max_bytes: MAX_LISTING_TOTAL_BYTES,
            pages: 0,
            items: 0,
            bytes: 0,
            cursors: Vec::new(),
        }
    }

    /// Sets how many pages, items and bytes there may be, in place of [`MAX_PAGES`], [`MAX_ITEMS`] and [`MAX_LISTING_TOTAL_BYTES`].
    #[must_use]
    pub fn with_limits(self, max_pages: usize, max_items: usize, max_bytes: usize) -> Self {
        Self { max_pages, max_items, max_bytes, ..self }
    }

    /// The number of the page to ask for, from 1.
    #[must_use]
    pub fn page_number(&self) -> usize {
        self.pages + 1
    }

    /// The bytes of all results so far.
    #[must_use]
    pub fn bytes_so_far(&self) -> usize {
        self.bytes
    }

    /// The cursor to ask with, as a JSON string as it was written; `None` for the first page.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursors.last().map(|cursor| &**cursor)
    }

    /// The `params` to ask with, as JSON, where they hold nothing else.
    #[must_use]
    pub fn params(&self) -> String {
        self.cursor().map_or_else(|| String::from("{}"), |cursor| format!("{{\"cursor\":{cursor}}}"))
    }

    /// Takes an answer, and says what to do next; `None` where the answer holds no list of such items.
    pub fn take_answer(&mut self, answer: &Message<'_>) -> Option<ListingStep> {
        let result = answer.member("result")?;
        result.member(self.member?).filter(|items| items.kind() == JsonKind::Array)?;
        Some(self.take_result(result))
    }

    /// Takes the `result` of the answer, and says what to do next.
    pub fn take_result(&mut self, result: SpannedValue<'_>) -> ListingStep {
        let items = self.member.and_then(|member| result.member(member));
        let count = items.map_or(0, |items| items.elements().count());
        self.advance(count, result.raw().len(), result.member("nextCursor"))
    }

    /// The same for whoever read the result in another way: how many items and bytes it has, and its `nextCursor`.
    pub fn advance(&mut self, items: usize, bytes: usize, next: Option<SpannedValue<'_>>) -> ListingStep {
        self.pages += 1;
        self.items = self.items.saturating_add(items);
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.max_bytes {
            return ListingStep::Endless(EndlessListingError::Bytes(self.max_bytes));
        }
        if self.items > self.max_items {
            return ListingStep::Endless(EndlessListingError::Items(self.max_items));
        }
        let Some(next) = next.filter(|next| next.kind() == JsonKind::String) else {
            return ListingStep::Done;
        };
        if self.cursors.iter().any(|before| SpannedValue::from_checked_text(before).json_eq(next)) {
            return ListingStep::Endless(EndlessListingError::RepeatedCursor);
        }
        if self.pages >= self.max_pages {
            return ListingStep::Endless(EndlessListingError::Pages(self.max_pages));
        }
        self.cursors.push(next.raw().into());
        ListingStep::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn take(pages: &mut Pages, result: &str) -> ListingStep {
        pages.take_result(Document::parse(result.as_bytes()).unwrap().root())
    }

    #[test]
    fn asks_for_page_after_page_until_one_leads_no_further() {
        for last in [r#"{"tools":[]}"#, r#"{"tools":[],"nextCursor":null}"#, r#"{"tools":[],"nextCursor":7}"#]
        {
            let mut pages = Pages::new("tools/list");
            assert_eq!((pages.page_number(), pages.cursor(), &*pages.params()), (1, None, "{}"));
            assert_eq!(take(&mut pages, r#"{"nextCursor":"a\u0022","tools":[1,2]}"#), ListingStep::Next);
            assert_eq!((pages.page_number(), pages.cursor()), (2, Some(r#""a\u0022""#)));
            assert_eq!(pages.params(), r#"{"cursor":"a\u0022"}"#);
            assert_eq!(take(&mut pages, r#"{"nextCursor":"","tools":[1,2]}"#), ListingStep::Next);
            assert_eq!(pages.params(), r#"{"cursor":""}"#);
            assert_eq!(take(&mut pages, last), ListingStep::Done, "{last}");
        }
    }

    #[test]
    fn a_cursor_that_came_before_is_the_end_however_it_is_written_and_however_long_ago() {
        let mut pages = Pages::new("tools/list");
        for cursor in ["é", "b", "c"] {
            assert_eq!(take(&mut pages, &format!(r#"{{"nextCursor":"{cursor}"}}"#)), ListingStep::Next);
        }
        let again = take(&mut pages, r#"{"nextCursor":"\u00e9"}"#);
        assert_eq!(again, ListingStep::Endless(EndlessListingError::RepeatedCursor));
        assert_eq!(pages.cursor(), Some("\"c\""));
    }

    #[test]
    fn stops_at_the_bound_of_pages() {
        let mut pages = Pages::new("tools/list");
        for number in 1..MAX_PAGES {
            assert_eq!(
                take(&mut pages, &format!(r#"{{"nextCursor":"{number}"}}"#)),
                ListingStep::Next,
                "{number}"
            );
        }
        assert_eq!(take(&mut pages.clone(), "{}"), ListingStep::Done, "the last page that there may be");
        assert_eq!(
            take(&mut pages, r#"{"nextCursor":"x"}"#),
            ListingStep::Endless(EndlessListingError::Pages(100))
        );
    }

    #[test]
    fn stops_at_the_bounds_of_items_and_bytes_of_all_pages_together() {
        for (method, page) in [
            ("tools/list", r#"{"tools":[1,2],"nextCursor":"1"}"#),
            ("resources/templates/list", r#"{"resourceTemplates":[1,2],"nextCursor":"1"}"#),
        ] {
            let mut pages = Pages::new(method).with_limits(9, 3, 1000);
            assert_eq!(take(&mut pages, page), ListingStep::Next);
            assert_eq!(
                take(&mut pages, page),
                ListingStep::Endless(EndlessListingError::Items(3)),
                "{method}"
            );
        }
        let page = r#"{"tools":[1,2]}"#;
        let mut pages = Pages::new("tools/list").with_limits(9, 99, 2 * page.len() - 1);
        assert_eq!(take(&mut pages, page), ListingStep::Done);
        assert_eq!(take(&mut pages, page), ListingStep::Endless(EndlessListingError::Bytes(29)));
        assert_eq!(pages.bytes_so_far(), 30);
    }

    #[test]
    fn an_answer_without_a_list_is_no_page() {
        let take =
            |answer: &str| Pages::new("tools/list").take_answer(&Message::parse(answer.as_bytes()).unwrap());
        let next = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"1"}}"#;
        assert_eq!(take(next), Some(ListingStep::Next));
        assert_eq!(take(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#), Some(ListingStep::Done));
        assert_eq!(take(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":{}}}"#), None);
        assert_eq!(take(r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}"#), None);
        assert_eq!(take(r#"{"jsonrpc":"2.0","id":1,"error":{"tools":[]}}"#), None);
    }

    #[test]
    fn what_is_no_listing_is_one_page_without_items() {
        for result in ["{}", "[]", "7", r#"{"tools":{"a":1}}"#] {
            assert_eq!(
                take(&mut Pages::new("tools/list").with_limits(1, 0, 99), result),
                ListingStep::Done,
                "{result}"
            );
        }
        assert_eq!(items_member("tools/call"), None);
    }
}

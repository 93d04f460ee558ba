//! One exchange: a request of a caller, and everything that answers it. Decided here, carried by hosts.
//!
//! ```text
//! Exchange::begin ─ need* ─ forward ─┬─ OutgoingRequest: what the server gets
//!                                    └─ AnswerAdapter ─ answer: pass on, hold, or adapt events ─ adapt*
//! ```
//!
//! 1. The request is read once: its message, its preference, and the host's clock, which is handed in.
//! 2. What only a host can get it is asked for: what is known of a tool ([`Need::Tool`]), the locale files of a language
//!    ([`Need::Locales`]). It answers, and asks on, until nothing is needed any more.
//! 3. A refusal is a [`Reply`], and the server never sees the request. In report mode it passes as it came, and what would
//!    have been refused is told.
//! 4. Headers are changed by lists of [`HeaderChange`]s, bodies by edits: what no rule touches stays as it came.
//! 5. Nothing here waits, reads a clock, draws randomness or remembers. What a host keeps (listings, whether the server
//!    negotiates content itself) is handed in, and what it may learn is handed out ([`LearnedFact`]).
//!
//! Rules: A1, A4, A6, C1, C7, C9, C10, F1, F14, G2, G5, G6, G8, G10, H1–H11, H13, H14, H16–H18, L2, L3, L7, L13–L15, L17, L21.

// Headers, and what is told of them,
mod headers;
mod notice;

// what the onward leg gets,
mod forward;

// ids that carry something,
mod memory;
mod seal;
mod task_ids;
mod session_ids;

// what listings say,
pub mod listing;

// what goes in and comes out,
mod interface;

// and the flow.
mod answering;
mod memo;
mod decided;
mod request;
mod non_post;

// The same between pipes.
pub mod pipe;

pub use answering::{
    AnswerAdapter, AnswerBodyMode, AnswerTopic, BodyMediaType, LearnedFact, MessageRewrite,
    negotiates_content,
};
pub use headers::{HeaderChange, HeaderLines, mirrored_preference};
pub use interface::{
    ExchangeSettings, IncomingRequest, ListingAvailability, ListingRecency, Need, OutgoingRequest, Rejection,
    RequestFacts,
};
pub use memo::{AnswerWithoutId, ListingKey, MemoizedListing};
pub use memory::TaskMemory;
pub use non_post::NonPostExchange;
pub use notice::ExchangeNotice;
pub use request::Exchange;
pub(crate) use seal::BRIDGE_PREFIX;
pub use seal::{IdSeal, NoRandomness, RandomFill, SealKeys};

use std::borrow::Cow;

use mcp_attune_wire::reply::Reply;

use crate::language::AcceptLanguage;
use crate::words;

/// An answer of our own in the words of whoever gets it, and the language that it is in where it is not English.
#[must_use]
pub fn localize_reply(mut reply: Reply, preference: &AcceptLanguage) -> (Reply, Option<String>) {
    let said = words::localize_reply(&reply, preference);
    let language = said.content_language;
    let text = match said.text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => String::from_utf8(text).ok(),
    };
    match text {
        Some(text) => {
            reply.body = text;
            (reply, language)
        }
        None => (reply, None),
    }
}

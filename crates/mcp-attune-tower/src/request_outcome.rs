//! What became of a request, for whoever counts or logs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::exchange::RequestFacts;
use mcp_attune::features::ContentFormat;
use mcp_attune::language::Tag;
use mcp_attune::shaping::AnswerOmissions;
use mcp_attune_wire::reply::Reply;

/// In the extensions of every answer of the layer: what became of the request. Nothing in it is the caller's own
/// words, so it can be counted by.
///
/// Rules: F5, G12, H10, H17.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RequestOutcome {
    /// The method, where the message could be read and the method is one of MCP's.
    pub method: Option<&'static str>,
    /// The tool that is called, where a listing of the server has named it. Others stay unnamed: their names are whatever
    /// callers say.
    pub tool: Option<Arc<str>>,
    /// The language that was chosen for the caller.
    pub language: Option<Tag>,
    /// The server's own language, which an answer is in where nothing of it was found in the chosen one.
    pub default_language: Option<Tag>,
    /// The rules that the request broke.
    pub broken: Vec<&'static str>,
    /// Whether it was refused for that. Not where the layer only reports.
    pub refused: bool,
    /// Whether a fault kept the headers of arguments from being checked.
    pub unchecked: bool,
    /// The format that the caller's tags ask for, where answers are shaped.
    pub format: Option<ContentFormat>,
    later: Arc<OutcomeUpdates>,
}

/// What a stream shows after its account was given.
#[derive(Debug, Default)]
struct OutcomeUpdates {
    failed: AtomicBool,
    blocks: AtomicUsize,
    fields: AtomicUsize,
    bytes: AtomicUsize,
    faults: AtomicUsize,
    /// The language that the answer reports.
    reported: Mutex<Option<String>>,
}

impl RequestOutcome {
    /// What becomes of a request that is answered with a reply of our own.
    #[must_use]
    pub fn of_reply(reply: &Reply) -> Self {
        let account =
            Self { broken: reply.rules.clone(), refused: !reply.rules.is_empty(), ..Self::default() };
        if !account.refused {
            account.mark_failed();
        }
        account
    }

    /// Notes what is known of a request. `tool` is the one that is called, where a listing has named it.
    pub(crate) fn note_facts(&mut self, facts: &RequestFacts, tool: Option<Arc<str>>) {
        self.broken.extend(facts.reported.iter().flat_map(|reported| reported.rules.iter().copied()));
        self.method = facts.method;
        self.tool = tool;
        self.language = facts.language.as_ref().map(|(language, _)| language.clone());
        self.default_language.clone_from(&facts.default_language);
        self.format = facts.format;
        self.unchecked |= facts.unchecked;
    }

    /// Adds what a service further in says of the same request.
    pub(crate) fn merge_inner(&mut self, inner: Self) {
        if inner.has_failed() {
            self.mark_failed();
        }
        self.refused |= inner.refused;
        self.unchecked |= inner.unchecked;
        self.broken.extend(inner.broken);
    }

    /// Whether the service gave no whole answer. A stream can fail after it began, so ask when it is over.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.later.failed.load(Ordering::Relaxed)
    }

    /// The language that the answer is in: the server's own where the answer reports that one, else the one that was
    /// chosen. Ask when it is over.
    ///
    /// Rules: G12, L7.
    #[must_use]
    pub fn answer_language(&self) -> Option<&Tag> {
        let reported = self.later.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_default = |default: &&Tag| reported.as_deref() == Some(default.as_str());
        self.default_language.as_ref().filter(is_default).or(self.language.as_ref())
    }

    pub(crate) fn set_reported_language(&self, language: &str) {
        *self.later.reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(language.to_owned());
    }

    /// What shaping left out of the answer. Ask when it is over.
    #[must_use]
    pub fn left_out(&self) -> AnswerOmissions {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let OutcomeUpdates { blocks, fields, bytes, .. } = &*self.later;
        AnswerOmissions { blocks: count(blocks), fields: count(fields), bytes: count(bytes) }
    }

    /// How many templates failed.
    #[must_use]
    pub fn template_faults(&self) -> usize {
        self.later.faults.load(Ordering::Relaxed)
    }

    pub(crate) fn add_shaping(&self, left: AnswerOmissions, faults: usize) {
        if left.is_empty() && faults == 0 {
            return;
        }
        let add = |to: &AtomicUsize, more| {
            to.fetch_add(more, Ordering::Relaxed);
        };
        add(&self.later.blocks, left.blocks);
        add(&self.later.fields, left.fields);
        add(&self.later.bytes, left.bytes);
        add(&self.later.faults, faults);
    }

    pub(crate) fn mark_failed(&self) {
        self.later.failed.store(true, Ordering::Relaxed);
    }
}

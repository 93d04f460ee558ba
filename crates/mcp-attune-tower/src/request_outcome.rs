//! What became of a request, for whoever counts it in metrics or writes an access log.
//!
//! Part of it is known when the answer begins, and part only when a stream is over; the second part is in
//! atomics that the body of the answer shares.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mcp_attune::assume::{CallerField, CallerSource};
use mcp_attune::exchange::RequestFacts;
use mcp_attune::features::ContentFormat;
use mcp_attune::language::Tag;
use mcp_attune::shaping::AnswerOmissions;
use mcp_attune_wire::reply::Reply;

/// What became of one request.
///
/// [`AttuneService`](crate::AttuneService) puts it into the extensions of every response, and
/// [`answer`](crate::AttuneService::answer) returns it beside the response. A service further in may put one
/// into the extensions of its own response, and it is merged. Nothing in it is the caller's own words, so its
/// values are safe to use as labels of a metric.
///
/// Clones share what is learned while the body is streamed: keep a clone, and ask it when the body is over.
///
/// Rules: F5, G12, H10, H17.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RequestOutcome {
    /// The MCP method, such as `tools/call`. `None` if the message could not be read or its method is not one
    /// of MCP's.
    pub method: Option<&'static str>,
    /// The tool that is called, if a listing of the server has named it. `None` for other names, because those
    /// are whatever callers make up, and beyond a bound on the number of names.
    pub tool: Option<Arc<str>>,
    /// The language that was negotiated for the caller. `None` if the server claims no languages or nothing was
    /// negotiated.
    pub language: Option<Tag>,
    /// The server's own language, which an answer is in if none of its texts was found in the negotiated one.
    pub default_language: Option<Tag>,
    /// The ids of the rules that the request broke, such as `H3`, whether it was refused for that or only
    /// reported.
    pub broken: Vec<&'static str>,
    /// Whether the request was refused for breaking a rule. `false` if the layer only reports
    /// ([`Settings::report_only`](crate::Settings::report_only)).
    pub refused: bool,
    /// Whether the `Mcp-Param-*` headers of a call went unchecked, because the tools of the server could not be
    /// listed.
    pub unchecked: bool,
    /// The content format that the caller's feature tags ask for. `None` if they ask for none or answers are
    /// not shaped.
    pub format: Option<ContentFormat>,
    /// What of the caller its request did not say itself, and where it comes from. Rules: A3.
    pub sources: Vec<(CallerField, CallerSource)>,
    /// What is learned after the head of the answer is gone, shared by all clones.
    later: Arc<OutcomeUpdates>,
}

/// The part of an outcome that changes while the body of an answer is streamed. All counters use relaxed
/// ordering: nobody reads them for synchronization.
#[derive(Debug, Default)]
struct OutcomeUpdates {
    /// Set when the service fails, also in the middle of a stream.
    failed: AtomicBool,
    /// Text blocks, data fields and their bytes that shaping left out of the answer, all messages together.
    blocks: AtomicUsize,
    fields: AtomicUsize,
    bytes: AtomicUsize,
    /// Templates that failed to render.
    faults: AtomicUsize,
    /// The language that the last adapted message of the answer reports.
    reported: Mutex<Option<String>>,
}

impl RequestOutcome {
    /// Makes the outcome of a request that is answered with a reply of our own: refused if the reply names
    /// rules that were broken, else failed.
    #[must_use]
    pub fn of_reply(reply: &Reply) -> Self {
        let account =
            Self { broken: reply.rules.clone(), refused: !reply.rules.is_empty(), ..Self::default() };
        if !account.refused {
            account.mark_failed();
        }
        account
    }

    /// Takes over what an exchange knows of its request. `tool` is the called tool if a listing has named it.
    pub(crate) fn note_facts(&mut self, facts: &RequestFacts, tool: Option<Arc<str>>) {
        self.broken.extend(facts.reported.iter().flat_map(|reported| reported.rules.iter().copied()));
        self.method = facts.method;
        self.tool = tool;
        self.language = facts.language.as_ref().map(|(language, _)| language.clone());
        self.default_language.clone_from(&facts.default_language);
        self.format = facts.format;
        self.sources.clone_from(&facts.sources);
        self.unchecked |= facts.unchecked;
    }

    /// Adds the outcome that a service further in gave for the same request. What the rules found out here
    /// stays.
    pub(crate) fn merge_inner(&mut self, inner: Self) {
        if inner.has_failed() {
            self.mark_failed();
        }
        self.refused |= inner.refused;
        self.unchecked |= inner.unchecked;
        self.broken.extend(inner.broken);
    }

    /// Returns whether the service gave no complete answer. A stream can fail after it began, so the value is
    /// final only when the body is over.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.later.failed.load(Ordering::Relaxed)
    }

    /// Returns the language that the answer is in: the server's own if the answer reports that one, else the
    /// negotiated one. The value is final only when the body is over.
    ///
    /// Rules: G12, L7.
    #[must_use]
    pub fn answer_language(&self) -> Option<&Tag> {
        let reported = self.later.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let is_default = |default: &&Tag| reported.as_deref() == Some(default.as_str());
        self.default_language.as_ref().filter(is_default).or(self.language.as_ref())
    }

    /// Notes the language that a message of the answer reports; the last one counts.
    pub(crate) fn set_reported_language(&self, language: &str) {
        *self.later.reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(language.to_owned());
    }

    /// Returns how much shaping left out of the answer. The value is final only when the body is over.
    #[must_use]
    pub fn left_out(&self) -> AnswerOmissions {
        let count = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        let OutcomeUpdates { blocks, fields, bytes, .. } = &*self.later;
        AnswerOmissions { blocks: count(blocks), fields: count(fields), bytes: count(bytes) }
    }

    /// Returns how many templates failed while the answer was shaped. The value is final only when the body is
    /// over.
    #[must_use]
    pub fn template_faults(&self) -> usize {
        self.later.faults.load(Ordering::Relaxed)
    }

    /// Adds what shaping did to one message of the answer.
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

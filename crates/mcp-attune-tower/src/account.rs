//! What became of a request, for whoever counts or logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_attune::language::Tag;
use mcp_attune_wire::reply::Reply;

/// In the extensions of every answer of the layer: what became of the request. Nothing in it is the caller's own
/// words, so it can be counted by.
///
/// Rules: G12, H10, H17.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Account {
    /// The method, where the message could be read and the method is one of MCP's.
    pub method: Option<&'static str>,
    /// The language that was chosen for the caller.
    pub language: Option<Tag>,
    /// The rules that the request broke.
    pub broken: Vec<&'static str>,
    /// Whether it was refused for that. Not where the layer only reports.
    pub refused: bool,
    /// Whether a fault kept the headers of arguments from being checked.
    pub unchecked: bool,
    failed: Arc<AtomicBool>,
}

impl Account {
    /// What becomes of a request that is answered with a reply of our own.
    pub(crate) fn of(reply: &Reply) -> Self {
        let account =
            Self { broken: reply.rules.clone(), refused: !reply.rules.is_empty(), ..Self::default() };
        if !account.refused {
            account.fail();
        }
        account
    }

    /// Adds what a service further in says of the same request.
    pub(crate) fn add(&mut self, inner: Self) {
        if inner.failed() {
            self.fail();
        }
        self.refused |= inner.refused;
        self.unchecked |= inner.unchecked;
        self.broken.extend(inner.broken);
    }

    /// Whether the service gave no whole answer. A stream can fail after it began, so ask when it is over.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }
}

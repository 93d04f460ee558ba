//! The bridge between the eras of MCP: a caller of one era in front of a server of the other, message by message.
//!
//! *Modern* is 2026-07-28: no session, `server/discover`, questions inside of results. *Legacy* is 2025-11-25 and before:
//! `initialize`, sessions, requests of the server.
//!
//! 1. Which era a server speaks is read from its answer to `server/discover` ([`ProbedEra`]).
//! 2. A modern caller in front of a legacy server: [`CallerProfile`] says which session its request belongs to,
//!    [`LegacyServer`] is what the server said when the session began, and [`LegacyCall`] is one request in it. What the
//!    server asks meanwhile is a [`Question`]: it goes to the caller as an `input_required` result.
//! 3. A legacy caller in front of a modern server: [`BridgedSession`] is what its `initialize` said, and travels in the
//!    session id; [`ModernCall`] is one request. An `input_required` result becomes requests to the caller.
//! 4. Bytes that mean the same in both eras stay as they are: messages are edited, not written anew.
//! 5. Nothing here waits or remembers. Hosts keep sessions and calls that wait for input, and carry the bytes.
//!
//! Rules: X1–X6, X8.

// Edits of objects that both directions need,
mod members;

// which era a server speaks,
mod era;

// ids that carry something,
mod sealed;

// a modern caller in front of a legacy server,
mod legacy_server;
mod question;
mod legacy_call;
mod subscription;

// and a legacy caller in front of a modern server.
mod bridged_session;
mod modern_call;
mod listening;

pub use bridged_session::BridgedSession;
pub use era::ProbedEra;
pub use legacy_call::{LegacyCall, LegacyCallEvent, request_digest};
pub use legacy_server::{CallerProfile, LegacyServer, initialized_notification, set_level_request};
pub use listening::{ListenEvent, ListenStream, ListeningFilter};
pub use modern_call::{ModernCall, ModernCallEvent, ModernQuestion, QuestionAnswer};
pub use question::Question;
pub use sealed::{PendingCallId, SealedCallError};
pub use subscription::Subscription;

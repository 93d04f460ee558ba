//! Whoever asks through a connection: they may look at the wire, and a server may ask them back.

use std::fmt;
use std::pin::Pin;

use ::http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;

/// What a person answered: a future result of `elicitation/create`.
pub type ElicitationFuture<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// Whoever asks through a [`Connection`](crate::Connection).
///
/// Nothing has to be implemented. Servers ask those who declare `elicitation` in their
/// [profile](crate::CallerProfile::capabilities); those that ask somebody else are told that the person declines.
pub trait ClientHost: fmt::Debug + Send + Sync {
    /// Something goes over the wire. Called where messages pass, so it should not take long.
    fn on_wire_event(&self, wire: &WireEvent<'_>) {
        let _ = wire;
    }

    /// Whether there is a person to ask.
    fn can_answer(&self) -> bool {
        false
    }

    /// A question of a legacy server, the `params` of its `elicitation/create` as they came. A modern server asks with
    /// the result `input_required`, which is for the one who called.
    fn answer_elicitation<'a>(&'a self, question: &'a RawValue) -> ElicitationFuture<'a> {
        let _ = question;
        Box::pin(std::future::ready(serde_json::json!({ "action": "decline" })))
    }
}

/// What goes over the wire, as it does.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WireEvent<'a> {
    /// A request leaves over HTTP. Its headers may hold secrets.
    Request {
        /// The method of HTTP.
        method: &'a str,
        /// The whole URL.
        url: &'a str,
        /// All headers that we set.
        headers: &'a HeaderMap,
        /// The body.
        body: &'a [u8],
    },
    /// The head of an answer over HTTP. Its body comes after it.
    Response {
        /// The status.
        status: u16,
        /// The headers.
        headers: &'a HeaderMap,
    },
    /// A line leaves for a program.
    Line(&'a [u8]),
    /// Something came: a body, the data of an event, or a line of a program. It may be anything.
    Came(&'a [u8]),
    /// A program says something on its standard error, where that is [piped](crate::StderrTarget::Piped). One line.
    Said(&'a [u8]),
}

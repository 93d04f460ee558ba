//! The program that uses a connection: it may watch the wire, and a server may ask it back.

use std::fmt;
use std::pin::Pin;

use ::http::HeaderMap;
use serde_json::Value;
use serde_json::value::RawValue;

/// The answer of a person to a question: the result of `elicitation/create` as JSON.
pub type ElicitationFuture<'a> = Pin<Box<dyn Future<Output = Value> + Send + 'a>>;

/// Whoever uses a [`Connection`](crate::Connection).
///
/// Nothing has to be implemented. Servers ask those who declare `elicitation` in their
/// [profile](crate::CallerProfile::capabilities); a host that cannot answer has the person decline.
pub trait ClientHost: fmt::Debug + Send + Sync {
    /// Is told of every message and head that passes, in both directions. It is called by the task that carries
    /// the messages, so it must not block.
    fn on_wire_event(&self, wire: &WireEvent<'_>) {
        let _ = wire;
    }

    /// Returns whether there is a person to ask. If not, every question is declined.
    fn can_answer(&self) -> bool {
        false
    }

    /// Answers a question of a legacy server. `question` is the `params` of its `elicitation/create` as they
    /// came. A modern server asks with the result `input_required` instead, which is returned to whoever
    /// called.
    fn answer_elicitation<'a>(&'a self, question: &'a RawValue) -> ElicitationFuture<'a> {
        let _ = question;
        Box::pin(std::future::ready(serde_json::json!({ "action": "decline" })))
    }
}

/// Something that goes over the wire, as it does.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum WireEvent<'a> {
    /// A request is about to be sent over HTTP. Its headers may hold secrets.
    Request {
        /// The method of HTTP, such as `POST`.
        method: &'a str,
        /// The whole URL, whose query may hold a secret.
        url: &'a str,
        /// All headers that we set; the HTTP library adds those of the connection.
        headers: &'a HeaderMap,
        /// The body.
        body: &'a [u8],
    },
    /// The head of an answer over HTTP came. Its body is told after it, as [`Came`](Self::Came).
    Response {
        /// The status.
        status: u16,
        /// The headers.
        headers: &'a HeaderMap,
    },
    /// A line is about to be sent to a program, without its line end.
    Line(&'a [u8]),
    /// Something came: a body, the data of an event, or a line of a program. It may be anything, not only a
    /// message.
    Came(&'a [u8]),
    /// A program wrote a line to its standard error, if that is [piped](crate::StderrTarget::Piped). Long lines
    /// are cut.
    Said(&'a [u8]),
}

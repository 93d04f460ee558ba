//! What a legacy server asks its client in the middle of a call, in the modern era's words, and the answers on their way
//! back.
//!
//! Rules: X3.

use mcp_attune_wire::json::{JsonKind, JsonQuoted, SpannedValue};
use mcp_attune_wire::message::{Id, Message};
use mcp_attune_wire::protocol::code::{INTERNAL_ERROR, METHOD_NOT_FOUND};
use mcp_attune_wire::protocol::method::{ELICITATION_CREATE, PING};

use super::legacy_server::CallerProfile;
use super::members::member;

/// A request of a legacy server that its caller has to answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The server's id of the request.
    id: Id,
    method: String,
    /// `params` as the modern era writes them.
    params: Option<String>,
}

/// What becomes of a request of the server.
pub(super) enum ServerRequest {
    /// The caller is asked.
    Ask(Question),
    /// The server is answered here.
    Answer(String),
}

/// Reads a request of the server. Whatever the caller did not declare is refused, and a `ping` is answered.
pub(super) fn read_server_request(request: &Message<'_>, profile: &CallerProfile) -> Option<ServerRequest> {
    let id = request.id()?;
    let method = request.method()?.decode()?;
    if method == PING {
        return Some(ServerRequest::Answer(format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#,
            id.raw()
        )));
    }
    let known = Id::read(id).filter(|_| profile.answers(&method));
    let Some(known) = known else {
        let why = JsonQuoted("the client did not declare that it can be asked this");
        return Some(ServerRequest::Answer(format!(
            r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":{METHOD_NOT_FOUND},"message":{why}}}}}"#,
            id.raw()
        )));
    };
    let params = request.member("params").map(modern_params);
    Some(ServerRequest::Ask(Question { id: known, method: method.into_owned(), params }))
}

/// Returns the parameters without the id that ties a URL to a later notification, which the modern era has not.
pub(super) fn modern_params(params: SpannedValue<'_>) -> String {
    let kept = params.members().filter(|(name, _)| !name.is("elicitationId") && !name.is("task"));
    let kept: Vec<_> =
        kept.map(|(name, value)| format!("\"{}\":{}", name.as_written(), value.raw())).collect();
    if params.kind() == JsonKind::Object {
        format!("{{{}}}", kept.join(","))
    } else {
        params.raw().to_owned()
    }
}

impl Question {
    /// Returns the entry of `inputRequests`, whose key is written so.
    pub(super) fn input_request(&self, key: &str) -> String {
        let params = self.params.as_ref().map(|params| format!(",{}", member("params", params)));
        let request = format!(
            "{{{}{}}}",
            member("method", &JsonQuoted(&self.method).to_string()),
            params.unwrap_or_default()
        );
        member(key, &request)
    }

    /// Whether the server's request has this id.
    #[must_use]
    pub fn is(&self, id: &Id) -> bool {
        self.id == *id
    }

    /// Returns the answer to the server: `result` is the caller's, as written.
    pub(super) fn answer(&self, result: SpannedValue<'_>) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},"result":{}}}"#, self.id.as_written(), result.raw())
    }

    /// Returns the answer to the server where the caller gave none in time.
    #[must_use]
    pub fn cancelled_answer(&self) -> String {
        let id = self.id.as_written();
        if self.method == ELICITATION_CREATE {
            return format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"cancel"}}}}"#);
        }
        let why = JsonQuoted("the client gave no answer in time");
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{INTERNAL_ERROR},"message":{why}}}}}"#)
    }
}

//! Answers that the gateway gives itself, before any message was read.

use http::{HeaderMap, Response};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

pub(crate) use mcp_attune_tower::{render_reply, render_reply_for};

use crate::Body;

/// Makes the answer to a request that failed before the id of its message was known: a JSON-RPC error with
/// `id: null`, in the language that `headers` prefer. `notice` is the sentence for the caller.
#[cold]
pub(crate) fn failed(status: u16, notice: Notice, headers: &HeaderMap) -> Response<Body> {
    render_reply_for(&Reply::failed(status, None, notice), headers)
}

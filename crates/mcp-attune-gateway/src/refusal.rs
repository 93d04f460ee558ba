//! Answers of the gateway itself, before any message was read.

use std::fmt::Display;

use http::{HeaderMap, Response};
use mcp_attune_wire::reply::Reply;

pub(crate) use mcp_attune_tower::{render_reply, render_reply_for};

use crate::Body;

/// The answer to a request with these headers, which failed before its id was known.
#[cold]
pub(crate) fn failed(status: u16, what: &dyn Display, headers: &HeaderMap) -> Response<Body> {
    render_reply_for(&Reply::failed(status, None, what), headers)
}

//! Answers of the gateway itself, before any message was read.

use std::fmt::Display;

use http::{HeaderMap, Response};
use mcp_attune_wire::reply::Reply;

pub(crate) use mcp_attune_tower::{answer, answer_to};

use crate::Body;

/// The answer to a request with these headers, which failed before its id was known.
#[cold]
pub(crate) fn failed(status: u16, what: &dyn Display, headers: &HeaderMap) -> Response<Body> {
    answer_to(&Reply::failed(status, None, what), headers)
}

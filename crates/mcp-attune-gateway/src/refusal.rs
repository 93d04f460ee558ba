//! Answers of the gateway itself, before any message was read.

pub(crate) use mcp_attune_tower::{answer, answer_to};

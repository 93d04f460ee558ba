//! A server's tools, and what comes of calling them.

use std::time::Duration;

use anyhow::Context;
use mcp_attune_rmcp::{ClientError, Connection, ConnectionOptions, Era, ServerTarget};
use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::protocol::method;
use serde_json::value::RawValue;

use super::listing::ListingCost;
use crate::call_plan::PlannedCall;
use crate::exit::hinted;
use crate::progress;
use crate::server::{endless_error, for_each_page, wrap_in_answer};
use crate::tool::CallableTool;

/// How many bytes one answer may have.
const MAX_RESULT_BYTES: usize = 4 << 20;
/// How many tools a server may have.
const MAX_LISTED_TOOLS: usize = 10_000;
/// How long the listing may take, all its pages together.
const LISTING_TIMEOUT: Duration = Duration::from_secs(120);
/// How often a connection that broke is made again.
const MAX_RECONNECTS: usize = 5;

/// A server that is being asked. One that breaks off is connected to again, because one bad tool is no reason not to
/// look at the others.
pub(super) struct AuditSession<'a> {
    target: &'a ServerTarget,
    options: ConnectionOptions,
    connection: Option<Connection>,
    again: usize,
}

impl<'a> AuditSession<'a> {
    pub(super) async fn open(
        target: &'a ServerTarget,
        mut options: ConnectionOptions,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        (options.connect, options.answer, options.bytes) = (patience, patience, MAX_RESULT_BYTES);
        let connection = Connection::open(target, &options).await?;
        Ok(Self { target, options, connection: Some(connection), again: 0 })
    }

    /// The version of MCP that the server speaks, and its era.
    pub(super) fn version(&self) -> Option<(&str, Era)> {
        self.connection.as_ref().map(|connection| (connection.version(), connection.era()))
    }

    /// All tools, and what they cost before any is called.
    pub(super) async fn tools(&self) -> anyhow::Result<(Vec<CallableTool>, ListingCost)> {
        let connection = self.connection.as_ref().context("the connection is closed")?;
        let (mut tools, mut listed_pages) = (Vec::new(), Vec::<String>::new());
        let turn = |page| progress::show(&format!("tools/list, page {page}"));
        let take = |result: SpannedValue<'_>| {
            let listed = result.member("tools");
            tools.extend(listed.into_iter().flat_map(SpannedValue::elements).filter_map(CallableTool::read));
            if tools.len() > MAX_LISTED_TOOLS {
                return Err(endless_error(&format!("more than {MAX_LISTED_TOOLS} tools")));
            }
            listed_pages.push(wrap_in_answer(result.raw()));
            Ok(())
        };
        let listing = for_each_page(connection, method::TOOLS_LIST, turn, take);
        tokio::time::timeout(LISTING_TIMEOUT, listing).await.map_err(|_| {
            let what = format!("the tools are not listed within {} seconds", LISTING_TIMEOUT.as_secs());
            hinted(what, "see whether the server gives the same page again and again")
        })??;
        // Tokens are counted once all pages are there, so that a listing over its bound is refused first.
        Ok((tools, ListingCost::of(&listed_pages)))
    }

    /// What comes of a call, or why nothing does.
    pub(super) async fn call(&mut self, call: &PlannedCall<'_>) -> Result<Box<RawValue>, ClientError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(self.target, &self.options).await?,
        };
        let arguments = serde_json::Value::Object(call.arguments.clone());
        let answered = connection.call_raw(&call.tool.name, arguments).await;
        if answered.as_ref().is_err_and(|error| !error.is_refusal()) {
            self.again += 1;
            connection.close().await;
        } else {
            self.connection = Some(connection);
        }
        answered
    }

    /// Whether the server broke off so often that it is not asked any more.
    pub(super) fn gave_up(&self) -> bool {
        self.again > MAX_RECONNECTS
    }

    pub(super) async fn close(self) {
        if let Some(connection) = self.connection {
            connection.close().await;
        }
    }
}

//! Whoever asks: one request at a time, each with an id of its own, of a server that may have to be started again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mcp_attune_rmcp::{Connection, ConnectionOptions, Era, ServerTarget};
use mcp_attune_wire::protocol::header;
use mcp_attune_wire::protocol::method;
use serde_json::{Value, json};

use super::ask::{CheckProtocol, CheckRequest};
use super::judge::CheckExchange;
use super::outcome::CalledToolCount;
use super::wire::CheckConnection;
use crate::exit::hinted;

/// What a server says of itself when it is met.
pub(super) struct CheckHandshake {
    pub(super) version: String,
    pub(super) era: Era,
    pub(super) introduction: Value,
}

impl CheckHandshake {
    /// Meets a server as any client does, to see that it is there and which era it speaks.
    pub(super) async fn probe(target: &ServerTarget, options: &ConnectionOptions) -> anyhow::Result<Self> {
        let connection = Connection::open(target, options).await?;
        let introduction = connection.introduction();
        let introduction = introduction.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let (version, era) = (connection.version().to_owned(), connection.era());
        // A program that is asked nothing but who it is may take that for a failure, and complain.
        let _ = connection.request_raw(method::TOOLS_LIST, Value::Null).await;
        connection.close().await;
        Ok(Self { version, era, introduction: introduction.unwrap_or_default() })
    }
}

pub(super) struct CheckClient {
    wire: CheckConnection,
    pub(super) manner: CheckProtocol,
    patience: Duration,
    id: u64,
    /// How to begin again; none where that is not possible.
    again: Option<(ServerTarget, ConnectionOptions)>,
    /// Every tool that was asked for, how often, and how long that took.
    called: BTreeMap<String, (usize, Duration)>,
}

impl CheckClient {
    pub(super) fn new(wire: CheckConnection, opening: &CheckHandshake, patience: Duration) -> Self {
        let version = opening.version.clone();
        let manner = match opening.era {
            Era::Modern => CheckProtocol::Modern(version),
            _ => CheckProtocol::Legacy { version, session: None },
        };
        Self { wire, manner, patience, id: 0, again: None, called: BTreeMap::new() }
    }

    pub(super) async fn open(
        target: &ServerTarget,
        options: &ConnectionOptions,
        opening: &CheckHandshake,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let mut asker = Self::new(CheckConnection::open(target, options)?, opening, patience);
        asker.again = Some((target.clone(), options.clone()));
        asker.initialize().await?;
        Ok(asker)
    }

    /// Servers of the older era want to be greeted first.
    async fn initialize(&mut self) -> anyhow::Result<()> {
        let CheckProtocol::Legacy { version, session } = &mut self.manner else { return Ok(()) };
        *session = None;
        let us = json!({ "name": "attune-check", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": us });
        let hello = CheckRequest::new(&self.manner, method::INITIALIZE, params)
            .without_header(header::PROTOCOL_VERSION);
        let seen = self.ask(&hello).await;
        if seen.result().is_none() {
            let what = format!("the server does not begin a session: {}", seen.describe_answer());
            return Err(hinted(what, "see whether other clients can connect to it"));
        }
        if let CheckProtocol::Legacy { session, .. } = &mut self.manner {
            *session = seen.came.header_values(header::SESSION_ID).next().map(str::to_owned);
        }
        let note = CheckRequest::new(&self.manner, "", json!({}));
        let note = note.with_body(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.wire.send(&note.to_wire(0), None, self.patience).await;
        Ok(())
    }

    pub(super) async fn ask(&mut self, ask: &CheckRequest) -> CheckExchange {
        self.ask_within(ask, self.patience).await
    }

    /// Asks, and waits for no longer than this.
    pub(super) async fn ask_within(&mut self, ask: &CheckRequest, patience: Duration) -> CheckExchange {
        self.id += 1;
        let mut sent = ask.to_wire(self.id);
        if matches!(self.wire, CheckConnection::Pipe(_)) {
            sent.headers.clear();
        }
        let began = Instant::now();
        let came = self.wire.send(&sent, Some(self.id), patience.min(self.patience)).await;
        let took = began.elapsed();
        if let Some(tool) = ask.tool() {
            let (times, time) = self.called.entry(tool.to_owned()).or_default();
            *times += 1;
            *time += took;
        }
        CheckExchange { id: self.id, sent, came, took }
    }

    /// The tools that were asked for, of those that the server has.
    pub(super) fn called_tools(&self, is_tool: impl Fn(&str) -> bool) -> Vec<CalledToolCount> {
        let known = self.called.iter().filter(|(tool, _)| is_tool(tool));
        known
            .map(|(tool, (times, took))| CalledToolCount { tool: tool.clone(), times: *times, took: *took })
            .collect()
    }

    /// Gives up a request that takes too long, and waits until the server answers others again.
    pub(super) async fn cancel(&mut self, id: u64, question: &CheckRequest) -> anyhow::Result<()> {
        // Over HTTP the end of the connection says it.
        if matches!(self.wire, CheckConnection::Pipe(_)) {
            let params = json!({ "requestId": id, "reason": "it takes too long" });
            let note = json!({ "jsonrpc": "2.0", "method": method::CANCELLED, "params": params });
            let note = CheckRequest::new(&self.manner, "", json!({})).with_body(note.to_string());
            self.wire.send(&note.to_wire(0), None, self.patience).await;
        }
        match self.ask(question).await.came.trouble {
            None => Ok(()),
            Some(_) => self.reconnect(question).await,
        }
    }

    /// A program that ended is started again; a server that does not answer a plain question any more is the end.
    pub(super) async fn reconnect(&mut self, question: &CheckRequest) -> anyhow::Result<()> {
        if let (CheckConnection::Pipe(_), Some((target, options))) = (&self.wire, self.again.clone()) {
            let wire = CheckConnection::open(&target, &options)?;
            std::mem::replace(&mut self.wire, wire).close().await;
            self.initialize().await?;
        }
        match self.ask(question).await.came.trouble {
            None => Ok(()),
            Some(why) => {
                let what = format!("the server does not answer any more: {why}");
                Err(hinted(what, "see its log; the request before may have ended it"))
            }
        }
    }

    pub(super) async fn close(self) {
        self.wire.close().await;
    }
}

//! A connection to a server, of either era.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, CustomRequest, ErrorData, Implementation,
    ProtocolVersion, ServerPeerInfo,
};
use rmcp::service::{ClientInitializeError, PeerRequestOptions, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::error::Error;
use super::host::Handler;
use super::http::Http;
use super::kept::{Kept, Slot};
use super::options::Options;
use super::pipe::Pipe;
use super::shown::shown;
use super::target::Target;

/// How long a server may take to say goodbye: a program has two seconds to end by itself, two when it is asked, and two
/// when it is made to.
const FAREWELL: Duration = Duration::from_secs(8);

/// The two ways of speaking MCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Era {
    /// 2026-07-28 and later: every request stands alone.
    Modern,
    /// 2025-11-25 and before: `initialize` first.
    Legacy,
}

/// A server that has introduced itself, and can be asked.
#[derive(Debug)]
pub struct Connection {
    service: RunningService<RoleClient, Handler>,
    info: Arc<ServerPeerInfo>,
    kept: Arc<Kept>,
    at: String,
    options: Options,
    /// Whether calls mirror arguments in headers, for which rmcp must have seen the schemas.
    mirrors: bool,
    listed: AtomicBool,
}

impl Connection {
    /// Connects, and finds out what the server speaks: see the [crate's page](crate#which-era).
    pub async fn open(target: &Target, options: &Options) -> Result<Self, Error> {
        let deadline = Instant::now() + options.connect;
        let opened = match Self::begin(target, options, auto(), deadline).await {
            Err(Failed { again: true, .. }) => {
                Self::begin(target, options, ClientLifecycleMode::Initialize, deadline).await
            }
            opened => opened,
        };
        opened.map_err(|failed| failed.error)
    }

    async fn begin(
        target: &Target,
        options: &Options,
        how: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<Self, Failed> {
        let (at, kept) = (target.to_string(), Arc::new(Kept::new(options.host.clone())));
        let client = Handler::new(client(), options.host.clone(), kept.clone());
        let started = match target {
            Target::Url(url) => {
                let http = Http::new(at.clone(), url, options, kept.clone())?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.to_string());
                let transport = StreamableHttpClientTransport::with_client(http, config);
                timeout_at(deadline, client.serve_with_lifecycle(transport, how)).await
            }
            Target::Program { .. } if !options.headers.is_empty() => return Err(Error::Headers { at }.into()),
            Target::Program { name, arguments } => {
                let (stderr, bytes) = (options.stderr.clone(), options.bytes);
                let pipe = Pipe::open(at.clone(), name, arguments, stderr, bytes, kept.clone())?;
                timeout_at(deadline, client.serve_with_lifecycle(pipe, how)).await
            }
        };
        let service = match started {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(Failed::new(&at, &kept, error)),
            Err(_) => {
                let (method, within) = (kept.asked().to_owned(), options.connect);
                return Err(Error::NoAnswer { at, method, within, stray: kept.stray() }.into());
            }
        };
        let info = service.peer_info().ok_or_else(|| silent(&at, &kept))?;
        let mirrors = matches!(target, Target::Url(_)) && !info.protocol_version.has_initialize();
        let options = options.clone();
        Ok(Self { service, info, kept, at, options, mirrors, listed: AtomicBool::new(false) })
    }

    /// The version that was agreed on.
    pub fn version(&self) -> &str {
        self.info.protocol_version.as_str()
    }

    /// The era of that version.
    pub fn era(&self) -> Era {
        if self.info.protocol_version.has_initialize() { Era::Legacy } else { Era::Modern }
    }

    /// Who the server is and what it can do, as rmcp read it.
    pub fn info(&self) -> &ServerPeerInfo {
        &self.info
    }

    /// What the server answered to `server/discover`, or to `initialize`, as it came.
    pub fn introduction(&self) -> Option<Box<RawValue>> {
        self.kept.introduction()
    }

    /// All tools.
    pub async fn tools(&self) -> Result<Vec<Value>, Error> {
        let tools = self.list("tools/list", "tools").await;
        self.listed.store(true, Ordering::Relaxed);
        tools
    }

    /// All prompts.
    pub async fn prompts(&self) -> Result<Vec<Value>, Error> {
        self.list("prompts/list", "prompts").await
    }

    /// All resources.
    pub async fn resources(&self) -> Result<Vec<Value>, Error> {
        self.list("resources/list", "resources").await
    }

    /// All templates of resources.
    pub async fn templates(&self) -> Result<Vec<Value>, Error> {
        self.list("resources/templates/list", "resourceTemplates").await
    }

    /// Calls a tool. Where arguments are mirrored in headers, the tools are listed first, once.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value, Error> {
        let raw = self.call_raw(tool, arguments).await?;
        self.read_result("tools/call", &raw)
    }

    /// Calls a tool, for the result as it was written.
    pub async fn call_raw(&self, tool: &str, arguments: Value) -> Result<Box<RawValue>, Error> {
        if self.mirrors && !self.listed.load(Ordering::Relaxed) {
            // A server that cannot list its tools may still be called.
            let _ = self.tools().await;
        }
        self.request_raw("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<Value, Error> {
        self.request("resources/read", json!({ "uri": uri })).await
    }

    /// Gets a prompt.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Value, Error> {
        self.request("prompts/get", json!({ "name": name, "arguments": arguments })).await
    }

    /// Asks anything. What the modern era wants in `_meta` is added; what `params` has there stays.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Error> {
        let raw = self.request_raw(method, params).await?;
        self.read_result(method, &raw)
    }

    fn read_result(&self, method: &str, raw: &RawValue) -> Result<Value, Error> {
        serde_json::from_str(raw.get()).map_err(|error| self.not_mcp(method, &error.to_string()))
    }

    /// Asks anything, for the result as it was written: order, spaces and numbers of any size.
    pub async fn request_raw(&self, method: &str, params: Value) -> Result<Box<RawValue>, Error> {
        let slot = Slot::default();
        let params = if params.is_null() { Value::Object(Map::new()) } else { params };
        let mut request = CustomRequest::new(method, Some(params));
        request.extensions.insert(slot.clone());
        let options = PeerRequestOptions::with_timeout(self.options.answer);
        let asked = self.service.send_request_with_option(ClientRequest::CustomRequest(request), options);
        let answered = match asked.await {
            Ok(asked) => asked.await_response().await,
            Err(error) => Err(error),
        };
        match (answered, slot.get()) {
            (Ok(_), Some(raw)) => Ok(raw.clone()),
            (Ok(_), None) => Err(self.not_mcp(method, "an answer without a result")),
            (Err(error), _) => Err(self.failed(method, error)),
        }
    }

    async fn list(&self, method: &str, member: &str) -> Result<Vec<Value>, Error> {
        let mut all = Vec::new();
        let mut params = Value::Null;
        for _ in 0..self.options.pages {
            let mut page = self.request(method, params).await?;
            match page.get_mut(member).map(Value::take) {
                Some(Value::Array(items)) => all.extend(items),
                _ => return Err(self.not_mcp(method, &format!("an answer without `{member}`"))),
            }
            if all.len() > self.options.items {
                let what = format!("more than {} items to `{method}`", self.options.items);
                return Err(Error::TooMuch { at: self.at.clone(), what });
            }
            match page.get_mut("nextCursor").map(Value::take) {
                None | Some(Value::Null) => return Ok(all),
                Some(cursor) => params = json!({ "cursor": cursor }),
            }
        }
        let what = format!("more than {} pages to `{method}`", self.options.pages);
        Err(Error::TooMuch { at: self.at.clone(), what })
    }

    /// Ends the connection: a session is given back, a program ends.
    pub async fn close(mut self) {
        let _ = self.service.close_with_timeout(FAREWELL).await;
    }

    fn not_mcp(&self, method: &str, why: &str) -> Error {
        Error::NotMcp { at: self.at.clone(), why: format!("to `{method}` it gives {why}") }
    }

    fn failed(&self, method: &str, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(error) => refused(method, error),
            ServiceError::TransportSend(error) => {
                match error.error.downcast::<StreamableHttpError<Error>>() {
                    Ok(error) => of_http(&self.at, *error),
                    Err(_) => silent(&self.at, &self.kept),
                }
            }
            ServiceError::Timeout { timeout } => self.kept.trouble().unwrap_or_else(|| Error::NoAnswer {
                at: self.at.clone(),
                method: method.to_owned(),
                within: timeout,
                stray: self.kept.stray(),
            }),
            ServiceError::TransportClosed => silent(&self.at, &self.kept),
            other => self.not_mcp(method, &format!("something unexpected ({other})")),
        }
    }
}

/// How we introduce ourselves. Without a host we can do nothing for a server, so it will not ask.
fn client() -> ClientConfig {
    let us = Implementation::new("attune", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(ClientCapabilities::default(), us)
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

/// A connection that did not come about, and whether to begin again with `initialize`.
struct Failed {
    error: Error,
    again: bool,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self { error, again: false }
    }
}

impl Failed {
    fn new(at: &str, kept: &Kept, error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self { again: false, ..Self::new(at, kept, *fallback) }
            }
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let again = server_supported.iter().any(ProtocolVersion::has_initialize);
                let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
                let theirs = shown(&theirs.join(", "));
                Self { error: Error::NoSharedVersion { at: at.to_owned(), theirs }, again }
            }
            ClientInitializeError::JsonRpcError(error) => refused(kept.asked(), error).into(),
            ClientInitializeError::TransportError { error, .. } => {
                match error.error.downcast::<StreamableHttpError<Error>>() {
                    Ok(error) => of_http(at, *error).into(),
                    Err(_) => ended(at, kept),
                }
            }
            ClientInitializeError::ConnectionClosed(_) => ended(at, kept),
            ClientInitializeError::ExpectedInitResult(_) => {
                let said = kept.introduction().map(|raw| shown(raw.get())).unwrap_or_default();
                let why = format!("it answers `{}` with `{said}`", kept.asked());
                Error::NotMcp { at: at.to_owned(), why }.into()
            }
            other => {
                let why = shown(&other.to_string());
                kept.trouble().unwrap_or(Error::NotMcp { at: at.to_owned(), why }).into()
            }
        }
    }
}

/// A program that ended may have done so because it was asked what it does not know.
fn ended(at: &str, kept: &Kept) -> Failed {
    let error = silent(at, kept);
    let again = matches!(error, Error::Ended { .. });
    Failed { error, again }
}

fn silent(at: &str, kept: &Kept) -> Error {
    kept.trouble().unwrap_or_else(|| Error::NotMcp {
        at: at.to_owned(),
        why: "it closed the connection before it answered".to_owned(),
    })
}

fn of_http(at: &str, error: StreamableHttpError<Error>) -> Error {
    match error {
        StreamableHttpError::Client(error) => error,
        other => Error::NotMcp { at: at.to_owned(), why: shown(&other.to_string()) },
    }
}

fn refused(method: &str, error: ErrorData) -> Error {
    let ErrorData { code, message, data, .. } = error;
    Error::Refused { method: method.to_owned(), code: code.0, message: message.into_owned(), data }
}

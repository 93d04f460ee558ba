//! A connection to a server of either era: how it is opened and closed, and what its failures mean.

use std::sync::Arc;
use std::time::Duration;

use mcp_attune_wire::listing::{EndlessListingError, Pages};
use mcp_attune_wire::protocol::method;
use rmcp::model::{ClientConfig, ErrorData, Implementation, ProtocolVersion, ServerPeerInfo};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::cache::{AnswerCache, CacheIdentity};
use super::error::ClientError;
use super::handler::ServerRequestHandler;
use super::http::HttpTransportClient;
use super::listening::ChangeSubscription;
use super::listing::LatestToolHeaders;
use super::options::{ConnectionOptions, CustomHeader, Era, McpVersion};
use super::pipe::ProgramTransport;
use super::profile::CallerProfile;
use super::sanitize::sanitized;
use super::target::ServerTarget;
use super::wire_recorder::WireRecorder;

/// How long closing a connection may take: a program has two seconds to end by itself, two when it is asked to,
/// and two when it is made to.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// A server that has introduced itself, and can be asked.
///
/// All requests take `&self`, so several can be under way at the same time. [`close`](Self::close) ends the
/// session or the program in order and waits for that; dropping the connection does not wait.
#[derive(Debug)]
pub struct Connection {
    pub(crate) service: RunningService<RoleClient, ServerRequestHandler>,
    /// What the server said of itself.
    info: Arc<ServerPeerInfo>,
    kept: Arc<WireRecorder>,
    /// The URL or the command, for errors.
    pub(crate) at: String,
    pub(crate) options: ConnectionOptions,
    /// Whether calls mirror arguments in headers, for which the schemas of tools must be known: over HTTP in
    /// the modern era.
    pub(crate) mirrors: bool,
    /// The headers that tools declare, as the latest listing says.
    pub(crate) learned: Arc<LatestToolHeaders>,
    /// The version and the name of the server, by which a cache tells servers apart.
    pub(crate) server: Arc<str>,
    /// Who asks, by which a cache tells callers apart. `None` without a cache.
    identity: Option<CacheIdentity>,
    /// The subscription to changes, if there is a cache and the server tells them.
    listening: Option<ChangeSubscription>,
}

impl Connection {
    /// Connects to a server, and finds out which version it speaks: see the [crate's page](crate#which-era). If
    /// the server has to be connected to a second time, that is part of the same time limit.
    ///
    /// # Errors
    ///
    /// Nobody answers there, it does not speak MCP, or it does not introduce itself in time.
    pub async fn open(target: &ServerTarget, options: &ConnectionOptions) -> Result<Self, ClientError> {
        let deadline = Instant::now() + options.connect;
        let chosen = options.era.is_some() || options.version.is_some();
        let opened = match Self::open_with_lifecycle(target, options, lifecycle(options), deadline).await {
            Err(HandshakeFailure { again: true, .. }) if !chosen => {
                Self::open_with_lifecycle(target, options, ClientLifecycleMode::Initialize, deadline).await
            }
            opened => opened,
        };
        opened.map_err(|failed| failed.error)
    }

    /// Connects once, in the given way of beginning.
    async fn open_with_lifecycle(
        target: &ServerTarget,
        options: &ConnectionOptions,
        how: ClientLifecycleMode,
        deadline: Instant,
    ) -> Result<Self, HandshakeFailure> {
        let (at, kept, learned) = (
            target.to_string(),
            Arc::new(WireRecorder::new(options.host.clone())),
            Arc::new(LatestToolHeaders::default()),
        );
        let client = ServerRequestHandler::new(client_config(options), options.host.clone(), kept.clone());
        let started = match target {
            ServerTarget::Url(url) => {
                let http = HttpTransportClient::new(at.clone(), url, options, kept.clone(), learned.clone())?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.to_string());
                let transport = StreamableHttpClientTransport::with_client(http, config);
                timeout_at(deadline, client.serve_with_lifecycle(transport, how)).await
            }
            ServerTarget::Program { .. } if !options.headers.is_empty() => {
                return Err(ClientError::Headers { at }.into());
            }
            ServerTarget::Program { name, arguments } => {
                let pipe = ProgramTransport::open(at.clone(), name, arguments, options, kept.clone())?;
                timeout_at(deadline, client.serve_with_lifecycle(pipe, how)).await
            }
        };
        let service = match started {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => return Err(HandshakeFailure::new(&at, &kept, error)),
            Err(_) => {
                let (method, within) = (kept.introduction_method().to_owned(), options.connect);
                return Err(ClientError::NoAnswer { at, method, within, stray: kept.first_stray() }.into());
            }
        };
        let info = service.peer_info().ok_or_else(|| closed_error(&at, &kept))?;
        let mirrors = matches!(target, ServerTarget::Url(_)) && !info.protocol_version.has_initialize();
        kept.checked_introduction()?;
        let server: Arc<str> = format!("{} {}", info.protocol_version, target.cache_name()).into();
        let identity = options.cache.as_ref().map(|cache| {
            kept.attach_cache(cache, &server);
            let headers = options.headers.iter().flat_map(CustomHeader::parts);
            cache.identity(&target.query().into_iter().chain(headers).collect::<Vec<_>>())
        });
        let listening = identity.and_then(|_| ChangeSubscription::begin(service.peer().clone(), &info));
        let options = options.clone();
        Ok(Self { service, info, kept, at, options, mirrors, learned, server, identity, listening })
    }

    /// Returns who asks, as a cache knows them.
    pub(crate) fn identity(&self, cache: &AnswerCache) -> CacheIdentity {
        self.identity.unwrap_or_else(|| cache.identity(&[]))
    }

    /// Returns the version of MCP that was agreed on.
    pub fn version(&self) -> &str {
        self.info.protocol_version.as_str()
    }

    /// Returns the era of that version.
    pub fn era(&self) -> Era {
        if self.info.protocol_version.has_initialize() { Era::Legacy } else { Era::Modern }
    }

    /// Returns who the server is and what it can do, as rmcp read it.
    pub fn info(&self) -> &ServerPeerInfo {
        &self.info
    }

    /// Returns what the server answered to `server/discover` or `initialize`, as it was written.
    pub fn introduction(&self) -> Option<Box<RawValue>> {
        self.kept.introduction()
    }

    /// Begins a listing that is read page by page with [`request_page`](Self::request_page), within the bounds of the
    /// [`ConnectionOptions`].
    #[must_use]
    pub fn pages(&self, method: &str) -> Pages {
        let ConnectionOptions { pages, items, listing_bytes, .. } = self.options;
        Pages::new(method).with_limits(pages, items, listing_bytes)
    }

    /// Asks for the page that `pages` is at, and returns the result as it was written.
    pub async fn request_page(&self, method: &str, pages: &Pages) -> Result<Box<RawValue>, ClientError> {
        self.request_raw(method, self.page_params(method, pages)?).await
    }

    /// Returns the error for a listing that does not come to an end.
    #[must_use]
    pub fn endless_listing_error(&self, method: &str, why: EndlessListingError) -> ClientError {
        let (at, method) = (self.at.clone(), method.to_owned());
        match why {
            EndlessListingError::Bytes(limit) => ClientError::ListingTooLarge { at, method, limit },
            why => ClientError::EndlessListing { at, method, why },
        }
    }

    /// Returns the parameters that ask for the page that `pages` is at.
    pub(crate) fn page_params(&self, method: &str, pages: &Pages) -> Result<serde_json::Value, ClientError> {
        serde_json::from_str(&pages.params()).map_err(|_| self.not_mcp(method, "a cursor that is no text"))
    }

    /// Returns what the connection says of its caller unless a request says otherwise.
    pub(crate) fn default_profile(&self) -> &CallerProfile {
        &self.options.profile
    }

    pub(crate) fn cache(&self) -> Option<&AnswerCache> {
        self.options.cache.as_deref()
    }

    /// Closes the connection: a legacy session is ended at the server, a program is ended. Takes eight seconds
    /// at most.
    pub async fn close(mut self) {
        self.listening = None;
        let _ = self.service.close_with_timeout(CLOSE_TIMEOUT).await;
    }

    /// Returns the error for an answer to `method` that is not what MCP asks for.
    pub(crate) fn not_mcp(&self, method: &str, why: &str) -> ClientError {
        ClientError::NotMcp { at: self.at.clone(), why: format!("to `{method}` it gives {why}") }
    }

    /// Translates an error of rmcp. What the transport recorded is preferred, because it says more.
    pub(crate) fn service_error(&self, method: &str, error: ServiceError) -> ClientError {
        match error {
            ServiceError::McpError(error) => refusal_error(method, error),
            ServiceError::TransportSend(error) => {
                match error.error.downcast::<StreamableHttpError<ClientError>>() {
                    Ok(error) => unwrap_http_error(&self.at, *error),
                    Err(_) => closed_error(&self.at, &self.kept),
                }
            }
            ServiceError::Timeout { timeout } => ClientError::NoAnswer {
                at: self.at.clone(),
                method: method.to_owned(),
                within: timeout,
                stray: self.kept.first_stray(),
            },
            ServiceError::TransportClosed => closed_error(&self.at, &self.kept),
            other => self.not_mcp(method, &format!("something unexpected ({other})")),
        }
    }
}

/// Returns how we introduce ourselves. Unless the profile declares capabilities, we can do nothing for a
/// server, so it will not ask.
fn client_config(options: &ConnectionOptions) -> ClientConfig {
    let us = Implementation::new("attune", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(options.profile.declared_capabilities().clone(), us)
        .with_protocol_version(legacy_version(options))
}

/// Returns the version that `initialize` asks for.
fn legacy_version(options: &ConnectionOptions) -> ProtocolVersion {
    let chosen = options.version.as_ref().map(|version| version.0.clone());
    chosen.filter(ProtocolVersion::has_initialize).unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// Returns how a connection begins: with `server/discover`, with `initialize`, or with whichever the server
/// knows.
fn lifecycle(options: &ConnectionOptions) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let legacy_version = Some(legacy_version(options));
    match options.version.as_ref().map(McpVersion::era).or(options.era) {
        None => ClientLifecycleMode::Auto { preferred_versions, legacy_version },
        Some(Era::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Some(Era::Legacy) => ClientLifecycleMode::Initialize,
    }
}

/// Why a connection did not come about, and whether (`again`) it is worth another attempt that begins with
/// `initialize`.
struct HandshakeFailure {
    error: ClientError,
    again: bool,
}

impl From<ClientError> for HandshakeFailure {
    fn from(error: ClientError) -> Self {
        Self { error, again: false }
    }
}

impl HandshakeFailure {
    fn new(at: &str, kept: &WireRecorder, error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self { again: false, ..Self::new(at, kept, *fallback) }
            }
            ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
                let again = server_supported.iter().any(ProtocolVersion::has_initialize);
                let theirs: Vec<_> = server_supported.iter().map(ProtocolVersion::as_str).collect();
                let theirs = sanitized(&theirs.join(", "));
                Self { error: ClientError::NoSharedVersion { at: at.to_owned(), theirs }, again }
            }
            ClientInitializeError::JsonRpcError(error) => {
                refusal_error(kept.introduction_method(), error).into()
            }
            ClientInitializeError::TransportError { error, .. } => {
                match error.error.downcast::<StreamableHttpError<ClientError>>() {
                    Ok(error) => unwrap_http_error(at, *error).into(),
                    Err(_) => closed_failure(at, kept),
                }
            }
            ClientInitializeError::ConnectionClosed(_) => closed_failure(at, kept),
            ClientInitializeError::ExpectedInitResult(_) => {
                let said = kept.introduction().map(|raw| sanitized(raw.get())).unwrap_or_default();
                let why = format!("it answers `{}` with `{said}`", kept.introduction_method());
                // Some answer what they do not know with nothing instead of an error.
                let again = kept.introduction_method() == method::SERVER_DISCOVER;
                Self { error: ClientError::NotMcp { at: at.to_owned(), why }, again }
            }
            other => {
                let why = sanitized(&other.to_string());
                kept.last_failure().unwrap_or(ClientError::NotMcp { at: at.to_owned(), why }).into()
            }
        }
    }
}

/// Returns the failure for a connection that was closed before the server introduced itself.
///
/// A program that ended may have done so because it was asked what it does not know, so it is started again.
/// One that did not even read the question ended for a reason of its own, and would do so again.
fn closed_failure(at: &str, kept: &WireRecorder) -> HandshakeFailure {
    let error = closed_error(at, kept);
    let again = matches!(error, ClientError::Ended { .. }) && kept.was_input_read();
    HandshakeFailure { error, again }
}

/// Returns the error that the transport recorded, or a general one for a closed connection.
fn closed_error(at: &str, kept: &WireRecorder) -> ClientError {
    kept.last_failure().unwrap_or_else(|| ClientError::NotMcp {
        at: at.to_owned(),
        why: "it closed the connection before it answered".to_owned(),
    })
}

fn unwrap_http_error(at: &str, error: StreamableHttpError<ClientError>) -> ClientError {
    match error {
        StreamableHttpError::Client(error) => error,
        other => ClientError::NotMcp { at: at.to_owned(), why: sanitized(&other.to_string()) },
    }
}

fn refusal_error(method: &str, error: ErrorData) -> ClientError {
    let ErrorData { code, message, data, .. } = error;
    ClientError::Refused { method: method.to_owned(), code: code.0, message: message.into_owned(), data }
}

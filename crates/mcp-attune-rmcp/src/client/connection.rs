//! A connection to a server, of either era.

use std::sync::Arc;
use std::time::Duration;

use mcp_attune_wire::listing::{Endless, Pages};
use mcp_attune_wire::protocol::method;
use rmcp::model::{ClientConfig, ErrorData, Implementation, ProtocolVersion, ServerPeerInfo};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient, ServiceError};
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::cache::{Cache, Identity};
use super::error::Error;
use super::handler::Handler;
use super::http::Http;
use super::kept::Kept;
use super::listening::Listening;
use super::listing::Learned;
use super::options::{Era, Header, Options, Version};
use super::pipe::Pipe;
use super::profile::CallerProfile;
use super::shown::shown;
use super::target::Target;

/// How long a server may take to say goodbye: a program has two seconds to end by itself, two when it is asked, and two
/// when it is made to.
const FAREWELL: Duration = Duration::from_secs(8);

/// A server that has introduced itself, and can be asked.
#[derive(Debug)]
pub struct Connection {
    pub(crate) service: RunningService<RoleClient, Handler>,
    info: Arc<ServerPeerInfo>,
    kept: Arc<Kept>,
    pub(crate) at: String,
    pub(crate) options: Options,
    /// Whether calls mirror arguments in headers, for which the schemas must be known.
    pub(crate) mirrors: bool,
    /// The headers that tools declare.
    pub(crate) learned: Arc<Learned>,
    /// The server and the version it speaks, and who asks it: what caches tell connections apart by.
    pub(crate) server: Arc<str>,
    identity: Option<Identity>,
    /// Where there is a cache, and the server tells what changes.
    listening: Option<Listening>,
}

impl Connection {
    /// Connects, and finds out what the server speaks: see the [crate's page](crate#which-era).
    pub async fn open(target: &Target, options: &Options) -> Result<Self, Error> {
        let deadline = Instant::now() + options.connect;
        let chosen = options.era.is_some() || options.version.is_some();
        let opened = match Self::begin(target, options, lifecycle(options), deadline).await {
            Err(Failed { again: true, .. }) if !chosen => {
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
        let (at, kept, learned) =
            (target.to_string(), Arc::new(Kept::new(options.host.clone())), Arc::new(Learned::default()));
        let client = Handler::new(client(options), options.host.clone(), kept.clone());
        let started = match target {
            Target::Url(url) => {
                let http = Http::new(at.clone(), url, options, kept.clone(), learned.clone())?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.to_string());
                let transport = StreamableHttpClientTransport::with_client(http, config);
                timeout_at(deadline, client.serve_with_lifecycle(transport, how)).await
            }
            Target::Program { .. } if !options.headers.is_empty() => return Err(Error::Headers { at }.into()),
            Target::Program { name, arguments } => {
                let pipe = Pipe::open(at.clone(), name, arguments, options, kept.clone())?;
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
        kept.introduced()?;
        let server: Arc<str> = format!("{} {}", info.protocol_version, target.whole()).into();
        let identity = options.cache.as_ref().map(|cache| {
            kept.tells(cache, &server);
            let headers = options.headers.iter().flat_map(Header::parts);
            cache.identity(&target.query().into_iter().chain(headers).collect::<Vec<_>>())
        });
        let listening = identity.and_then(|_| Listening::begin(service.peer().clone(), &info));
        let options = options.clone();
        Ok(Self { service, info, kept, at, options, mirrors, learned, server, identity, listening })
    }

    /// Who asks, as a cache knows them.
    pub(crate) fn identity(&self, cache: &Cache) -> Identity {
        self.identity.unwrap_or_else(|| cache.identity(&[]))
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

    /// Begins a listing that is read page by page with [`request_page`](Self::request_page), within the bounds of the
    /// [`Options`].
    #[must_use]
    pub fn pages(&self, method: &str) -> Pages {
        let Options { pages, items, listing_bytes, .. } = self.options;
        Pages::new(method).within(pages, items, listing_bytes)
    }

    /// Asks for the page that `pages` is at, for the result as it was written.
    pub async fn request_page(&self, method: &str, pages: &Pages) -> Result<Box<RawValue>, Error> {
        self.request_raw(method, self.page_params(method, pages)?).await
    }

    /// The error of a listing that does not come to an end.
    #[must_use]
    pub fn endless(&self, method: &str, why: Endless) -> Error {
        let (at, method) = (self.at.clone(), method.to_owned());
        match why {
            Endless::Bytes(limit) => Error::ListingTooLarge { at, method, limit },
            why => Error::EndlessListing { at, method, why },
        }
    }

    pub(crate) fn page_params(&self, method: &str, pages: &Pages) -> Result<serde_json::Value, Error> {
        serde_json::from_str(&pages.params()).map_err(|_| self.not_mcp(method, "a cursor that is no text"))
    }

    /// What the connection says of its caller unless it is told otherwise.
    pub(crate) fn usual(&self) -> &CallerProfile {
        &self.options.profile
    }

    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.options.cache.as_deref()
    }

    /// Ends the connection: a session is given back, a program ends.
    pub async fn close(mut self) {
        self.listening = None;
        let _ = self.service.close_with_timeout(FAREWELL).await;
    }

    pub(crate) fn not_mcp(&self, method: &str, why: &str) -> Error {
        Error::NotMcp { at: self.at.clone(), why: format!("to `{method}` it gives {why}") }
    }

    pub(crate) fn failed(&self, method: &str, error: ServiceError) -> Error {
        match error {
            ServiceError::McpError(error) => refused(method, error),
            ServiceError::TransportSend(error) => {
                match error.error.downcast::<StreamableHttpError<Error>>() {
                    Ok(error) => of_http(&self.at, *error),
                    Err(_) => silent(&self.at, &self.kept),
                }
            }
            ServiceError::Timeout { timeout } => Error::NoAnswer {
                at: self.at.clone(),
                method: method.to_owned(),
                within: timeout,
                stray: self.kept.stray(),
            },
            ServiceError::TransportClosed => silent(&self.at, &self.kept),
            other => self.not_mcp(method, &format!("something unexpected ({other})")),
        }
    }
}

/// How we introduce ourselves. Unless the profile declares more we can do nothing for a server, so it will not ask.
fn client(options: &Options) -> ClientConfig {
    let us = Implementation::new("attune", env!("CARGO_PKG_VERSION"));
    ClientConfig::new(options.profile.declared().clone(), us).with_protocol_version(legacy_version(options))
}

/// The version that `initialize` asks for.
fn legacy_version(options: &Options) -> ProtocolVersion {
    let chosen = options.version.as_ref().map(|version| version.0.clone());
    chosen.filter(ProtocolVersion::has_initialize).unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

fn lifecycle(options: &Options) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let legacy_version = Some(legacy_version(options));
    match options.version.as_ref().map(Version::era).or(options.era) {
        None => ClientLifecycleMode::Auto { preferred_versions, legacy_version },
        Some(Era::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Some(Era::Legacy) => ClientLifecycleMode::Initialize,
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
                // Some answer what they do not know with nothing instead of an error.
                let again = kept.asked() == method::SERVER_DISCOVER;
                Self { error: Error::NotMcp { at: at.to_owned(), why }, again }
            }
            other => {
                let why = shown(&other.to_string());
                kept.trouble().unwrap_or(Error::NotMcp { at: at.to_owned(), why }).into()
            }
        }
    }
}

/// A program that ended may have done so because it was asked what it does not know. One that did not even read the
/// question ended for a reason of its own, and would do so again.
fn ended(at: &str, kept: &Kept) -> Failed {
    let error = silent(at, kept);
    let again = matches!(error, Error::Ended { .. }) && kept.was_read();
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

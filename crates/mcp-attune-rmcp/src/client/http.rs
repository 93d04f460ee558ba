//! The HTTP client under rmcp's Streamable HTTP transport, which does the sessions and the streams.
//!
//! rmcp brings a client of its own for this place. This one bounds what it reads, keeps answers as they came,
//! lets the caller's headers win, and says in its errors what the other end did.
//!
//! 1. 202 and 204: taken. Success with JSON: the answer. Success with events: a stream of them.
//! 2. 404 for a session that we have: it is over, and rmcp begins another.
//! 3. `server/discover` refused with 4xx, but for 401 and 403: told as an error of the server, so that rmcp
//!    goes on with `initialize`.
//! 4. An answer belongs to the request that it came for: one with another id is none, and neither is one that
//!    says one language in `Content-Language` and another in its body. On a stream each message is judged by
//!    itself. What answers a question that was given up is dropped.
//! 5. Another failure with a JSON-RPC error in its body: that error. Without one: the status, and what came
//!    with it.
//!
//! Rules: L16.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use bytes::Bytes;
use futures_core::Stream;
use futures_core::stream::BoxStream;
use http_body_util::combinators::MapErr;
use http_body_util::{BodyExt, Collected, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_attune_wire::protocol::header::lowercase;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::time::timeout;

use super::error::ClientError;
use super::host::WireEvent;
use super::listing::LatestToolHeaders;
use super::options::ConnectionOptions;
use super::profile::CallerProfile;
use super::sanitize::sanitized;
use super::sent;
use super::trust::{TlsFault, client_tls_config, find_tls_fault};
use super::wire_recorder::{WireRecorder, language_contradiction};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);
const LAST_EVENT: HeaderName = HeaderName::from_static(lowercase::LAST_EVENT_ID);
/// Maximum size of the body of a failure. A larger one counts as empty.
const MAX_FAILURE_BYTES: usize = 64 * 1024;

type HttpTransportError = StreamableHttpError<ClientError>;

/// The HTTP client of one connection, with its pool of sockets. Cloning it is cheap.
#[derive(Clone)]
pub(crate) struct HttpTransportClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The URL without its query, for errors.
    at: Arc<str>,
    /// The headers that the caller gave for every request.
    headers: Arc<HeaderMap>,
    /// Maximum size of a body, or of a whole stream.
    bytes: usize,
    /// How long a server has to answer `server/discover`.
    probe: Duration,
    /// What requests without a profile of their own say.
    profile: CallerProfile,
    kept: Arc<WireRecorder>,
    /// The headers that tools declare, to be mirrored in calls.
    learned: Arc<LatestToolHeaders>,
}

impl HttpTransportClient {
    pub(crate) fn new(
        at: String,
        url: &Uri,
        options: &ConnectionOptions,
        kept: Arc<WireRecorder>,
        learned: Arc<LatestToolHeaders>,
    ) -> Result<Self, ClientError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let tls = client_tls_config(url, &options.trust)
            .map_err(|why| ClientError::Unreachable { at: at.clone(), why })?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_all_versions()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let mut headers = HeaderMap::new();
        for header in &options.headers {
            headers.append(header.name.clone(), header.value.clone());
        }
        let (profile, bytes) = (options.profile.clone(), options.bytes);
        let probe = options.probe_timeout();
        Ok(Self { client, at: at.into(), headers: Arc::new(headers), bytes, probe, profile, kept, learned })
    }

    /// Sends a request with the caller's own headers, which replace others of the same name, and returns the
    /// head of the answer. The `Accept-Language` that mirrors a body is not replaced. Redirects are not
    /// followed.
    async fn send(
        &self,
        method: Method,
        uri: &str,
        mut headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, ClientError> {
        // What a request says of its language stands: its body says the same.
        let speaks = headers.contains_key(ACCEPT_LANGUAGE);
        let chosen = |name: &&HeaderName| !speaks || **name != ACCEPT_LANGUAGE;
        for name in self.headers.keys().filter(chosen) {
            headers.remove(name);
        }
        for (name, value) in self.headers.iter().filter(|(name, _)| chosen(name)) {
            headers.append(name.clone(), value.clone());
        }
        let unreachable = |why: String| ClientError::Unreachable { at: self.at.to_string(), why };
        self.kept.notify_host(&WireEvent::Request {
            method: method.as_str(),
            url: uri,
            headers: &headers,
            body: &body,
        });
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri.parse().map_err(|error| unreachable(format!("{error}")))?;
        *request.headers_mut() = headers;
        let response = self.client.request(request).await.map_err(|error| self.explain_send_error(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers());
        self.kept.notify_host(&WireEvent::Response { status, headers });
        Ok(response)
    }

    /// Classifies why a request got no answer: the certificate, no TLS, no HTTP, or unreachable.
    fn explain_send_error(&self, error: &hyper_util::client::legacy::Error) -> ClientError {
        let at = self.at.to_string();
        match find_tls_fault(error) {
            Some(TlsFault::Certificate(problem)) => return ClientError::Certificate { at, problem },
            Some(TlsFault::NoTls) => return ClientError::NoTls { at },
            None => {}
        }
        let hyper = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<hyper::Error>());
        match hyper.is_some_and(hyper::Error::is_parse) {
            true if at.starts_with("http://") => ClientError::NoHttp { at },
            _ => ClientError::Unreachable { at, why: root_cause(error) },
        }
    }

    /// Reads a body to its end, within the bound.
    async fn collect_body(&self, body: Incoming) -> Result<Bytes, ClientError> {
        match Limited::new(body, self.bytes).collect().await {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(self.too_much()),
            Err(error) => Err(ClientError::Unreachable { at: self.at.to_string(), why: error.to_string() }),
        }
    }

    fn too_much(&self) -> ClientError {
        let what = format!("an answer of more than {} bytes", self.bytes);
        ClientError::TooMuch { at: self.at.to_string(), what }
    }

    fn not_mcp(&self, why: String) -> ClientError {
        ClientError::NotMcp { at: self.at.to_string(), why }
    }

    /// Returns the events of an answer. `asked` is the request that it answers; `None` for a stream that none
    /// does.
    fn events(
        &self,
        response: Response<Incoming>,
        asked: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let (http, language) = (self.clone(), content_language(&response));
        let body = Limited::new(response.into_body(), self.bytes).map_err(io::Error::other as fn(_) -> _);
        Box::pin(TappedSseStream { events: SseStream::new(body), http, language, asked })
    }

    /// Returns an error if an answer says one language in its header and another in its body.
    fn check_languages(&self, language: Option<&str>, answer: &[u8]) -> Option<ClientError> {
        let why = language_contradiction(language?, answer)?;
        Some(ClientError::Malformed { at: self.at.to_string(), why })
    }

    /// Reads a JSON answer to a request, records it, and checks that it is MCP and has the id of the request.
    /// An error without an id is taken for one: whoever could not read a request cannot know its id.
    fn read_answer(
        &self,
        asked: &RequestId,
        language: Option<&str>,
        body: &[u8],
    ) -> Result<ServerJsonRpcMessage, ClientError> {
        if let Some(malformed) = self.check_languages(language, body) {
            return Err(malformed);
        }
        self.kept.record_received(body, None);
        let said = || sanitized(&String::from_utf8_lossy(body.get(..1024).unwrap_or(body)));
        let mut message =
            serde_json::from_slice(body).map_err(|_| self.not_mcp(format!("it answers `{}`", said())))?;
        let id = match &mut message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            // Who could not read a request cannot know its id.
            ServerJsonRpcMessage::Error(error) => Some(&*error.id.get_or_insert_with(|| asked.clone())),
            _ => None,
        };
        match id {
            Some(id) if id != asked => {
                let why = format!("it answers `{}`, and `{asked}` was asked", sanitized(&id.to_string()));
                Err(self.not_mcp(why))
            }
            _ => Ok(message),
        }
    }

    /// Posts a message, with what its caller says and the headers that mirror it, and classifies the answer by
    /// rules 1, 2 and 4.
    async fn post(
        &self,
        uri: &str,
        message: &mut ClientJsonRpcMessage,
        session: Option<&str>,
        mut headers: HeaderMap,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        self.kept.record_sent(message);
        let body = sent::render_body(message, &self.profile)?;
        let asked = request_id(message).cloned();
        if asked.is_some() {
            sent::insert_mirrored_headers(&mut headers, &body, &self.learned);
        }
        let response =
            self.send(Method::POST, uri, headers, body).await.map_err(HttpTransportError::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.handle_failure_status(message, session, response).await;
        }
        let id = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let kind = content_type(&response);
        match (kind.as_deref(), asked) {
            (Some(EVENTS), asked) => Ok(StreamableHttpPostResponse::Sse(self.events(response, asked), id)),
            // What nobody asked is not answered: whatever comes is taken for a receipt.
            (_, None) => Ok(StreamableHttpPostResponse::Accepted),
            (Some(JSON), Some(asked)) => {
                let language = content_language(&response);
                let body =
                    self.collect_body(response.into_body()).await.map_err(HttpTransportError::Client)?;
                self.kept.notify_host(&WireEvent::Came(&body));
                let message = self
                    .read_answer(&asked, language.as_deref(), &body)
                    .map_err(HttpTransportError::Client)?;
                Ok(StreamableHttpPostResponse::Json(message, id))
            }
            (Some(kind), _) => Err(HttpTransportError::Client(
                self.not_mcp(format!("it answers with `{}`", sanitized(kind))),
            )),
            (None, _) => Err(HttpTransportError::Client(
                self.not_mcp("it answers with nothing that says what it is".into()),
            )),
        }
    }

    /// Handles an answer with a status of failure by rules 3 and 5.
    async fn handle_failure_status(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        response: Response<Incoming>,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        let status = response.status();
        let known = [WWW_AUTHENTICATE, LOCATION].into_iter().find_map(|name| response.headers().get(name));
        let known = known.map(|value| sanitized(&String::from_utf8_lossy(value.as_bytes())));
        let body = Limited::new(response.into_body(), MAX_FAILURE_BYTES).collect().await;
        let body = body.map(Collected::to_bytes).unwrap_or_default();
        self.kept.notify_host(&WireEvent::Came(&body));
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let closed = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let ClientJsonRpcMessage::Request(request) = message
            && status.is_client_error()
            && !closed
            && session.is_none()
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            let known = error.map(|error| error.error);
            let error = known.unwrap_or_else(|| ErrorData::invalid_request(format!("HTTP {status}"), None));
            let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        if let (Some(mut error), false) = (error, closed) {
            if let ClientJsonRpcMessage::Request(request) = message {
                // Over HTTP an answer belongs to its request, whatever some servers call it.
                error.id = Some(request.id.clone());
            }
            return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None));
        }
        let said =
            known.unwrap_or_else(|| sanitized(&String::from_utf8_lossy(body.get(..1024).unwrap_or(&body))));
        Err(HttpTransportError::Client(ClientError::Status {
            at: self.at.to_string(),
            status: status.as_u16(),
            said,
        }))
    }
}

/// Returns the innermost cause of a failed connection, which says best why.
fn root_cause(error: &hyper_util::client::legacy::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    sanitized(&cause.to_string())
}

/// Returns the error that rmcp is given in place of an answer if a server is silent when asked with
/// `server/discover`, so that it goes on with `initialize`.
pub(crate) fn unanswered_probe(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::invalid_request("nothing came", None), Some(id))
}

/// The id of a request.
fn request_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(&request.id),
        _ => None,
    }
}

/// Returns the media type of an answer in lower case, without its parameters.
fn content_type(response: &Response<Incoming>) -> Option<String> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

/// Returns the languages that the `Content-Language` lines of an answer name, joined. `None` if there is no
/// such line.
fn content_language(response: &Response<Incoming>) -> Option<String> {
    let lines = response.headers().get_all(CONTENT_LANGUAGE).iter();
    let lines: Vec<_> = lines.map(|line| String::from_utf8_lossy(line.as_bytes())).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Makes the headers of one request from what rmcp gives: session, token, and its own.
fn request_headers(
    session: Option<&str>,
    token: Option<String>,
    custom: HashMap<HeaderName, HeaderValue>,
) -> HeaderMap {
    let mut headers: HeaderMap = custom.into_iter().collect();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    let token = token.map(|token| format!("Bearer {token}"));
    for (name, value) in [(SESSION, session), (::http::header::AUTHORIZATION, token.as_deref())] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    }
    headers
}

impl StreamableHttpClient for HttpTransportClient {
    type Error = ClientError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        mut message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpTransportError> {
        let headers = request_headers(session.as_deref(), token, custom);
        let probed = self.kept.discover_request_id(&message);
        let posted = self.post(&uri, &mut message, session.as_deref(), headers);
        let posted = match probed {
            None => posted.await,
            // Whoever is silent is asked in the older way, and what comes later is nobody's: it is not read any more.
            Some(id) => timeout(self.probe, posted)
                .await
                .unwrap_or_else(|_| Ok(StreamableHttpPostResponse::Json(unanswered_probe(id), None))),
        };
        if let Err(HttpTransportError::Client(error)) = &posted {
            self.kept.record_failure_for(request_id(&message), error);
        }
        posted
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpTransportError> {
        let headers = request_headers(Some(&session), token, custom);
        // A server may keep its sessions: whatever it answers, we are done.
        let sent = self.send(Method::DELETE, &uri, headers, Vec::new()).await;
        sent.map(drop).map_err(HttpTransportError::Client)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpTransportError> {
        let mut headers = request_headers(session.as_deref(), token, custom);
        headers.remove(CONTENT_TYPE);
        if let Some(last) = last_event.and_then(|last| HeaderValue::from_str(&last).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let response =
            self.send(Method::GET, &uri, headers, Vec::new()).await.map_err(HttpTransportError::Client)?;
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !response.status().is_success() {
            let (at, status) = (self.at.to_string(), response.status().as_u16());
            return Err(HttpTransportError::Client(ClientError::Status { at, status, said: String::new() }));
        }
        match content_type(&response) {
            Some(kind) if kind == EVENTS => Ok(self.events(response, None)),
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body up to a bound, whose errors are of one type.
type BoundedBody = MapErr<Limited<Incoming>, fn(BoxError) -> io::Error>;

/// A stream of events on its way to rmcp, which records every message. Each message is judged by itself, and
/// late answers to a `server/discover` that was given up are taken out.
struct TappedSseStream {
    events: SseStream<BoundedBody>,
    http: HttpTransportClient,
    language: Option<String>,
    asked: Option<RequestId>,
}

impl Stream for TappedSseStream {
    type Item = Result<Sse, SseError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = loop {
            let next = Pin::new(&mut self.events).poll_next(cx);
            match &next {
                Poll::Ready(Some(Ok(Sse { data: Some(data), .. })))
                    if self.http.kept.is_answer_to_abandoned(data.as_bytes()) => {}
                _ => break next,
            }
        };
        let Self { http, language, asked, .. } = &*self;
        match &next {
            Poll::Ready(Some(Ok(Sse { data: Some(data), .. }))) => {
                http.kept.notify_host(&WireEvent::Came(data.as_bytes()));
                let malformed = http.check_languages(language.as_deref(), data.as_bytes());
                http.kept.record_received(data.as_bytes(), malformed);
            }
            Poll::Ready(Some(Err(error))) if is_too_long(error) => {
                http.kept.record_failure_for(asked.as_ref(), &http.too_much());
            }
            _ => {}
        }
        next
    }
}

fn is_too_long(error: &SseError) -> bool {
    let SseError::Body(error) = error else { return false };
    let cause = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    matches!(cause, Some(cause) if cause.is::<LengthLimitError>())
}

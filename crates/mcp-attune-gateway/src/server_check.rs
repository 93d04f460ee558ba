//! Asks an upstream for its tools when the gateway starts or is reconfigured, so that bindings and templates
//! that do not fit them are reported before a caller runs into them, and so that answers are not shaped which
//! the server shapes itself.
//!
//! 1. The upstream is asked as a modern caller without credentials would ask, and as a legacy one if that
//!    gives no listing.
//! 2. What does not fit is logged. If the upstream cannot be asked, that is logged too, and the first listing
//!    that passes by is checked instead.
//!
//! Nobody waits for it, and no request depends on it.
//!
//! Rules: C9, F6, F14.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use mcp_attune_tower::sse::{SsePiece, SseSplitter, event_data};
use mcp_attune_tower::{AttuneLayer, BodyMediaType, HttpFailure, full, media};
use mcp_attune_wire::handshake;
use mcp_attune_wire::listing::{ListingStep, Pages};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::method::{INITIALIZED, SERVER_DISCOVER, TOOLS_LIST};
use mcp_attune_wire::protocol::version::MODERN;
use tokio::time::timeout;
use tower_service::Service;

use crate::Body;

/// How long one request may take. It is long because a program may have to be downloaded and installed first.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(60);
/// The header `Mcp-Method`.
const METHOD: HeaderName = HeaderName::from_static(lowercase::METHOD);
/// The header `MCP-Protocol-Version`.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(lowercase::PROTOCOL_VERSION);
/// The header `Mcp-Session-Id`.
const SESSION_HEADER: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);

/// Asks the upstream for its introduction and its tools, and gives both to `layer`, which checks its bindings
/// and templates against them and logs what does not fit.
///
/// `server` is the upstream without the rules around it, `path` the public path of the mount, and `most` the
/// maximum size of one answer in bytes.
pub(crate) async fn check_server<S>(server: S, path: String, most: usize, layer: AttuneLayer)
where
    S: Service<Request<Body>, Response = Response<Body>, Error = HttpFailure> + Clone + Send,
    S::Future: Send,
{
    let mut asker = ServerCheckClient { server, path, most, headers: HeaderMap::new(), layer: layer.clone() };
    let pages = match asker.list_as_modern().await {
        Some(pages) => Some(pages),
        None => asker.list_as_legacy().await,
    };
    match pages {
        Some(pages) => layer.check_listing(&pages),
        None => tracing::warn!(
            path = asker.path,
            "the server could not be asked for its tools, so what [tools] says of them is checked when somebody lists them"
        ),
    }
}

/// A small MCP client for this one purpose.
struct ServerCheckClient<S> {
    server: S,
    path: String,
    /// The maximum size of an answer, in bytes.
    most: usize,
    /// The MCP headers of the next request.
    headers: HeaderMap,
    layer: AttuneLayer,
}

impl<S> ServerCheckClient<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = HttpFailure> + Clone + Send,
    S::Future: Send,
{
    /// Sends `server/discover`, whose answer is optional, and then lists the tools. `None` if there is no
    /// complete listing.
    async fn list_as_modern(&mut self) -> Option<Vec<Bytes>> {
        self.headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
        self.headers.insert(METHOD, HeaderValue::from_static(SERVER_DISCOVER));
        if let Some((_, answer)) = self.ask(Method::POST, handshake::discover_request(None)).await {
            self.layer.learn_introduction(&answer);
        }
        self.headers.insert(METHOD, HeaderValue::from_static(TOOLS_LIST));
        self.fetch_pages(&format!(r#""_meta":{{{}}}"#, handshake::envelope(None))).await
    }

    /// Opens a legacy session (`initialize`, `notifications/initialized`), lists the tools, and deletes the
    /// session again. `None` if any step but the last fails.
    async fn list_as_legacy(&mut self) -> Option<Vec<Bytes>> {
        self.headers.clear();
        let (headers, answer) = self.ask(Method::POST, handshake::initialize_request("1")).await?;
        self.layer.learn_introduction(&answer);
        let version = handshake::session_version(&Message::parse(&answer).ok()?)?.into_owned();
        self.headers.insert(PROTOCOL_VERSION, HeaderValue::from_str(&version).ok()?);
        if let Some(session) = headers.get(SESSION_HEADER) {
            self.headers.insert(SESSION_HEADER, session.clone());
        }
        let ready = format!(r#"{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}"#);
        self.ask(Method::POST, ready).await?;
        let pages = self.fetch_pages("").await;
        if self.headers.contains_key(SESSION_HEADER) {
            self.ask(Method::DELETE, String::new()).await;
        }
        pages
    }

    /// Fetches all pages of the listing. `params` are members of the request's `params` beside the cursor.
    /// `None` if an answer is missing or is no page of a listing, or if the listing never ends.
    async fn fetch_pages(&self, params: &str) -> Option<Vec<Bytes>> {
        let (mut all, mut pages) = (Vec::new(), Pages::new(TOOLS_LIST));
        loop {
            let comma = if params.is_empty() { "" } else { "," };
            let cursor = pages.cursor().map(|next| format!("{comma}\"cursor\":{next}")).unwrap_or_default();
            let number = pages.page_number();
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":{number},"method":"{TOOLS_LIST}","params":{{{params}{cursor}}}}}"#
            );
            let (_, page) = self.ask(Method::POST, body).await?;
            let turn = pages.take_answer(&Message::parse(&page).ok()?)?;
            all.push(page);
            match turn {
                ListingStep::Next => {}
                ListingStep::Done => return Some(all),
                ListingStep::Endless(why) => {
                    tracing::warn!(path = self.path, "the server's listing has {why}");
                    return None;
                }
            }
        }
    }

    /// Sends one message and returns the headers of the answer and the message in it: the whole body, or the
    /// first result on an event stream. `None` if the upstream fails, the answer is too large, or it takes
    /// longer than [`QUESTION_TIMEOUT`].
    async fn ask(&self, method: Method, body: String) -> Option<(HeaderMap, Bytes)> {
        let mut request = Request::new(full(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse().ok()?;
        *request.headers_mut() = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        let both = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().insert(header::CONTENT_TYPE, json);
        request.headers_mut().insert(header::ACCEPT, both);
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("localhost"));
        let mut server = self.server.clone();
        let answer = timeout(QUESTION_TIMEOUT, async move {
            std::future::poll_fn(|cx| server.poll_ready(cx)).await.ok()?;
            let (parts, body) = server.call(request).await.ok()?.into_parts();
            let events = media(&parts.headers) == BodyMediaType::Events;
            let body = Limited::new(body, self.most);
            let message =
                if events { first_answer(body, self.most).await? } else { collect_body(body).await? };
            Some((parts.headers, message))
        });
        answer.await.ok().flatten()
    }
}

async fn collect_body(body: Limited<Body>) -> Option<Bytes> {
    Some(body.collect().await.ok()?.to_bytes())
}

/// Returns the first message on an event stream that is a result, and drops the rest of the stream. `None` if
/// it ends before.
async fn first_answer(mut body: Limited<Body>, most: usize) -> Option<Bytes> {
    let mut splitter = SseSplitter::new(most);
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame.ok()?.into_data() else { continue };
        for piece in splitter.push(&bytes).ok()? {
            let SsePiece::Event(event) = piece else { continue };
            let Some(message) = event_data(&event) else { continue };
            if Message::parse(&message).is_ok_and(|message| message.is_result()) {
                return Some(Bytes::from(message));
            }
        }
    }
    None
}

//! A look at a server when the gateway starts, so that bindings and templates that do not fit are told before a caller
//! meets them, and answers are not shaped that the server shapes itself.
//!
//! 1. The server is asked as a modern caller without credentials would ask, and as a legacy one where that gives no
//!    listing.
//! 2. What does not fit is in the log. A server that cannot be asked is too; the first listing that passes by is then
//!    looked at instead.
//!
//! Nobody waits for it, and nothing depends on it.
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

/// How long one question may take: a program may have to be installed first.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(60);
const METHOD: HeaderName = HeaderName::from_static(lowercase::METHOD);
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(lowercase::PROTOCOL_VERSION);
const SESSION_HEADER: HeaderName = HeaderName::from_static(lowercase::SESSION_ID);

/// Asks a server for what it is and for its tools, and holds its layer against them.
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

struct ServerCheckClient<S> {
    server: S,
    path: String,
    /// How large an answer may be.
    most: usize,
    headers: HeaderMap,
    layer: AttuneLayer,
}

impl<S> ServerCheckClient<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = HttpFailure> + Clone + Send,
    S::Future: Send,
{
    async fn list_as_modern(&mut self) -> Option<Vec<Bytes>> {
        self.headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(MODERN));
        self.headers.insert(METHOD, HeaderValue::from_static(SERVER_DISCOVER));
        if let Some((_, answer)) = self.ask(Method::POST, handshake::discover_request(None)).await {
            self.layer.learn_introduction(&answer);
        }
        self.headers.insert(METHOD, HeaderValue::from_static(TOOLS_LIST));
        self.fetch_pages(&format!(r#""_meta":{{{}}}"#, handshake::envelope(None))).await
    }

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

    /// The whole listing, page by page; none where it is none.
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

    /// The headers of an answer, and the message in it.
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

/// The first message on a stream that answers a request.
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

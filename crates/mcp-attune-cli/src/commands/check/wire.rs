//! What goes to a server and what comes back, exactly: no client stands between, which would mend or hide something.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_attune_rmcp::{ConnectionOptions, ServerTarget};
use tokio::time::timeout;

use super::pipe::CheckPipeConnection;
use super::traffic::{CheckWireAnswer, CheckWireRequest, MAX_ANSWER_BYTES};

/// The way to a server.
pub(super) enum CheckConnection {
    Http(Box<CheckHttpConnection>),
    Pipe(Box<CheckPipeConnection>),
}

impl CheckConnection {
    pub(super) fn open(target: &ServerTarget, options: &ConnectionOptions) -> anyhow::Result<Self> {
        Ok(match target {
            ServerTarget::Url(url) => Self::Http(Box::new(CheckHttpConnection::new(url, options)?)),
            ServerTarget::Program { name, arguments } => {
                Self::Pipe(Box::new(CheckPipeConnection::start(name, arguments)?))
            }
            _ => anyhow::bail!("this kind of server cannot be checked"),
        })
    }

    /// Sends a request and waits for its answer, or for nothing where it asks nothing.
    pub(super) async fn send(
        &mut self,
        sent: &CheckWireRequest,
        id: Option<u64>,
        patience: Duration,
    ) -> CheckWireAnswer {
        let exchange = async {
            match self {
                Self::Http(http) => http.send(sent, id).await,
                Self::Pipe(pipe) => pipe.send(&sent.body, id).await,
            }
        };
        let late =
            || CheckWireAnswer::no_answer(format!("nothing came within {} seconds", patience.as_secs()));
        timeout(patience, exchange).await.unwrap_or_else(|_| late())
    }

    /// Ends what was started.
    pub(super) async fn close(self) {
        if let Self::Pipe(pipe) = self {
            pipe.close().await;
        }
    }
}

/// HTTP/1.1 with connections that are kept.
pub(super) struct CheckHttpConnection {
    url: Uri,
    /// Headers that the user gave: they are sent and never shown.
    own: Vec<(HeaderName, HeaderValue)>,
    /// One writes the names of headers as the specification does, the other in small letters.
    clients: [Client<HttpsConnector<HttpConnector>, Full<Bytes>>; 2],
}

impl CheckHttpConnection {
    fn new(url: &Uri, options: &ConnectionOptions) -> anyhow::Result<Self> {
        let tls = mcp_attune_rmcp::client_tls_config(url, &options.trust).map_err(anyhow::Error::msg)?;
        let client = |titled| {
            let mut tcp = HttpConnector::new();
            tcp.enforce_http(false);
            tcp.set_nodelay(true);
            let connector = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
            let mut client = Client::builder(TokioExecutor::new());
            client.http1_title_case_headers(titled).build(connector.enable_http1().wrap_connector(tcp))
        };
        let own =
            options.headers.iter().map(|header| (header.name().clone(), header.value().clone())).collect();
        Ok(Self { url: url.clone(), own, clients: [client(true), client(false)] })
    }

    async fn send(&self, sent: &CheckWireRequest, id: Option<u64>) -> CheckWireAnswer {
        match self.exchange(sent, id).await {
            Ok(came) => came,
            Err(why) => CheckWireAnswer::no_answer(format!("{why:#}")),
        }
    }

    async fn exchange(&self, sent: &CheckWireRequest, id: Option<u64>) -> anyhow::Result<CheckWireAnswer> {
        let mut request = Request::post(self.url.clone()).body(Full::from(sent.body.clone()))?;
        let lines = sent.headers.iter().map(|(name, value)| {
            anyhow::Ok((HeaderName::try_from(name.as_str())?, HeaderValue::from_bytes(value)?))
        });
        for line in lines.chain(self.own.iter().cloned().map(anyhow::Ok)) {
            let (name, value) = line?;
            request.headers_mut().append(name, value);
        }
        let [titled, small] = &self.clients;
        let client = if sent.small { small } else { titled };
        let response = client.request(request).await.context("the connection broke")?;
        let (head, body) = response.into_parts();
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        let mut came =
            CheckWireAnswer { status: Some(head.status.as_u16()), headers, ..CheckWireAnswer::default() };
        let streams = came.header_values("content-type").any(|value| value.starts_with("text/event-stream"));
        read(&mut came, body, streams, id).await?;
        Ok(came)
    }
}

/// Reads a body to its end, or a stream up to the answer.
async fn read(
    came: &mut CheckWireAnswer,
    mut body: Incoming,
    streams: bool,
    id: Option<u64>,
) -> anyhow::Result<()> {
    let (mut bytes, mut seen) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.context("the answer broke off")?.into_data() {
            bytes.extend_from_slice(&data);
        }
        anyhow::ensure!(bytes.len() <= MAX_ANSWER_BYTES, "an answer of more than {MAX_ANSWER_BYTES} bytes");
        // Each event is looked at once, when the empty line after it has come.
        if streams && let Some(end) = complete_events_end(bytes.get(seen..).unwrap_or_default()) {
            let text = String::from_utf8_lossy(bytes.get(seen..seen + end).unwrap_or_default());
            if event_data(&text).any(|message| came.take_answer(&message, id)) {
                break;
            }
            seen += end;
        }
    }
    came.text = String::from_utf8_lossy(&bytes).into_owned();
    if !streams {
        let text = came.text.clone();
        came.take_answer(&text, id);
    }
    Ok(())
}

/// Where the last event ends that is complete.
fn complete_events_end(bytes: &[u8]) -> Option<usize> {
    let ends = |end: &[u8]| bytes.windows(end.len()).rposition(|it| it == end).map(|at| at + end.len());
    ends(b"\n\n").max(ends(b"\r\n\r\n"))
}

/// The data of the events that are complete.
fn event_data(text: &str) -> impl Iterator<Item = String> {
    let text = text.replace("\r\n", "\n");
    let whole = text.rfind("\n\n").and_then(|end| text.get(..end)).unwrap_or_default().to_owned();
    let blocks: Vec<String> = whole.split("\n\n").map(str::to_owned).collect();
    blocks.into_iter().filter_map(|block| {
        let data = block.lines().filter_map(|line| line.strip_prefix("data:"));
        let data: Vec<_> = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        (!data.is_empty()).then(|| data.join("\n"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_when_they_are_complete() {
        let text = "id: 0\ndata:\n\n: alive\r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata: half";
        assert_eq!(event_data(text).collect::<Vec<_>>(), ["", "{\"a\":\n1}"]);
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        assert_eq!(complete_events_end(b"data: 1\n\ndata: 2\n"), Some(9));
        assert_eq!(complete_events_end(b"data: 1\r\n\r\ndata"), Some(11));
        assert_eq!(complete_events_end(b"data: 1\r\n\n"), Some(10));
        assert_eq!(complete_events_end(b"data: 1\n"), None);
    }

    #[test]
    fn an_answer_to_another_request_is_not_ours() {
        let mut came = CheckWireAnswer::default();
        assert!(!came.take_answer(r#"{"id":2,"result":{}}"#, Some(1)));
        assert!(!came.take_answer(r#"{"method":"notifications/progress"}"#, Some(1)));
        assert!(came.take_answer(r#"{"id":1,"result":{"b": 1.50}}"#, Some(1)));
        assert_eq!(came.result.as_deref(), Some(r#"{"b": 1.50}"#));
        assert!(came.take_answer(r#"{"error":{}}"#, Some(1)), "a refusal may not know the id");
    }
}

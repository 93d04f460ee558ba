//! The transport of rmcp servers over pipes: what the layer is over HTTP.
//!
//! 1. rmcp's own types drop `clientContext`, which stands beside `params`, so the lines are read here.
//! 2. A line that cannot be read in one way is answered here, and so is one that is too long.
//! 3. The caller goes with the request to its handler; the language that the handler chose comes back with the
//!    answer.
//!
//! Rules: C1, G4, H13, H14, L3, L20.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_attune_process::lines::{BoundedLine, BoundedLineReader, encode_line};
use mcp_attune_tower::Settings;
use mcp_attune_tower::relay::{LineRelay, ReturnedLine};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Maximum number of requests that may wait for their answers; one more is refused.
const MAX_PENDING_REQUESTS: usize = 4096;

/// A transport for rmcp servers over two pipes, or anything that can be read and written, with the rules of
/// Attune on it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use mcp_attune_rmcp::{AttuneTransport, Settings};
/// use rmcp::{ServerHandler, ServiceExt};
///
/// struct Server;
/// impl ServerHandler for Server {}
///
/// let (ours, theirs) = tokio::io::duplex(4096);
/// let (read, write) = tokio::io::split(ours);
/// let server = tokio::spawn(Server.serve(AttuneTransport::new(read, write, Settings::default())));
/// # let client = ().serve(theirs).await.unwrap();
/// # assert!(client.list_tools(Default::default()).await.is_ok_and(|listed| listed.tools.is_empty()));
/// # drop((client, server));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct AttuneTransport<R, W> {
    lines: BoundedLineReader<R>,
    /// Maximum length of a line in bytes, for the message about one that is longer.
    limit: usize,
    /// The rules. The lock is never held across an await.
    relay: Arc<Mutex<LineRelay>>,
    /// The writing end, `None` once it is closed. Answers of handlers and of our own take turns.
    output: Arc<tokio::sync::Mutex<Option<W>>>,
    /// An answer of our own that is being written. It is kept here because `receive` may be dropped at any
    /// time, and half a line must not be left behind.
    writing: Option<PendingWrite>,
}

type PendingWrite = Pin<Box<dyn Future<Output = Result<(), io::Error>> + Send>>;

impl<R: fmt::Debug, W> fmt::Debug for AttuneTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttuneTransport").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// Makes a transport over the standard input and output of this process. Nothing else may write to the standard
/// output.
///
/// # Panics
///
/// Outside of a tokio runtime with its I/O enabled.
#[must_use]
pub fn stdio(
    settings: Settings,
) -> AttuneTransport<impl AsyncRead + Send + Unpin, impl AsyncWrite + Send + Unpin> {
    let (read, write) = rmcp::transport::stdio_pipes();
    AttuneTransport::new(read, write, settings)
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Send + Unpin + 'static> AttuneTransport<R, W> {
    /// Makes a transport that reads a client's lines from `read` and writes the server's to `write`.
    ///
    /// Of the settings, `offer`, `policy`, `report_only` and `limits.body` are used; those about hosts,
    /// headers, sealed ids and listings have no meaning here.
    pub fn new(read: R, write: W, settings: Settings) -> Self {
        let limit = settings.limits.body;
        let relay =
            LineRelay::new(settings.offer, settings.policy, settings.report_only, MAX_PENDING_REQUESTS);
        Self {
            lines: BoundedLineReader::new(read, limit),
            limit,
            relay: Arc::new(Mutex::new(relay)),
            output: Arc::new(tokio::sync::Mutex::new(Some(write))),
            writing: None,
        }
    }

    /// Returns the message in a line, with its caller in the extensions. `None` if the line is answered here
    /// (the answer is queued), or is nothing that a server could answer.
    fn read_client_message(&mut self, text: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let onward = lock(&self.relay).handle_client_line(text);
        let sent = match onward {
            Ok(sent) => sent,
            Err(reply) => {
                self.queue_reply(&reply);
                return None;
            }
        };
        match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&sent.line) {
            Ok(mut message) => {
                message.insert_extension(sent.caller);
                if let Some(spoken) = sent.spoken {
                    message.insert_extension(spoken);
                }
                Some(message)
            }
            Err(error) => {
                tracing::debug!(%error, "a message that rmcp cannot read");
                let reply = lock(&self.relay).refuse(&sent.line, Notice::RequestUnreadable);
                if let Some(reply) = reply {
                    self.queue_reply(&reply);
                }
                None
            }
        }
    }

    /// Prepares an answer of our own to be written before the next line is read.
    fn queue_reply(&mut self, reply: &Reply) {
        let (output, text) = (self.output.clone(), encode_line(reply.body.as_bytes()));
        self.writing = Some(Box::pin(async move { write_output(&output, &text).await }));
    }
}

impl<R, W> Transport<RoleServer> for AttuneTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let text = serde_json::to_vec(&item).map(|text| {
            match lock(&self.relay).handle_server_line(&text) {
                ReturnedLine::Send(back) => encode_line(&back),
                // rmcp writes only messages; should it ever not, its client will say so.
                ReturnedLine::Drop => encode_line(&text),
            }
        });
        let output = self.output.clone();
        async move { write_output(&output, &text?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(writing) = &mut self.writing {
                let written = writing.await;
                self.writing = None;
                written.ok()?;
            }
            match self.lines.next_line().await {
                Ok(Some(BoundedLine::Whole(text) | BoundedLine::Unfinished(text))) => {
                    if let Some(message) = self.read_client_message(&text) {
                        return Some(message);
                    }
                }
                Ok(Some(BoundedLine::TooLong(long))) => {
                    let notice = Notice::MessageTooLarge { limit: self.limit };
                    self.queue_reply(&Reply::failed(413, long.id.as_deref(), notice));
                }
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the client's lines cannot be read");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}

/// Locks the rules. Nothing that holds the lock can panic halfway through a change.
fn lock(relay: &Mutex<LineRelay>) -> MutexGuard<'_, LineRelay> {
    relay.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes and flushes one line. Fails if the transport is closed.
async fn write_output<W: AsyncWrite + Unpin>(
    output: &tokio::sync::Mutex<Option<W>>,
    text: &[u8],
) -> Result<(), io::Error> {
    let mut output = output.lock().await;
    let open =
        output.as_mut().ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, "closed already"))?;
    open.write_all(text).await?;
    open.flush().await
}

//! Upstreams that are programs ("children"): the gateway starts them and speaks to them over their standard
//! input and output, one JSON-RPC message a line.
//!
//! 1. Modern callers share one child, which is started when it is needed and again when it ended. Every
//!    request has a number of its own there, in place of the caller's id and progress token; both are put
//!    back on the way out.
//! 2. A legacy caller's `initialize` starts a child for that session alone, up to the configured number
//!    (`children`). At that number, the session that was idle for longest ends and makes room; one with a
//!    call under way or a stream open never does.
//! 3. If the first message that a child sends for a request is the answer, the HTTP answer is JSON; a message
//!    before it makes a stream. A legacy call that takes more than two seconds becomes a stream too, so that
//!    it can be resumed when a connection is lost.
//! 4. A caller who speaks a version that the child does not is told which versions it does speak.
//! 5. Children without work end, after `child_idle`.
//!
//! A request takes this way: `ChildUpstream` reads its body, the `Supervisor` of the program hands it to
//! `modern` or `legacy` by its era, and these put it into a `SharedChild` or a `LegacySession`. Below both is
//! a `RunningChild`, the process with its pipes. On the way back `answer` and `events` make HTTP of what the
//! child wrote.
//!
//! Caveat: what a shared child says without naming a request (a log message, a question) could be meant for
//! anyone, and is dropped. A `notifications/cancelled` or `notifications/progress` that a modern caller posts
//! is answered with 202 and goes nowhere: ids of different callers are often the same, over HTTP it is the
//! closed stream that cancels, and a modern server asks nothing that a caller could report progress of.
//!
//! Rules: G2, G4, G5, G9, G11, H14, H15.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, request};
use http_body_util::BodyExt;
use mcp_attune_tower::AttachedMessage;
use mcp_attune_wire::agree::{self, Era};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::{JsonParseError, Message};
use mcp_attune_wire::reply::Reply;

mod backoff;
mod output_log;
mod options;
pub(crate) mod pipe;
mod event_id;
mod slots;

mod running_child;
mod streams;

mod session;
mod shared_child;

mod era;
mod events;
mod supervisor;

mod answer;
mod legacy;
mod modern;

mod children;

pub(crate) use children::ChildRegistry;
pub(crate) use options::ChildOptions;

use crate::caller_keys::CallerKeys;
use crate::metrics::Meter;
use crate::upstream::{
    MeteredAnswer, Requester, Upstream, UpstreamError, UpstreamFuture, UpstreamResult, metered_body,
};
use crate::{Body, refusal};
use supervisor::Supervisor;

/// A program behind a mount, as an [`Upstream`]. Clones share the supervisor, and with it the children and
/// the sessions.
#[derive(Clone, Debug)]
pub(crate) struct ChildUpstream(Arc<Supervisor>);

impl ChildUpstream {
    fn new(supervisor: Arc<Supervisor>) -> Self {
        Self(supervisor)
    }
}

impl Upstream for ChildUpstream {
    /// Collects the body of a POST and passes the request to the supervisor. A body that breaks off is
    /// [`UpstreamError::Caller`]. The keys of the requester decide whose share of the sessions an
    /// `initialize` takes from; its address is not used, because a program has no headers to read it from.
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture {
        let supervisor = Arc::clone(&self.0);
        let answer = async move {
            let (head, body) = request.into_parts();
            // The layer has read it, up to its bound; what is no POST has no body that matters.
            let body = match head.method {
                Method::POST => body.collect().await.map_err(|_| UpstreamError::Caller)?.to_bytes(),
                _ => Bytes::new(),
            };
            supervisor.handle(&head, &body, requester.keys).await
        };
        Box::pin(MeteredAnswer::new(answer, meter, metered_body))
    }

    /// Refuses a POST whose `Content-Type` is not `application/json` with 415, before the layer reads its
    /// body (rule G11). An HTTP server would do that itself; a program never sees the header.
    fn refuse(&self, request: &Request<Body>) -> Option<Reply> {
        (request.method() == Method::POST).then(|| answer::not_json(request.headers()))?
    }

    /// Finds out what the program speaks, where that is not known yet, and starts the shared child of a
    /// modern program that has none. Nothing is started for a program that is known to be legacy: its
    /// sessions start their own.
    fn reach(&self) -> UpstreamResult<'_, ()> {
        Box::pin(async { self.0.ensure_ready().await.map(drop) })
    }

    /// Returns the name or path of the program in backticks, without its arguments, which can hold secrets.
    fn name(&self) -> String {
        format!("`{}`", self.0.options.program.name)
    }

    fn is_program(&self) -> bool {
        true
    }
}

impl Supervisor {
    /// Answers one request. A POST goes by the era of its message; every other method is about a legacy
    /// session (GET listens, DELETE ends it). A body that is no JSON, or could be read in two ways, gets the
    /// parser's refusal.
    async fn handle(
        self: Arc<Self>,
        head: &request::Parts,
        body: &Bytes,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        if head.method != Method::POST {
            return self.handle_get_or_delete(&head.method, &head.headers).await;
        }
        match read_message_and_era(head, body) {
            Ok((message, Era::Modern)) => self.handle_modern(&message).await,
            Ok((message, Era::Legacy)) => self.handle_legacy(&head.headers, &message, keys).await,
            Err(unreadable) => Ok(refusal::render_reply(&Reply::from(&unreadable))),
        }
    }
}

/// Returns the message of a POST and its era.
///
/// The layer attaches the message that it has read to the request ([`AttachedMessage`]), and that one is used
/// if it was read from this very body. The body is parsed here where there is none: the layer edited or could
/// not read the message, or the request is one of the gateway's own.
fn read_message_and_era<'m>(
    head: &'m request::Parts,
    body: &'m Bytes,
) -> Result<(Message<'m>, Era), JsonParseError> {
    let read = head.extensions.get::<AttachedMessage>();
    if let Some(read) = read.and_then(|read| Some((read.message_of_body(body)?, read.era()))) {
        return Ok(read);
    }
    let message = Message::parse(body)?;
    let lines = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let era = agree::request_era(&MirroredHeaders::new(lines), &message);
    Ok((message, era))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_the_layer_read_is_not_read_again() {
        let body = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#);
        let (mut head, ()) = Request::new(()).into_parts();
        let era = |head: &request::Parts, body: &Bytes| read_message_and_era(head, body).unwrap().1;
        assert_eq!(era(&head, &body), Era::Modern);
        // What nobody would read there tells that nobody did.
        let read = AttachedMessage::new(Message::parse(&body).unwrap(), &body, Era::Legacy).unwrap();
        head.extensions.insert(read);
        assert_eq!(era(&head, &body), Era::Legacy);
        let other = Bytes::from(body.to_vec());
        assert_eq!(era(&head, &other), Era::Modern, "another body than the one that was read");
        assert!(read_message_and_era(&head, &Bytes::from_static(b"{")).is_err());
    }
}

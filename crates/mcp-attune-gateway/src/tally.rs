//! Follows one request from its beginning to the end of its answer, and then counts and logs what became of
//! it.
//!
//! Everything is done in `Drop`, so that no way for a request to end can be forgotten: an answer that was
//! read to its end, an upstream that broke off, a caller that went away, a gateway that shuts down.

use mcp_attune_wire::protocol::method;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Frame, SizeHint};

use mcp_attune::features::ContentFormat;
use mcp_attune::language::Tag;
use mcp_attune_tower::{RequestOutcome, boxed};

use crate::access::AccessRecord;
use crate::metrics::{Meter, other_tool};
use crate::request_id::ID_HEADER;
use crate::slots::Permit;
use crate::{Body, BoxError};

/// A running request. Dropping it counts the request, writes its line of the access log, and gives its permit
/// back. It lives in the future of the answer first, and in the body of the answer after that.
pub(crate) struct RequestTally {
    meter: Meter,
    began: Instant,
    /// The label `method` of the metrics: one of MCP's methods where the message could be read, else `GET`,
    /// `DELETE`, `other`, or `beside` for a path off the endpoint.
    method: &'static str,
    /// What the rules found out about the request; `None` until there is an answer.
    account: Option<RequestOutcome>,
    /// The status of the answer; `None` until there is one.
    status: Option<StatusCode>,
    /// Whether the body of the answer broke off.
    failed: bool,
    /// Whether the caller's connection took all of the answer.
    whole: bool,
    /// The id of the request; `None` where calls are not logged.
    request: Option<HeaderValue>,
    /// Held until the request is over; `None` for a request that never got one.
    _permit: Option<Permit>,
}

impl RequestTally {
    /// Begins to count a request for the endpoint. `permit` is given back when the request is over.
    pub(crate) fn new<B>(meter: &Meter, permit: Option<Permit>, request: &Request<B>) -> Self {
        let method = match *request.method() {
            Method::GET => "GET",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        Self::begin(meter, permit, request, method)
    }

    /// Begins to count a request for a path off the endpoint.
    pub(crate) fn off_endpoint<B>(meter: &Meter, permit: Permit, request: &Request<B>) -> Self {
        Self::begin(meter, Some(permit), request, "beside")
    }

    /// Begins to count a request under a label.
    fn begin<B>(meter: &Meter, permit: Option<Permit>, request: &Request<B>, method: &'static str) -> Self {
        meter.request_began();
        let is_logged = meter.access().is_enabled();
        let request_id = is_logged.then(|| request.headers().get(&ID_HEADER).cloned());
        Self {
            meter: meter.clone(),
            began: Instant::now(),
            method,
            account: None,
            status: None,
            failed: false,
            whole: false,
            request: request_id.flatten(),
            _permit: permit,
        }
    }

    /// Notes the answer and what became of the request, and observes the time until now. The tally moves into
    /// the body of the answer, so the request is over when that body is dropped.
    pub(crate) fn answered<B>(mut self, answer: Response<B>, account: RequestOutcome) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes, Error = BoxError> + Send + 'static,
    {
        self.method = account.method.unwrap_or(self.method);
        self.account = Some(account);
        self.status = Some(answer.status());
        let time = self.began.elapsed();
        self.meter.answered_in(self.method, time);
        tracing::debug!(method = self.method, status = answer.status().as_u16(), ?time, "answered");
        answer.map(|body| {
            self.whole = body.is_end_stream();
            boxed(TalliedBody { body, tally: self })
        })
    }

    /// Counts what most requests have nothing of: broken rules, unchecked headers, shaping, what callers did not
    /// say themselves, failed templates.
    #[cold]
    fn count(&self, account: &RequestOutcome) {
        for rule in &account.broken {
            self.meter.rule_broken(rule, account.refused);
        }
        if account.unchecked {
            self.meter.call_unchecked();
        }
        if let Some(format) = account.format {
            self.meter.shaped(format.name());
            self.meter.left_out(account.left_out());
        }
        for (field, source) in &account.sources {
            self.meter.assumed(field.name(), source.name());
        }
        if account.template_faults() > 0 {
            self.meter.templates_failed(account.template_faults());
        }
    }

    /// Returns the label `outcome`, the first that applies:
    ///
    /// 1. `refused`: a rule refused the request.
    /// 2. `failed`: there is no complete answer, because the upstream or the gateway failed.
    /// 3. `error`: there is a complete answer, with an HTTP status of 400 or above.
    /// 4. `answered`: there is a complete answer.
    /// 5. `gone`: the caller left before the answer was complete.
    fn outcome(&self, account: &RequestOutcome) -> &'static str {
        match self.status {
            _ if account.refused => "refused",
            _ if self.failed || account.has_failed() => "failed",
            Some(status) if self.whole && status.as_u16() >= 400 => "error",
            Some(_) if self.whole => "answered",
            _ => "gone",
        }
    }
}

impl Drop for RequestTally {
    fn drop(&mut self) {
        let mut account = self.account.take().unwrap_or_default();
        if !account.broken.is_empty()
            || account.unchecked
            || account.format.is_some()
            || account.template_faults() > 0
            || !account.sources.is_empty()
        {
            self.count(&account);
        }
        let (method, outcome) = (self.method, self.outcome(&account));
        // What the answer is in, which is not always what was chosen: nothing of it may have been translated.
        let language = account.answer_language().cloned();
        self.meter.request_over(method, outcome, language.as_ref().map_or("", Tag::as_str));
        let calls = method == method::TOOLS_CALL;
        if calls {
            self.meter.tool_called(account.tool.as_ref(), outcome);
        }
        if self.meter.access().is_enabled() {
            let tool = account.tool.take();
            self.meter.access().record(AccessRecord {
                at: SystemTime::now(),
                mount: self.meter.mount().clone(),
                method,
                tool: if calls && tool.is_none() { Some(other_tool()) } else { tool },
                language,
                format: account.format.map(ContentFormat::name),
                outcome,
                status: self.status.map(|status| status.as_u16()),
                time: self.began.elapsed(),
                request: self.request.take(),
            });
        }
    }
}

pin_project_lite::pin_project! {
    /// The body of an answer, with the tally of its request. It notes how the body ends.
    struct TalliedBody<B> {
        #[pin]
        body: B,
        tally: RequestTally,
    }
}

impl<B: http_body::Body> http_body::Body for TalliedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let mut body = this.body;
        let frame = ready!(body.as_mut().poll_frame(cx));
        match &frame {
            // Whoever writes the body may not ask again after its last piece.
            Some(Ok(_)) => this.tally.whole = body.is_end_stream(),
            Some(Err(_)) => this.tally.failed = true,
            None => this.tally.whole = true,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

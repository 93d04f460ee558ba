//! One request, counted when it is over.

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

/// A request that runs. It is counted when this is dropped, whichever way that comes about, and its permit is free again.
pub(crate) struct RequestTally {
    meter: Meter,
    began: Instant,
    method: &'static str,
    /// None until there is an answer.
    account: Option<RequestOutcome>,
    /// None until there is an answer.
    status: Option<StatusCode>,
    /// Whether the body broke off.
    failed: bool,
    /// Whether all of the answer was taken.
    whole: bool,
    /// What the request is called, where calls are logged.
    request: Option<HeaderValue>,
    _permit: Option<Permit>,
}

impl RequestTally {
    /// Begins to count a request for the endpoint. `permit` is free again when the request is over.
    pub(crate) fn new<B>(meter: &Meter, permit: Option<Permit>, request: &Request<B>) -> Self {
        let method = match *request.method() {
            Method::GET => "GET",
            Method::DELETE => "DELETE",
            _ => "other",
        };
        Self::begin(meter, permit, request, method)
    }

    /// Begins to count a request for a path beside the endpoint.
    pub(crate) fn off_endpoint<B>(meter: &Meter, permit: Permit, request: &Request<B>) -> Self {
        Self::begin(meter, Some(permit), request, "beside")
    }

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

    /// There is an answer, and what became of the request: it is counted when the answer's body is over.
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

    /// Counts what most requests have nothing of.
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
        if account.template_faults() > 0 {
            self.meter.templates_failed(account.template_faults());
        }
    }

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
    /// A body that keeps its request's permit until it is over.
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

//! The service inside, as the drivers use it.

use std::future::{Future, poll_fn};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::body::{Body, BoxError};
use crate::failed::HttpFailure;

/// A service that speaks MCP over HTTP: whatever `tower` calls one, with a body of bytes.
pub trait McpHttpService: Clone + Send + 'static {
    /// The body of its answers.
    type Answer: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Waits until it can be called. Apart from the call, so that what waits does not hold the request twice.
    fn ready(&mut self) -> impl Future<Output = Result<(), HttpFailure>> + Send;

    /// Calls it.
    fn ask(
        &mut self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Self::Answer>, HttpFailure>> + Send + use<Self>;
}

impl<S, R> McpHttpService for S
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Answer = R;

    async fn ready(&mut self) -> Result<(), HttpFailure> {
        poll_fn(|cx| self.poll_ready(cx))
            .await
            .map_err(|error| HttpFailure::from_service_error(&error.into()))
    }

    fn ask(
        &mut self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<R>, HttpFailure>> + Send + use<S, R> {
        let answered = self.call(request);
        async move { answered.await.map_err(|error| HttpFailure::from_service_error(&error.into())) }
    }
}

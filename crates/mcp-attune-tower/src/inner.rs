//! The service inside the layer, as the drivers use it.

use std::future::{Future, poll_fn};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

use crate::body::{Body, BoxError};
use crate::failed::HttpFailure;

/// A service that speaks MCP over HTTP. It is implemented for every `tower` service that can be cloned and
/// whose requests have a [`Body`], whatever its response body and its error are; it need not be `Sync`.
pub trait McpHttpService: Clone + Send + 'static {
    /// The body of its responses.
    type Answer: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;

    /// Waits until the service can be called. It is separate from the call so that the future of a request that
    /// waits does not hold the request twice.
    fn ready(&mut self) -> impl Future<Output = Result<(), HttpFailure>> + Send;

    /// Calls the service, which must be ready. Errors are logged and become an [`HttpFailure`].
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

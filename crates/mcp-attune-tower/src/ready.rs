//! Waiting for the service inside.

use std::future::poll_fn;

use http::Request;
use tower_service::Service;

use crate::body::{Body, BoxError};
use crate::failed::Failed;

/// Waits until the service inside can be called. Apart from the call, so that what waits does not hold the request twice.
pub(crate) async fn ready<S>(inner: &mut S) -> Result<(), Failed>
where
    S: Service<Request<Body>>,
    S::Error: Into<BoxError>,
{
    poll_fn(|cx| inner.poll_ready(cx)).await.map_err(|error| Failed::of(&error.into()))
}

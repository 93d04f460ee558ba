//! Answers of the gateway itself, before any message was read: a JSON-RPC error without an id.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};

use crate::Body;

/// The JSON-RPC code of a request that cannot be served as it is.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// The JSON-RPC code of a request that could be served, but not now.
pub(crate) const INTERNAL_ERROR: i32 = -32603;

/// The whole answer.
pub(crate) fn answer(status: StatusCode, code: i32, message: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(body(code, message))).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

/// The body. A message is our own text and [`shown`] values, so nothing in it needs to be escaped but quotes.
fn body(code: i32, message: &str) -> String {
    let message = message.replace(['"', '\\'], "'");
    format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"{message}"}}}}"#)
}

/// A value of the caller's, fit to be shown: short, and what is not printable ASCII as `?`.
pub(crate) fn shown(value: &[u8]) -> String {
    const MOST: usize = 80;
    let char = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' };
    let mut text: String = value.iter().take(MOST).map(char).collect();
    if value.len() > MOST {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_json_whatever_a_caller_sent() {
        let value: Vec<u8> = (0..=255).chain(*b"\"}\\").collect();
        for value in value.chunks(64).chain([&value[..]]) {
            let text = body(INVALID_REQUEST, &shown(value));
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["error"]["code"], INVALID_REQUEST);
            assert!(read.get("id").is_none());
            assert!(text.len() < 200, "{text}");
        }
    }
}

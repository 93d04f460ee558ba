//! Renders what is sent for a message: its body with what the caller's profile says, and the headers that
//! mirror it.
//!
//! rmcp mirrors arguments in headers too, but by a reading of its own: the last listing of a name, numbers as
//! they are printed, no bound on integers. Here both halves of Attune share one emitter, and whatever it writes
//! our own checks accept.
//!
//! Rules: C1, H12, L16.

use ::http::header::ACCEPT_LANGUAGE;
use ::http::{HeaderMap, HeaderName, HeaderValue};
use mcp_attune_wire::context::CONTEXT_MEMBER;
use mcp_attune_wire::header::PARAM_PREFIX;
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::mirror;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions};

use super::listing::LatestToolHeaders;
use super::profile::CallerProfile;

/// Renders the body of a message. A request says what the profile in its extensions says, or `usual` if it has
/// none.
pub(crate) fn render_body(
    message: &mut ClientJsonRpcMessage,
    usual: &CallerProfile,
) -> serde_json::Result<Vec<u8>> {
    let ClientJsonRpcMessage::Request(request) = message else { return serde_json::to_vec(message) };
    let own = request.request.extensions().get::<CallerProfile>().cloned();
    let profile = own.as_ref().unwrap_or(usual);
    profile.write(&mut request.request);
    let beside = profile.params_sibling_context(&request.request).map(str::to_owned);
    let mut body = serde_json::to_vec(message)?;
    if let Some(context) = beside
        && body.pop_if(|last| *last == b'}').is_some()
    {
        body.extend_from_slice(format!(",\"{CONTEXT_MEMBER}\":{context}}}").as_bytes());
    }
    Ok(body)
}

/// Adds the headers that mirror a request with this body, in place of those that rmcp made. In the legacy era
/// that is only `Accept-Language`. A body that nests too deeply to be parsed gets none.
pub(crate) fn insert_mirrored_headers(headers: &mut HeaderMap, body: &[u8], learned: &LatestToolHeaders) {
    // What we wrote can be read, but for arguments that nest deeper than any server has to bear.
    let Ok(message) = Message::parse(body) else { return };
    let modern = message.meta(meta::PROTOCOL_VERSION).is_some();
    let tool = message.param("name").and_then(SpannedValue::text).and_then(JsonString::decode);
    let declared = tool.and_then(|tool| learned.declared_by(&tool)?.ok());
    if modern {
        let rmcps: Vec<_> = headers.keys().filter(|name| is_param(name)).cloned().collect();
        for name in rmcps {
            headers.remove(name);
        }
    }
    for (name, value) in mirror::headers(&message, declared.as_deref()) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&value))
            && (modern || name == ACCEPT_LANGUAGE)
        {
            headers.insert(name, value);
        }
    }
}

fn is_param(name: &HeaderName) -> bool {
    let start = name.as_str().get(..PARAM_PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(PARAM_PREFIX))
}

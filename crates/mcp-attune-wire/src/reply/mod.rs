//! What Attune answers itself: the only place that makes such answers, of the codes and statuses in
//! [`protocol::code`](crate::protocol::code).
//!
//! 1. A body that cannot be read in one way, by readers that ignore case too: 400, `-32700`.
//! 2. A modern body that is no request or notification: 400, `-32600`.
//! 3. An envelope that is not whole, or two contexts that differ: 400, `-32602`.
//! 4. Headers that do not agree: 400, `-32020`, the first in words and all of them in `data.mismatches`.
//! 5. A version that is not spoken: 400, `-32022`, with what was asked for and what is spoken.
//! 6. A session that is not known: 404, which tells a client to begin a new one; an event that is not known: 400, so
//!    that the session goes on without the stream. Both `-32600`.
//! 7. An argument of Attune's own that cannot be read: 200 and a result that is an error, because models see those and
//!    mend what they wrote.
//!
//! What they say is a [`Notice`], so that it can be said in another language.
//!
//! Every refusal is `application/json`, also where the answer would have been a stream, and carries the
//! request's id as it was written; where there is none it is left out.
//!
//! ```
//! use mcp_attune_wire::{message::Message, reply::Reply};
//!
//! let unreadable = Message::parse(b"{\"a\":1,\"a\":2}").unwrap_err();
//! let reply = Reply::from(&unreadable);
//! assert_eq!((reply.status, reply.code), (400, -32700));
//! ```
//!
//! Rules: C1, C9, G8, H9, H13, H14, H18.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::{self, Write};

mod cache;
mod stale;

pub use cache::{private_cache_control, vary_with};
pub use stale::{is_stale_after_edit, trailer_after_edit};

use crate::agree::{HeaderMismatch, MessageRefusal, MessageRefusalReason};
use crate::json::JsonQuoted;
use crate::message::{JsonParseError, Message};
use crate::notice::Notice;
use crate::protocol::code::{
    HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION, http_status,
};

/// Returns the HTTP status that a server's answer has in the modern transport.
///
/// Rules: G11.
#[must_use]
pub fn answer_status(answer: &Message<'_>) -> u16 {
    answer.error_code().map_or(200, http_status)
}

/// An answer of our own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code; 0 for a result.
    pub code: i32,
    /// The value of `Content-Type`.
    pub content_type: &'static str,
    /// What it says. The words in [`body`](Self::body) are the English ones, until somebody puts others there.
    pub notice: Box<Notice>,
    /// The JSON-RPC error, or the result.
    pub body: String,
    /// The headers that do not agree and their rules, for logs: names only, nothing that the caller said.
    pub faults: String,
    /// The rules that the request broke, each once; none where it is not the request that is at fault.
    pub rules: Vec<&'static str>,
}

impl Reply {
    /// A failure that is not the caller's: on the way to the server or back, or a limit. `status` is the HTTP status
    /// that says which; `id` is the request's, as written.
    ///
    /// Rules: G4, G5.
    #[must_use]
    #[cold]
    pub fn failed(status: u16, id: Option<&str>, notice: Notice) -> Self {
        Self { status, ..Self::error(INTERNAL_ERROR, id, notice, &"") }
    }

    /// A request that Attune does not take before it reads it: too large (413), encoded (415), from a stranger (403).
    /// `rule` says which rule that is.
    ///
    /// Rules: G4, G10, H15.
    #[must_use]
    #[cold]
    pub fn not_accepted(status: u16, rule: &'static str, notice: Notice) -> Self {
        Self { status, rules: vec![rule], ..Self::error(INVALID_REQUEST, None, notice, &"") }
    }

    /// A request that can be read, and is none that the server knows what to do with. `id` is the request's, as written.
    #[must_use]
    #[cold]
    pub fn invalid_request(id: &str, notice: Notice) -> Self {
        Self::error(INVALID_REQUEST, Some(id), notice, &"")
    }

    /// A request whose parameters are for nothing that is known here. `id` is the request's, as written.
    ///
    /// Rules: X3.
    #[must_use]
    #[cold]
    pub fn invalid_params(id: Option<&str>, notice: Notice) -> Self {
        Self { rules: vec!["X3"], ..Self::error(INVALID_PARAMS, id, notice, &"") }
    }

    /// A request of a method that cannot be had from this server. `id` is the request's, as written.
    ///
    /// Rules: X6.
    #[must_use]
    #[cold]
    pub fn method_not_found(id: &str, notice: Notice) -> Self {
        Self { rules: vec!["X6"], ..Self::error(METHOD_NOT_FOUND, Some(id), notice, &"") }
    }

    /// The `Mcp-Session-Id` of a legacy request is none that was given out here. `id` is the request's, as written.
    ///
    /// Rules: G8.
    #[must_use]
    #[cold]
    pub fn unknown_session(id: Option<&str>) -> Self {
        let error = Self::error(INVALID_REQUEST, id, Notice::SessionUnknown, &"");
        Self { status: 404, rules: vec!["G8"], ..error }
    }

    /// The `Last-Event-ID` of a legacy request is none that was given out here.
    ///
    /// Rules: G8.
    #[must_use]
    #[cold]
    pub fn unknown_event() -> Self {
        Self { rules: vec!["G8"], ..Self::error(INVALID_REQUEST, None, Notice::EventUnknown, &"") }
    }

    /// A call of a tool that ends before it reaches the server, because of what was written in an argument that Attune
    /// added to the tool. `id` is the request's, as written; a `modern` result says that it is whole.
    ///
    /// ```
    /// use mcp_attune_wire::{notice::Notice, reply::Reply};
    ///
    /// let reply = Reply::tool_failed(Some("7"), true, Notice::TimeNotText { what: "period".into() });
    /// assert_eq!((reply.status, reply.code), (200, 0));
    /// assert!(reply.body.contains(r#""isError":true"#));
    /// ```
    ///
    /// Rules: C9.
    #[must_use]
    #[cold]
    pub fn tool_failed(id: Option<&str>, modern: bool, notice: Notice) -> Self {
        let (text, mut body) = (notice.to_string(), String::from("{\"jsonrpc\":\"2.0\""));
        let kind = if modern { "\"resultType\":\"complete\"," } else { "" };
        // Writing into a String does not fail.
        if let Some(id) = id {
            let _ = write!(body, ",\"id\":{id}");
        }
        let content = JsonQuoted(&text);
        let _ = write!(
            body,
            ",\"result\":{{{kind}\"content\":[{{\"type\":\"text\",\"text\":{content}}}],\"isError\":true}}}}"
        );
        let (faults, rules) = (String::new(), vec!["C9"]);
        let notice = Box::new(notice);
        Self { status: 200, code: 0, content_type: "application/json", notice, body, faults, rules }
    }

    fn error(code: i32, id: Option<&str>, notice: Notice, data: &dyn fmt::Display) -> Self {
        let text = notice.to_string();
        let mut body = String::from("{\"jsonrpc\":\"2.0\"");
        // Writing into a String does not fail.
        if let Some(id) = id {
            let _ = write!(body, ",\"id\":{id}");
        }
        let _ = write!(body, ",\"error\":{{\"code\":{code},\"message\":{}{data}}}}}", JsonQuoted(&text));
        let (faults, rules) = (String::new(), Vec::new());
        let (notice, content_type) = (Box::new(notice), "application/json");
        Self { status: http_status(code), code, content_type, notice, body, faults, rules }
    }
}

impl From<&JsonParseError> for Reply {
    fn from(unreadable: &JsonParseError) -> Self {
        Self {
            rules: vec![unreadable.fault.rule()],
            ..Self::error(PARSE_ERROR, None, unreadable.notice(), &"")
        }
    }
}

impl From<&MessageRefusal> for Reply {
    fn from(refusal: &MessageRefusal) -> Self {
        let code = match &refusal.refused {
            MessageRefusalReason::Unreadable(_) => PARSE_ERROR,
            MessageRefusalReason::NotARequest(_) => INVALID_REQUEST,
            MessageRefusalReason::EnvelopeMissing(_)
            | MessageRefusalReason::VersionNotText
            | MessageRefusalReason::TwoContexts => INVALID_PARAMS,
            MessageRefusalReason::Mismatch(_) => HEADER_MISMATCH,
            MessageRefusalReason::Version { .. } => UNSUPPORTED_PROTOCOL_VERSION,
        };
        let reply = Self::error(
            code,
            refusal.id.as_deref(),
            refusal.refused.notice(),
            &ErrorDataMember(&refusal.refused),
        );
        Self { faults: summarize_mismatches(&refusal.refused), rules: refusal.refused.rules(), ..reply }
    }
}

/// The first few mismatches by name: `Mcp-Name (H1), Mcp-Param-Region (H6)`.
fn summarize_mismatches(refused: &MessageRefusalReason) -> String {
    const MAX_NAMED_MISMATCHES: usize = 8;
    let MessageRefusalReason::Mismatch(mismatches) = refused else { return String::new() };
    let mut faults = String::new();
    for mismatch in mismatches.iter().take(MAX_NAMED_MISMATCHES) {
        let comma = if faults.is_empty() { "" } else { ", " };
        // Writing into a String does not fail.
        let _ = write!(faults, "{comma}{} ({})", mismatch.header, mismatch.rule());
    }
    if mismatches.len() > MAX_NAMED_MISMATCHES {
        faults.push_str(", …");
    }
    faults
}

/// `error.data`, with the comma before it; nothing where there is nothing to add.
struct ErrorDataMember<'a>(&'a MessageRefusalReason);

impl fmt::Display for ErrorDataMember<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            MessageRefusalReason::Mismatch(mismatches) => {
                f.write_str(",\"data\":{\"mismatches\":[")?;
                write_list(f, mismatches, write_mismatch)?;
                f.write_str("]}")
            }
            MessageRefusalReason::EnvelopeMissing(keys) => {
                f.write_str(",\"data\":{\"missing\":[")?;
                write_list(f, keys, |f, key| JsonQuoted(key).fmt(f))?;
                f.write_str("]}")
            }
            MessageRefusalReason::Version { requested, supported } => {
                write!(f, ",\"data\":{{\"requested\":{},\"supported\":[", JsonQuoted(requested))?;
                write_list(f, supported, |f, version| JsonQuoted(version).fmt(f))?;
                f.write_str("]}")
            }
            MessageRefusalReason::Unreadable(_)
            | MessageRefusalReason::NotARequest(_)
            | MessageRefusalReason::VersionNotText
            | MessageRefusalReason::TwoContexts => Ok(()),
        }
    }
}

fn write_mismatch(f: &mut fmt::Formatter<'_>, mismatch: &HeaderMismatch) -> fmt::Result {
    write!(f, "{{\"header\":{}", JsonQuoted(&mismatch.header))?;
    if let Some(argument) = &mismatch.argument {
        write!(f, ",\"argument\":{}", JsonQuoted(argument))?;
    }
    let wrong = mismatch.notice().to_string();
    write!(f, ",\"rule\":{},\"wrong\":{}}}", JsonQuoted(mismatch.rule()), JsonQuoted(&wrong))
}

fn write_list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    each: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_char(',')?;
        }
        each(f, item)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agree::{self, HeaderAgreement, HeaderPolicy};
    use crate::header::MirroredHeaders;
    use crate::message::Message;
    use crate::schema::DeclaredHeaders;
    use alloc::format;
    use serde_json::Value;

    /// A call of `tool` whose arguments are a secret, with an id as written, refused by its headers.
    fn refused(id: &str, lines: &[(&str, &str)]) -> Value {
        let body = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"tool","arguments":{{"key":"secret"}},"_meta":{{
            "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},
            "io.modelcontextprotocol/acceptLanguage":"de-CH"}}}}}}"#
        );
        let schema = br#"{"properties":{"key":{"type":"string","x-mcp-header":"Key"}}}"#;
        let headers = MirroredHeaders::new(lines.iter().map(|(name, value)| (*name, value.as_bytes())));
        let policy = HeaderPolicy::default();
        let refusal = match agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &policy) {
            Ok(HeaderAgreement::NeedsSchema(open)) => {
                open.finish_with_schema(Some(&DeclaredHeaders::read(schema).unwrap())).unwrap_err()
            }
            Ok(HeaderAgreement::Done(agreed)) => panic!("{agreed:?}"),
            Err(refusal) => refusal,
        };
        let reply = Reply::from(&refusal);
        assert_eq!((reply.status, reply.content_type), (400, "application/json"));
        assert!(!reply.body.contains("secret"), "{}", reply.body);
        serde_json::from_str(&reply.body).unwrap()
    }

    const GOOD: [(&str, &str); 3] =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "tool")];

    #[test]
    fn carries_the_id_as_it_was_written() {
        for id in ["7", "\"7\"", "\"\\u00e9\"", "1e2"] {
            let answer = refused(&format!("\"id\":{id},"), &GOOD);
            assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap());
        }
    }

    #[test]
    fn leaves_the_id_out_where_there_is_none() {
        let lines = [("Mcp-Method", "tools/list")];
        assert!(refused("", &lines).get("id").is_none());
    }

    #[test]
    fn names_the_first_fault_and_lists_all() {
        let lines = [GOOD[0], GOOD[1], ("Mcp-Name", "other")];
        let error = &refused("\"id\":1,", &lines)["error"];
        assert_eq!(
            error["message"],
            "Mcp-Name is not what params.name says; send the two equal (and 1 more, see data.mismatches)"
        );
        let mismatches = error["data"]["mismatches"].as_array().unwrap();
        assert_eq!(mismatches.len(), 2);
        assert_eq!(mismatches[1]["header"], "Mcp-Param-Key");
        assert_eq!(mismatches[1]["argument"], "params.arguments.key");
        assert_eq!(mismatches[1]["rule"], "H6");
        assert_eq!(
            mismatches[1]["wrong"],
            "Mcp-Param-Key is missing; send it with what params.arguments.key says"
        );
    }

    #[test]
    fn shows_nothing_of_the_body() {
        // `refused` looks for the secret; here each way of being wrong goes through it.
        for value in ["", "other", "=?base64?c2VjcmV0?", "=?base64?c2Vjcm?=", "\u{e9}"] {
            let lines = [GOOD[0], GOOD[1], GOOD[2], ("Mcp-Param-Key", value)];
            refused("\"id\":1,", &lines);
        }
        let twice = [GOOD[0], GOOD[1], GOOD[2], ("Mcp-Param-Key", "secret"), ("Mcp-Param-Key", "secret")];
        refused("\"id\":1,", &twice);
    }

    #[test]
    fn says_nothing_of_the_caller_in_what_is_logged() {
        let body = br#"{"jsonrpc":"2.0","id":"mine","method":"ping","params":{"_meta":{
            "io.modelcontextprotocol/acceptLanguage":"de-CH"}}}"#;
        let headers = MirroredHeaders::new([("Accept-Language", &b"fr"[..]), ("Mcp-Param-Mine", b"x")]);
        let policy = HeaderPolicy { strict: true, ..HeaderPolicy::default() };
        let refusal = agree::begin(&headers, Message::parse(body).unwrap(), &policy).unwrap_err();
        let reply = Reply::from(&refusal);
        assert_eq!(reply.faults, "Mcp-Param-* (H16), Accept-Language (L14)");
        assert_eq!(reply.rules, ["H16", "L14"]);
    }

    #[test]
    fn names_both_preferences_and_what_to_send() {
        let lines = [GOOD[0], GOOD[1], GOOD[2], ("Mcp-Param-Key", "secret"), ("Accept-Language", "fr\u{7}")];
        assert_eq!(
            refused("\"id\":1,", &lines)["error"]["message"],
            "Accept-Language says \"fr\\u{7}\" and params._meta[\"io.modelcontextprotocol/acceptLanguage\"] says \
             \"de-CH\"; send the header equal to _meta to the letter, or leave the header out; a proxy or CDN in between \
             may have rewritten it"
        );
    }

    #[test]
    fn errors_have_the_statuses_of_the_modern_transport() {
        let status = |answer: &str| answer_status(&Message::parse(answer.as_bytes()).unwrap());
        for (code, expected) in [
            ("-32601", 404),
            ("-32700", 400),
            ("-32600", 400),
            ("-32602", 400),
            ("-32020", 400),
            ("-32021", 400),
            ("-32022", 400),
            ("-32603", 200),
            ("-32000", 200),
            ("7", 200),
            ("\"-32601\"", 200),
        ] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":""}}}}"#);
            assert_eq!(status(&answer), expected, "{code}");
        }
        assert_eq!(status(r#"{"jsonrpc":"2.0","id":1,"result":{"error":{"code":-32601}}}"#), 200);
    }
}

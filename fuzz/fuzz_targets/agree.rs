//! Whole requests: the first line of the input is the tool's schema, then header lines up to an empty one, then
//! the body. Nothing panics, every refusal is JSON, and what our own mirror sends is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::agree::{
    self, Agreed, HeaderAgreement, HeaderPolicy, MessageRefusal, MessageRefusalReason,
};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::mirror;
use mcp_attune_wire::reply::Reply;
use mcp_attune_wire::schema::DeclaredHeaders;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.split(|byte| *byte == b'\n');
    let schema = lines.next().unwrap_or_default();
    let mut headers = Vec::new();
    let mut used = schema.len() + 1;
    for line in lines.by_ref() {
        used += line.len() + 1;
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let Ok(name) = std::str::from_utf8(&line[..colon]) else { return };
        headers.push((name, line.get(colon + 1..).unwrap_or_default()));
    }
    let body = input.get(used..).unwrap_or_default();
    let message = match Message::parse(body) {
        Ok(message) => message,
        Err(unreadable) => {
            serde_json::from_str::<serde_json::Value>(&Reply::from(&unreadable).body).unwrap();
            return;
        }
    };
    let declared = DeclaredHeaders::read(schema).ok();
    for strict in [false, true] {
        let mut policy = HeaderPolicy::default();
        policy.strict = strict;
        if let Err(refusal) =
            judge(&MirroredHeaders::new(headers.iter().copied()), message.clone(), declared.as_ref(), &policy)
        {
            let reply = Reply::from(&refusal);
            // An id with half a surrogate pair is told as it was written; serde_json cannot read it back.
            if !body.windows(2).any(|pair| pair == b"\\u") {
                serde_json::from_str::<serde_json::Value>(&reply.body).unwrap();
            }
        }
    }
    let sent = mirror::headers(&message, declared.as_ref());
    let sent = MirroredHeaders::new(sent.iter().map(|(name, value)| (*name, value.as_bytes())));
    let policy = HeaderPolicy::default();
    if let Err(refusal) = judge(&sent, message, declared.as_ref(), &policy) {
        // Half a surrogate pair in the name or the version travels in no header.
        let half = body.windows(2).any(|pair| pair == b"\\u");
        assert!(half || !matches!(refusal.refused, MessageRefusalReason::Mismatch(_)), "{refusal}");
    }
});

fn judge<'a>(
    headers: &MirroredHeaders<'a>,
    message: Message<'a>,
    declared: Option<&DeclaredHeaders>,
    policy: &HeaderPolicy,
) -> Result<Agreed<'a>, MessageRefusal> {
    match agree::begin(headers, message, policy)? {
        HeaderAgreement::Done(agreed) => Ok(agreed),
        HeaderAgreement::NeedsSchema(open) => open.finish_with_schema(declared),
    }
}

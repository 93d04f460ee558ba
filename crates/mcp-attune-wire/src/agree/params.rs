//! `Mcp-Param-*` against the arguments of one call.
//!
//! | argument | header there | header missing |
//! |---|---|---|
//! | string, number, boolean | must be equal after decoding | mismatch, unless the operator lets it pass |
//! | integer outside ±(2^53−1) | must be equal | passes: clients leave it out |
//! | null or absent | mismatch | passes |
//! | object or array | mismatch | left to the tool |
//!
//! Rules: H2, H6, H7, H8.

use alloc::string::String;
use alloc::vec::Vec;

use super::{Mismatch, OnMissingParam, Policy, Wrong, compare};
use crate::header;
use crate::json::{Text, Type, Value};
use crate::message::{Kind, Message};
use crate::mirror::is_decimal;
use crate::number::{self, Integer};
use crate::schema::{Declared, Primitive, shown};

/// What was received for one declaration.
#[derive(Clone, Copy, Default)]
struct Received<'a> {
    first: Option<&'a [u8]>,
    repeated: bool,
}

/// Adds every mismatch, in the order of the header names. Each header is looked up once, each argument is
/// met once: the cost does not multiply. True where every header is to the letter what a client would write.
pub(super) fn check(
    declared: &Declared,
    message: &Message<'_>,
    params: &[(&str, &[u8])],
    policy: &Policy,
    mismatches: &mut Vec<Mismatch>,
) -> bool {
    let mut mirrored = true;
    let mut received = alloc::vec![Received::default(); declared.iter().len()];
    for (token, value) in params {
        // One that is not declared means nothing (H8).
        let Some(slot) = declared.find(token).and_then(|index| received.get_mut(index)) else {
            continue;
        };
        slot.repeated = slot.first.is_some();
        slot.first = slot.first.or(Some(value));
    }
    let required = message.kind() == Kind::Request && policy.on_missing_param == OnMissingParam::Refuse;
    for ((declaration, value), received) in declared.iter().zip(declared.values(message)).zip(received) {
        // Most are, and there is nothing else to ask then.
        if !received.repeated && is_mirrored(declaration.kind(), value, received.first) {
            continue;
        }
        mirrored = false;
        let wrong = match received {
            Received { repeated: true, .. } => Some(Wrong::Repeated),
            Received { first, .. } => wrong(declaration.kind(), value, first, required, policy.strict),
        };
        if let Some(wrong) = wrong {
            let path = ["params", "arguments"].into_iter().chain(declaration.path());
            mismatches.push(Mismatch::new(String::from(declaration.header()), Some(shown(path)), wrong));
        }
    }
    mirrored
}

/// Whether a header is to the letter what a client writes for an argument, as most are. False says nothing.
fn is_mirrored(kind: Primitive, value: Option<Value<'_>>, header: Option<&[u8]>) -> bool {
    /// As many digits as no unsafe integer has.
    const SAFE: usize = 15;
    let (value, header) = match (value, header) {
        (None, None) => return true,
        (Some(value), Some(header)) => (value, header),
        _ => return false,
    };
    let raw = value.raw();
    match value.kind() {
        Type::String => value.text().is_some_and(|text| header::plainly(header, text)),
        Type::Boolean => header == raw.as_bytes(),
        Type::Number => {
            kind == Primitive::Integer && header == raw.as_bytes() && raw.len() <= SAFE && is_decimal(raw)
        }
        Type::Null | Type::Object | Type::Array => false,
    }
}

fn wrong(
    kind: Primitive,
    value: Option<Value<'_>>,
    header: Option<&[u8]>,
    required: bool,
    strict: bool,
) -> Option<Wrong> {
    let value = value.filter(|value| value.kind() != Type::Null);
    let Some(value) = value else {
        return header.map(|_| Wrong::Unexpected);
    };
    let number = (value.kind() == Type::Number).then(|| number::integer(value.raw()));
    if strict && number == Some(Integer::Unsafe) {
        return Some(Wrong::UnsafeInteger);
    }
    let has_text = || match value.kind() {
        Type::Number => number != Some(Integer::Unsafe),
        Type::String => value.text().is_some_and(|text| text.chars().all(|char| char.is_some())),
        kind => kind == Type::Boolean,
    };
    match header {
        None if required && has_text() => Some(Wrong::Missing),
        None => None,
        Some(header) => differs(kind, value, header),
    }
}

/// A header that is there, against an argument that is there.
fn differs(kind: Primitive, value: Value<'_>, header: &[u8]) -> Option<Wrong> {
    match value.kind() {
        Type::String => compare(header, value.text()?),
        Type::Boolean => compare(header, Text::new(value.raw())),
        Type::Number => {
            let text = match header::decode(header) {
                Ok(text) => text,
                Err(undecodable) => return Some(Wrong::Undecodable(undecodable)),
            };
            let same = match kind {
                Primitive::Integer => number::says(text.as_bytes(), value.raw()),
                // Not what the schema asks for: the tool will refuse it, and the header must still say it.
                Primitive::String | Primitive::Boolean => number::spells(text.as_bytes(), value.raw()),
            };
            (!same).then_some(Wrong::Different)
        }
        Type::Null | Type::Object | Type::Array => Some(Wrong::Unexpected),
    }
}

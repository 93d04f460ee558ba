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

use super::{HeaderFault, HeaderMismatch, HeaderPolicy, OnMissingParam, compare_value};
use crate::header;
use crate::json::{JsonKind, JsonString, SpannedValue};
use crate::message::{Message, MessageKind};
use crate::mirror::is_decimal;
use crate::number::{self, IntegerClass};
use crate::schema::{DeclaredHeaders, DeclaredType, display_property_path};

/// What was received for one declaration.
#[derive(Clone, Copy, Default)]
struct ReceivedParam<'a> {
    first: Option<&'a [u8]>,
    repeated: bool,
}

/// Adds every mismatch, in the order of the header names. Each header is looked up once, each argument is
/// met once: the cost does not multiply. True where every header is to the letter what a client would write.
pub(super) fn check_params(
    declared: &DeclaredHeaders,
    message: &Message<'_>,
    params: &[(&str, &[u8])],
    policy: &HeaderPolicy,
    mismatches: &mut Vec<HeaderMismatch>,
) -> bool {
    let mut mirrored = true;
    let mut received = alloc::vec![ReceivedParam::default(); declared.iter().len()];
    for (token, value) in params {
        // One that is not declared means nothing (H8).
        let Some(slot) = declared.declaration_position(token).and_then(|index| received.get_mut(index))
        else {
            continue;
        };
        slot.repeated = slot.first.is_some();
        slot.first = slot.first.or(Some(value));
    }
    let required =
        message.kind() == MessageKind::Request && policy.on_missing_param == OnMissingParam::Refuse;
    for ((declaration, value), received) in
        declared.iter().zip(declared.argument_values(message)).zip(received)
    {
        // Most are, and there is nothing else to ask then.
        if !received.repeated && is_mirrored(declaration.kind(), value, received.first) {
            continue;
        }
        mirrored = false;
        let wrong = match received {
            ReceivedParam { repeated: true, .. } => Some(HeaderFault::Repeated),
            ReceivedParam { first, .. } => {
                find_param_fault(declaration.kind(), value, first, required, policy.strict)
            }
        };
        if let Some(wrong) = wrong {
            let path = ["params", "arguments"].into_iter().chain(declaration.path());
            mismatches.push(HeaderMismatch::new(
                String::from(declaration.header()),
                Some(display_property_path(path)),
                wrong,
            ));
        }
    }
    mirrored
}

/// Whether a header is to the letter what a client writes for an argument, as most are. False says nothing.
fn is_mirrored(kind: DeclaredType, value: Option<SpannedValue<'_>>, header: Option<&[u8]>) -> bool {
    /// As many digits as no unsafe integer has.
    const MAX_SAFE_DIGITS: usize = 15;
    let (value, header) = match (value, header) {
        (None, None) => return true,
        (Some(value), Some(header)) => (value, header),
        _ => return false,
    };
    let raw = value.raw();
    match value.kind() {
        JsonKind::String => value.text().is_some_and(|text| header::is_trivially_equal(header, text)),
        JsonKind::Boolean => header == raw.as_bytes(),
        JsonKind::Number => {
            kind == DeclaredType::Integer
                && header == raw.as_bytes()
                && raw.len() <= MAX_SAFE_DIGITS
                && is_decimal(raw)
        }
        JsonKind::Null | JsonKind::Object | JsonKind::Array => false,
    }
}

fn find_param_fault(
    kind: DeclaredType,
    value: Option<SpannedValue<'_>>,
    header: Option<&[u8]>,
    required: bool,
    strict: bool,
) -> Option<HeaderFault> {
    let value = value.filter(|value| value.kind() != JsonKind::Null);
    let Some(value) = value else {
        return header.map(|_| HeaderFault::Unexpected);
    };
    let number = (value.kind() == JsonKind::Number).then(|| number::classify_integer(value.raw()));
    if strict && number == Some(IntegerClass::Unsafe) {
        return Some(HeaderFault::UnsafeInteger);
    }
    let has_text = || match value.kind() {
        JsonKind::Number => number != Some(IntegerClass::Unsafe),
        JsonKind::String => value.text().is_some_and(|text| text.chars().all(|char| char.is_some())),
        kind => kind == JsonKind::Boolean,
    };
    match header {
        None if required && has_text() => Some(HeaderFault::Missing),
        None => None,
        Some(header) => compare_argument(kind, value, header),
    }
}

/// A header that is there, against an argument that is there.
fn compare_argument(kind: DeclaredType, value: SpannedValue<'_>, header: &[u8]) -> Option<HeaderFault> {
    match value.kind() {
        JsonKind::String => compare_value(header, value.text()?),
        JsonKind::Boolean => compare_value(header, JsonString::new(value.raw())),
        JsonKind::Number => {
            let text = match header::decode(header) {
                Ok(text) => text,
                Err(undecodable) => return Some(HeaderFault::Undecodable(undecodable)),
            };
            let same = match kind {
                DeclaredType::Integer => number::header_equals_number(text.as_bytes(), value.raw()),
                // Not what the schema asks for: the tool will refuse it, and the header must still say it.
                DeclaredType::String | DeclaredType::Boolean => {
                    number::header_spells_number(text.as_bytes(), value.raw())
                }
            };
            (!same).then_some(HeaderFault::Different)
        }
        JsonKind::Null | JsonKind::Object | JsonKind::Array => Some(HeaderFault::Unexpected),
    }
}

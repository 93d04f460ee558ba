//! How values are written into a text: escaped for its format, or as JSON.

use core::fmt::Write as _;

use mcp_attune_wire::json::JsonQuoted;
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, Output, State};

use crate::format_writer::FormatWriter;
use mcp_attune::features::ContentFormat;

use super::context::ContextObject;
use super::data::ExactNumber;
use super::error::render_error;
use super::{MAX_OUTPUT, error::TemplateRenderReason};

/// How deep lists and maps may be that a template makes itself.
const MAX_DEPTH: usize = 160;

/// How many bytes were printed: what is printed into a variable does not pass the bounded writer.
#[derive(Default)]
struct PrintedBytes(usize);

/// Writes one value where a template has `{{ … }}`.
pub(super) fn print(
    kind: ContentFormat,
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    if let Some(text) = value.as_str() {
        if value.is_safe() {
            return put(out, state, text);
        }
        let root = ContextObject::from_state(state)?;
        let text = root.translation_of(value).unwrap_or(text);
        return put(out, state, &(FormatWriter::of(kind).value)(text));
    }
    if kind.is_structured() {
        put(out, state, &json(value)?)
    } else if matches!(value.kind(), ValueKind::Map | ValueKind::Seq | ValueKind::Iterable) {
        put(out, state, &(FormatWriter::of(kind).value)(&json(value)?))
    } else {
        // Digits, `true` and `false` are no markup.
        put(out, state, &plain(value)?)
    }
}

fn put(out: &mut Output<'_>, state: &mut State<'_, '_>, text: &str) -> Result<(), Error> {
    let printed = state.get_or_insert_extension(PrintedBytes::default());
    printed.0 = printed.0.saturating_add(text.len());
    // A text may pass through a variable or two on its way out.
    if printed.0 > 4 * MAX_OUTPUT {
        return Err(render_error(TemplateRenderReason::TooLong));
    }
    out.write_str(text).map_err(Error::from)
}

/// A value as text without marks: nothing for null, lists and maps as JSON.
pub(super) fn plain(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => Ok(String::new()),
        ValueKind::String => Ok(value.as_str().unwrap_or_default().to_owned()),
        _ => json(value),
    }
}

/// The text that people read of a value.
pub(super) fn localized_text(root: &ContextObject, value: &Value) -> Result<String, Error> {
    root.translation_of(value).map_or_else(|| plain(value), |told| Ok(told.to_owned()))
}

/// A value as JSON.
pub(super) fn json(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write(value, &mut out, 0)?;
    Ok(out)
}

fn write(value: &Value, out: &mut String, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(render_error(TemplateRenderReason::TooDeep));
    }
    if out.len() > MAX_OUTPUT {
        return Err(render_error(TemplateRenderReason::TooLong));
    }
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => number(value, out),
        ValueKind::String => {
            let _ = write!(out, "{}", JsonQuoted(value.as_str().unwrap_or_default()));
        }
        ValueKind::Map => {
            out.push('{');
            for (index, name) in value.try_iter()?.enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let _ = write!(out, "{}:", JsonQuoted(&name.to_string()));
                write(&value.get_item(&name)?, out, depth + 1)?;
            }
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (index, element) in value.try_iter()?.enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(&element, out, depth + 1)?;
            }
            out.push(']');
        }
        _ => match value.downcast_object_ref::<ExactNumber>() {
            Some(ExactNumber(digits)) => out.push_str(digits),
            None => out.push_str("null"),
        },
    }
    Ok(())
}

fn number(value: &Value, out: &mut String) {
    if value.is_integer() {
        let _ = write!(out, "{value}");
        return;
    }
    let float = f64::try_from(value.clone()).ok().and_then(serde_json::Number::from_f64);
    match float {
        Some(float) => {
            let _ = write!(out, "{float}");
        }
        None => out.push_str("null"),
    }
}

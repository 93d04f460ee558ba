//! Filters for text: joined, cut, linked, and let through as it is.

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use crate::format_writer::{self, FormatWriter};

use super::super::context::ContextObject;
use super::super::error::{TemplateRenderReason, render_error};
use super::super::{MAX_OUTPUT, print};
use super::options::{FilterOptions, filter_error, wrong_kind_error};

/// Writes a link: `url | link("Book")` gives `[Book](…)` in Markdown, and label and URL elsewhere. Only
/// `http`, `https` and `mailto` are linked. Of any other URL only the label is written, or without a label
/// the URL as mere text.
pub(super) fn link(
    state: &State<'_, '_>,
    value: &Value,
    label: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("link", &given);
    let label = options.named_or_positional("label", label.as_ref())?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let text = value.as_str().ok_or_else(|| wrong_kind_error("link", "a URL", value))?;
    let label = label.as_ref().map(print::plain).transpose()?.filter(|label| !label.trim().is_empty());
    let Some(url) = format_writer::url(text) else {
        return Ok(Value::from(label.unwrap_or_else(|| text.to_owned())));
    };
    Ok(match (FormatWriter::of(ContextObject::from_state(state)?.kind).link, label) {
        (Some(link), label) => Value::from_safe_string(link(label.as_deref().unwrap_or(text), &url)),
        (_, Some(label)) => Value::from(format!("{label} ({url})")),
        (_, None) => Value::from(url),
    })
}

/// Lets a text through without escaping: `text | raw`. It is for values that the operator knows to be
/// harmless; also named `safe`.
pub(super) fn raw(value: &Value) -> Result<Value, Error> {
    Ok(Value::from_safe_string(print::plain(value)?))
}

/// Writes any value as JSON, without further escaping: `value | tojson`.
pub(super) fn tojson(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(wrong_kind_error("tojson", "a value", value));
    }
    Ok(Value::from_safe_string(print::json(value)?))
}

/// Joins the elements of a list: `stops | join(", ")`; with `attribute="name"`, that member of each element.
/// Translated values are joined as people read them.
pub(super) fn join(
    state: &State<'_, '_>,
    value: &Value,
    between: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("join", &given);
    let between = options.text("d", between.as_ref())?.unwrap_or_default();
    let attribute = options.text("attribute", None)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(wrong_kind_error("join", "a list", value));
    }
    let root = ContextObject::from_state(state)?;
    let mut out = String::new();
    for (index, item) in value.try_iter()?.enumerate() {
        if index > 0 {
            out.push_str(&between);
        }
        let item = match &attribute {
            Some(attribute) => item.get_attr(attribute)?,
            None => item,
        };
        out.push_str(&print::localized_text(&root, &item)?);
        check_output_length(&out)?;
    }
    Ok(Value::from(out))
}

/// Replaces all occurrences of a text: `text | replace("a", "b")`.
pub(super) fn replace(value: &Value, from: &Value, to: &Value) -> Result<Value, Error> {
    if value.is_none() {
        return Ok(value.clone());
    }
    let text = value.as_str().ok_or_else(|| wrong_kind_error("replace", "text", value))?;
    let (Some(from), Some(to)) = (from.as_str().filter(|from| !from.is_empty()), to.as_str()) else {
        return Err(filter_error("replace", "takes two texts, the first not empty"));
    };
    let mut out = String::new();
    for (index, part) in text.split(from).enumerate() {
        if index > 0 {
            out.push_str(to);
        }
        out.push_str(part);
        check_output_length(&out)?;
    }
    Ok(Value::from(out))
}

/// Shortens a text: `text | truncate(80)` has at most 80 characters, the last of them `…` where something is
/// left out. Without a number it is 255 characters. A translated value is shortened as people read it.
pub(super) fn truncate(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("truncate", &given);
    let most = options.count("length", length.as_ref())?.unwrap_or(255);
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let root = ContextObject::from_state(state)?;
    let text = value.as_str().ok_or_else(|| wrong_kind_error("truncate", "text", value))?;
    let text = root.translation_of(value).unwrap_or(text);
    if text.chars().nth(most).is_none() {
        // Printed, it is translated.
        return Ok(value.clone());
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    Ok(Value::from(if most == 0 { String::new() } else { format!("{}…", kept.trim_end()) }))
}

/// Fails once a text is longer than a rendering may be, so that no filter builds a text that could not be
/// printed.
fn check_output_length(text: &str) -> Result<(), Error> {
    if text.len() > MAX_OUTPUT { Err(render_error(TemplateRenderReason::TooLong)) } else { Ok(()) }
}

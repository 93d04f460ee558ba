//! Filters for words that depend on numbers and languages: plural forms, lists, and texts of locale files.

use std::sync::atomic::Ordering;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use super::super::context::ContextObject;
use super::super::print;
use super::options::{self, FilterOptions, filter_error, wrong_kind_error};
use mcp_attune::format::{ListStyle, PluralForm};
use mcp_attune::messages::{MessageArgument, MessageArguments};

/// How many items the filter `list` takes. More are an error.
const MAX_LIST_ITEMS: usize = 1000;

/// Chooses the word for a number by the plural rules of the caller's locale:
/// `trains | plural("train", "trains")`, or with CLDR's names of the forms,
/// `plural(one="…", few="…", other="…")`. A form that is not given is replaced by `other`.
pub(super) fn plural(
    state: &State<'_, '_>,
    value: &Value,
    one: Option<Value>,
    other: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("plural", &given);
    let mut forms = Vec::new();
    for form in PluralForm::ALL {
        let placed = match form {
            PluralForm::One => one.as_ref().filter(|_| other.is_some()),
            PluralForm::Other => other.as_ref().or(one.as_ref()),
            _ => None,
        };
        forms.push((*form, options.named_or_positional(form.as_str(), placed)?));
    }
    options.reject_unknown_options()?;
    let number = match value.is_none() {
        true => return Ok(value.clone()),
        false => options::number("plural", value)?,
    };
    let wanted = ContextObject::from_state(state)?.values.plural(&number);
    let find = |wanted: PluralForm| {
        forms.iter().find(|(form, _)| *form == wanted).and_then(|(_, text)| text.clone())
    };
    find(wanted)
        .or_else(|| find(PluralForm::Other))
        .ok_or_else(|| filter_error("plural", "takes at least the form `other`"))
}

/// Writes a list as a phrase in the caller's locale: `stops | list`, `list("or")`. Translated values are
/// written as people read them.
pub(super) fn list(
    state: &State<'_, '_>,
    value: &Value,
    kind: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("list", &given);
    let kind = options.text("kind", kind.as_ref())?.unwrap_or_else(|| "and".to_owned());
    options.reject_unknown_options()?;
    let kind =
        ListStyle::named(&kind).ok_or_else(|| filter_error("list", "takes and, or, or unit as `kind`"))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(wrong_kind_error("list", "a list", value));
    }
    let root = ContextObject::from_state(state)?;
    let mut items = Vec::new();
    for item in value.try_iter()? {
        if items.len() == MAX_LIST_ITEMS {
            return Err(filter_error("list", format!("takes at most {MAX_LIST_ITEMS} items")));
        }
        items.push(print::localized_text(&root, &item)?);
    }
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    Ok(Value::from(root.values.list(&items, kind)))
}

/// Returns what people read in the place of a value, for filters that come after it:
/// `conditions | translated | upper`.
pub(super) fn translated(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(wrong_kind_error("translated", "a value", value));
    }
    Ok(ContextObject::from_state(state)?.translation_of(value).map_or_else(|| value.clone(), Value::from))
}

/// Renders a message of the locale files: `"seats-left" | t(count=3, default="…")`. Options other than
/// `default` are the variables of the message; those without a value are left out. If no locale file has the
/// message, the result is `default`, and without a `default` the filter fails.
pub(super) fn t(state: &State<'_, '_>, value: &Value, given: Kwargs) -> Result<Value, Error> {
    let options = FilterOptions::new("t", &given);
    let otherwise = options.text("default", None)?;
    let key = value.as_str().ok_or_else(|| wrong_kind_error("t", "the key of a message", value))?;
    let root = ContextObject::from_state(state)?;
    let names: Vec<&str> = given.args().filter(|name| *name != "default").collect();
    let mut arguments = MessageArguments::new();
    for name in names {
        let argument = options.named_or_positional(name, None)?.unwrap_or_default();
        arguments = match argument.kind() {
            ValueKind::Undefined => continue,
            ValueKind::String => arguments.text(name, print::localized_text(&root, &argument)?),
            ValueKind::Number => {
                arguments.with(name, MessageArgument::Number(options::number("t", &argument)?))
            }
            _ => arguments.text(name, print::plain(&argument)?),
        };
    }
    let said = root.chain.as_ref().and_then(|chain| chain.render_message(key, &arguments));
    if said.is_some() {
        root.translated.store(true, Ordering::Relaxed);
    }
    match said.map(|said| said.text).or(otherwise) {
        Some(text) => Ok(Value::from(text)),
        None => Err(filter_error("t", "found no such message, and no `default` was given")),
    }
}

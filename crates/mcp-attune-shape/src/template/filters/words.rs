//! Words that depend on numbers and languages: plural forms, lists, and texts of locale files.

use std::sync::atomic::Ordering;

use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use super::super::print;
use super::super::scene::Root;
use super::options::{self, Options, other_kind, wrong};
use mcp_attune::format::{List, Plural};
use mcp_attune::messages::{Argument, Arguments};

/// How many items a list may have.
const MOST_ITEMS: usize = 1000;

/// `trains | plural("train", "trains")`, or the forms by their names in CLDR: `plural(one="…", few="…", other="…")`
pub(super) fn plural(
    state: &State<'_, '_>,
    value: &Value,
    one: Option<Value>,
    other: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("plural", &given);
    let mut forms = Vec::new();
    for form in Plural::ALL {
        let placed = match form {
            Plural::One => one.as_ref().filter(|_| other.is_some()),
            Plural::Other => other.as_ref().or(one.as_ref()),
            _ => None,
        };
        forms.push((*form, options.any(form.as_str(), placed)?));
    }
    options.done()?;
    let number = match value.is_none() {
        true => return Ok(value.clone()),
        false => options::number("plural", value)?,
    };
    let wanted = Root::of(state)?.values.plural(&number);
    let find =
        |wanted: Plural| forms.iter().find(|(form, _)| *form == wanted).and_then(|(_, text)| text.clone());
    find(wanted)
        .or_else(|| find(Plural::Other))
        .ok_or_else(|| wrong("plural", "takes at least the form `other`"))
}

/// `stops | list`, `list("or")`
pub(super) fn list(
    state: &State<'_, '_>,
    value: &Value,
    kind: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("list", &given);
    let kind = options.text("kind", kind.as_ref())?.unwrap_or_else(|| "and".to_owned());
    options.done()?;
    let kind = List::named(&kind).ok_or_else(|| wrong("list", "takes and, or, or unit as `kind`"))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Err(other_kind("list", "a list", value));
    }
    let root = Root::of(state)?;
    let mut items = Vec::new();
    for item in value.try_iter()? {
        if items.len() == MOST_ITEMS {
            return Err(wrong("list", format!("takes at most {MOST_ITEMS} items")));
        }
        items.push(print::shown(&root, &item)?);
    }
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    Ok(Value::from(root.values.list(&items, kind)))
}

/// `conditions | translated`: what people read in the place of a value, for filters that come after it
pub(super) fn translated(state: &State<'_, '_>, value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Err(other_kind("translated", "a value", value));
    }
    Ok(Root::of(state)?.local(value).map_or_else(|| value.clone(), Value::from))
}

/// `"seats-left" | t(count=3, default="…")`: a message of the locale files
pub(super) fn t(state: &State<'_, '_>, value: &Value, given: Kwargs) -> Result<Value, Error> {
    let options = Options::new("t", &given);
    let otherwise = options.text("default", None)?;
    let key = value.as_str().ok_or_else(|| other_kind("t", "the key of a message", value))?;
    let root = Root::of(state)?;
    let names: Vec<&str> = given.args().filter(|name| *name != "default").collect();
    let mut arguments = Arguments::new();
    for name in names {
        let argument = options.any(name, None)?.unwrap_or_default();
        arguments = match argument.kind() {
            ValueKind::Undefined => continue,
            ValueKind::String => arguments.text(name, print::shown(&root, &argument)?),
            ValueKind::Number => arguments.with(name, Argument::Number(options::number("t", &argument)?)),
            _ => arguments.text(name, print::plain(&argument)?),
        };
    }
    let said = root.chain.as_ref().and_then(|chain| chain.text(key, &arguments));
    if said.is_some() {
        root.translated.store(true, Ordering::Relaxed);
    }
    match said.map(|said| said.text).or(otherwise) {
        Some(text) => Ok(Value::from(text)),
        None => Err(wrong("t", "found no such message, and no `default` was given")),
    }
}

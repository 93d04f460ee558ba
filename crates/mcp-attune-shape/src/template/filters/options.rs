//! What filters take: values of a kind, and options by name.

use minijinja::Error;
use minijinja::value::{Kwargs, Value, ValueKind};

use super::super::data::ExactNumber;
use super::super::error::{NO_VALUE, TemplateRenderReason, render_error};
use mcp_attune::format::{DecimalNumber, FormatLength};

/// What a filter says of a value or an option.
pub(super) fn filter_error(name: &'static str, what: impl Into<String>) -> Error {
    render_error(TemplateRenderReason::Filter { name, what: what.into() })
}

/// What a filter says of a value of another kind than the one it works with.
pub(super) fn wrong_kind_error(name: &'static str, wanted: &str, value: &Value) -> Error {
    let is = match value.kind() {
        ValueKind::Undefined => return filter_error(name, format!("takes {wanted}, and {NO_VALUE}")),
        ValueKind::None => "null",
        ValueKind::Bool => "a boolean",
        ValueKind::Number => "a number",
        ValueKind::String => "text",
        ValueKind::Map => "a map",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        _ => "something else",
    };
    filter_error(name, format!("takes {wanted}, and this is {is}"))
}

/// The number in a value: a number, or text that is one.
pub(super) fn number(name: &'static str, value: &Value) -> Result<DecimalNumber, Error> {
    let wanted = "a number";
    let read = match value.kind() {
        ValueKind::Number if value.is_integer() => DecimalNumber::parse(&value.to_string()).ok(),
        ValueKind::Number => {
            f64::try_from(value.clone()).ok().and_then(|float| DecimalNumber::try_from(float).ok())
        }
        ValueKind::String => {
            let read = value.as_str().and_then(|text| DecimalNumber::parse(text).ok());
            return read.ok_or_else(|| filter_error(name, "takes a number, and this is text that is none"));
        }
        _ => value
            .downcast_object_ref::<ExactNumber>()
            .and_then(|written| DecimalNumber::parse(&written.0).ok()),
    };
    read.ok_or_else(|| wrong_kind_error(name, wanted, value))
}

/// The options of one filter.
pub(super) struct FilterOptions<'k> {
    name: &'static str,
    given: &'k Kwargs,
}

impl<'k> FilterOptions<'k> {
    pub(super) fn new(name: &'static str, given: &'k Kwargs) -> Self {
        Self { name, given }
    }

    /// An option, or what stands in its place without a name.
    pub(super) fn named_or_positional(
        &self,
        option: &str,
        placed: Option<&Value>,
    ) -> Result<Option<Value>, Error> {
        let named = self.given.get::<Option<Value>>(option)?;
        Ok(named.or_else(|| placed.cloned()).filter(|value| !value.is_none()))
    }

    pub(super) fn text(&self, option: &str, placed: Option<&Value>) -> Result<Option<String>, Error> {
        let Some(value) = self.named_or_positional(option, placed)? else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(filter_error(self.name, format!("takes text as `{option}`"))),
        }
    }

    pub(super) fn flag(&self, option: &str, otherwise: bool) -> Result<bool, Error> {
        let Some(value) = self.named_or_positional(option, None)? else { return Ok(otherwise) };
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            _ => Err(filter_error(self.name, format!("takes true or false as `{option}`"))),
        }
    }

    pub(super) fn count(&self, option: &str, placed: Option<&Value>) -> Result<Option<usize>, Error> {
        let Some(value) = self.named_or_positional(option, placed)? else { return Ok(None) };
        match value.as_usize() {
            Some(count) => Ok(Some(count)),
            None => Err(filter_error(self.name, format!("takes a whole number as `{option}`"))),
        }
    }

    pub(super) fn length(
        &self,
        placed: Option<&Value>,
        otherwise: FormatLength,
    ) -> Result<FormatLength, Error> {
        let Some(text) = self.text("length", placed)? else { return Ok(otherwise) };
        let unknown = || filter_error(self.name, "takes short, medium, long or full as `length`");
        FormatLength::named(&text).ok_or_else(unknown)
    }

    /// That no option was given but those that were asked for.
    pub(super) fn reject_unknown_options(&self) -> Result<(), Error> {
        self.given
            .assert_all_used()
            .map_err(|_| filter_error(self.name, "was given an option that it does not have"))
    }
}

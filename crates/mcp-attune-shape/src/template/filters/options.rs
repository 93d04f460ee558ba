//! The arguments of filters: values of a kind, options by name, and the errors for others. No error quotes a
//! value.

use minijinja::Error;
use minijinja::value::{Kwargs, Value, ValueKind};

use super::super::data::ExactNumber;
use super::super::error::{NO_VALUE, TemplateRenderReason, render_error};
use mcp_attune::format::{DecimalNumber, FormatLength};

/// Makes the error of a filter. `what` continues a sentence that begins with the filter's name:
/// `takes a number, and this is text`.
pub(super) fn filter_error(name: &'static str, what: impl Into<String>) -> Error {
    render_error(TemplateRenderReason::Filter { name, what: what.into() })
}

/// Makes the error for a value of another kind than the filter works with. `wanted` says what it takes.
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

/// Reads a number from a value: a number, digits that are kept as they were written, or a text that is a
/// number. `name` is the filter, for the error.
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

/// The named options of one use of a filter. Options have to be read before
/// [`reject_unknown_options`](Self::reject_unknown_options) is called.
pub(super) struct FilterOptions<'k> {
    /// The filter, for errors.
    name: &'static str,
    given: &'k Kwargs,
}

impl<'k> FilterOptions<'k> {
    pub(super) fn new(name: &'static str, given: &'k Kwargs) -> Self {
        Self { name, given }
    }

    /// Returns an option by its name, or else `placed`, what stands in its place without a name. An option
    /// that is `null` counts as not given.
    pub(super) fn named_or_positional(
        &self,
        option: &str,
        placed: Option<&Value>,
    ) -> Result<Option<Value>, Error> {
        let named = self.given.get::<Option<Value>>(option)?;
        Ok(named.or_else(|| placed.cloned()).filter(|value| !value.is_none()))
    }

    /// Returns an option that has to be text.
    pub(super) fn text(&self, option: &str, placed: Option<&Value>) -> Result<Option<String>, Error> {
        let Some(value) = self.named_or_positional(option, placed)? else { return Ok(None) };
        match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(filter_error(self.name, format!("takes text as `{option}`"))),
        }
    }

    /// Returns an option that has to be true or false.
    pub(super) fn flag(&self, option: &str, otherwise: bool) -> Result<bool, Error> {
        let Some(value) = self.named_or_positional(option, None)? else { return Ok(otherwise) };
        match value.kind() {
            ValueKind::Bool => Ok(value.is_true()),
            _ => Err(filter_error(self.name, format!("takes true or false as `{option}`"))),
        }
    }

    /// Returns an option that has to be a whole number, not negative.
    pub(super) fn count(&self, option: &str, placed: Option<&Value>) -> Result<Option<usize>, Error> {
        let Some(value) = self.named_or_positional(option, placed)? else { return Ok(None) };
        match value.as_usize() {
            Some(count) => Ok(Some(count)),
            None => Err(filter_error(self.name, format!("takes a whole number as `{option}`"))),
        }
    }

    /// Returns the option `length`: `short`, `medium`, `long` or `full`.
    pub(super) fn length(
        &self,
        placed: Option<&Value>,
        otherwise: FormatLength,
    ) -> Result<FormatLength, Error> {
        let Some(text) = self.text("length", placed)? else { return Ok(otherwise) };
        let unknown = || filter_error(self.name, "takes short, medium, long or full as `length`");
        FormatLength::named(&text).ok_or_else(unknown)
    }

    /// Fails if an option was given that the filter has not read.
    pub(super) fn reject_unknown_options(&self) -> Result<(), Error> {
        self.given
            .assert_all_used()
            .map_err(|_| filter_error(self.name, "was given an option that it does not have"))
    }
}

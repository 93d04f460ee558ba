//! One call, with what its caller left out filled in.

use core::fmt::{self, Write as _};

use jiff::Timestamp;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::notice::{Notice, NoticeText};
use mcp_attune_wire::protocol::method;

use super::value::{BindingCaller, write_interval_edge};
use super::{ArgumentFill, Bindings, BoundTool};
use crate::caller::Caller;
use crate::when::{Interval, ReferenceTime, TimeExpressionError, TimeResolutionError, When};

/// What changes in a call. The default is nothing. `Debug` names the arguments and shows none.
///
/// Rules: C8, C9.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct FilledArguments {
    edits: Vec<(ByteSpan, String)>,
    names: Vec<String>,
}

impl FilledArguments {
    /// The edits that make the call as the server gets it, for [`Message::splice`].
    #[must_use]
    pub fn edits(&self) -> Vec<(ByteSpan, &str)> {
        self.edits.iter().map(|(place, text)| (*place, text.as_str())).collect()
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The arguments that were filled: all that may be logged of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

impl fmt::Debug for FilledArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilledArguments").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Why a call ends here: what its caller wrote in an argument that names an interval.
///
/// Rules: C9.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgumentFillError {
    /// The argument.
    pub argument: String,
    /// What is wrong with it.
    pub why: ArgumentFillReason,
}

/// What is wrong with an argument that names an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ArgumentFillReason {
    /// Not a string.
    NotText,
    /// Not an expression that can be read.
    Unreadable(TimeExpressionError),
    /// An expression that names no interval for this caller.
    Unresolvable(TimeResolutionError),
}

impl ArgumentFillError {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(&self) -> Notice {
        let what = NoticeText::Owned(self.argument.clone());
        match self.why {
            ArgumentFillReason::NotText => Notice::TimeNotText { what },
            ArgumentFillReason::Unreadable(unreadable) => match unreadable {
                TimeExpressionError::TooLong => Notice::TimeTooLong { what },
                TimeExpressionError::Unknown => Notice::TimeUnknown { what },
                TimeExpressionError::Ambiguous => Notice::TimeAmbiguous { what },
                TimeExpressionError::Number => Notice::TimeNumber { what },
                TimeExpressionError::NoSuchDate => Notice::TimeNoSuchDate { what },
            },
            ArgumentFillReason::Unresolvable(unresolvable) => match unresolvable {
                TimeResolutionError::OutOfRange => Notice::TimeOutOfRange { what },
                TimeResolutionError::Backwards => Notice::TimeBackwards { what },
            },
        }
    }
}

/// Says what is wrong and what to write.
impl fmt::Display for ArgumentFillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl core::error::Error for ArgumentFillError {}

impl Bindings {
    /// What changes in a call of a bound tool; nothing in any other message. `clock` is what the server's clock says.
    ///
    /// Rules: C9.
    ///
    /// # Errors
    ///
    /// [`ArgumentFillError`] where an interval is named in words that cannot be read.
    pub fn fill(
        &self,
        message: &Message<'_>,
        caller: &Caller,
        clock: Timestamp,
    ) -> Result<FilledArguments, ArgumentFillError> {
        match self.find_called(message) {
            Some(tool) => tool.fill(message, &BindingCaller::new(caller, self.precision, clock)),
            None => Ok(FilledArguments::default()),
        }
    }

    /// Whether a message calls a bound tool.
    #[must_use]
    pub fn is_bound_call(&self, message: &Message<'_>) -> bool {
        self.find_called(message).is_some()
    }

    fn find_called(&self, message: &Message<'_>) -> Option<&BoundTool> {
        if self.is_empty()
            || message.kind() != MessageKind::Request
            || !message.method()?.is(method::TOOLS_CALL)
        {
            return None;
        }
        self.tool(&message.param("name")?.text()?.decode()?)
    }
}

impl BoundTool {
    fn fill(
        &self,
        message: &Message<'_>,
        asker: &BindingCaller<'_>,
    ) -> Result<FilledArguments, ArgumentFillError> {
        let held = message.param("arguments");
        if held.is_some_and(|held| !matches!(held.kind(), JsonKind::Object | JsonKind::Null)) {
            // The server's to refuse.
            return Ok(FilledArguments::default());
        }
        let mut named = Vec::with_capacity(self.intervals.len());
        for interval in &self.intervals {
            named.push((interval.as_str(), resolve_interval_argument(message, interval, asker)?));
        }
        let mut filled = FilledArguments::default();
        let mut entries = String::new();
        for (argument, binding) in &self.arguments {
            if given_argument(message, argument).is_some() {
                continue;
            }
            let value = match &binding.fills {
                ArgumentFill::Context { from, default } => asker
                    .context_value(*from)
                    .or_else(|| default.clone())
                    .or_else(|| asker.assumed_value(*from)),
                ArgumentFill::Interval { named: interval, part, written } => {
                    let found = named.iter().find(|(name, _)| name == interval);
                    found.and_then(|(_, found)| {
                        write_interval_edge((*found)?, *part, &asker.now().zone, *written)
                    })
                }
            };
            if let Some(value) = value {
                let comma = if entries.is_empty() { "" } else { "," };
                // Writing into a String does not fail.
                let _ = write!(entries, "{comma}{}:{value}", JsonQuoted(argument));
                filled.names.push(argument.clone());
            }
        }
        self.insert_arguments(message, held, entries, &mut filled);
        Ok(filled)
    }

    /// Puts what was filled first among the arguments, and takes out what named an interval.
    fn insert_arguments(
        &self,
        message: &Message<'_>,
        held: Option<SpannedValue<'_>>,
        mut entries: String,
        filled: &mut FilledArguments,
    ) {
        let named = |name: JsonString<'_>| self.intervals.iter().any(|interval| name.is(interval));
        match held.filter(|held| held.kind() == JsonKind::Object) {
            Some(held) => {
                let cuts = if self.intervals.is_empty() { Vec::new() } else { held.cut_members(named) };
                if !entries.is_empty() {
                    if message.arguments().any(|(name, _)| !named(name)) {
                        entries.push(',');
                    }
                    filled.edits.push((held.opening(), entries));
                }
                filled.edits.extend(cuts.into_iter().map(|cut| (cut, String::new())));
            }
            None if entries.is_empty() => {}
            None => match (held, message.member("params")) {
                (Some(null), _) => filled.edits.push((null.span(), format!("{{{entries}}}"))),
                // There is a name in them, and a comma before it.
                (None, Some(params)) => {
                    filled.edits.push((params.opening(), format!("\"arguments\":{{{entries}}},")));
                }
                (None, None) => {}
            },
        }
    }
}

fn given_argument<'a>(message: &Message<'a>, argument: &str) -> Option<SpannedValue<'a>> {
    message.arguments().find(|(name, _)| name.is(argument)).map(|(_, value)| value)
}

/// The interval that an argument names, if it names one.
fn resolve_interval_argument(
    message: &Message<'_>,
    argument: &str,
    asker: &BindingCaller<'_>,
) -> Result<Option<Interval>, ArgumentFillError> {
    let Some(value) = given_argument(message, argument).filter(|value| value.kind() != JsonKind::Null) else {
        return Ok(None);
    };
    let wrong = |why| ArgumentFillError { argument: argument.to_owned(), why };
    let text = value.text().and_then(JsonString::decode).ok_or_else(|| wrong(ArgumentFillReason::NotText))?;
    let when = When::parse(&text, asker.interval_language())
        .and_then(|when| when.with_past_policy(asker.caller.past()));
    let when = when.map_err(|why| wrong(ArgumentFillReason::Unreadable(why)))?;
    let now = ReferenceTime::of(asker.now().clone(), asker.caller.context().locale());
    when.resolve(&now).map(Some).map_err(|why| wrong(ArgumentFillReason::Unresolvable(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_told_of_an_expression_what_the_expression_itself_says() {
        let check = |why: ArgumentFillReason, said: String| {
            let error = ArgumentFillError { argument: "period".into(), why };
            assert_eq!(error.to_string(), format!("`period` is {said}"));
        };
        for unreadable in [
            TimeExpressionError::TooLong,
            TimeExpressionError::Unknown,
            TimeExpressionError::Ambiguous,
            TimeExpressionError::Number,
            TimeExpressionError::NoSuchDate,
        ] {
            check(ArgumentFillReason::Unreadable(unreadable), unreadable.to_string());
        }
        for unresolvable in [TimeResolutionError::OutOfRange, TimeResolutionError::Backwards] {
            check(ArgumentFillReason::Unresolvable(unresolvable), unresolvable.to_string());
        }
    }
}

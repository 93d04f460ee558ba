//! One call, with what its caller left out filled in.

use core::fmt::{self, Write as _};

use jiff::Timestamp;
use mcp_attune_wire::json::{Quoted, Span, Text, Type, Value};
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::protocol::method;

use super::value::{Asker, end};
use super::{Bindings, Fills, Tool};
use crate::caller::Caller;
use crate::when::{Interval, Now, Unreadable, Unresolvable, When};

/// What changes in a call. The default is nothing. `Debug` names the arguments and shows none.
///
/// Rules: C8, C9.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Filled {
    edits: Vec<(Span, String)>,
    names: Vec<String>,
}

impl Filled {
    /// The edits that make the call as the server gets it, for [`Message::splice`].
    #[must_use]
    pub fn edits(&self) -> Vec<(Span, &str)> {
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

impl fmt::Debug for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Why a call ends here: what its caller wrote in an argument that names an interval.
///
/// Rules: C9.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfillable {
    /// The argument.
    pub argument: String,
    /// What is wrong with it.
    pub why: Why,
}

/// What is wrong with an argument that names an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Why {
    /// Not a string.
    NotText,
    /// Not an expression that can be read.
    Unreadable(Unreadable),
    /// An expression that names no interval for this caller.
    Unresolvable(Unresolvable),
}

/// Says what is wrong and what to write.
impl fmt::Display for Unfillable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { argument, why } = self;
        match why {
            Why::NotText => {
                write!(f, "`{argument}` is not a string; write an expression such as \"last week\"")
            }
            Why::Unreadable(unreadable) => write!(f, "`{argument}` is {unreadable}"),
            Why::Unresolvable(unresolvable) => write!(f, "`{argument}` is {unresolvable}"),
        }
    }
}

impl core::error::Error for Unfillable {}

impl Bindings {
    /// What changes in a call of a bound tool; nothing in any other message. `clock` is what the server's clock says.
    ///
    /// Rules: C9.
    ///
    /// # Errors
    ///
    /// [`Unfillable`] where an interval is named in words that cannot be read.
    pub fn fill(
        &self,
        message: &Message<'_>,
        caller: &Caller,
        clock: Timestamp,
    ) -> Result<Filled, Unfillable> {
        match self.called(message) {
            Some(tool) => tool.fill(message, &Asker::new(caller, self.precision, clock)),
            None => Ok(Filled::default()),
        }
    }

    /// Whether a message calls a bound tool.
    #[must_use]
    pub fn concern(&self, message: &Message<'_>) -> bool {
        self.called(message).is_some()
    }

    fn called(&self, message: &Message<'_>) -> Option<&Tool> {
        if self.is_empty() || message.kind() != Kind::Request || !message.method()?.is(method::TOOLS_CALL) {
            return None;
        }
        self.tool(&message.param("name")?.text()?.decode()?)
    }
}

impl Tool {
    fn fill(&self, message: &Message<'_>, asker: &Asker<'_>) -> Result<Filled, Unfillable> {
        let held = message.param("arguments");
        if held.is_some_and(|held| !matches!(held.kind(), Type::Object | Type::Null)) {
            // The server's to refuse.
            return Ok(Filled::default());
        }
        let mut named = Vec::with_capacity(self.intervals.len());
        for interval in &self.intervals {
            named.push((interval.as_str(), resolve(message, interval, asker)?));
        }
        let mut filled = Filled::default();
        let mut entries = String::new();
        for (argument, binding) in &self.arguments {
            if given(message, argument).is_some() {
                continue;
            }
            let value = match &binding.fills {
                Fills::Context { from, default } => {
                    asker.told(*from).or_else(|| default.clone()).or_else(|| asker.assumed(*from))
                }
                Fills::Interval { named: interval, part, written } => {
                    let found = named.iter().find(|(name, _)| name == interval);
                    found.and_then(|(_, found)| end((*found)?, *part, &asker.now().zone, *written))
                }
            };
            if let Some(value) = value {
                let comma = if entries.is_empty() { "" } else { "," };
                // Writing into a String does not fail.
                let _ = write!(entries, "{comma}{}:{value}", Quoted(argument));
                filled.names.push(argument.clone());
            }
        }
        self.put(message, held, entries, &mut filled);
        Ok(filled)
    }

    /// Puts what was filled first among the arguments, and takes out what named an interval.
    fn put(&self, message: &Message<'_>, held: Option<Value<'_>>, mut entries: String, filled: &mut Filled) {
        let named = |name: Text<'_>| self.intervals.iter().any(|interval| name.is(interval));
        match held.filter(|held| held.kind() == Type::Object) {
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

fn given<'a>(message: &Message<'a>, argument: &str) -> Option<Value<'a>> {
    message.arguments().find(|(name, _)| name.is(argument)).map(|(_, value)| value)
}

/// The interval that an argument names, if it names one.
fn resolve(message: &Message<'_>, argument: &str, asker: &Asker<'_>) -> Result<Option<Interval>, Unfillable> {
    let Some(value) = given(message, argument).filter(|value| value.kind() != Type::Null) else {
        return Ok(None);
    };
    let wrong = |why| Unfillable { argument: argument.to_owned(), why };
    let text = value.text().and_then(Text::decode).ok_or_else(|| wrong(Why::NotText))?;
    let when = When::parse(&text, asker.tongue()).and_then(|when| when.with_past(asker.caller.past()));
    let when = when.map_err(|why| wrong(Why::Unreadable(why)))?;
    let now = Now::of(asker.now().clone(), asker.caller.context().locale());
    when.resolve(&now).map(Some).map_err(|why| wrong(Why::Unresolvable(why)))
}

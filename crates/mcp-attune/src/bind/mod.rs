//! Arguments of tools that the caller's context fills, for servers that know nothing of it.
//!
//! 1. An argument that the caller left out takes a part of the context: a zone, a date, a country. What the caller gave
//!    stands, `null` included.
//! 2. Where the context does not say, it takes its default; without one, UTC and the server's clock; where these say
//!    nothing, it stays left out.
//! 3. Or it takes an end of an interval that a new argument of the tool names in words, such as `last week`. The new
//!    argument does not go on. One that cannot be read ends the call, with what can be written.
//! 4. Callers are shown a schema made from the server's: new arguments are in it, hidden ones are not, and none is
//!    required that is filled without them.
//! 5. Every byte that no binding names stays as it came, in calls and in listings.
//!
//! Nothing here reads a clock: whoever fills says what time it is.
//!
//! Rules: C9.
//!
//! ```
//! use std::collections::BTreeMap;
//! use mcp_attune::bind::{Binding, Bindings, ArgumentFill, BoundContextPart};
//! use mcp_attune::caller::Caller;
//! use mcp_attune::context::CoordinatePrecision;
//! use mcp_attune_wire::agree::{self, HeaderPolicy};
//! use mcp_attune_wire::message::Message;
//!
//! let tz = Binding { fills: ArgumentFill::Context { from: BoundContextPart::Timezone, default: None }, hide: true };
//! let tools = BTreeMap::from([("get_time".to_owned(), BTreeMap::from([("tz".to_owned(), tz)]))]);
//! let bindings = Bindings::new(tools, CoordinatePrecision::Off);
//!
//! let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_time"},
//!     "clientContext":{"timezone":"Europe/Zurich"}}"#;
//! let agreed = agree::check_without_headers(Message::parse(body)?, &HeaderPolicy::default())?;
//! let caller = Caller::read(&agreed);
//! let filled = bindings.fill(agreed.message(), &caller, jiff::Timestamp::UNIX_EPOCH)?;
//! assert_eq!(
//!     agreed.message().splice(&filled.edits())?,
//!     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"tz":"Europe/Zurich"},"name":"get_time"},
//!     "clientContext":{"timezone":"Europe/Zurich"}}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// A module uses only modules above it. First what an argument becomes,
mod value;

// then a call and a listing,
mod fill;
mod show;

// and whether a server has what the bindings name.
mod check;

use std::collections::BTreeMap;

use crate::context::CoordinatePrecision;

pub use check::{BindingFinding, BindingProblem};
pub use fill::{ArgumentFillError, ArgumentFillReason, FilledArguments};

/// What fills one argument.
///
/// Rules: C9.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// What it is filled with.
    pub fills: ArgumentFill,
    /// Whether it is taken out of the schema that callers see.
    pub hide: bool,
}

/// What an argument is filled with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgumentFill {
    /// A part of the caller's context.
    Context {
        /// The part.
        from: BoundContextPart,
        /// What the argument is where the context does not say, as JSON.
        default: Option<String>,
    },
    /// An end of an interval.
    Interval {
        /// The argument, added to the tool, that names the interval in words.
        named: String,
        /// Which end.
        part: IntervalEdge,
        /// How it is written.
        written: InstantNotation,
    },
}

/// A part of the caller's context.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BoundContextPart {
    /// The name of the time zone: `Europe/Zurich`.
    Timezone,
    /// The offset of the caller's clock: `+01:00`.
    Offset,
    /// The instant.
    Now(InstantNotation),
    /// The locale: `de-CH`.
    Locale,
    /// The language that the caller prefers, alone: `de`.
    Language,
    /// The city.
    City,
    /// The region.
    Region,
    /// The country: `CH`.
    Country,
    /// The latitude.
    Latitude,
    /// The longitude.
    Longitude,
}

/// Which end of an interval.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IntervalEdge {
    /// Its first instant, or day.
    Start,
    /// The first instant, or day, after it.
    After,
    /// The last instant, or day, in it.
    Last,
}

/// How an instant is written. Fractions of a second are left out, but for milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum InstantNotation {
    /// In the caller's zone, with its offset: `2026-11-09T00:00:00+01:00`.
    #[default]
    DateTime,
    /// The day in the caller's zone: `2026-11-09`.
    Date,
    /// In UTC: `2026-11-08T23:00:00Z`.
    Utc,
    /// Seconds since 1970, as a number.
    Unix,
    /// Milliseconds since 1970, as a number.
    UnixMillis,
}

/// The bindings of one server's tools, ready to use. The default is none.
///
/// Rules: C9.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bindings {
    /// In the order of their names.
    tools: Vec<BoundTool>,
    precision: CoordinatePrecision,
}

/// The bindings of one tool.
#[derive(Clone, PartialEq, Eq, Debug)]
struct BoundTool {
    name: String,
    arguments: Vec<(String, Binding)>,
    /// The arguments that are added, each once.
    intervals: Vec<String>,
}

impl Bindings {
    /// Bindings by tool and argument. `precision` says how exact coordinates may be.
    ///
    /// ```
    /// use mcp_attune::bind::Bindings;
    ///
    /// assert!(Bindings::new([].into(), Default::default()).is_empty());
    /// ```
    #[must_use]
    pub fn new(tools: BTreeMap<String, BTreeMap<String, Binding>>, precision: CoordinatePrecision) -> Self {
        let bound = tools.into_iter().filter(|(_, arguments)| !arguments.is_empty());
        Self { tools: bound.map(|(name, arguments)| BoundTool::new(name, arguments)).collect(), precision }
    }

    /// Whether no argument is bound.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether an argument of this tool is bound.
    ///
    /// ```
    /// use mcp_attune::bind::Bindings;
    ///
    /// assert!(!Bindings::default().binds_tool("get_time"));
    /// ```
    #[must_use]
    pub fn binds_tool(&self, tool: &str) -> bool {
        self.tool(tool).is_some()
    }

    fn tool(&self, name: &str) -> Option<&BoundTool> {
        let place = self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()?;
        self.tools.get(place)
    }
}

impl BoundTool {
    fn new(name: String, arguments: BTreeMap<String, Binding>) -> Self {
        let mut intervals: Vec<String> = Vec::new();
        for binding in arguments.values() {
            if let ArgumentFill::Interval { named, .. } = &binding.fills
                && !intervals.contains(named)
            {
                intervals.push(named.clone());
            }
        }
        // What names an interval is written by callers, and filled by nobody.
        let arguments = arguments.into_iter().filter(|(argument, _)| !intervals.contains(argument)).collect();
        Self { name, arguments, intervals }
    }

    /// The arguments that an interval fills.
    fn filled_by<'t>(&'t self, interval: &'t str) -> impl Iterator<Item = &'t (String, Binding)> {
        let by = move |fills: &ArgumentFill| matches!(fills, ArgumentFill::Interval { named, .. } if named == interval);
        self.arguments.iter().filter(move |(_, binding)| by(&binding.fills))
    }
}

impl Binding {
    /// Whether the argument has a value for every caller, whatever their context says.
    fn always_has_value(&self) -> bool {
        match &self.fills {
            ArgumentFill::Context { from, default } => {
                default.is_some()
                    || matches!(
                        from,
                        BoundContextPart::Timezone | BoundContextPart::Offset | BoundContextPart::Now(_)
                    )
            }
            ArgumentFill::Interval { .. } => false,
        }
    }
}

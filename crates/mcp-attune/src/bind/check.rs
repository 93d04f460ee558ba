//! Whether a server has what the bindings name, and takes what they write.

use core::fmt;
use std::borrow::Cow;

use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::Message;

use super::show::listed_tools;
use super::{ArgumentFill, Binding, Bindings, BoundContextPart, BoundTool, InstantNotation};
use crate::suggestion::{nearest, quote_name};

/// Something in the bindings that does not fit the server.
///
/// Rules: C9.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BindingFinding {
    /// The tool, as the bindings name it.
    pub tool: String,
    /// The argument, as the bindings name it; empty for the tool as a whole.
    pub argument: String,
    /// What is wrong.
    pub wrong: BindingProblem,
}

/// What can be wrong with a binding.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BindingProblem {
    /// The server lists no such tool; it may be this one that was meant.
    NoTool(Option<String>),
    /// The tool has no such argument.
    NoArgument {
        /// It may be this one that was meant.
        meant: Option<String>,
        /// The first few that it has.
        has: Vec<String>,
    },
    /// The argument takes other types than what is written.
    Type {
        /// The type of what is written.
        writes: &'static str,
        /// The types that are taken.
        takes: String,
    },
    /// The argument takes another format than what is written.
    Format {
        /// The format of what is written.
        writes: &'static str,
        /// The format that is taken.
        takes: String,
    },
    /// The default has a type that the argument does not take.
    Default {
        /// The types that are taken.
        takes: String,
    },
    /// The argument is to be added and is there already.
    Taken,
    /// The server wants the argument, callers do not see it, and not every context has a value for it.
    MayLack,
}

impl BindingFinding {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        let Self { tool, argument, wrong } = self;
        match wrong {
            BindingProblem::NoTool(_) => format!("the server lists no tool `{tool}`"),
            BindingProblem::NoArgument { .. } => format!("the tool has no argument `{argument}`"),
            BindingProblem::Type { writes, takes } => {
                format!("a {writes} is written, and the argument takes {takes}")
            }
            BindingProblem::Format { writes, takes } => {
                format!("a {writes} is written, and the argument takes a {takes}")
            }
            BindingProblem::Default { takes } => {
                format!("the default is none of what the argument takes, {takes}")
            }
            BindingProblem::Taken => "the tool has this argument itself".to_owned(),
            BindingProblem::MayLack => {
                "the server wants the argument, callers do not see it, and not every caller says it"
                    .to_owned()
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match &self.wrong {
            BindingProblem::NoTool(Some(meant)) | BindingProblem::NoArgument { meant: Some(meant), .. } => {
                format!("did you mean `{meant}`?")
            }
            BindingProblem::NoTool(None) => "take the binding out, or see what `tools/list` says".to_owned(),
            BindingProblem::NoArgument { meant: None, has } if has.is_empty() => {
                "take the binding out".to_owned()
            }
            BindingProblem::NoArgument { meant: None, has } => {
                let has: Vec<_> = has.iter().map(|name| format!("`{name}`")).collect();
                format!("it has {}", has.join(", "))
            }
            BindingProblem::Type { writes, takes } if *writes == "string" && takes.contains("integer") => {
                "with `as = \"unix\"` an instant is one".to_owned()
            }
            BindingProblem::Format { writes, takes }
                if *writes != "text" && matches!(takes.as_str(), "date" | "date-time") =>
            {
                format!("set `as = \"{takes}\"`")
            }
            BindingProblem::Type { .. } | BindingProblem::Format { .. } => {
                "bind it to something else".to_owned()
            }
            BindingProblem::Default { .. } => "write another".to_owned(),
            BindingProblem::Taken => "name the interval differently".to_owned(),
            BindingProblem::MayLack => "give it a `default`".to_owned(),
        }
    }
}

/// Says what is wrong, where, and what to do.
impl fmt::Display for BindingFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, argument, .. } = self;
        let dot = if argument.is_empty() { "" } else { "." };
        write!(f, "tools.{tool}.context{dot}{argument}: {}; {}", self.what(), self.hint())
    }
}

impl Bindings {
    /// What in the bindings does not fit a server, by the answers to its `tools/list`. `whole` says whether these are
    /// all of its tools: only then is one that is not among them missing.
    ///
    /// Rules: C9.
    ///
    /// ```
    /// use mcp_attune::bind::Bindings;
    /// use mcp_attune_wire::message::Message;
    ///
    /// let answer = Message::parse(br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#)?;
    /// assert!(Bindings::default().check(&[answer], true).is_empty());
    /// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
    /// ```
    #[must_use]
    pub fn check(&self, answers: &[Message<'_>], whole: bool) -> Vec<BindingFinding> {
        let tools: Vec<_> = answers.iter().flat_map(listed_tools).collect();
        let name = |tool: SpannedValue<'_>| tool.member("name")?.text()?.decode().map(Cow::into_owned);
        let names: Vec<String> = tools.iter().filter_map(|tool| name(*tool)).collect();
        let mut findings = Vec::new();
        for bound in &self.tools {
            let called = |tool: &&SpannedValue<'_>| {
                tool.member("name").and_then(SpannedValue::text).is_some_and(|name| name.is(&bound.name))
            };
            match tools.iter().find(called) {
                Some(tool) => bound.check(*tool, &mut findings),
                None if whole => {
                    let wrong =
                        BindingProblem::NoTool(nearest(&bound.name, names.iter().map(String::as_str)));
                    findings.push(BindingFinding {
                        tool: bound.name.clone(),
                        argument: String::new(),
                        wrong,
                    });
                }
                None => {}
            }
        }
        findings
    }
}

impl BoundTool {
    fn binds_argument(&self, argument: &str) -> bool {
        self.arguments.iter().any(|(bound, _)| bound == argument)
    }

    fn check(&self, tool: SpannedValue<'_>, findings: &mut Vec<BindingFinding>) {
        let schema = tool.member("inputSchema");
        let properties = schema.and_then(|schema| schema.member("properties"));
        let names: Vec<_> = properties
            .into_iter()
            .flat_map(SpannedValue::members)
            .filter_map(|(name, _)| name.decode())
            .collect();
        let required = |argument: &str| {
            let required = schema.and_then(|schema| schema.member("required"));
            let mut names =
                required.into_iter().flat_map(SpannedValue::elements).filter_map(SpannedValue::text);
            names.any(|name| name.is(argument))
        };
        let mut found = |argument: &str, wrong: BindingProblem| {
            findings.push(BindingFinding { tool: self.name.clone(), argument: argument.to_owned(), wrong });
        };
        for interval in &self.intervals {
            if names.iter().any(|name| name == interval) {
                found(interval, BindingProblem::Taken);
            }
        }
        for (argument, binding) in &self.arguments {
            match properties.and_then(|properties| properties.member(argument)) {
                Some(property) => {
                    if let Some(wrong) = find_misfit(binding, property) {
                        found(argument, wrong);
                    }
                }
                None => {
                    let others = names.iter().map(|name| &**name).filter(|name| !self.binds_argument(name));
                    let has = others.clone().take(MAX_ARGUMENT_NAMES).map(quote_name).collect();
                    found(argument, BindingProblem::NoArgument { meant: nearest(argument, others), has });
                }
            }
            let by_context = matches!(binding.fills, ArgumentFill::Context { .. });
            if by_context && binding.hide && !binding.always_has_value() && required(argument) {
                found(argument, BindingProblem::MayLack);
            }
        }
    }
}

/// What a binding writes: its type, and its format where it is a time.
fn written_type(fills: &ArgumentFill) -> (&'static str, &'static str) {
    let time = |written: &InstantNotation| match written {
        InstantNotation::DateTime | InstantNotation::Utc => ("string", "date-time"),
        InstantNotation::Date => ("string", "date"),
        InstantNotation::Unix | InstantNotation::UnixMillis => ("integer", ""),
    };
    match fills {
        ArgumentFill::Context { from: BoundContextPart::Now(written), .. }
        | ArgumentFill::Interval { written, .. } => time(written),
        ArgumentFill::Context { from: BoundContextPart::Latitude | BoundContextPart::Longitude, .. } => {
            ("number", "")
        }
        ArgumentFill::Context { .. } => ("string", "text"),
    }
}

/// What is wrong with writing this into an argument with that schema.
fn find_misfit(binding: &Binding, property: SpannedValue<'_>) -> Option<BindingProblem> {
    let (kind, format) = written_type(&binding.fills);
    let taken = accepted_types(property);
    let takes =
        |kind: &str| taken.iter().any(|taken| taken == kind || (kind == "integer" && taken == "number"));
    if !taken.is_empty() && !takes(kind) {
        return Some(BindingProblem::Type { writes: kind, takes: taken.join(" or ") });
    }
    if let ArgumentFill::Context { default: Some(default), .. } = &binding.fills
        && !taken.is_empty()
        && !takes(json_type(default))
    {
        return Some(BindingProblem::Default { takes: taken.join(" or ") });
    }
    let formats = alternatives(property).filter_map(|one| one.member("format")?.text()?.decode());
    let times: Vec<_> = formats.filter(|format| matches!(&**format, "date" | "date-time" | "time")).collect();
    match times.first() {
        Some(takes) if kind == "string" && !times.iter().any(|time| time == format) => {
            Some(BindingProblem::Format { writes: format, takes: takes.clone().into_owned() })
        }
        _ => None,
    }
}

/// The type of a JSON value, as schemas call it.
fn json_type(json: &str) -> &'static str {
    match json.as_bytes().first() {
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(_) if json.contains(['.', 'e', 'E']) => "number",
        _ => "integer",
    }
}

/// A schema, and those of which one has to hold.
fn alternatives<'a>(schema: SpannedValue<'a>) -> impl Iterator<Item = SpannedValue<'a>> {
    let branches = ["anyOf", "oneOf"].into_iter().filter_map(move |keyword| schema.member(keyword));
    core::iter::once(schema).chain(branches.flat_map(SpannedValue::elements))
}

/// The types that a schema takes; none where it does not say.
fn accepted_types(schema: SpannedValue<'_>) -> Vec<String> {
    let mut types = Vec::new();
    for one in alternatives(schema) {
        let Some(kind) = one.member("type") else { continue };
        let names =
            core::iter::once(kind).filter(|kind| kind.kind() == JsonKind::String).chain(kind.elements());
        types
            .extend(names.filter_map(SpannedValue::text).filter_map(JsonString::decode).map(Cow::into_owned));
    }
    types.retain(|name| name != "null");
    types
}

/// How many names are told.
const MAX_ARGUMENT_NAMES: usize = 8;

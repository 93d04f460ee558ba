//! What is wrong with a template, and why one could not be rendered.

use core::fmt;

use minijinja::{Error, ErrorKind};

use mcp_attune::catalog::line_and_column;
use mcp_attune::suggestion::quote_name;
use mcp_attune_wire::text::blank_if_deceptive;

/// Why a text is no template.
///
/// ```
/// use mcp_attune_shape::template::Template;
///
/// let wrong = Template::compile("md", "Now\n{{ temperature_c | numbr }}").unwrap_err();
/// assert_eq!((wrong.line, wrong.column), (2, 20));
/// assert_eq!(wrong.to_string(), "there is no filter `numbr`");
/// assert_eq!(wrong.hint(), "did you mean `number`?");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TemplateCompileError {
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub fault: TemplateCompileReason,
}

/// What can be wrong with a template.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateCompileReason {
    /// The name of the file says not what it is for.
    Name(super::name::TemplateNameError),
    /// More bytes than a template may have.
    TooLong,
    /// It cannot be read; what is expected instead, as the reader of templates says it.
    Syntax(String),
    /// A statement that would need another file.
    OtherFile(String),
    /// A slice with a step, `x[::-1]`: minijinja panics at some of them.
    Step,
    /// A filter that there is not.
    NoFilter {
        /// As it is written.
        name: String,
        /// It may be this one that was meant.
        meant: Option<String>,
    },
    /// A test that there is not: `x is colourful`.
    NoTest {
        /// As it is written.
        name: String,
        /// It may be this one that was meant.
        meant: Option<String>,
    },
    /// A function that there is not.
    NoFunction {
        /// As it is written.
        name: String,
        /// It may be this one that was meant.
        meant: Option<String>,
    },
}

impl TemplateCompileError {
    pub(super) fn at(source: &str, offset: usize, fault: TemplateCompileReason) -> Self {
        let (line, column) = line_and_column(source.as_bytes(), offset);
        Self { line, column, fault }
    }

    /// What minijinja found wrong with a source.
    pub(super) fn from_syntax_error(source: &str, error: &Error) -> Self {
        let (line, column) = match error.range() {
            Some(range) => line_and_column(source.as_bytes(), range.start),
            None => (error.line().unwrap_or(1), 1),
        };
        let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        Self { line, column, fault: TemplateCompileReason::Syntax(quoted(&detail, 200)) }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        let meant = |meant: &Option<String>, other: &str| match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => other.to_owned(),
        };
        match &self.fault {
            TemplateCompileReason::Name(misnamed) => misnamed.hint(),
            TemplateCompileReason::TooLong => "write at most 256 KiB".to_owned(),
            TemplateCompileReason::Syntax(_) => {
                "close what is open, and write braces that are text as {{ \"{{\" }}".to_owned()
            }
            TemplateCompileReason::OtherFile(_) => {
                "write what is needed into this file; a template stands alone".to_owned()
            }
            TemplateCompileReason::Step => "use `| reverse`, or leave the step out".to_owned(),
            TemplateCompileReason::NoFilter { meant: name, .. } => {
                meant(name, "the filters are in docs/templates.md")
            }
            TemplateCompileReason::NoTest { meant: name, .. } => {
                meant(name, "write a comparison, such as `== 1`")
            }
            TemplateCompileReason::NoFunction { meant: name, .. } => {
                meant(name, "write a filter, such as `| number`, or a macro of your own")
            }
        }
    }
}

/// Says what is wrong; where is in the fields.
impl fmt::Display for TemplateCompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            TemplateCompileReason::Name(misnamed) => misnamed.fmt(f),
            TemplateCompileReason::TooLong => f.write_str("too long for a template"),
            TemplateCompileReason::Syntax(detail) => write!(f, "this is no template: {detail}"),
            TemplateCompileReason::OtherFile(name) => write!(f, "`{}` needs another file", quote_name(name)),
            TemplateCompileReason::Step => f.write_str("a slice has no step here"),
            TemplateCompileReason::NoFilter { name, .. } => {
                write!(f, "there is no filter `{}`", quote_name(name))
            }
            TemplateCompileReason::NoTest { name, .. } => {
                write!(f, "there is no test `{}`", quote_name(name))
            }
            TemplateCompileReason::NoFunction { name, .. } => {
                write!(f, "there is no function `{}`", quote_name(name))
            }
        }
    }
}

impl core::error::Error for TemplateCompileError {}

/// Why a template gave no text for one caller. Nothing of the data is in it: it may be logged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TemplateRenderError {
    /// The line of the template, counted from 1; none where it is about the whole.
    pub line: Option<usize>,
    /// What happened.
    pub what: TemplateRenderReason,
}

/// What can happen while a template is rendered.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateRenderReason {
    /// More data than a template is given.
    TooMuchData,
    /// More steps than a template may take.
    TooManySteps,
    /// More text than a template may give.
    TooLong,
    /// More macros and loops inside each other than a template may have.
    TooDeep,
    /// Something has no value: the expression, as the template has it.
    NoValue(String),
    /// A filter got what it cannot work with.
    Filter {
        /// Which.
        name: &'static str,
        /// What it said, without the value.
        what: String,
    },
    /// The text of a `.json` template is no JSON object or array.
    NoJson,
    /// An operation that these values do not have: the expression, as the template has it.
    Impossible(String),
}

impl fmt::Display for TemplateRenderReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMuchData => f.write_str("too much data for a template; let the server give less"),
            Self::TooManySteps => f.write_str("too many steps; loop over less"),
            Self::TooLong => f.write_str("too much text; print less"),
            Self::TooDeep => f.write_str("too many macros or loops inside each other"),
            Self::NoValue(name) if name.is_empty() => f.write_str("something has no value; ask with `if`"),
            Self::NoValue(name) => {
                write!(f, "`{name}` has no value; ask for it with `if`, or give a `default`")
            }
            Self::Filter { name, what } => write!(f, "`{name}` {what}"),
            Self::NoJson => f.write_str("what it gives is no JSON; write values without quotes around them"),
            Self::Impossible(name) if name.is_empty() => {
                f.write_str("an operation that these values do not have")
            }
            Self::Impossible(name) => write!(f, "`{name}` cannot be done with these values"),
        }
    }
}

impl fmt::Display for TemplateRenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.what.fmt(f)
    }
}

impl core::error::Error for TemplateRenderError {}

impl TemplateRenderError {
    /// What became of a rendering. Of minijinja's own words none are taken: they may quote values.
    pub(super) fn from_minijinja(source: &str, error: &Error) -> Self {
        let written = || {
            let text = error.range().and_then(|range| source.get(name_start(source, range.start)..range.end));
            quoted(text.unwrap_or_default().trim(), 64)
        };
        let told =
            core::error::Error::source(error).and_then(|source| source.downcast_ref::<RenderReasonError>());
        let what = match error.kind() {
            _ if told.is_some() => match told.map_or(TemplateRenderReason::TooLong, |told| told.0.clone()) {
                // A filter knows what it was given, and not what that is called.
                TemplateRenderReason::Filter { name, what } if what.ends_with(NO_VALUE) => {
                    match filtered_expression(source, error) {
                        Some(to) => TemplateRenderReason::Filter {
                            name,
                            what: format!("{what}: `{}`", quoted(to, 64)),
                        },
                        None => TemplateRenderReason::Filter { name, what },
                    }
                }
                what => what,
            },
            ErrorKind::OutOfFuel => TemplateRenderReason::TooManySteps,
            ErrorKind::WriteFailure => TemplateRenderReason::TooLong,
            ErrorKind::UndefinedError => TemplateRenderReason::NoValue(written()),
            ErrorKind::InvalidOperation if error.detail() == Some("recursion limit exceeded") => {
                TemplateRenderReason::TooDeep
            }
            _ => TemplateRenderReason::Impossible(written()),
        };
        Self { line: error.line(), what }
    }
}

/// Where a name begins that is pointed at in its middle: of `day.high` minijinja may point at `.high`.
fn name_start(source: &str, at: usize) -> usize {
    let (Some(before), Some(rest)) = (source.get(..at), source.get(at..)) else { return at };
    if !rest.starts_with(['.', '[']) {
        return at;
    }
    let of_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '.' | '[' | ']');
    before.trim_end_matches(of_name).len()
}

/// How a filter says that it was given nothing.
pub(super) const NO_VALUE: &str = "this has no value";

/// The part of a tag up to the filter that failed: `typo | number` of `{{ typo | number }}`.
fn filtered_expression<'s>(source: &'s str, error: &Error) -> Option<&'s str> {
    let until = source.get(..error.range()?.end)?;
    let from = ["{{", "{%"].into_iter().filter_map(|open| until.rfind(open)).max()?;
    Some(until.get(from + 2..)?.trim_start_matches(['-', '+']).trim())
}

/// Carries what happened through minijinja.
#[derive(Debug)]
struct RenderReasonError(TemplateRenderReason);

impl fmt::Display for RenderReasonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for RenderReasonError {}

/// An error of our own.
pub(super) fn render_error(what: TemplateRenderReason) -> Error {
    Error::new(ErrorKind::InvalidOperation, "see its source").with_source(RenderReasonError(what))
}

/// A part of the template, or words about it, as they may be told.
fn quoted(text: &str, most: usize) -> String {
    text.chars().take(most).map(blank_if_deceptive).collect()
}

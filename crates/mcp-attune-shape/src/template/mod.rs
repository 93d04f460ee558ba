//! What operators write for tools, resources and prompts: templates, the choice among them, and hints.
//!
//! Templates are Jinja, in files beside each other: `get_weather.md`, `get_weather.compact.md`,
//! `get_weather.txt`. They are rendered with minijinja, in an environment that has no loader, a fixed set of
//! filters, and bounds on everything.
//!
//! 1. The end of a file's name says what the template is written in: `md` for Markdown, `txt` for plain text,
//!    `json` for another shape of the structured content. The parts before it say for whom it is: `compact`,
//!    `standard` or `verbose`, and tags as callers say them, `agent`, `!interactive`, `x-acme-tier=gold`. All
//!    of them must hold ([`TemplateVariant`]); of the templates that fit, the one that asks most is used
//!    ([`TemplateSet`]).
//! 2. A template sees the result and its caller ([`TemplateContext`]), and writes numbers, dates, money and
//!    lists as the caller does.
//! 3. What comes from a server is text, and never a template or markup: in `.md` values are escaped for
//!    Markdown, in `.txt` control characters in them are replaced, and in `.json` values are written as JSON;
//!    `| raw` lets one through as it is. A `.json` template must give an object or an array, else it failed.
//! 4. What has no value can be asked for with `if`, and not be printed: a typing error is an error. Most are
//!    found when the template is read, by the tool's `outputSchema` ([`Template::check`]).
//! 5. A rendering is bounded: [`MAX_DATA`] bytes in, half a million steps, [`MAX_OUTPUT`] bytes out, and so
//!    many loops and macros inside each other. One step may go through a whole list, as `x in list` does.
//!    There is no way to other files, and no state from one rendering to the next. Where it fails,
//!    [`TemplateRenderError`] says why without saying what the data was; the answer is then written without
//!    the template.
//!
//! Rules: F6, F7, F8, F10, F11.

// A file's name, and what stands in the file;
mod lex;
mod name;

mod error;

// values on their way in and out,
mod data;

mod context;

mod print;

// what can be done with them,
mod filters;

mod environment;
mod vet;

// and templates: one, what a schema says of it, several, and a line each.
mod compiled;

mod check;
mod choice;
mod hints;

pub use check::{TemplateNameFinding, TemplateNameSource};
pub use choice::TemplateSet;
pub use compiled::Template;
pub use context::TemplateContext;
pub use error::{TemplateCompileError, TemplateCompileReason, TemplateRenderError, TemplateRenderReason};
pub use hints::ToolHints;
pub use name::{TemplateNameError, TemplateVariant, template_endings};

/// How many bytes the source of a template may have. A longer one does not compile.
pub const MAX_SOURCE: usize = 256 << 10;

/// How many bytes of JSON a template is given, the data and the arguments together. Ready for use they may
/// take thirty times as much memory. With more data a rendering fails before it begins.
pub const MAX_DATA: usize = 2 << 20;

/// How many bytes a rendering may give. A rendering that gives more fails; its text is not cut off.
pub const MAX_OUTPUT: usize = 4 << 20;

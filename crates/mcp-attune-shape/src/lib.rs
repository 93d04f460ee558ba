//! Shapes the answers of an MCP server for whoever reads them: data for agents, text for people.
//!
//! Callers declare feature tags such as `format=json`, `human` or `verbosity=compact`. This crate is the
//! implementation of the seam [`mcp_attune::shaping`]: [`OperatorContent`] is the `Shaper` that holds what an
//! operator wrote for one server, and [`ShapePlan`] is the `AnswerShape` that it makes for one request. A
//! plan is made before the request is forwarded, and contributes byte edits to each message of the answer
//! afterwards; it never writes a message as a whole. Everything here is synchronous and deterministic,
//! without I/O and without a clock of its own.
//!
//! 1. Without a tag that asks for something, an answer is what the server wrote, byte for byte.
//! 2. `format=json`: the data once, as structured content, and no text beside it. `format=markdown`,
//!    `format=text`: the same data as text for people, from the operator's template where there is one, else
//!    from what the schema says of it.
//! 3. The data is the structured content; where there is none, the one text block that is JSON. Text that is
//!    no data stays.
//! 4. What is no text stays, whatever the tags: links, images, audio, embedded resources, `isError`, `_meta`,
//!    and every member that nobody knows. A result that is an error, or that asks the caller for more, is not
//!    shaped at all.
//! 5. Structured content is always valid against the `outputSchema` that the caller was shown. A caller that
//!    gets no structured content is shown no schema. Where the caller's host draws a view from the
//!    structured content, it stays beside the text, and so does its schema.
//! 6. What arrives through a task is shaped as what arrives at once. Where it is not known which tool the
//!    task is of, there is no template and no schema for it.
//! 7. A template that fails costs nobody an answer: the data is written as if there were none, and the
//!    failure is reported.
//! 8. What is left out is counted, and what was shaped for one caller is marked as private, so that no shared
//!    cache keeps it.
//!
//! Rules: F4–F14, G3.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

// What is known of the data,
mod cost;

mod compiled_schema;

// how it is written where the operator wrote nothing,
pub mod render;

// and documents in another form; how each format is written,
mod document;
mod format_writer;

// what operators wrote,
pub mod template;

mod content;

// what is decided for one answer,
mod shape;

// what becomes of each kind of answer,
mod view;
mod editor;
mod call;
mod effect;
mod listing;
mod prompt;
mod resource;
mod server;
mod task;

// and one message of it.
mod adapt;

pub use adapt::ShapedMessage;
pub use compiled_schema::{CompiledSchema, DataViolation, Subschema};
pub use content::{EmbeddedTemplate, OperatorContent, TemplateSubject, ToolShaping};
pub use effect::effect_on_tool;
pub use shape::{ResultSchema, ShapePlan};

//! One tool, the right answer for agents and for people.
//!
//! 1. Without a tag that asks for something, an answer is what the server wrote, byte for byte.
//! 2. `format=json`: the data once, as structured content, and no text beside it. `format=markdown`, `format=text`: the same
//!    data as text for people, from the operator's template where there is one, else from what the schema says of it.
//! 3. The data is the structured content; where there is none, the one text block that is JSON. Text that is no data stays.
//! 4. What is no text stays, whatever the tags: links, images, audio, embedded resources, `isError`, `_meta`, and every
//!    member that nobody knows. A result that is an error, or that asks the caller for more, is not shaped at all.
//! 5. Structured content is always valid against the schema that the caller was shown. Who gets none is shown no schema.
//!    Where a view is drawn from it, it stays beside the text, and so does its schema.
//! 6. What arrives through a task is shaped as what arrives at once. Where it is not known which tool the task is of,
//!    there is no template and no schema for it.
//! 7. A template that fails costs nobody an answer: the data is written as if there were none, and the failure is told.
//! 8. What is left out is counted, and what was shaped for one caller is no longer for everybody's cache.
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

// what they wrote, and documents in another form,
pub mod template;

mod content;
mod document;

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

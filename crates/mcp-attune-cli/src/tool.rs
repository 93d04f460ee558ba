//! A tool of a server that is asked.

use mcp_attune_shape::{Output, Schema};
use mcp_attune_wire::json::{Text, Type, Value};

/// A tool, as far as it is needed to call it and to judge its results.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) read_only: bool,
    /// What it takes.
    pub(crate) input: Option<Output>,
    /// What it gives; unknown where it says so in a way that cannot be used.
    pub(crate) output: Schema,
}

impl Tool {
    pub(crate) fn read(tool: Value<'_>) -> Option<Self> {
        let read = |schema: Value<'_>| Output::read(schema.raw());
        let output = tool.member("outputSchema").filter(|schema| schema.kind() != Type::Null);
        let hint = tool.member("annotations").and_then(|notes| notes.member("readOnlyHint"));
        Some(Self {
            name: tool.member("name").and_then(Value::text).and_then(Text::decode)?.into_owned(),
            read_only: hint.is_some_and(|hint| hint.raw() == "true"),
            input: tool.member("inputSchema").and_then(read),
            output: output.map_or(Schema::None, |schema| {
                read(schema).map_or(Schema::Unknown, |output| Schema::Known(output.into()))
            }),
        })
    }
}

//! A tool of a server that is asked.

use mcp_attune_shape::{CompiledSchema, ResultSchema};
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

/// A tool, as far as it is needed to call it and to judge its results.
#[derive(Debug)]
pub(crate) struct CallableTool {
    pub(crate) name: String,
    pub(crate) read_only: bool,
    /// What it takes.
    pub(crate) input: Option<CompiledSchema>,
    /// What it gives; unknown where it says so in a way that cannot be used.
    pub(crate) output: ResultSchema,
}

impl CallableTool {
    pub(crate) fn read(tool: SpannedValue<'_>) -> Option<Self> {
        let read = |schema: SpannedValue<'_>| CompiledSchema::read(schema.raw());
        let output = tool.member("outputSchema").filter(|schema| schema.kind() != JsonKind::Null);
        let hint = tool.member("annotations").and_then(|notes| notes.member("readOnlyHint"));
        Some(Self {
            name: tool.member("name").and_then(SpannedValue::text).and_then(JsonString::decode)?.into_owned(),
            read_only: hint.is_some_and(|hint| hint.raw() == "true"),
            input: tool.member("inputSchema").and_then(read),
            output: output.map_or(ResultSchema::None, |schema| {
                read(schema).map_or(ResultSchema::Unknown, |output| ResultSchema::Known(output.into()))
            }),
        })
    }
}

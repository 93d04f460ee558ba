//! Which tools are called, and with what: read-only ones with what their schemas give, others only by name.

use mcp_attune_shape::{CompiledSchema, Subschema};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::exit::hinted;
use crate::text::quoted;
use crate::tool::CallableTool;

/// How deep arguments are made up.
const MAX_ARGUMENT_DEPTH: usize = 4;
/// How many missing arguments are named.
const MAX_NAMED_ARGUMENTS: usize = 8;

/// A tool that the user names: `NAME`, or `NAME={…}` with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolCallOption {
    name: String,
    arguments: Option<Map<String, Value>>,
}

impl ToolCallOption {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let Some((name, arguments)) = text.split_once('=') else {
            return Ok(Self { name: text.to_owned(), arguments: None });
        };
        match serde_json::from_str(arguments) {
            Ok(Value::Object(arguments)) => Ok(Self { name: name.to_owned(), arguments: Some(arguments) }),
            _ => {
                let hint = format!("write --call '{}={{\"name\": \"value\"}}'", quoted(name));
                Err(hinted("--call: the arguments are no JSON object", hint))
            }
        }
    }
}

/// A call that is to be made.
#[derive(Debug)]
pub(crate) struct PlannedCall<'t> {
    pub(crate) tool: &'t CallableTool,
    pub(crate) arguments: Map<String, Value>,
}

/// A tool that is not called.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub(crate) struct SkippedTool {
    pub(crate) tool: String,
    pub(crate) why: String,
    /// What to add to the command.
    pub(crate) add: String,
}

/// What is called and what is not: first what is read-only, in the order of the tools, then what the user names, in the
/// order in which they do, because one call may prepare another.
pub(crate) fn plan_calls<'t>(
    tools: &'t [CallableTool],
    named: &[ToolCallOption],
) -> anyhow::Result<(Vec<PlannedCall<'t>>, Vec<SkippedTool>)> {
    let (mut calls, mut left) = (Vec::new(), Vec::new());
    let mut add = |tool: &'t CallableTool, given: Option<&Map<String, Value>>| match given
        .map_or_else(|| arguments_from_schema(tool), |given| Ok(given.clone()))
    {
        Ok(arguments) => calls.push(PlannedCall { tool, arguments }),
        Err(missing) => left.push(skipped_for_missing(tool, &missing)),
    };
    let is_named = |tool: &&CallableTool| named.iter().any(|named| named.name == tool.name);
    let others = || tools.iter().filter(|tool| !is_named(tool));
    for tool in others().filter(|tool| tool.read_only) {
        add(tool, None);
    }
    for ToolCallOption { name, arguments } in named {
        let tool =
            tools.iter().find(|tool| tool.name == *name).ok_or_else(|| unknown_tool_error(tools, name))?;
        add(tool, arguments.as_ref());
    }
    left.extend(others().filter(|tool| !tool.read_only).map(|tool| {
        let why = "it is not marked as read-only".to_owned();
        SkippedTool { tool: tool.name.clone(), why, add: format!("--call '{}'", quoted(&tool.name)) }
    }));
    Ok((calls, left))
}

/// The calls that the user names, and no others.
pub(crate) fn plan_named_calls<'t>(
    tools: &'t [CallableTool],
    named: &[ToolCallOption],
) -> anyhow::Result<Vec<PlannedCall<'t>>> {
    let call = |ToolCallOption { name, arguments }: &ToolCallOption| {
        let tool =
            tools.iter().find(|tool| tool.name == *name).ok_or_else(|| unknown_tool_error(tools, name))?;
        let made = arguments.clone().map_or_else(|| arguments_from_schema(tool), Ok);
        let arguments = made.map_err(|missing| {
            let SkippedTool { why, add, .. } = skipped_for_missing(tool, &missing);
            hinted(format!("`{}` cannot be called: {why}", quoted(name)), format!("write {add}"))
        })?;
        Ok(PlannedCall { tool, arguments })
    };
    named.iter().map(call).collect()
}

fn unknown_tool_error(tools: &[CallableTool], name: &str) -> anyhow::Error {
    let names: Vec<_> = tools.iter().take(20).map(|tool| quoted(&tool.name)).collect();
    hinted(format!("the server has no tool `{}`", quoted(name)), format!("it has {}", names.join(", ")))
}

/// A tool with arguments that only the user can know.
fn skipped_for_missing(tool: &CallableTool, missing: &[String]) -> SkippedTool {
    let name = quoted(&tool.name);
    let missing: Vec<_> = missing.iter().take(MAX_NAMED_ARGUMENTS).map(|name| quoted(name)).collect();
    let why = format!("it needs `{}`, for which its schema has no value", missing.join("` and `"));
    let members: Vec<_> = missing.iter().map(|name| format!("\"{name}\": …")).collect();
    let add = format!("--call '{name}={{{}}}'", members.join(", "));
    SkippedTool { tool: tool.name.clone(), why, add }
}

/// Arguments from the schema, or the names of those that it has no value for.
fn arguments_from_schema(tool: &CallableTool) -> Result<Map<String, Value>, Vec<String>> {
    let Some(schema) = tool.input.as_ref().map(CompiledSchema::root) else { return Ok(Map::new()) };
    match schema_value(schema) {
        Some(Value::Object(whole)) => Ok(whole.clone()),
        _ => required_members(schema, MAX_ARGUMENT_DEPTH),
    }
}

/// All that must be there.
fn required_members(schema: Subschema<'_>, depth: usize) -> Result<Map<String, Value>, Vec<String>> {
    let required = schema.keyword("required").and_then(Value::as_array).into_iter().flatten();
    let (mut made, mut missing) = (Map::new(), Vec::new());
    for name in required.filter_map(Value::as_str) {
        match schema.property(name).and_then(|part| value(part, depth.checked_sub(1)?)) {
            Some(value) => drop(made.insert(name.to_owned(), value)),
            None => missing.push(name.to_owned()),
        }
    }
    if missing.is_empty() { Ok(made) } else { Err(missing) }
}

/// A value that the schema itself gives.
fn value(part: Subschema<'_>, depth: usize) -> Option<Value> {
    let nested = || {
        let is_object = part.keyword_text("type") == Some("object") && part.keyword("required").is_some();
        is_object.then(|| required_members(part, depth).ok()).flatten().map(Value::Object)
    };
    schema_value(part).cloned().or_else(nested)
}

fn schema_value(part: Subschema<'_>) -> Option<&Value> {
    let first = |keyword| part.keyword(keyword)?.as_array()?.first();
    part.keyword("const")
        .or_else(|| part.keyword("default"))
        .or_else(|| first("examples"))
        .or_else(|| first("enum"))
}

#[cfg(test)]
mod tests {
    use mcp_attune_shape::ResultSchema;
    use serde_json::json;

    use super::*;

    fn tool(name: &str, read_only: bool, input: &Value) -> CallableTool {
        CallableTool {
            name: name.to_owned(),
            read_only,
            input: CompiledSchema::read(&input.to_string()),
            output: ResultSchema::None,
        }
    }

    #[test]
    fn arguments_are_what_the_schema_gives() {
        let check = |input: Value, expected: Result<Value, &str>| {
            let made = arguments_from_schema(&tool("t", true, &input)).map(Value::Object);
            assert_eq!(made, expected.map_err(|name| vec![name.to_owned()]), "{input}");
        };
        check(json!({}), Ok(json!({})));
        check(json!({ "properties": { "a": { "default": 1 } } }), Ok(json!({})));
        check(json!({ "examples": [{ "a": 1 }], "required": ["a"] }), Ok(json!({ "a": 1 })));
        let properties = json!({
            "const": { "const": null, "default": 1 },
            "default": { "default": false, "enum": [true] },
            "examples": { "examples": ["x", "y"], "enum": ["y"] },
            "enum": { "enum": ["y"] },
            "ref": { "$ref": "#/$defs/d" },
            "nested": { "type": "object", "required": ["a"], "properties": { "a": { "default": 2 } } },
            "none": { "type": "string" },
        });
        let check = |name: &str, expected: Option<Value>| {
            let input =
                json!({ "required": [name], "properties": properties, "$defs": { "d": { "default": 3 } } });
            check(input, expected.map(|value| json!({ name: value })).ok_or(name));
        };
        check("const", Some(Value::Null));
        check("default", Some(json!(false)));
        check("examples", Some(json!("x")));
        check("enum", Some(json!("y")));
        check("ref", Some(json!(3)));
        check("nested", Some(json!({ "a": 2 })));
        check("none", None);
        check("unknown", None);
    }

    #[test]
    fn a_schema_that_holds_itself_comes_to_an_end() {
        let input = json!({ "type": "object", "required": ["a"], "properties": { "a": { "$ref": "#" } } });
        assert_eq!(arguments_from_schema(&tool("t", true, &input)), Err(vec!["a".to_owned()]));
    }

    #[test]
    fn what_is_not_read_only_is_called_by_name_only() {
        let needs = json!({ "required": ["a", "b"] });
        let tools =
            [tool("look", true, &json!({})), tool("write", false, &json!({})), tool("find", true, &needs)];
        let chosen = |named: &[&str]| {
            let named: Vec<_> = named.iter().map(|named| ToolCallOption::read(named).unwrap()).collect();
            let (calls, left) = plan_calls(&tools, &named).unwrap();
            let calls: Vec<_> =
                calls.iter().map(|it| format!("{} {}", it.tool.name, json!(it.arguments))).collect();
            (calls.join(", "), left.into_iter().map(|left| left.add).collect::<Vec<_>>().join(" "))
        };
        let (look, find) = ("look {}".to_owned(), r#"--call 'find={"a": …, "b": …}'"#);
        assert_eq!(chosen(&[]), (look.clone(), format!("{find} --call 'write'")));
        assert_eq!(
            chosen(&["write", r#"write={"b":1}"#]),
            (r#"look {}, write {}, write {"b":1}"#.to_owned(), find.to_owned())
        );
        assert_eq!(
            chosen(&[r#"find={"a":"="}"#]),
            (r#"look {}, find {"a":"="}"#.to_owned(), "--call 'write'".to_owned())
        );
        assert!(
            plan_calls(&tools, &[ToolCallOption::read("gone").unwrap()])
                .unwrap_err()
                .to_string()
                .contains("no tool `gone`")
        );
        assert!(ToolCallOption::read("a=[1]").is_err() && ToolCallOption::read("a=").is_err());
    }
}

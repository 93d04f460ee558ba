//! One tool whole: what it does, what it takes, what it gives, and a call to copy.

use mcp_attune_shape::{CompiledSchema, Subschema};
use mcp_attune_wire::json::{JsonString, SpannedValue};

use super::text_member;
use super::wrap::{visible_width, wrapped};
use super::{CliOutputForm, plain};
use crate::paint::{Paint, PaintStyle};

/// How deep members of members are shown, and how many in all.
const MAX_DEPTH: usize = 3;
const MAX_FIELDS: usize = 300;
/// How many values are named.
const MAX_VALUES: usize = 30;
/// How wide the column of the names is at most.
const MAX_NAME_COLUMNS: usize = 32;

/// What is shown of a tool; `server` is how the command line names its server: what stands before the tool, and after its
/// arguments.
pub(crate) fn render_tool(
    tool: SpannedValue<'_>,
    server: (&str, &str),
    form: CliOutputForm,
    paint: Paint,
) -> String {
    let width = if let CliOutputForm::Terminal { width, .. } = form { width } else { usize::MAX };
    let name = plain::line(&text_member(tool, "name").unwrap_or_default());
    let notes = tool.member("annotations");
    let title = text_member(tool, "title").or_else(|| text_member(notes?, "title"));
    let title = title.map(|title| plain::line(&title)).filter(|title| *title != name);
    let mut out = paint.paint(PaintStyle::Strong, &name);
    out += &title.map(|title| format!(": {title}")).unwrap_or_default();
    out.push('\n');
    if let Some(description) = text_member(tool, "description").filter(|text| !text.trim().is_empty()) {
        out += &format!("\n{}\n", wrapped(plain::lines(&description).trim(), width, 0));
    }
    let said: Vec<_> = notes.into_iter().flat_map(SpannedValue::members).filter_map(annotation).collect();
    if !said.is_empty() {
        out += &format!("\nIts server says that it {}.\n", said.join(", "));
    }
    let input = ToolPageSchema::of(tool, "inputSchema");
    let output = ToolPageSchema::of(tool, "outputSchema");
    for (head, schema, none) in [
        ("Arguments", &input, "It takes none."),
        ("Result", &output, "Its server does not say what it gives."),
    ] {
        out += &format!("\n{}\n", paint.paint(PaintStyle::Strong, head));
        let rows = schema.as_ref().map(|schema| schema.rows(head == "Arguments")).unwrap_or_default();
        if rows.is_empty() {
            out += &format!("  {none}\n");
        }
        out += &columns(&rows, width, paint);
    }
    let call = call(&name, input.as_ref());
    let line = [server.0, &call, server.1].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    out + &format!("\n{}\n  attune call {}\n", paint.paint(PaintStyle::Strong, "Call"), line.join(" "))
}

/// What an annotation says of a tool.
fn annotation((name, value): (JsonString<'_>, SpannedValue<'_>)) -> Option<&'static str> {
    Some(match (name.decode()?.as_ref(), value.raw()) {
        ("readOnlyHint", "true") => "only reads",
        ("readOnlyHint", "false") => "may change something",
        ("destructiveHint", "true") => "may destroy something",
        ("idempotentHint", "true") => "does nothing more when it is called again",
        ("openWorldHint", "true") => "reaches others",
        _ => return None,
    })
}

/// One field: its name, what it is, and what its server says of it.
struct ToolFieldRow {
    name: String,
    is: String,
    about: String,
}

/// A schema, and the order in which its members were written.
struct ToolPageSchema {
    read: CompiledSchema,
    order: Vec<String>,
}

impl ToolPageSchema {
    fn of(tool: SpannedValue<'_>, member: &str) -> Option<Self> {
        let schema = tool.member(member)?;
        let members = schema.member("properties").into_iter().flat_map(SpannedValue::members);
        let order = members.filter_map(|(name, _)| name.decode().map(std::borrow::Cow::into_owned)).collect();
        Some(Self { read: CompiledSchema::read(schema.raw())?, order })
    }

    /// All fields, those of a part after it. Whether something may be left out matters where it is to be written.
    fn rows(&self, written: bool) -> Vec<ToolFieldRow> {
        let mut rows = Vec::new();
        let part = self.read.root();
        if self.order.is_empty() && part.properties().is_none_or(serde_json::Map::is_empty) && !written {
            rows.push(ToolFieldRow { name: "(all of it)".to_owned(), is: kind(part), about: about(part) });
            add_inside(&mut rows, part, "", written, MAX_DEPTH);
            return rows;
        }
        add(&mut rows, part, &self.order, "", written, MAX_DEPTH);
        rows
    }
}

fn add(
    rows: &mut Vec<ToolFieldRow>,
    part: Subschema<'_>,
    names: &[String],
    within: &str,
    written: bool,
    depth: usize,
) {
    for name in names {
        let Some(field) = part.property(name).filter(|_| rows.len() < MAX_FIELDS) else { continue };
        let path = format!("{within}{}", plain::line(name));
        let needed = if written && part.requires(name) { "; required" } else { "" };
        let is = format!("{}{}{needed}", kind(field), default_text(field));
        rows.push(ToolFieldRow { name: path.clone(), is, about: about(field) });
        add_inside(rows, field, &path, written, depth);
    }
}

/// The members of an object, or of the objects in a list.
fn add_inside(rows: &mut Vec<ToolFieldRow>, part: Subschema<'_>, path: &str, written: bool, depth: usize) {
    let (inner, mark) = match part.items() {
        Some(items) => (items, "[]"),
        None => (part, ""),
    };
    let Some(depth) = depth.checked_sub(1) else { return };
    let names: Vec<String> =
        inner.properties().into_iter().flat_map(|inside| inside.keys().cloned()).collect();
    let within = if path.is_empty() && mark.is_empty() { String::new() } else { format!("{path}{mark}.") };
    add(rows, inner, &names, &within, written, depth);
}

fn about(part: Subschema<'_>) -> String {
    plain::line(part.description().or(part.title()).unwrap_or_default())
}

/// What a value is, in words.
fn kind(part: Subschema<'_>) -> String {
    if let Some(only) = part.keyword("const") {
        return format!("always {}", value(only));
    }
    if let Some(values) = part.keyword("enum").and_then(serde_json::Value::as_array) {
        let named: Vec<_> = values.iter().take(MAX_VALUES).map(value).collect();
        let more = if values.len() > MAX_VALUES { ", …" } else { "" };
        return format!("one of {}{more}", named.join(", "));
    }
    let named = match part.keyword("type") {
        Some(serde_json::Value::String(kind)) => word(kind, part),
        Some(serde_json::Value::Array(kinds)) => {
            let words = kinds.iter().filter_map(serde_json::Value::as_str).map(|kind| word(kind, part));
            words.collect::<Vec<_>>().join(" or ")
        }
        _ if part.properties().is_some() => "object".to_owned(),
        _ => choices(part).unwrap_or_else(|| "anything".to_owned()),
    };
    format!("{named}{}", bounds(part))
}

/// What there is to choose from where the choices have titles.
fn choices(part: Subschema<'_>) -> Option<String> {
    let choices = part.keyword("oneOf").or_else(|| part.keyword("anyOf"))?.as_array()?;
    let all: Option<Vec<_>> =
        choices.iter().take(MAX_VALUES).map(|choice| choice.get("const").map(value)).collect();
    all.map(|all| format!("one of {}", all.join(", ")))
}

fn word(kind: &str, part: Subschema<'_>) -> String {
    match kind {
        "string" => part.keyword_text("format").map_or("text".to_owned(), plain::line),
        "integer" => "whole number".to_owned(),
        "number" => "number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "null" => "nothing".to_owned(),
        "array" => part.items().map_or("list".to_owned(), |items| match self::kind(items).as_str() {
            "object" => "list of objects".to_owned(),
            kind => format!("list of {kind}"),
        }),
        "object" => "object".to_owned(),
        other => plain::line(other),
    }
}

/// The bounds of a number, a text or a list.
fn bounds(part: Subschema<'_>) -> String {
    let number = |keyword| part.keyword(keyword).filter(|bound| bound.is_number()).map(value);
    let range = |least: Option<String>, most: Option<String>, unit: &str| match (least, most) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (None, None) => None,
    };
    let above = number("exclusiveMinimum").map(|bound| format!("more than {bound}"));
    let below = number("exclusiveMaximum").map(|bound| format!("less than {bound}"));
    let all = [
        range(number("minimum"), number("maximum"), ""),
        above,
        below,
        range(number("minLength"), number("maxLength"), " characters"),
        range(number("minItems"), number("maxItems"), " items"),
        part.keyword_text("pattern").map(|pattern| format!("as {}", plain::line(pattern))),
    ];
    all.into_iter().flatten().map(|bound| format!(", {bound}")).collect()
}

fn default_text(part: Subschema<'_>) -> String {
    part.keyword("default").map(|usual| format!("; by default {}", value(usual))).unwrap_or_default()
}

/// A value as a command line would have it.
fn value(value: &serde_json::Value) -> String {
    plain::line(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The rows with their names below each other, and what is long broken under where it began.
fn columns(rows: &[ToolFieldRow], width: usize, paint: Paint) -> String {
    let widest = rows.iter().map(|row| visible_width(&row.name)).max().unwrap_or(0).min(MAX_NAME_COLUMNS);
    let indent = widest + 4;
    let mut out = String::new();
    for ToolFieldRow { name, is, about } in rows {
        let gap = " ".repeat(widest.saturating_sub(visible_width(name)) + 2);
        let line = wrapped(&format!("  {name}{gap}{is}"), width, indent.saturating_sub(2));
        // The name is painted after the line was broken.
        out += &line.replacen(name, &paint.paint(PaintStyle::Hint, name), 1);
        out.push('\n');
        if !about.is_empty() {
            out += &wrapped(&format!("{}{about}", " ".repeat(indent)), width, 0);
            out.push('\n');
        }
    }
    out
}

/// The tool with the arguments that it needs, and a value for each.
fn call(name: &str, schema: Option<&ToolPageSchema>) -> String {
    let mut words = vec![quoted(name)];
    let part = schema.map(|schema| schema.read.root());
    for argument in schema.iter().flat_map(|schema| &schema.order) {
        let Some(field) =
            part.filter(|part| part.requires(argument)).and_then(|part| part.property(argument))
        else {
            continue;
        };
        words.push(quoted(&format!("{}={}", plain::line(argument), example(field))));
    }
    words.join(" ")
}

/// A value that a schema allows, or what to write in its place.
fn example(part: Subschema<'_>) -> String {
    let first = |keyword| part.keyword(keyword)?.as_array()?.first();
    let chosen = || first("oneOf").or_else(|| first("anyOf"))?.get("const");
    let given = part
        .keyword("const")
        .or_else(|| part.keyword("default"))
        .or_else(|| first("examples"))
        .or_else(|| first("enum"))
        .or_else(chosen);
    match (given, part.keyword_text("type"), part.keyword_text("format")) {
        (Some(given), _, _) => value(given),
        (None, Some("integer" | "number"), _) => {
            part.keyword("minimum").filter(|least| least.is_number()).map_or("1".to_owned(), value)
        }
        (None, Some("boolean"), _) => "true".to_owned(),
        (None, Some("array"), _) => {
            part.items().map(example).filter(|item| item != "…").unwrap_or("[]".to_owned())
        }
        (None, Some("object"), _) => "{}".to_owned(),
        (None, _, Some("date")) => "2026-11-12".to_owned(),
        (None, _, Some("date-time")) => "2026-11-12T14:23:00+01:00".to_owned(),
        _ => "…".to_owned(),
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "-_=.,:/@%+…".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words of a command, for a shell.
pub(crate) fn shell_command(words: &[String]) -> String {
    words.iter().map(|word| quoted(&plain::line(word))).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use mcp_attune_wire::document::Document;

    use super::*;
    use crate::show::MarkdownDisplay;

    fn shown(tool: &str, width: usize) -> String {
        let tool = Document::parse(tool.as_bytes()).unwrap().root();
        let form = CliOutputForm::Terminal { width, paint: Paint::NONE, markdown: MarkdownDisplay::Declared };
        render_tool(tool, ("https://example.com/mcp", ""), form, Paint::NONE)
    }

    #[test]
    fn says_everything_about_a_tool() {
        let tool = r##"{"name":"find","title":"Find\u001b","description":"Finds things that are near a place, and says how far away they are from it.\n\nSecond paragraph.",
            "annotations":{"readOnlyHint":true,"openWorldHint":true},
            "inputSchema":{"type":"object","required":["zip","kinds"],"properties":{
                "zip":{"type":"string","description":"Where: the code of the post, as it stands on letters to that place","pattern":"^[0-9]+$"},
                "kinds":{"type":"array","items":{"enum":["shop","park"]},"maxItems":3},
                "far":{"type":["integer","null"],"minimum":1,"maximum":50,"default":5},
                "at":{"$ref":"#/$defs/at"},
                "mode":{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}},
                "$defs":{"at":{"type":"object","description":"When","properties":{"day":{"type":"string","format":"date"}}}}},
            "outputSchema":{"type":"object","properties":{"places":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"}}}}}}}"##;
        insta::assert_snapshot!(shown(tool, 60), @r"
        find: Find\u{1b}

        Finds things that are near a place, and says how far away
        they are from it.

        Second paragraph.

        Its server says that it only reads, reaches others.

        Arguments
          zip     text, as ^[0-9]+$; required
                  Where: the code of the post, as it stands on
                  letters to that place
          kinds   list of one of shop, park, at most 3 items;
                  required
          far     whole number or nothing, 1 to 50; by default 5
          at      object
                  When
          at.day  date
          mode    one of a, b

        Result
          places         list of objects
          places[].name  text

        Call
          attune call https://example.com/mcp find zip=… kinds=shop
        ");
        let bare = r#"{"name":"it's","inputSchema":{"type":"object"}}"#;
        insta::assert_snapshot!(shown(bare, 60), @r"
        it's

        Arguments
          It takes none.

        Result
          Its server does not say what it gives.

        Call
          attune call https://example.com/mcp 'it'\''s'
        ");
    }

    #[test]
    fn a_call_to_copy_is_one_for_a_shell() {
        assert_eq!(
            shell_command(&["npx".to_owned(), "-y".to_owned(), "a b".to_owned(), "$x".to_owned()]),
            "npx -y 'a b' '$x'"
        );
        assert_eq!(quoted("a=it's"), r"'a=it'\''s'");
    }
}

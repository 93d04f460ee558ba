//! What is remarkable about a result.

use std::borrow::Cow;

use mcp_attune_shape::{DataViolation, ResultSchema};
use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::SpannedValue;
use serde::Serialize;

use crate::text::quoted;
use crate::tool::CallableTool;

/// How many breaches of a schema are told of one result.
const MAX_BREACHES: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AuditFindingKind {
    /// A text block holds the JSON of `structuredContent`.
    Twice,
    /// The text says what `structuredContent` holds in one member, as some SDKs wrap it.
    Repeats,
    /// The only text is JSON, and there is no `structuredContent`.
    JsonAsText,
    /// `structuredContent` is not what `outputSchema` asks for.
    Invalid,
    /// There is an `outputSchema` and no `structuredContent`.
    Unstructured,
    /// There is `structuredContent` and no `outputSchema`.
    Undeclared,
    /// The `outputSchema` cannot be used.
    Schema,
    /// The result is an error.
    Error,
}

impl AuditFindingKind {
    /// Whether the same data comes in two forms.
    pub(super) fn is_repetition(self) -> bool {
        matches!(self, Self::Twice | Self::Repeats)
    }

    /// Whether the tool does not keep what it says of itself.
    pub(super) fn is_fault(self) -> bool {
        matches!(self, Self::Invalid | Self::Unstructured)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AuditFinding {
    pub(super) kind: AuditFindingKind,
    pub(super) what: String,
    /// Where it stands in `structuredContent`, as a JSON pointer.
    pub(super) at: Option<String>,
}

impl AuditFinding {
    fn new(kind: AuditFindingKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), at: None }
    }
}

/// The texts of a result that reach a model: of text blocks, and of resources inside.
pub(super) fn texts(result: SpannedValue<'_>) -> Vec<Cow<'_, str>> {
    let blocks = result.member("content").into_iter().flat_map(SpannedValue::elements);
    blocks
        .filter_map(|block| block.member("text").or_else(|| block.member("resource")?.member("text")))
        .filter_map(string_or_raw)
        .collect()
}

/// A string; one that is no text, because it holds half a surrogate pair, as it is written.
fn string_or_raw(value: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    value.text().map(|text| text.decode().unwrap_or_else(|| text.as_written().into()))
}

/// Whether the tool says of its result that it is an error.
pub(super) fn is_error(result: SpannedValue<'_>) -> bool {
    result.member("isError").is_some_and(|error| error.raw() == "true")
}

pub(super) fn findings(tool: &CallableTool, result: SpannedValue<'_>) -> Vec<AuditFinding> {
    if is_error(result) {
        let said = texts(result).first().map(|text| format!(": {}", quoted(text))).unwrap_or_default();
        return vec![AuditFinding::new(AuditFindingKind::Error, format!("the result is an error{said}"))];
    }
    match (result.member("structuredContent"), &tool.output) {
        (None, ResultSchema::None) => json_text_finding(result).into_iter().collect(),
        (None, _) => {
            vec![AuditFinding::new(
                AuditFindingKind::Unstructured,
                "there is an outputSchema and no structuredContent",
            )]
        }
        (Some(data), _) => {
            let mut found: Vec<_> = repetition_finding(data, result).into_iter().collect();
            found.extend(schema_findings(tool, data));
            found
        }
    }
}

fn json_text_finding(result: SpannedValue<'_>) -> Option<AuditFinding> {
    let texts = texts(result);
    let [text] = texts.as_slice() else { return None };
    let is_json = text.starts_with(['{', '[']) && Document::parse(text.as_bytes()).is_ok();
    is_json.then(|| {
        AuditFinding::new(AuditFindingKind::JsonAsText, "the text is JSON, and there is no structuredContent")
    })
}

/// Whether the text says what the structure holds.
fn repetition_finding(data: SpannedValue<'_>, result: SpannedValue<'_>) -> Option<AuditFinding> {
    let texts = texts(result);
    if texts.iter().any(|text| is_json_of(text, data)) {
        return Some(AuditFinding::new(
            AuditFindingKind::Twice,
            "it comes twice: as structuredContent, and as JSON in a text block",
        ));
    }
    // `{"result": …}`, around what is no object.
    let mut members = data.members();
    let (Some((name, inner)), None) = (members.next(), members.next()) else { return None };
    let says = |text: &str, value: SpannedValue<'_>| {
        value.text().is_some_and(|it| it.is(text)) || is_json_of(text, value)
    };
    let whole = matches!(texts.as_slice(), [text] if says(text, inner));
    let mut elements = inner.elements();
    let one_by_one = !texts.is_empty()
        && texts.iter().all(|text| elements.next().is_some_and(|element| says(text, element)))
        && elements.next().is_none();
    (whole || one_by_one).then(|| {
        let name = quoted(name.as_written());
        AuditFinding::new(
            AuditFindingKind::Repeats,
            format!("the text only repeats `{name}` of structuredContent"),
        )
    })
}

fn is_json_of(text: &str, data: SpannedValue<'_>) -> bool {
    Document::parse(text.as_bytes()).is_ok_and(|read| read.root().json_eq(data))
}

fn schema_findings(tool: &CallableTool, data: SpannedValue<'_>) -> Vec<AuditFinding> {
    let output = match &tool.output {
        ResultSchema::Known(output) => Some(output),
        ResultSchema::Unknown => None,
        ResultSchema::None => {
            return vec![AuditFinding::new(
                AuditFindingKind::Undeclared,
                "there is structuredContent and no outputSchema",
            )];
        }
    };
    let Ok(data) = serde_json::from_str(data.raw()) else { return Vec::new() };
    let Some(breaches) = output.and_then(|output| output.violations(&data, MAX_BREACHES)) else {
        return vec![AuditFinding::new(AuditFindingKind::Schema, "the outputSchema cannot be used")];
    };
    let finding = |breach: DataViolation| AuditFinding {
        kind: AuditFindingKind::Invalid,
        what: format!("not as its outputSchema asks, {}", shortened(&breach.to_string())),
        at: Some(breach.at),
    };
    breaches.into_iter().map(finding).collect()
}

/// What a schema of others says can be long, or hold what a terminal would obey.
fn shortened(text: &str) -> String {
    const MAX_BREACH_CHARS: usize = 160;
    mcp_attune_wire::text::one_line(text, MAX_BREACH_CHARS)
}

#[cfg(test)]
mod tests {
    use mcp_attune_shape::CompiledSchema;
    use serde_json::{Value as Json, json};

    use super::*;
    use mcp_attune_wire::message::Message;

    fn found(output: Option<Json>, result: &Json) -> Vec<(AuditFindingKind, Option<String>)> {
        let read = |output: Json| {
            CompiledSchema::read(&output.to_string()).map(|output| ResultSchema::Known(output.into()))
        };
        let output =
            output.map_or(ResultSchema::None, |output| read(output).unwrap_or(ResultSchema::Unknown));
        let tool = CallableTool { name: "t".to_owned(), read_only: true, input: None, output };
        let text = result.to_string();
        let message = Message::parse(text.as_bytes()).unwrap();
        findings(&tool, message.body()).into_iter().map(|finding| (finding.kind, finding.at)).collect()
    }

    fn kinds(output: Option<Json>, texts: &[&str], data: Option<Json>) -> Vec<AuditFindingKind> {
        let content: Vec<_> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        let mut result = json!({ "content": content });
        if let Some(data) = data {
            result["structuredContent"] = data;
        }
        found(output, &result).into_iter().map(|(kind, _)| kind).collect()
    }

    #[test]
    fn finds_what_comes_twice_however_it_is_written() {
        let check = |texts: &[&str], data: Json, expected: &[AuditFindingKind]| {
            assert_eq!(kinds(Some(json!({})), texts, Some(data)), expected, "{texts:?}");
        };
        check(&[r#"{ "b": 2.0, "a": "ä" }"#], json!({ "a": "ä", "b": 2 }), &[AuditFindingKind::Twice]);
        check(&["Prose.", r#"{"a":1}"#], json!({ "a": 1 }), &[AuditFindingKind::Twice]);
        check(&[r#"{"a":2}"#], json!({ "a": 1 }), &[]);
        check(&["It is 1."], json!({ "a": 1 }), &[]);
        check(&["1"], json!({ "a": 1 }), &[AuditFindingKind::Repeats]);
        check(&["text"], json!({ "result": "text" }), &[AuditFindingKind::Repeats]);
        check(&["1", r#"{"b":"c"}"#], json!({ "result": [1, { "b": "c" }] }), &[AuditFindingKind::Repeats]);
        check(&["1"], json!({ "result": [1, 2] }), &[]);
        check(&["1"], json!({ "result": 1, "more": 2 }), &[]);
        check(&[], json!({ "result": [] }), &[]);
    }

    #[test]
    fn finds_structure_without_schema_and_schema_without_structure() {
        assert_eq!(kinds(None, &[], Some(json!({}))), [AuditFindingKind::Undeclared]);
        assert_eq!(kinds(Some(json!({})), &["x"], None), [AuditFindingKind::Unstructured]);
        assert_eq!(kinds(None, &["x"], None), []);
        assert_eq!(kinds(None, &[r#"{"a":1}"#], None), [AuditFindingKind::JsonAsText]);
        assert_eq!(kinds(None, &[r#"{"a":1}"#, "x"], None), []);
        for unusable in [json!({ "pattern": "(" }), json!(7), json!({ "$ref": "https://example.com/s" })] {
            assert_eq!(
                kinds(Some(unusable.clone()), &[], Some(json!({}))),
                [AuditFindingKind::Schema],
                "{unusable}"
            );
        }
    }

    #[test]
    fn says_where_a_result_is_not_what_its_schema_asks_for() {
        let schema = json!({ "required": ["b"], "properties": { "a": { "items": { "type": "string" } } } });
        let result = json!({ "content": [], "structuredContent": { "a": ["x", 1] } });
        let at = |at: &str| (AuditFindingKind::Invalid, Some(at.to_owned()));
        assert_eq!(found(Some(schema.clone()), &result), [at(""), at("/a/1")]);
        let result = json!({ "content": [], "structuredContent": { "a": vec![1; 100], "b": 1 } });
        assert_eq!(found(Some(schema), &result).len(), MAX_BREACHES);
    }

    #[test]
    fn an_error_is_that_and_nothing_else() {
        let result = json!({ "content": [{ "type": "text", "text": "no\u{1b}" }], "isError": true });
        assert_eq!(found(Some(json!({})), &result), [(AuditFindingKind::Error, None)]);
    }

    #[test]
    fn what_reaches_a_model_is_text_wherever_it_stands() {
        let text = r#"{"content":[{"type":"text","text":"a\u00e4"},{"type":"image","data":"xx"},
            {"type":"resource","resource":{"uri":"x:","text":"b"}},{"type":"text","text":"\ud800"},7]}"#;
        let message = Message::parse(text.as_bytes()).unwrap();
        assert_eq!(texts(message.body()), ["aä", "b", "\\ud800"]);
    }
}

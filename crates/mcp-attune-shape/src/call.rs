//! The result of a tool.
//!
//! Rules: F5, F6, F7, F8, F10, F12, F13.

use std::borrow::Cow;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonQuoted, SpannedValue};
use mcp_attune_wire::message::ResultParts;

use super::content::ToolShaping;
use super::view::keeps_structured_content;
use mcp_attune::shaping::AnswerOmissions;

use crate::editor::MessageEditor;
use crate::shape::{ResultSchema, accepts_hints};
use mcp_attune::features::ContentFormat;

pub(super) fn shape(work: &mut MessageEditor<'_>, parts: &ResultParts<'_>) {
    let Some(found) = ShapeableResult::from_parts(parts) else { return };
    shape_result(work, &found);
    if !work.edits.is_empty() {
        work.mark_private(found.scope);
    }
    work.varied = false;
}

fn shape_result(work: &mut MessageEditor<'_>, found: &ShapeableResult<'_, '_>) {
    let text = found.only_text().filter(|_| work.shape.wanted.format().is_some());
    let lifted = text.as_ref().and_then(|text| Document::parse(text.as_bytes()).ok());
    let lifted = lifted.as_ref().map(Document::root).filter(|data| is_data(work, *data));
    let nothing = ToolShaping::default();
    let tool = work.tool.and_then(|tool| work.shape.content.tools.get(tool));
    let tool = tool.unwrap_or(&nothing);
    match (work.shape.wanted.format(), found.structured.or(lifted)) {
        (Some(ContentFormat::Json), Some(data)) => shape_as_json(work, found, data, tool),
        (Some(format), Some(data)) => shape_as_text(work, found, data, tool, format),
        (_, data) => {
            // Nothing is shaped, so what may be added is all there is to do.
            let structured = found.structured.map(|data| (data, Cow::Borrowed(data.raw())));
            let hints = result_hints(work, data, tool);
            if let Some((place, text)) = structured
                .as_ref()
                .and_then(|(data, text)| Some((data.span(), with_hints(work, text, hints.as_deref()?)?)))
            {
                work.put(place, text);
            } else if let Some(hints) = hints {
                found.append_text(work, &hints, !found.texts.is_empty() || found.others > 0);
            }
        }
    }
}

/// Whether a block of content is text.
pub(super) fn is_text(block: SpannedValue<'_>) -> bool {
    block.member("type").and_then(SpannedValue::text).is_some_and(|kind| kind.is("text"))
}

/// What a result has that is shaped.
struct ShapeableResult<'p, 'a> {
    parts: &'p ResultParts<'a>,
    structured: Option<SpannedValue<'a>>,
    /// A `null` in its place.
    null: Option<SpannedValue<'a>>,
    /// Whose cache it is for.
    scope: Option<SpannedValue<'a>>,
    content: Option<SpannedValue<'a>>,
    texts: Vec<SpannedValue<'a>>,
    /// How many blocks are no text.
    others: usize,
}

impl<'p, 'a> ShapeableResult<'p, 'a> {
    /// Looks at a result; `None` where it is an error, asks the caller for more or is a task that was created, and is left
    /// alone.
    fn from_parts(parts: &'p ResultParts<'a>) -> Option<Self> {
        let (structured, null, scope, content) = (None, None, None, None);
        let mut found = Self { parts, structured, null, scope, content, texts: Vec::new(), others: 0 };
        let mut alone = !parts.is_object();
        for (name, value) in parts.members() {
            match name.decode().as_deref() {
                Some("isError") => alone |= value.raw() == "true",
                Some("resultType") => {
                    let kind = value.text();
                    alone |= kind.is_some_and(|kind| kind.is("input_required") || kind.is("task"));
                }
                Some("inputRequests") => alone = true,
                Some("cacheScope") => found.scope = Some(value),
                Some("structuredContent") if value.kind() == JsonKind::Null => found.null = Some(value),
                Some("structuredContent") => found.structured = Some(value),
                Some("content") if value.kind() == JsonKind::Array => found.content = Some(value),
                _ => {}
            }
        }
        for block in parts.content() {
            if is_text(*block) { found.texts.push(*block) } else { found.others += 1 }
        }
        (!alone).then_some(found)
    }

    /// Takes all texts out, and puts hints behind what is left.
    fn remove_texts(&self, work: &mut MessageEditor<'_>, hints: Option<&[String]>) {
        match (self.content, self.others) {
            // Mostly there is nothing but text.
            (Some(content), 0) => {
                let hints = hints.map(|hints| text_block(work, hints.join("\n")));
                work.put(content.span(), format!("[{}]", hints.unwrap_or_default()));
            }
            _ => {
                work.cut(self.parts.cut_content(is_text));
                if let Some(hints) = hints {
                    self.append_text(work, hints, self.others > 0);
                }
            }
        }
    }

    /// The text that may be the data: the only one, where there is no structured content.
    fn only_text(&self) -> Option<Cow<'a, str>> {
        let [text] = self.texts.as_slice() else { return None };
        let text = text.member("text").filter(|_| self.structured.is_none())?.text()?.decode()?;
        text.trim_start().starts_with(['{', '[']).then_some(text)
    }

    /// Adds a text block behind the others, of which there are some or none in the end.
    fn append_text(&self, work: &mut MessageEditor<'_>, hints: &[String], others: bool) {
        let block = text_block(work, hints.join("\n"));
        match self.content {
            Some(content) => work.put(content.closing(), if others { format!(",{block}") } else { block }),
            None if self.parts.members().next().is_some() => {
                work.put(self.parts.result().opening(), format!("\"content\":[{block}],"));
            }
            None => work.put(self.parts.result().opening(), format!("\"content\":[{block}]")),
        }
    }
}

/// Whether a text that is JSON is the data: an object, or a list for callers who may get one, that keeps what the tool's
/// schema promises. What people read need promise nothing.
///
/// Rules: F5.
fn is_data(work: &MessageEditor<'_>, read: SpannedValue<'_>) -> bool {
    let json = work.shape.wanted.format() == Some(ContentFormat::Json);
    let fits = match read.kind() {
        JsonKind::Object => true,
        JsonKind::Array => work.shape.modern || !json,
        _ => false,
    };
    fits && (!json || work.schema.allows(read.raw(), work.budget))
}

/// A text block.
fn text_block(work: &mut MessageEditor<'_>, text: String) -> String {
    written_block(&work.translate_model_text(text))
}

/// A text block with a text that is as its caller gets it.
fn written_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", JsonQuoted(text))
}

/// The data, once. Rules: F5, F8, F10.
fn shape_as_json(
    work: &mut MessageEditor<'_>,
    found: &ShapeableResult<'_, '_>,
    data: SpannedValue<'_>,
    tool: &ToolShaping,
) {
    let mut text = render_variant(work, data, tool).or_else(|| {
        let output = work.schema.output();
        let known = !matches!(work.schema, ResultSchema::Unknown);
        if known { work.compact_data(data, output, &tool.low_priority) } else { None }
    });
    let hints = result_hints(work, Some(data), tool);
    let said =
        hints.as_deref().and_then(|hints| with_hints(work, text.as_deref().unwrap_or(data.raw()), hints));
    let beside = hints.filter(|_| said.is_none());
    text = said.or(text).map(|text| on_one_line(&text));
    match found.structured {
        Some(there) => {
            if let Some(text) = text {
                work.put(there.span(), text);
            }
            count_left_out(work, &found.texts);
        }
        None => {
            let text = text.unwrap_or_else(|| on_one_line(data.raw()));
            // There is content: it had the text that the data was in.
            match (found.null, found.content) {
                (Some(null), _) => work.put(null.span(), text),
                (None, Some(content)) => {
                    work.put(content.after_end(), format!(",\"structuredContent\":{text}"));
                }
                (None, None) => return,
            }
        }
    }
    if found.texts.is_empty() {
        if let Some(hints) = beside {
            found.append_text(work, &hints, found.others > 0);
        }
    } else {
        found.remove_texts(work, beside.as_deref());
    }
}

/// JSON without the ends of its lines: over pipes a message is a line. Inside strings there are none.
fn on_one_line(json: &str) -> String {
    json.split(['\n', '\r']).map(str::trim).collect()
}

/// The operator's own choice of data, where it is one that the caller was promised.
fn render_variant(
    work: &mut MessageEditor<'_>,
    data: SpannedValue<'_>,
    tool: &ToolShaping,
) -> Option<String> {
    let template = tool.templates.choose(&work.shape.wanted, ContentFormat::Json)?;
    let text = work.render_template(template, data)?;
    let object = text.trim_start().starts_with('{');
    if !(object || work.shape.modern) || !work.schema.allows(&text, work.budget) {
        work.report_fault(template, &"what it gives is not valid against the tool's outputSchema");
        return None;
    }
    Some(text)
}

/// Text for people; the structured content goes, unless a view is drawn from it. Rules: F6, F7.
fn shape_as_text(
    work: &mut MessageEditor<'_>,
    found: &ShapeableResult<'_, '_>,
    data: SpannedValue<'_>,
    tool: &ToolShaping,
    format: ContentFormat,
) {
    let template = tool.templates.choose(&work.shape.wanted, format);
    let text = template.and_then(|template| work.render_template(template, data));
    let schema = work.schema;
    let text = text.unwrap_or_else(|| work.render_data(data, schema.output(), &tool.low_priority, format));
    let text = work.translate_model_text(text);
    let hints = result_hints(work, Some(data), tool);
    let first = found.texts.first().and_then(|block| Some((*block, block.member("text")?)));
    match (first, found.content) {
        (Some((first, place)), Some(_)) => {
            work.put(place.span(), JsonQuoted(&text).to_string());
            if found.texts.len() > 1 {
                let is_other = |block: SpannedValue<'_>| is_text(block) && block.span() != first.span();
                work.cut(found.parts.cut_content(is_other));
            }
        }
        (None, Some(content)) => {
            // A block may say that it is text, and have none.
            let comma = if found.others > 0 || !found.texts.is_empty() { "," } else { "" };
            work.put(content.opening(), written_block(&text) + comma);
        }
        (_, None) => {}
    }
    let stays = keeps_structured_content(work.shape.views, work.view);
    match found.structured {
        Some(_) if stays && found.content.is_none() => {
            // There is a member to follow: the structured content.
            let hints = hints.as_ref().map(|hints| format!(",{}", text_block(work, hints.join("\n"))));
            let blocks = format!("{}{}", written_block(&text), hints.unwrap_or_default());
            work.put(found.parts.result().opening(), format!("\"content\":[{blocks}],"));
        }
        Some(_) if stays => {}
        Some(there) if found.content.is_none() => {
            // In the place of what goes.
            if let Some(name) = found.parts.name_span("structuredContent") {
                work.put(name, "content");
            }
            let hints = hints.as_ref().map(|hints| format!(",{}", text_block(work, hints.join("\n"))));
            work.put(there.span(), format!("[{}{}]", written_block(&text), hints.unwrap_or_default()));
        }
        Some(_) => work.cut(found.parts.cut_members(|name| name.is("structuredContent"))),
        None => {}
    }
    if found.structured.is_some() {
        count_left_out(work, &found.texts);
    }
    if let Some(hints) = hints.filter(|_| found.content.is_some()) {
        found.append_text(work, &hints, true);
    }
}

fn count_left_out(work: &mut MessageEditor<'_>, texts: &[SpannedValue<'_>]) {
    let bytes = texts.iter().map(|block| block.raw().len()).sum();
    work.done.left_out += AnswerOmissions { blocks: texts.len(), fields: 0, bytes };
}

/// What the operator tells callers that reason. Rules: F10.
fn result_hints(
    work: &mut MessageEditor<'_>,
    data: Option<SpannedValue<'_>>,
    tool: &ToolShaping,
) -> Option<Vec<String>> {
    let hints = tool.hints.as_ref().filter(|_| accepts_hints(&work.shape.wanted))?;
    let name = work.tool.unwrap_or_default();
    let lines = work.render_hints(name, hints, data?);
    (!lines.is_empty()).then_some(lines)
}

/// The data with hints in it, where it stays what the caller was promised.
fn with_hints(work: &MessageEditor<'_>, data: &str, hints: &[String]) -> Option<String> {
    let read = Document::parse(data.as_bytes()).ok()?;
    let object = read.root();
    if object.kind() != JsonKind::Object || object.member("hints").is_some() {
        return None;
    }
    let list: Vec<_> = hints.iter().map(|hint| JsonQuoted(hint).to_string()).collect();
    let comma = if object.members().next().is_some() { "," } else { "" };
    let member = format!("{comma}\"hints\":[{}]", list.join(","));
    let text = read.splice(&[(object.closing(), &member)]).ok()?;
    work.schema.allows(&text, work.budget).then_some(text)
}

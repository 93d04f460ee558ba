//! The result of a tool: as data once (`format=json`), as text for people, or as it came with hints added.
//!
//! 1. The data is `structuredContent`, or else the only text block if that is JSON and a format was asked
//!    for.
//! 2. Texts that repeat the data are removed or replaced; blocks of all other kinds stay where they are.
//! 3. Structured content is changed only if it remains valid against the schema that the caller was shown.
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

/// Shapes the result of a tool, and marks it as private if anything was edited.
///
/// `parts` is the result taken apart, which may stand inside of a task. Sets `varied` to false, because the
/// `cacheScope` of this result has been taken care of.
pub(super) fn shape(work: &mut MessageEditor<'_>, parts: &ResultParts<'_>) {
    let Some(found) = ShapeableResult::from_parts(parts) else { return };
    shape_result(work, &found);
    if !work.edits.is_empty() {
        work.mark_private(found.scope);
    }
    work.varied = false;
}

/// Finds the data of a result and writes it in the format that the caller asked for.
///
/// Without a format, or without data, nothing is rewritten; hints are still added to data that there is. They
/// go into the structured content if it stays valid with them, else into a text block.
fn shape_result(work: &mut MessageEditor<'_>, found: &ShapeableResult<'_, '_>) {
    let text = found.only_text().filter(|_| work.shape.wanted.format().is_some());
    let lifted = text.as_ref().and_then(|text| Document::parse(text.as_bytes()).ok());
    let lifted = lifted.as_ref().map(Document::root).filter(|data| is_data(work, *data));
    let nothing = ToolShaping::default();
    let tool = work.tool.and_then(|tool| work.shape.content.tools.get(tool));
    let tool = tool.unwrap_or(&nothing);
    match (work.shape.wanted.format(), found.structured.or(lifted)) {
        (Some(format), Some(data)) if format.is_structured() => {
            shape_as_json(work, found, data, tool, format);
        }
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

/// Returns whether a content block is text, by its `type`.
pub(super) fn is_text(block: SpannedValue<'_>) -> bool {
    block.member("type").and_then(SpannedValue::text).is_some_and(|kind| kind.is("text"))
}

/// A tool's result that may be shaped, with the parts found that shaping looks at or replaces.
struct ShapeableResult<'p, 'a> {
    /// The result as it was taken apart when the message was read.
    parts: &'p ResultParts<'a>,
    /// The structured content, if it is not `null`.
    structured: Option<SpannedValue<'a>>,
    /// A `structuredContent` of `null`: it counts as absent, but new structured content has to take its
    /// place.
    null: Option<SpannedValue<'a>>,
    /// The `cacheScope`, which says whether shared caches may keep the result.
    scope: Option<SpannedValue<'a>>,
    /// The array of content blocks; `None` if it is absent or no array.
    content: Option<SpannedValue<'a>>,
    /// The blocks of `content` that are text, in their order.
    texts: Vec<SpannedValue<'a>>,
    /// How many blocks of `content` are not text. They always stay.
    others: usize,
}

impl<'p, 'a> ShapeableResult<'p, 'a> {
    /// Looks at a result. Returns `None` for one that is never shaped: it is no object, it is an error
    /// (`isError`), it asks the caller for input, or it only says that a task was created.
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

    /// Removes all text blocks, and adds hints behind the blocks that are left. Must be called at most once,
    /// and only if there is a text block.
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

    /// Returns the text that may be the data: of the only text block, if there is no structured content and
    /// the text begins like a JSON object or array.
    fn only_text(&self) -> Option<Cow<'a, str>> {
        let [text] = self.texts.as_slice() else { return None };
        let text = text.member("text").filter(|_| self.structured.is_none())?.text()?.decode()?;
        text.trim_start().starts_with(['{', '[']).then_some(text)
    }

    /// Adds a text block with hints at the end of `content`. `others` says whether other blocks will be left
    /// in front of it, and so whether a comma is needed. If there is no `content`, it is added as the first
    /// member of the result.
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

/// Returns whether a text that is JSON counts as the data of a result.
///
/// It has to be an object, or an array for callers who may get one. For `format=json` it becomes structured
/// content, so it has to be valid against the tool's schema as well; what is only written as text for people
/// is not promised to anybody.
///
/// Rules: F5.
fn is_data(work: &MessageEditor<'_>, read: SpannedValue<'_>) -> bool {
    let json = work.shape.wanted.format().is_some_and(ContentFormat::is_structured);
    let fits = match read.kind() {
        JsonKind::Object => true,
        JsonKind::Array => work.shape.modern || !json,
        _ => false,
    };
    fits && (!json || work.schema.allows(read.raw(), work.budget))
}

/// Returns a text block as JSON, with its text in the caller's language if texts for models are translated.
fn text_block(work: &mut MessageEditor<'_>, text: String) -> String {
    written_block(&work.translate_model_text(text))
}

/// Returns a text block as JSON. The text is not translated here: it is as its caller gets it.
fn written_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", JsonQuoted(text))
}

/// Writes the data once, as structured content, and removes all text.
///
/// The operator's `.json` template is used if its output is valid against the schema. Otherwise the data is
/// compacted, if the caller asked for that and it is known which schema they were shown. Otherwise it stays
/// as the server wrote it. Hints go into the data if it stays valid with them, else into a text block.
///
/// Rules: F5, F8, F10.
fn shape_as_json(
    work: &mut MessageEditor<'_>,
    found: &ShapeableResult<'_, '_>,
    data: SpannedValue<'_>,
    tool: &ToolShaping,
    format: ContentFormat,
) {
    let mut text = render_variant(work, data, tool, format).or_else(|| {
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

/// Removes the line breaks of JSON, with the blanks around them: over pipes a message is one line. Strings in
/// JSON have no line breaks, so their content is not touched.
fn on_one_line(json: &str) -> String {
    json.split(['\n', '\r']).map(str::trim).collect()
}

/// Renders the operator's `.json` template for this caller. Returns `None` if there is none, if it fails, or
/// if its output is not what the caller was promised: valid against the schema, and in the legacy era an
/// object. The last two are reported.
fn render_variant(
    work: &mut MessageEditor<'_>,
    data: SpannedValue<'_>,
    tool: &ToolShaping,
    format: ContentFormat,
) -> Option<String> {
    let template = tool.templates.choose(&work.shape.wanted, format)?;
    let text = work.render_template(template, data)?;
    let object = text.trim_start().starts_with('{');
    if !(object || work.shape.modern) || !work.schema.allows(&text, work.budget) {
        work.report_fault(template, &"what it gives is not valid against the tool's outputSchema");
        return None;
    }
    Some(text)
}

/// Writes the data as text for people; the structured content goes, unless a view is drawn from it.
///
/// The text takes the place of the first text block, and the other text blocks are removed. If there is no
/// text block, a new one becomes the first block. If there is no `content` at all, `structuredContent`
/// becomes it, or stays beside it for a view.
///
/// Rules: F6, F7.
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

/// Adds text blocks to the omissions that are reported for the answer.
fn count_left_out(work: &mut MessageEditor<'_>, texts: &[SpannedValue<'_>]) {
    let bytes = texts.iter().map(|block| block.raw().len()).sum();
    work.done.left_out += AnswerOmissions { blocks: texts.len(), fields: 0, bytes };
}

/// Renders the operator's hints for a result. Returns `None` if the caller did not ask for hints, if there is
/// no data that they could be about, or if all of them come out empty.
///
/// Rules: F10.
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

/// Adds a member `hints` to the data, a list of strings. Returns `None` if the data is no object, has such a
/// member already, or would not be valid any more against the schema that the caller was shown.
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

//! From data to blocks.
//!
//! 1. The simple fields of an object come first, as a list; what needs room of its own follows under headings, in the order
//!    of the data. From the fourth level of headings on it is lists inside of lists, and what is deeper still is JSON.
//! 2. What is laid out is put down at once and never held, so that memory is that of the page.
//! 3. When the page is full, what is left is counted instead.

use std::borrow::Cow;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, SpannedValue};

use super::RenderOptions;
use super::block::{BlockWriter, InlineSpan, PageBlock};
use super::clean;
use super::field::{FieldCache, LabeledField, ResultLocation};
use super::json;
use super::layout;
use super::meaning::FieldMeaning;
use super::name;
use super::tree::{ValueNode, ValueTree};
use super::value::{PageValueFormatter, SiblingContext};
use super::words::PageWord;
use crate::compiled_schema::Subschema;
use mcp_attune::features::Verbosity;

/// How many levels of headings there are.
pub(super) const MAX_HEADING_LEVELS: usize = 4;
/// How many levels of lists there are below them.
const MAX_LIST_LEVELS: usize = 6;

pub(super) struct PageComposer<'h, 'p> {
    pub(super) how: &'h RenderOptions<'h>,
    pub(super) values: PageValueFormatter<'h>,
    pub(super) paper: &'p mut dyn BlockWriter,
    pub(super) hidden: usize,
    pub(super) kept: Vec<FieldCache<'h>>,
    /// Whether the data are the text of a value.
    embedded: bool,
    /// Whether any value has a translation.
    localized: bool,
}

/// Whose value is laid out: what its field says of it, and the object around it.
#[derive(Clone, Copy)]
pub(super) struct ValueContext<'f, 'a> {
    pub(super) sense: FieldMeaning,
    pub(super) format: Option<&'a str>,
    pub(super) place: &'f ResultLocation<'a>,
    pub(super) beside: SiblingContext<'a>,
}

impl<'f, 'a> ValueContext<'f, 'a> {
    pub(super) fn field(field: &'f LabeledField<'a>, beside: SiblingContext<'a>) -> Self {
        Self { sense: field.sense, format: field.format, place: &field.place, beside }
    }
}

/// Lays a result out on paper; how much had no room.
pub(super) fn compose_page<'h>(
    data: SpannedValue<'h>,
    how: &'h RenderOptions<'h>,
    paper: &mut dyn BlockWriter,
) -> usize {
    let tree = ValueTree::of(data);
    let values = PageValueFormatter::new(how.values, how.labels);
    let localized = how.labels.has_values();
    let mut walk =
        PageComposer { how, values, paper, hidden: 0, kept: Vec::new(), embedded: false, localized };
    walk.root(tree.root());
    if walk.hidden > 0 {
        let (word, count) = (how.labels.word(PageWord::NotShown), walk.values.count(walk.hidden));
        walk.paper.put(&PageBlock::Lines(&format!("… {word}: {count}")));
    }
    walk.hidden
}

impl<'h> PageComposer<'h, '_> {
    fn root(&mut self, data: ValueNode<'h>) {
        let root = ResultLocation::root(self.how.output);
        let labels = self.how.labels;
        let typed = self.how.output.and_then(Subschema::title);
        let said = labels.title("").or_else(|| typed.and_then(|_| labels.heading()));
        let said = said.map(|title| clean::one_line(&clean::clean(title)).into_owned());
        let title = said.or_else(|| name::heading_from_title(&clean::clean(Cow::Borrowed(typed?))));
        if let Some(title) = title {
            self.paper.put(&PageBlock::Heading { level: 1, text: &title });
        }
        self.note(self.is_verbose().then(|| root.description(self.how.labels)).flatten().as_deref());
        let of = ValueContext {
            sense: FieldMeaning::Plain,
            format: None,
            place: &root,
            beside: SiblingContext::default(),
        };
        // Libraries wrap what is no object into one whose only member has this name.
        let mut members = data.members();
        match members.next() {
            Some((name, value)) if name.is("result") && members.next().is_none() => {
                let field = LabeledField::new(Cow::Borrowed("result"), &root, self.how.labels, false);
                let beside = SiblingContext::default();
                self.section(value, ValueContext::field(&field, beside), 1);
            }
            _ => self.section(data, of, 1),
        }
    }

    pub(super) fn is_verbose(&self) -> bool {
        self.how.verbosity == Verbosity::Verbose
    }

    pub(super) fn is_full(&self) -> bool {
        self.paper.len() >= self.how.room
    }

    /// Writes a block, or counts it as hidden where the page is full.
    pub(super) fn put(&mut self, block: &PageBlock<'_>) {
        if self.is_full() {
            self.hidden += 1;
        } else {
            self.paper.put(block);
        }
    }

    fn note(&mut self, note: Option<&str>) {
        if let Some(note) = note {
            self.paper.put(&PageBlock::Lines(note));
        }
    }

    /// As much of a text as there is room for.
    fn truncate_to_room<'t>(&mut self, text: Cow<'t, str>) -> Cow<'t, str> {
        let left = self.how.room.saturating_sub(self.paper.len());
        if text.len() <= left {
            return text;
        }
        self.hidden += 1;
        let begin = (0..=left).rev().find_map(|end| text.get(..end)).unwrap_or_default();
        let mut cut = String::with_capacity(begin.len() + 4);
        cut.push_str(begin);
        cut.push('…');
        Cow::Owned(cut)
    }

    /// A string as the caller's locale files have it; none where they do not.
    fn translated_value(&self, value: ValueNode<'h>, place: &ResultLocation<'h>) -> Option<Cow<'h, str>> {
        let text = value.text().filter(|_| self.localized)?.decode()?;
        let told = place.find_value(|path| self.how.labels.value(path, &text))?;
        Some(clean::clean(Cow::Owned(told)))
    }

    /// The same for what stands in a list whose elements have no place of their own.
    pub(super) fn inline_element(
        &mut self,
        value: ValueNode<'h>,
        of: ValueContext<'_, 'h>,
    ) -> InlineSpan<'h> {
        let items = self.localized.then(|| of.place.items());
        self.inline(value, items.as_ref().map_or(of, |items| ValueContext { place: items, ..of }))
    }

    pub(super) fn inline(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> InlineSpan<'h> {
        if let Some(told) = self.translated_value(value, of.place) {
            return InlineSpan::Text(told);
        }
        match self.values.scalar(value, of.sense, of.format, of.beside) {
            InlineSpan::Text(text) if text.len() > 256 => InlineSpan::Text(self.truncate_to_room(text)),
            inline => inline,
        }
    }

    /// A value that stands in a line with its label; none if it needs room of its own.
    fn try_inline(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> Option<InlineSpan<'h>> {
        match value.kind() {
            JsonKind::Object | JsonKind::Array if value.is_empty() => Some(self.values.empty()),
            JsonKind::Object => None,
            JsonKind::Array => layout::fits_in_line(value).then(|| self.join_inline(value, of)).flatten(),
            JsonKind::String if value.text().is_some_and(layout::has_lines) => {
                let told = self.translated_value(value, of.place).filter(|told| !told.contains('\n'));
                told.map(InlineSpan::Text)
            }
            _ => Some(self.inline(value, of)),
        }
    }

    /// Values in one line. Where a comma stands inside of a number, a semicolon stands between.
    fn join_inline(&mut self, list: ValueNode<'h>, of: ValueContext<'_, 'h>) -> Option<InlineSpan<'h>> {
        let mut items = Vec::new();
        for element in list.elements() {
            match self.inline_element(element, of) {
                InlineSpan::Text(text) => items.push(text),
                link if items.is_empty() && list.elements().nth(1).is_none() => return Some(link),
                _ => return None,
            }
        }
        let between =
            if items.len() > 1 && items.iter().any(|item| item.contains(',')) { "; " } else { ", " };
        Some(InlineSpan::Text(Cow::Owned(items.join(between))))
    }

    /// A value that has a heading of this level above it.
    fn section(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>, level: usize) {
        match value.kind() {
            JsonKind::Object if !value.is_empty() => {
                let mut fields = FieldCache::take_from(of.place, &mut self.kept);
                self.object(value, &mut fields, of.beside, level, None);
                fields.return_to(&mut self.kept);
            }
            JsonKind::Array if !value.is_empty() => self.list(value, of, level),
            JsonKind::String if self.put_translation(value, of) || self.put_embedded(value, of, level) => {}
            JsonKind::String if value.text().is_some_and(layout::has_lines) => self.lines(value, of),
            _ => {
                let inline = self.try_inline(value, of).unwrap_or(InlineSpan::Text(Cow::Borrowed("")));
                match inline {
                    InlineSpan::Text(text) => self.put(&PageBlock::Lines(&text)),
                    link => {
                        self.put(&PageBlock::Entry { depth: 0, label: None, value: Some(&link), note: None });
                    }
                }
            }
        }
    }

    /// A string that the caller's locale files have.
    fn put_translation(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> bool {
        let told = self.translated_value(value, of.place);
        if let Some(told) = &told {
            self.put(&PageBlock::Lines(told));
        }
        told.is_some()
    }

    /// Many tools return JSON as text. It is laid out as what it is, but not what is text in it once more.
    fn put_embedded(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>, level: usize) -> bool {
        let Some(text) = value.text().filter(|_| !self.embedded && of.sense != FieldMeaning::Code) else {
            return false;
        };
        let text = clean::read(text);
        if !text.trim_start().starts_with(['{', '[']) {
            return false;
        }
        let Ok(document) = Document::parse(text.as_bytes()) else { return false };
        let tree = ValueTree::of(document.root());
        let root = tree.root();
        if root.is_empty() {
            return false;
        }
        let how = RenderOptions { output: None, ..*self.how };
        let values = PageValueFormatter::new(how.values, how.labels);
        let mut walk = PageComposer {
            how: &how,
            values,
            paper: &mut *self.paper,
            hidden: 0,
            kept: Vec::new(),
            embedded: true,
            localized: self.localized,
        };
        let of = ValueContext {
            sense: FieldMeaning::Plain,
            format: None,
            place: &ResultLocation::root(None),
            beside: SiblingContext::default(),
        };
        walk.section(root, of, level);
        self.hidden += walk.hidden;
        true
    }

    fn lines(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) {
        if self.is_full() {
            self.hidden += 1;
            return;
        }
        let Some(text) = value.text() else { return };
        let text = self.truncate_to_room(clean::read(text));
        let code = matches!(of.sense, FieldMeaning::Code | FieldMeaning::Name) || is_preformatted(&text);
        self.paper.put(&if code {
            PageBlock::Code { depth: 0, text: &text }
        } else {
            PageBlock::Lines(&text)
        });
    }

    pub(super) fn object(
        &mut self,
        object: ValueNode<'h>,
        fields: &mut FieldCache<'h>,
        above: SiblingContext<'h>,
        level: usize,
        without: Option<&Cow<'h, str>>,
    ) {
        let beside = SiblingContext::of(object, above);
        let mut later = Vec::new();
        for (at, (name, value)) in object.members().enumerate() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let found = fields.find(name, at, self.how.labels, self.is_verbose());
            let Some(field) = found.filter(|field| without != Some(&field.key)) else { continue };
            match self.try_inline(value, ValueContext::field(field, beside)) {
                Some(inline) => {
                    let (label, note) = (Some(&*field.label), field.note.as_deref());
                    self.put(&PageBlock::Entry { depth: 0, label, value: Some(&inline), note });
                }
                None => later.push((at, name, value)),
            }
        }
        for (at, name, value) in later {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let found = fields.find(name, at, self.how.labels, self.is_verbose());
            let Some(field) = found else { continue };
            if level < MAX_HEADING_LEVELS {
                self.put(&PageBlock::Heading { level: level + 1, text: &field.label });
                self.note(field.note.as_deref());
                self.section(value, ValueContext::field(field, beside), level + 1);
            } else {
                self.entry(field, value, beside, 0);
            }
        }
    }

    /// A field that needs room of its own, as an entry with a list below it.
    fn entry(
        &mut self,
        field: &LabeledField<'h>,
        value: ValueNode<'h>,
        beside: SiblingContext<'h>,
        depth: usize,
    ) {
        let (label, note) = (Some(&*field.label), field.note.as_deref());
        if value.kind() == JsonKind::String {
            self.text(value, label, note, ValueContext::field(field, beside), depth);
        } else if depth >= MAX_LIST_LEVELS {
            let code = self.json(value);
            self.put(&PageBlock::Entry { depth, label, value: Some(&code), note });
        } else {
            self.put(&PageBlock::Entry { depth, label, value: None, note });
            self.nested(value, ValueContext::field(field, beside), depth + 1, None);
        }
    }

    /// Text of more than one line, as an entry.
    fn text(
        &mut self,
        value: ValueNode<'h>,
        label: Option<&str>,
        note: Option<&str>,
        of: ValueContext<'_, 'h>,
        depth: usize,
    ) {
        let inline = self.inline(value, of);
        let set =
            matches!(of.sense, FieldMeaning::Code | FieldMeaning::Name) || is_preformatted(inline.as_str());
        if set && label.is_some() {
            self.put(&PageBlock::Entry { depth, label, value: None, note });
            self.put(&PageBlock::Code { depth: depth + 1, text: inline.as_str() });
        } else {
            self.put(&PageBlock::Entry { depth, label, value: Some(&inline), note });
        }
    }

    fn json(&mut self, value: ValueNode<'h>) -> InlineSpan<'h> {
        let line = json::line(value, self.how.room.saturating_sub(self.paper.len()));
        InlineSpan::Code(self.truncate_to_room(Cow::Owned(line)))
    }

    /// An object or a list, as lists inside of lists.
    pub(super) fn nested(
        &mut self,
        value: ValueNode<'h>,
        of: ValueContext<'_, 'h>,
        depth: usize,
        without: Option<&Cow<'h, str>>,
    ) {
        if value.kind() == JsonKind::Array {
            self.nested_list(value, of, depth);
            return;
        }
        let beside = SiblingContext::of(value, of.beside);
        let mut fields = FieldCache::take_from(of.place, &mut self.kept);
        for (at, (name, value)) in value.members().enumerate() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let found = fields.find(name, at, self.how.labels, self.is_verbose());
            let Some(field) = found.filter(|field| without != Some(&field.key)) else { continue };
            match self.try_inline(value, ValueContext::field(field, beside)) {
                Some(inline) => {
                    let (label, note) = (Some(&*field.label), field.note.as_deref());
                    self.put(&PageBlock::Entry { depth, label, value: Some(&inline), note });
                }
                None => self.entry(field, value, beside, depth),
            }
        }
        fields.return_to(&mut self.kept);
    }

    pub(super) fn nested_list(&mut self, list: ValueNode<'h>, of: ValueContext<'_, 'h>, depth: usize) {
        let items = of.place.items();
        let of = ValueContext { place: &items, ..of };
        let telling = layout::list_identifying_key(list);
        let mut fields = FieldCache::take_from(&items, &mut Vec::new());
        for (at, value) in list.elements().enumerate() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            if let Some(inline) = self.try_inline(value, of) {
                self.put(&PageBlock::Entry { depth, label: None, value: Some(&inline), note: None });
            } else if value.kind() == JsonKind::String {
                self.text(value, None, None, of, depth);
            } else if depth >= MAX_LIST_LEVELS {
                let code = self.json(value);
                self.put(&PageBlock::Entry { depth, label: None, value: Some(&code), note: None });
            } else {
                let heading = self.heading(value, telling.as_ref(), &mut fields, of.beside, at);
                self.put(&PageBlock::Entry { depth, label: Some(&heading), value: None, note: None });
                self.nested(value, of, depth + 1, telling.as_ref());
            }
        }
    }
}

/// Whether lines were set by hand: indented, in columns, or code.
fn is_preformatted(text: &str) -> bool {
    let mut lines = text.trim_matches('\n').lines().filter(|line| !line.trim().is_empty());
    let set = |line: &str| {
        line.starts_with([' ', '\t'])
            || line.trim_end().contains("   ")
            || line.ends_with(['{', '}', ';'])
            || ["@@ ", "+++ ", "--- ", "diff --git ", "#!", "<?xml", "<!DOCTYPE", "{\"", "[{"]
                .iter()
                .any(|start| line.starts_with(start))
    };
    lines.any(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_were_set_by_hand_are_kept_so() {
        for (text, expected) in [
            ("Dear Ms. Meier\nthank you.", false),
            ("- milk\n- bread", false),
            ("def main():\n    pass", true),
            ("a     1\nb     2", true),
            ("int x;\nint y;", true),
            ("@@ -1 +1 @@\n-a", true),
        ] {
            assert_eq!(is_preformatted(text), expected, "{text}");
        }
    }
}

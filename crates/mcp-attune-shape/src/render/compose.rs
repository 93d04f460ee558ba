//! The composer: walks the data once and turns them into blocks.
//!
//! 1. The simple fields of an object come first, as a list; what needs room of its own follows under
//!    headings, in the order of the data. From the fourth level of headings on it is lists inside of
//!    lists, and what is deeper still is JSON.
//! 2. What is laid out is put down at once and never held, so that memory is that of the page.
//! 3. When the page is full, what is left is counted instead.

use std::borrow::Cow;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::text::content_lines;

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

/// How many levels of headings a page has, its title included. Below the last one, objects and lists
/// become nested entries.
pub(super) const MAX_HEADING_LEVELS: usize = 4;
/// How deep entries are nested below the headings. What is deeper is written as JSON on one line.
const MAX_LIST_LEVELS: usize = 6;

/// The state of laying out one page: what is written so far, and what is the same for all its values.
///
/// Its methods are here, and in `rows` for tables and records. Loops over members, elements and rows
/// check whether the page is full before each of them, and count it as hidden if so.
pub(super) struct PageComposer<'h, 'p> {
    /// The options of the page.
    pub(super) how: &'h RenderOptions<'h>,
    /// Formats scalar values.
    pub(super) values: PageValueFormatter<'h>,
    /// The writer that blocks go to.
    pub(super) paper: &'p mut dyn BlockWriter,
    /// Number of values, rows and sections that had no room, and of texts that were cut. The last line
    /// of the page tells it.
    pub(super) hidden: usize,
    /// Descriptions of fields, kept by location, for objects that follow.
    pub(super) kept: Vec<FieldCache<'h>>,
    /// Whether the data are JSON that was found in a string. Strings inside of such data stay strings,
    /// so that the nesting ends.
    embedded: bool,
    /// Whether any value of this tool has a translation. If not, values are not looked up.
    localized: bool,
}

/// What the layout knows of a value beside the value itself: its field, and the object around it.
#[derive(Clone, Copy)]
pub(super) struct ValueContext<'f, 'a> {
    /// What the name of the field says of the value.
    pub(super) sense: FieldMeaning,
    /// The keyword `format` of the schema of the field.
    pub(super) format: Option<&'a str>,
    /// Where the value is, for titles and translations of what is inside of it.
    pub(super) place: &'f ResultLocation<'a>,
    /// What the object around the value says.
    pub(super) beside: SiblingContext<'a>,
}

impl<'f, 'a> ValueContext<'f, 'a> {
    /// Returns the context of the value of a field.
    pub(super) fn field(field: &'f LabeledField<'a>, beside: SiblingContext<'a>) -> Self {
        Self { sense: field.sense, format: field.format, place: &field.place, beside }
    }
}

/// Lays out a whole page: title, description, data, and a last line with the number of what had no
/// room. Returns that number.
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
    /// Writes the title and the data.
    ///
    /// The title is the one that locale files have for the whole result. Else, and only if the schema
    /// has a `title`, it is the title of the tool in the caller's language, or that `title` made
    /// readable. An object with the single member `result` is written as the value of that member,
    /// because libraries wrap whatever is no object that way.
    fn root(&mut self, data: ValueNode<'h>) {
        let root = ResultLocation::root(self.how.output);
        let labels = self.how.labels;
        let typed = self.how.output.and_then(Subschema::title);
        let said = labels.title("").or_else(|| typed.and_then(|_| labels.heading()));
        let said = said.map(|title| clean::one_line(&content_lines(title)).into_owned());
        let title = said.or_else(|| name::heading_from_title(&content_lines(Cow::Borrowed(typed?))));
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

    /// Returns whether the page has reached its size. Nothing more is begun then.
    pub(super) fn is_full(&self) -> bool {
        self.paper.len() >= self.how.room
    }

    /// Writes a block, or counts it as hidden if the page is full.
    pub(super) fn put(&mut self, block: &PageBlock<'_>) {
        if self.is_full() {
            self.hidden += 1;
        } else {
            self.paper.put(block);
        }
    }

    /// Writes a description as a paragraph, if there is one. It belongs to a heading that was written,
    /// so it is not left out.
    fn note(&mut self, note: Option<&str>) {
        if let Some(note) = note {
            self.paper.put(&PageBlock::Lines(note));
        }
    }

    /// Cuts a text to the bytes that the page has left, at the boundary of a character, and marks the
    /// cut with `…`. A text that is cut counts as hidden.
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

    /// Returns the translation of a string from the caller's locale files, cleaned as the data are.
    /// `None` if the value is no string, or has no translation.
    fn translated_value(&self, value: ValueNode<'h>, place: &ResultLocation<'h>) -> Option<Cow<'h, str>> {
        let text = value.text().filter(|_| self.localized)?.decode()?;
        let told = place.find_value(|path| self.how.labels.value(path, &text))?;
        Some(content_lines(Cow::Owned(told)))
    }

    /// Formats an element of a list that is joined in one line, with the location of elements, so that
    /// its translation is found.
    pub(super) fn inline_element(
        &mut self,
        value: ValueNode<'h>,
        of: ValueContext<'_, 'h>,
    ) -> InlineSpan<'h> {
        let items = self.localized.then(|| of.place.items());
        self.inline(value, items.as_ref().map_or(of, |items| ValueContext { place: items, ..of }))
    }

    /// Formats a scalar value: its translation, or else its form in the caller's locale. Long texts are
    /// cut to the room that is left.
    pub(super) fn inline(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> InlineSpan<'h> {
        if let Some(told) = self.translated_value(value, of.place) {
            return InlineSpan::Text(told);
        }
        match self.values.scalar(value, of.sense, of.format, of.beside) {
            InlineSpan::Text(text) if text.len() > 256 => InlineSpan::Text(self.truncate_to_room(text)),
            inline => inline,
        }
    }

    /// Formats a value that stands in one line with its label. Returns `None` if it needs room of its
    /// own: an object, a list that is too long for a line, or text of several lines that has no
    /// translation on one line.
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

    /// Joins the elements of a short list by commas, or by semicolons if an element contains a comma,
    /// as decimal numbers do in many languages. Returns `None` if there are several elements and one is
    /// a link, because links are not joined.
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

    /// Writes a value that has room of its own below a heading of this level.
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

    /// Writes the translation of a string as a paragraph. Returns `false`, and writes nothing, if it
    /// has none.
    fn put_translation(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> bool {
        let told = self.translated_value(value, of.place);
        if let Some(told) = &told {
            self.put(&PageBlock::Lines(told));
        }
        told.is_some()
    }

    /// Lays a string out as data if it holds a JSON object or list, as many tools return them. Returns
    /// `false`, and writes nothing, if it does not.
    ///
    /// Strings inside of the embedded data are not looked into again. The output schema says nothing of
    /// embedded data.
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

    /// Writes a string of several lines as a paragraph, or as preformatted text if its field or its
    /// look says that it is code.
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

    /// Writes an object below a heading of this level: first all fields that fit in a line, then the
    /// others under headings of the next level, or as entries where no level is left.
    ///
    /// `fields` must be the cache of the location of the object. `without` is the key of a field that
    /// stands in the heading already, and is not repeated.
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

    /// Writes a field that does not fit in a line as an entry with its content nested below, or as JSON
    /// if it is too deep.
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

    /// Writes text of several lines as an entry. Text that is preformatted and has a label goes into a
    /// code block below the label.
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

    /// Returns a value that is too deep to be laid out as JSON in a code span, cut to the room that is
    /// left.
    fn json(&mut self, value: ValueNode<'h>) -> InlineSpan<'h> {
        let line = json::line(value, self.how.room.saturating_sub(self.paper.len()));
        InlineSpan::Code(self.truncate_to_room(Cow::Owned(line)))
    }

    /// Writes what is inside of an object or a list as entries of this depth, where headings are used
    /// up. `without` is the key of a field that the entry above has as its label.
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

    /// Writes the elements of a list as entries of this depth. Those that need room of their own get a
    /// heading entry, with the value of their identifying field or their number, and their content
    /// below it.
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

/// Returns whether lines were set by hand, and would lose their meaning as prose: one of them is
/// indented, has columns of blanks, ends like a statement or a brace, or begins like a diff, a script
/// or markup.
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

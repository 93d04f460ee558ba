//! Lists that have room of their own: tables, and records one after another.
//!
//! These are the methods of the composer for a list that stands under a heading. [`layout`] decides
//! which form the list takes; lists inside of other lists are written by `compose`.

use std::borrow::Cow;

use mcp_attune_wire::json::JsonKind;

use super::block::{ColumnHeading, InlineSpan, PageBlock};
use super::clean;
use super::compose::{MAX_HEADING_LEVELS, PageComposer, ValueContext};
use super::field::{FieldCache, LabeledField, ResultLocation};
use super::layout::{self, ListLayout};
use super::tree::ValueNode;
use super::value::SiblingContext;

impl<'h> PageComposer<'h, '_> {
    /// Writes a list that is not empty below a heading of this level, in the layout that its elements
    /// permit.
    pub(super) fn list(&mut self, list: ValueNode<'h>, of: ValueContext<'_, 'h>, level: usize) {
        match layout::layout(list) {
            ListLayout::Values | ListLayout::Mixed => self.nested_list(list, of, 0),
            ListLayout::Table(columns) => self.table(list, &columns, of),
            ListLayout::Matrix(columns) => self.matrix(list, columns, of),
            ListLayout::Records(telling) => self.records(list, telling.as_ref(), of, level),
        }
    }

    /// Writes a list of objects as a table, with a row for each object and a column for each name.
    ///
    /// Members are matched to columns by name, and are expected at the position of their column, so
    /// that rows of one kind cost a single comparison for each cell. A member that an object lacks
    /// leaves its cell empty. Rows without room are counted as hidden. With `verbosity=verbose`, the
    /// descriptions of the columns follow as a list.
    fn table(&mut self, list: ValueNode<'h>, columns: &[layout::ColumnStats<'h>], of: ValueContext<'_, 'h>) {
        let place = of.place.items();
        let field = |column: &layout::ColumnStats<'h>| {
            LabeledField::new(column.key.clone(), &place, self.how.labels, self.is_verbose())
        };
        let fields: Vec<_> = columns.iter().map(field).collect();
        let column = |(field, column): (&'_ LabeledField<'h>, &layout::ColumnStats<'h>)| {
            (field.label.clone(), column.numbers)
        };
        let heads: Vec<_> = fields.iter().zip(columns).map(column).collect();
        let heads: Vec<_> =
            heads.iter().map(|(label, numbers)| ColumnHeading { label, numbers: *numbers }).collect();
        self.put(&PageBlock::Head(&heads));
        let says = fields.iter().any(|field| SiblingContext::is_told_by(&field.key));
        let mut cells: Vec<InlineSpan<'h>> = Vec::new();
        for row in list.elements() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let beside = if says { SiblingContext::of(row, of.beside) } else { of.beside.for_nested() };
            cells.clear();
            cells.resize(fields.len(), InlineSpan::Text(Cow::Borrowed("")));
            for (guess, (name, value)) in row.members().enumerate() {
                let is = |field: &LabeledField<'_>| name.is(&field.key);
                let guessed = fields.get(guess).is_some_and(is);
                let at = if guessed { Some(guess) } else { fields.iter().position(is) };
                let Some((field, cell)) = at.and_then(|at| fields.get(at).zip(cells.get_mut(at))) else {
                    continue;
                };
                *cell = self.cell(value, ValueContext::field(field, beside));
            }
            self.put(&PageBlock::Row(&cells));
        }
        self.paper.put(&PageBlock::End);
        for field in &fields {
            if let Some(note) = &field.note {
                let note = InlineSpan::Text(Cow::Borrowed(&**note));
                self.put(&PageBlock::Entry {
                    depth: 0,
                    label: Some(&field.label),
                    value: Some(&note),
                    note: None,
                });
            }
        }
    }

    /// Writes a list of lists as a table.
    ///
    /// The columns are named after a list of strings beside it, such as `columns` or `headers`, if that
    /// has exactly one name for each column (see [`SiblingContext::names`]); else the headings are
    /// empty. Names also tell what the values of their column mean.
    fn matrix(&mut self, list: ValueNode<'h>, columns: usize, of: ValueContext<'_, 'h>) {
        let names: Vec<_> =
            of.beside.names.into_iter().flat_map(ValueNode::elements).map_while(ValueNode::text).collect();
        let names = if names.len() == columns { names } else { Vec::new() };
        let nowhere = ResultLocation::root(None);
        let field = |name| LabeledField::new(clean::read(name), &nowhere, self.how.labels, false);
        let fields: Vec<_> = names.into_iter().map(field).collect();
        let numbers = |at: usize| {
            let mut kinds = list.elements().filter_map(|row| row.elements().nth(at)).map(ValueNode::kind);
            kinds.all(|kind| kind == JsonKind::Number)
        };
        let label = |at: usize| fields.get(at).map_or("", |field| &*field.label);
        let heads: Vec<_> =
            (0..columns).map(|at| ColumnHeading { label: label(at), numbers: numbers(at) }).collect();
        self.put(&PageBlock::Head(&heads));
        let mut cells: Vec<InlineSpan<'h>> = Vec::new();
        for row in list.elements() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            cells.clear();
            for (at, value) in row.elements().enumerate() {
                let of = fields.get(at).map_or(of, |field| ValueContext { sense: field.sense, ..of });
                cells.push(self.cell(value, of));
            }
            cells.resize(columns, InlineSpan::Text(Cow::Borrowed("")));
            self.put(&PageBlock::Row(&cells));
        }
        self.paper.put(&PageBlock::End);
    }

    /// Returns the content of a table cell.
    ///
    /// Null and what is empty become a dash, because a column of words that say so would be louder than
    /// the data. The elements of a list are joined by commas, or by semicolons if one of them contains
    /// a comma.
    fn cell(&mut self, value: ValueNode<'h>, of: ValueContext<'_, 'h>) -> InlineSpan<'h> {
        const DASH: InlineSpan<'static> = InlineSpan::Text(Cow::Borrowed("–"));
        match value.kind() {
            JsonKind::Null | JsonKind::Object => DASH,
            JsonKind::Array if value.is_empty() => DASH,
            JsonKind::Array => {
                let items: Vec<_> =
                    value.elements().map(|element| self.inline_element(element, of)).collect();
                let items: Vec<_> = items.iter().map(InlineSpan::as_str).collect();
                let between = if items.iter().any(|item| item.contains(',')) { "; " } else { ", " };
                InlineSpan::Text(Cow::Owned(items.join(between)))
            }
            _ => self.inline(value, of),
        }
    }

    /// Returns the heading of one record of a list: the value of its identifying field, or its number
    /// from 1 if it has none.
    ///
    /// A value without letters says little by itself, so the label of the field stands before it, as in
    /// `ID 4711`, unless the field is a title or a name. `telling` is the key that [`layout`] found,
    /// and `at` the position in the list.
    pub(super) fn heading(
        &mut self,
        record: ValueNode<'h>,
        telling: Option<&Cow<'h, str>>,
        fields: &mut FieldCache<'h>,
        above: SiblingContext<'h>,
        at: usize,
    ) -> String {
        let told = telling.and_then(|key| {
            let field = fields.find_by_key(key, self.how.labels, self.is_verbose())?;
            Some((key, field, record.member(key)?))
        });
        let Some((key, field, value)) = told else { return self.values.count(at + 1) };
        let inline = self.inline(value, ValueContext::field(field, above.for_nested()));
        if layout::is_title_key(key) || inline.as_str().chars().any(char::is_alphabetic) {
            return inline.as_str().to_owned();
        }
        format!("{} {}", field.label, inline.as_str())
    }

    /// Writes the objects of a list one after another, each under a heading of its own, or as nested
    /// entries where the levels of headings are used up. The identifying field is in the heading and
    /// not repeated below.
    fn records(
        &mut self,
        list: ValueNode<'h>,
        telling: Option<&Cow<'h, str>>,
        of: ValueContext<'_, 'h>,
        level: usize,
    ) {
        let place = of.place.items();
        let mut fields = FieldCache::take_from(&place, &mut self.kept);
        for (at, record) in list.elements().enumerate() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let heading = self.heading(record, telling, &mut fields, of.beside, at);
            if level < MAX_HEADING_LEVELS {
                self.put(&PageBlock::Heading { level: level + 1, text: &heading });
                self.object(record, &mut fields, of.beside, level + 1, telling);
            } else {
                self.put(&PageBlock::Entry { depth: 0, label: Some(&heading), value: None, note: None });
                let of = ValueContext { place: &place, ..of };
                self.nested(record, of, 1, telling);
            }
        }
    }
}

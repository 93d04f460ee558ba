//! Lists that have room of their own: tables, and records one after another.

use std::borrow::Cow;

use mcp_attune_wire::json::Type;

use super::block::{Block, Column, Inline};
use super::clean;
use super::field::{Field, Fields, Place};
use super::layout::{self, Layout};
use super::tree::Node;
use super::value::Beside;
use super::walk::{HEADINGS, Of, Walk};

impl<'h> Walk<'h, '_> {
    pub(super) fn list(&mut self, list: Node<'h>, of: Of<'_, 'h>, level: usize) {
        match layout::layout(list) {
            Layout::Values | Layout::Mixed => self.nested_list(list, of, 0),
            Layout::Table(columns) => self.table(list, &columns, of),
            Layout::Matrix(columns) => self.matrix(list, columns, of),
            Layout::Records(telling) => self.records(list, telling.as_ref(), of, level),
        }
    }

    fn table(&mut self, list: Node<'h>, columns: &[layout::Column<'h>], of: Of<'_, 'h>) {
        let place = of.place.items();
        let field = |column: &layout::Column<'h>| {
            Field::new(column.key.clone(), &place, self.how.labels, self.explained())
        };
        let fields: Vec<_> = columns.iter().map(field).collect();
        let column =
            |(field, column): (&'_ Field<'h>, &layout::Column<'h>)| (field.label.clone(), column.numbers);
        let heads: Vec<_> = fields.iter().zip(columns).map(column).collect();
        let heads: Vec<_> =
            heads.iter().map(|(label, numbers)| Column { label, numbers: *numbers }).collect();
        self.put(&Block::Head(&heads));
        let says =
            |field: &Field<'_>| field.key.contains("urrency") || matches!(field.key.as_bytes(), [b't', ..]);
        let says = fields.iter().any(says);
        let mut cells: Vec<Inline<'h>> = Vec::new();
        for row in list.elements() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let beside = if says { Beside::of(row, of.beside) } else { of.beside.inside() };
            cells.clear();
            cells.resize(fields.len(), Inline::Text(Cow::Borrowed("")));
            for (guess, (name, value)) in row.members().enumerate() {
                let is = |field: &Field<'_>| name.is(&field.key);
                let guessed = fields.get(guess).is_some_and(is);
                let at = if guessed { Some(guess) } else { fields.iter().position(is) };
                let Some((field, cell)) = at.and_then(|at| fields.get(at).zip(cells.get_mut(at))) else {
                    continue;
                };
                *cell = self.cell(value, Of::field(field, beside));
            }
            self.put(&Block::Row(&cells));
        }
        self.paper.put(&Block::End);
        for field in &fields {
            if let Some(note) = &field.note {
                let note = Inline::Text(Cow::Borrowed(&**note));
                self.put(&Block::Entry {
                    depth: 0,
                    label: Some(&field.label),
                    value: Some(&note),
                    note: None,
                });
            }
        }
    }

    /// Rows without names, but for those that stand beside them.
    fn matrix(&mut self, list: Node<'h>, columns: usize, of: Of<'_, 'h>) {
        let names: Vec<_> =
            of.beside.names.into_iter().flat_map(Node::elements).map_while(Node::text).collect();
        let names = if names.len() == columns { names } else { Vec::new() };
        let nowhere = Place::root(None);
        let field = |name| Field::new(clean::read(name), &nowhere, self.how.labels, false);
        let fields: Vec<_> = names.into_iter().map(field).collect();
        let numbers = |at: usize| {
            let mut kinds = list.elements().filter_map(|row| row.elements().nth(at)).map(Node::kind);
            kinds.all(|kind| kind == Type::Number)
        };
        let label = |at: usize| fields.get(at).map_or("", |field| &*field.label);
        let heads: Vec<_> =
            (0..columns).map(|at| Column { label: label(at), numbers: numbers(at) }).collect();
        self.put(&Block::Head(&heads));
        let mut cells: Vec<Inline<'h>> = Vec::new();
        for row in list.elements() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            cells.clear();
            for (at, value) in row.elements().enumerate() {
                let of = fields.get(at).map_or(of, |field| Of { sense: field.sense, ..of });
                cells.push(self.cell(value, of));
            }
            cells.resize(columns, Inline::Text(Cow::Borrowed("")));
            self.put(&Block::Row(&cells));
        }
        self.paper.put(&Block::End);
    }

    /// What is not there is a dash in a cell: a column of words that say so would be louder than the data.
    fn cell(&mut self, value: Node<'h>, of: Of<'_, 'h>) -> Inline<'h> {
        const DASH: Inline<'static> = Inline::Text(Cow::Borrowed("–"));
        match value.kind() {
            Type::Null | Type::Object => DASH,
            Type::Array if value.is_empty() => DASH,
            Type::Array => {
                let items: Vec<_> = value.elements().map(|element| self.element(element, of)).collect();
                let items: Vec<_> = items.iter().map(Inline::as_str).collect();
                let between = if items.iter().any(|item| item.contains(',')) { "; " } else { ", " };
                Inline::Text(Cow::Owned(items.join(between)))
            }
            _ => self.inline(value, of),
        }
    }

    /// What a record is known by: the field that tells most, else its number.
    pub(super) fn heading(
        &mut self,
        record: Node<'h>,
        telling: Option<&Cow<'h, str>>,
        fields: &mut Fields<'h>,
        above: Beside<'h>,
        at: usize,
    ) -> String {
        let told = telling.and_then(|key| {
            let field = fields.called(key, self.how.labels, self.explained())?;
            Some((key, field, record.member(key)?))
        });
        let Some((key, field, value)) = told else { return self.values.count(at + 1) };
        let inline = self.inline(value, Of::field(field, above.inside()));
        if layout::is_name(key) || inline.as_str().chars().any(char::is_alphabetic) {
            return inline.as_str().to_owned();
        }
        format!("{} {}", field.label, inline.as_str())
    }

    fn records(&mut self, list: Node<'h>, telling: Option<&Cow<'h, str>>, of: Of<'_, 'h>, level: usize) {
        let place = of.place.items();
        let mut fields = Fields::of(&place, &mut self.kept);
        for (at, record) in list.elements().enumerate() {
            if self.is_full() {
                self.hidden += 1;
                continue;
            }
            let heading = self.heading(record, telling, &mut fields, of.beside, at);
            if level < HEADINGS {
                self.put(&Block::Heading { level: level + 1, text: &heading });
                self.object(record, &mut fields, of.beside, level + 1, telling);
            } else {
                self.put(&Block::Entry { depth: 0, label: Some(&heading), value: None, note: None });
                let of = Of { place: &place, ..of };
                self.nested(record, of, 1, telling);
            }
        }
    }
}

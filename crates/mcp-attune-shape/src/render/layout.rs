//! Decides how a list is laid out: in a line, as entries, as a table, or as records one after another.
//!
//! The decision looks at the raw data only: kinds, names and lengths. Widths are those of the values as
//! the server wrote them, in characters, which is close enough to what formatting makes of them.

use std::borrow::Cow;

use mcp_attune_wire::json::{JsonKind, JsonString};

use super::clean;
use super::tree::ValueNode;

/// How many columns a table has at most.
const MAX_TABLE_COLUMNS: usize = 6;
/// How many columns a table has at most if its rows are short, and a matrix in any case.
const MAX_NARROW_COLUMNS: usize = 8;
/// How many characters a cell has at most.
const MAX_CELL_CHARS: usize = 80;
/// How many characters a row has at most, with two for each gap between columns.
const MAX_ROW_CHARS: usize = 140;
/// How many characters a row has at most that has more than [`MAX_TABLE_COLUMNS`] columns.
const MAX_NARROW_ROW_CHARS: usize = 90;
/// How many characters a list that is joined in one line has at most.
const MAX_LINE_CHARS: usize = 72;
/// How many elements a list that is joined in one line has at most.
const MAX_LINE_ITEMS: usize = 12;
/// How many different names the objects of a list may have to be compared. With more, the names are
/// data rather than fields; the limit also bounds the work, which is one search for each member.
const MAX_COMPARED_NAMES: usize = 64;

/// The form of a list that has room of its own.
#[derive(PartialEq, Debug)]
pub(super) enum ListLayout<'a> {
    /// Scalars only: one entry for each.
    Values,
    /// Objects with few fields that all fit into cells: a table with these columns, in the order in
    /// which names first occur.
    Table(Vec<ColumnStats<'a>>),
    /// Objects that do not fit a table: one after another, each under the value of this field. With
    /// `None` they are numbered.
    Records(Option<Cow<'a, str>>),
    /// Lists of short scalars: a table with so many columns, whose names the data have elsewhere or not
    /// at all.
    Matrix(usize),
    /// Anything else: entries with nested content.
    Mixed,
}

/// What is known of one field after a look at all objects of a list.
#[derive(PartialEq, Debug)]
pub(super) struct ColumnStats<'a> {
    /// Name of the member, decoded. Names that cleaning would change never get here.
    pub(super) key: Cow<'a, str>,
    /// Width of the widest value or of the name, in characters.
    widest: usize,
    /// Whether all values are numbers or null. In a table that was decided on, at least one is a
    /// number.
    pub(super) numbers: bool,
    /// Whether a value is a number.
    any: bool,
    /// Whether every value can stand in a cell.
    fits: bool,
    /// In how many objects the value could be a heading: a string that is not empty, or a number, and
    /// short enough for a cell.
    telling: usize,
}

/// Decides the layout of a list. The list must not be empty.
pub(super) fn layout(list: ValueNode<'_>) -> ListLayout<'_> {
    let (mut rows, mut values) = (0_usize, 0_usize);
    if list.elements().next().is_some_and(|first| first.kind() == JsonKind::Array) {
        return matrix(list).map_or(ListLayout::Mixed, ListLayout::Matrix);
    }
    let mut columns: Option<Vec<ColumnStats<'_>>> = Some(Vec::new());
    for element in list.elements() {
        match element.kind() {
            JsonKind::Object => {
                rows += 1;
                if columns.as_mut().is_some_and(|columns| !observe_object(columns, element)) {
                    columns = None;
                }
            }
            JsonKind::Array => return ListLayout::Mixed,
            _ => values += 1,
        }
    }
    match (rows, values, columns) {
        (0, _, _) => ListLayout::Values,
        (_, 0, Some(mut columns)) if is_table(&columns) => {
            columns.iter_mut().for_each(|column| column.numbers &= column.any);
            ListLayout::Table(columns)
        }
        (_, 0, Some(columns)) => ListLayout::Records(identifying_key(columns, rows)),
        (_, 0, None) => ListLayout::Records(None),
        _ => ListLayout::Mixed,
    }
}

/// Returns how many columns a list of lists has as a table, which is the length of the longest row.
/// `None` if it cannot be one: it has a single row or column, too many columns, or an element that is
/// no short list of scalars.
fn matrix(list: ValueNode<'_>) -> Option<usize> {
    let (mut rows, mut columns) = (0, 0);
    for row in list.elements() {
        let (_, fits) = measure(row);
        let cells = row.elements().count();
        if row.kind() != JsonKind::Array || !fits || cells > MAX_NARROW_COLUMNS {
            return None;
        }
        rows += 1;
        columns = columns.max(cells);
    }
    Some(columns).filter(|columns| rows > 1 && *columns > 1)
}

/// Adds one object to the statistics of all columns.
///
/// Returns `false` if the objects cannot be compared any longer: they have too many different names, or
/// a name that cleaning changes, so that two names could look the same on the page.
fn observe_object<'a>(columns: &mut Vec<ColumnStats<'a>>, object: ValueNode<'a>) -> bool {
    for (guess, (name, value)) in object.members().enumerate() {
        let is = |column: &ColumnStats<'_>| name.is(&column.key);
        let found =
            if columns.get(guess).is_some_and(is) { Some(guess) } else { columns.iter().position(is) };
        if found.is_none() {
            let key = clean::read(name);
            // Names that cleaning changed could become one.
            if columns.len() >= MAX_COMPARED_NAMES || !name.is(&key) {
                return false;
            }
            columns.push(ColumnStats {
                widest: key.chars().count(),
                key,
                numbers: true,
                any: false,
                fits: true,
                telling: 0,
            });
        }
        let at = found.unwrap_or(columns.len().saturating_sub(1));
        let Some(column) = columns.get_mut(at) else { continue };
        let (width, fits) = measure(value);
        column.widest = column.widest.max(width);
        column.fits &= fits;
        column.any |= value.kind() == JsonKind::Number;
        column.numbers &= matches!(value.kind(), JsonKind::Number | JsonKind::Null);
        let tells = matches!(value.kind(), JsonKind::String | JsonKind::Number) && fits && width > 0;
        column.telling += usize::from(tells);
    }
    true
}

/// Returns how many characters a value takes, and whether it can stand in a cell: it is a scalar on one
/// line or a list of such, and at most [`MAX_CELL_CHARS`] long. For a list that does not fit, the width
/// is that of its beginning.
fn measure(value: ValueNode<'_>) -> (usize, bool) {
    match value.kind() {
        JsonKind::String => value.text().map_or((0, true), |text| match text.as_plain_str() {
            // Most texts; without escapes it has no line end.
            Some(plain) if plain.is_ascii() => (plain.len(), plain.len() <= MAX_CELL_CHARS),
            _ => {
                let width = char_count(text);
                (width, width <= MAX_CELL_CHARS && !has_lines(text))
            }
        }),
        JsonKind::Object => (1, value.is_empty()),
        JsonKind::Array => {
            let mut width = 0;
            for element in value.elements() {
                let (one, fits) = measure(element);
                width += one + 2;
                if !fits
                    || width > MAX_CELL_CHARS
                    || matches!(element.kind(), JsonKind::Object | JsonKind::Array)
                {
                    return (width, false);
                }
            }
            (width, true)
        }
        JsonKind::Number => (value.number().map_or(0, str::len), true),
        _ => (4, true),
    }
}

/// Returns the length of a string in characters after its escapes are decoded.
fn char_count(text: JsonString<'_>) -> usize {
    match text.as_plain_str() {
        Some(plain) if plain.is_ascii() => plain.len(),
        Some(plain) => plain.chars().count(),
        None => text.chars().count(),
    }
}

/// Returns whether a string has more than one line after cleaning, not counting blank ones at its ends.
/// Most strings are told by a scan of their bytes, without decoding.
pub(super) fn has_lines(text: JsonString<'_>) -> bool {
    // Without escapes, only what is longer than a byte can end a line.
    let may = text.as_plain_str().is_none_or(|plain| plain.bytes().any(|byte| matches!(byte, 0xc2 | 0xe2)));
    may && clean::read(text).trim().contains('\n')
}

/// Returns whether columns make a table: all values fit into cells, and the row is neither too long nor
/// has too many cells.
fn is_table(columns: &[ColumnStats<'_>]) -> bool {
    let width: usize = columns.iter().map(|column| column.widest + 2).sum();
    let few = columns.len() <= MAX_TABLE_COLUMNS && width <= MAX_ROW_CHARS;
    let narrow = columns.len() <= MAX_NARROW_COLUMNS && width <= MAX_NARROW_ROW_CHARS;
    !columns.is_empty() && (few || narrow) && columns.iter().all(|column| column.fits)
}

/// Returns the field that tells one object of a list from another, among those that are telling in all
/// `rows` objects. `None` if no name is known to identify anything.
///
/// The names in `BEST` are compared without case, `_` and `-`, the earlier the better; then come names
/// that end in one of `ENDS`.
fn identifying_key(columns: Vec<ColumnStats<'_>>, rows: usize) -> Option<Cow<'_, str>> {
    const BEST: [&str; 20] = [
        "title",
        "name",
        "label",
        "subject",
        "headline",
        "displayname",
        "fullname",
        "question",
        "summary",
        "key",
        "id",
        "code",
        "slug",
        "symbol",
        "filename",
        "path",
        "file",
        "uri",
        "date",
        "from",
    ];
    const ENDS: [&str; 3] = ["title", "name", "id"];
    let plain = |key: &str| key.to_lowercase().replace(['_', '-'], "");
    let rank = |key: &str| {
        let key = plain(key);
        let whole = BEST.iter().position(|best| *best == key);
        whole.or_else(|| ENDS.iter().position(|end| key.ends_with(end)).map(|at| BEST.len() + at))
    };
    let whole = columns.into_iter().filter(|column| column.telling == rows);
    let ranked = whole.filter_map(|column| rank(&column.key).map(|rank| (rank, column.key)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, key)| key)
}

/// Returns whether the value of this field is a heading by itself, such as a title or a file name. The
/// values of other fields may need their label before them.
pub(super) fn is_title_key(key: &str) -> bool {
    let key = key.to_lowercase();
    ["title", "name", "label", "subject", "headline", "question", "summary", "path", "file", "uri"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// Returns the field that identifies the elements of a list that is written as entries. `None` if an
/// element is no object, or no field identifies them all.
pub(super) fn list_identifying_key(list: ValueNode<'_>) -> Option<Cow<'_, str>> {
    let mut columns = Vec::new();
    let mut rows = 0;
    for element in list.elements() {
        if element.kind() != JsonKind::Object || !observe_object(&mut columns, element) {
            return None;
        }
        rows += 1;
    }
    identifying_key(columns, rows)
}

/// Returns whether the elements of a list can be joined in one line: they are scalars, few and short,
/// none is an empty string, and none but the first contains a comma or a semicolon, which would look
/// like the end of an element.
pub(super) fn fits_in_line(list: ValueNode<'_>) -> bool {
    let mut width = 0;
    for (at, element) in list.elements().enumerate() {
        let (one, fits) = measure(element);
        width += one + 2;
        let plain = !matches!(element.kind(), JsonKind::Object | JsonKind::Array);
        let blank = element.text().is_some_and(|text| char_count(text) == 0);
        let clause = at > 0
            && element.text().and_then(JsonString::decode).is_some_and(|text| text.contains([',', ';']));
        if !fits || !plain || blank || clause || width > MAX_LINE_CHARS || at >= MAX_LINE_ITEMS {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tree::ValueTree;
    use super::*;
    use mcp_attune_wire::message::Message;

    fn check(list: &str, expected: &str) {
        let message = Message::parse(list.as_bytes()).unwrap();
        let tree = ValueTree::of(message.body());
        let told = match layout(tree.root()) {
            ListLayout::Values => "values".to_owned(),
            ListLayout::Mixed => "mixed".to_owned(),
            ListLayout::Matrix(columns) => format!("matrix {columns}"),
            ListLayout::Records(telling) => format!("records {}", telling.unwrap_or_default()),
            ListLayout::Table(columns) => {
                let keys: Vec<_> = columns
                    .iter()
                    .map(|column| format!("{}{}", column.key, if column.numbers { "#" } else { "" }))
                    .collect();
                format!("table {}", keys.join(" "))
            }
        };
        assert_eq!(told, expected, "{list}");
    }

    #[test]
    fn lists_are_laid_out_by_what_they_hold() {
        check(r#"[1,"a",null]"#, "values");
        check("[1,{}]", "mixed");
        check("[[1],[2]]", "mixed");
        check("[[1,2],[3],[]]", "matrix 2");
        check("[[1,2],[3,[4]]]", "mixed");
        check("[[1,2]]", "mixed");
        check(r#"[{"a":1,"b":"x"},{"b":"y","c":null}]"#, "table a# b c");
        check(r#"[{"a":1,"\u0061b":[1,2]},{"ab":[]}]"#, "table a# ab");
        check(r#"[{"name":"x","a":{"b":1}},{"name":"y"}]"#, "records name");
        check(r#"[{"id":1,"a":{"b":1}},{"id":2,"name":"y"}]"#, "records id");
        check(r#"[{"a":"x\ny"}]"#, "records ");
        let wide = format!(r#"[{{"entityName":"x","a":"{}"}}]"#, "long ".repeat(30));
        check(&wide, "records entityName");
        check(r#"[{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}]"#, "table a# b# c# d# e# f# g# h#");
        check(r#"[{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}]"#, "records ");
        check("[{}]", "records ");
    }

    #[test]
    fn short_lists_stand_in_a_line() {
        for (list, expected) in [
            (r#"["a","b"]"#, true),
            (r#"["a, b"]"#, true),
            (r#"["a","b, c"]"#, false),
            (r#"["a","b\nc"]"#, false),
            (r#"["a",""]"#, false),
            (r#"["a",[]]"#, false),
            ("[1,2,3,4,5,6,7,8,9,10,11,12,13]", false),
        ] {
            let message = Message::parse(list.as_bytes()).unwrap();
            let tree = ValueTree::of(message.body());
            assert_eq!(fits_in_line(tree.root()), expected, "{list}");
        }
    }
}

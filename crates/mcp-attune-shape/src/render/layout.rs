//! How a list is laid out: in a line, as a list, as a table, or one thing after another.

use std::borrow::Cow;

use mcp_attune_wire::json::{JsonKind, JsonString};

use super::clean;
use super::tree::ValueNode;

/// How many columns a table has at most, and how many if all of them are narrow.
const MAX_TABLE_COLUMNS: usize = 6;
const MAX_NARROW_COLUMNS: usize = 8;
/// How many characters a cell has at most, a row, and a row of many columns.
const MAX_CELL_CHARS: usize = 80;
const MAX_ROW_CHARS: usize = 140;
const MAX_NARROW_ROW_CHARS: usize = 90;
/// How many characters and elements a list in one line has at most.
const MAX_LINE_CHARS: usize = 72;
const MAX_LINE_ITEMS: usize = 12;
/// From how many different names on objects are no longer held against each other.
const MAX_COMPARED_NAMES: usize = 64;

/// How a list is laid out.
#[derive(PartialEq, Debug)]
pub(super) enum ListLayout<'a> {
    /// Values only.
    Values,
    /// Objects with few fields that fit into cells.
    Table(Vec<ColumnStats<'a>>),
    /// Objects one after another, under the field that tells most.
    Records(Option<Cow<'a, str>>),
    /// Lists of values, all of them short: a table without names, of so many columns.
    Matrix(usize),
    /// Anything else.
    Mixed,
}

/// What is known of a field of all objects in a list.
#[derive(PartialEq, Debug)]
pub(super) struct ColumnStats<'a> {
    pub(super) key: Cow<'a, str>,
    widest: usize,
    pub(super) numbers: bool,
    any: bool,
    fits: bool,
    /// In how many objects it could be a heading.
    telling: usize,
}

/// How a list is laid out that is not empty.
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

/// How many columns a list of lists of values has, if it can be a table.
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

/// Takes note of one object; whether there are still few enough names.
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

/// How wide a value is, and whether it can stand in a cell.
fn measure(value: ValueNode<'_>) -> (usize, bool) {
    match value.kind() {
        JsonKind::String => value.text().map_or((0, true), |text| {
            let width = char_count(text);
            (width, width <= MAX_CELL_CHARS && !has_lines(text))
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

/// In characters, whatever escapes it is written with.
fn char_count(text: JsonString<'_>) -> usize {
    match text.as_plain_str() {
        Some(plain) if plain.is_ascii() => plain.len(),
        Some(plain) => plain.chars().count(),
        None => text.chars().count(),
    }
}

/// Whether a string has more than one line.
pub(super) fn has_lines(text: JsonString<'_>) -> bool {
    // Without escapes, only what is longer than a byte can end a line.
    let may = text.as_plain_str().is_none_or(|plain| plain.bytes().any(|byte| matches!(byte, 0xc2 | 0xe2)));
    may && clean::read(text).trim().contains('\n')
}

fn is_table(columns: &[ColumnStats<'_>]) -> bool {
    let width: usize = columns.iter().map(|column| column.widest + 2).sum();
    let few = columns.len() <= MAX_TABLE_COLUMNS && width <= MAX_ROW_CHARS;
    let narrow = columns.len() <= MAX_NARROW_COLUMNS && width <= MAX_NARROW_ROW_CHARS;
    !columns.is_empty() && (few || narrow) && columns.iter().all(|column| column.fits)
}

/// The field that tells one object from another, of those that every object has.
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

/// Whether a record's heading is a name by itself; else the label stands before it.
pub(super) fn is_title_key(key: &str) -> bool {
    let key = key.to_lowercase();
    ["title", "name", "label", "subject", "headline", "question", "summary", "path", "file", "uri"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// The field that tells most of the objects of a list that is laid out as a list.
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

/// Whether values of a list fit in one line.
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

//! How a list is laid out: in a line, as a list, as a table, or one thing after another.

use std::borrow::Cow;

use mcp_attune_wire::json::{Text, Type};

use super::clean;
use super::tree::Node;

/// How many columns a table has at most, and how many if all of them are narrow.
const COLUMNS: usize = 6;
const NARROW_COLUMNS: usize = 8;
/// How many characters a cell has at most, a row, and a row of many columns.
const CELL: usize = 80;
const ROW: usize = 140;
const NARROW_ROW: usize = 90;
/// How many characters and elements a list in one line has at most.
const LINE: usize = 72;
const IN_LINE: usize = 12;
/// From how many different names on objects are no longer held against each other.
const NAMES: usize = 64;

/// How a list is laid out.
#[derive(PartialEq, Debug)]
pub(super) enum Layout<'a> {
    /// Values only.
    Values,
    /// Objects with few fields that fit into cells.
    Table(Vec<Column<'a>>),
    /// Objects one after another, under the field that tells most.
    Records(Option<Cow<'a, str>>),
    /// Lists of values, all of them short: a table without names, of so many columns.
    Matrix(usize),
    /// Anything else.
    Mixed,
}

/// What is known of a field of all objects in a list.
#[derive(PartialEq, Debug)]
pub(super) struct Column<'a> {
    pub(super) key: Cow<'a, str>,
    widest: usize,
    pub(super) numbers: bool,
    any: bool,
    fits: bool,
    /// In how many objects it could be a heading.
    telling: usize,
}

/// How a list is laid out that is not empty.
pub(super) fn layout(list: Node<'_>) -> Layout<'_> {
    let (mut rows, mut values) = (0_usize, 0_usize);
    if list.elements().next().is_some_and(|first| first.kind() == Type::Array) {
        return matrix(list).map_or(Layout::Mixed, Layout::Matrix);
    }
    let mut columns: Option<Vec<Column<'_>>> = Some(Vec::new());
    for element in list.elements() {
        match element.kind() {
            Type::Object => {
                rows += 1;
                if columns.as_mut().is_some_and(|columns| !take(columns, element)) {
                    columns = None;
                }
            }
            Type::Array => return Layout::Mixed,
            _ => values += 1,
        }
    }
    match (rows, values, columns) {
        (0, _, _) => Layout::Values,
        (_, 0, Some(mut columns)) if is_table(&columns) => {
            columns.iter_mut().for_each(|column| column.numbers &= column.any);
            Layout::Table(columns)
        }
        (_, 0, Some(columns)) => Layout::Records(telling(columns, rows)),
        (_, 0, None) => Layout::Records(None),
        _ => Layout::Mixed,
    }
}

/// How many columns a list of lists of values has, if it can be a table.
fn matrix(list: Node<'_>) -> Option<usize> {
    let (mut rows, mut columns) = (0, 0);
    for row in list.elements() {
        let (_, fits) = measure(row);
        let cells = row.elements().count();
        if row.kind() != Type::Array || !fits || cells > NARROW_COLUMNS {
            return None;
        }
        rows += 1;
        columns = columns.max(cells);
    }
    Some(columns).filter(|columns| rows > 1 && *columns > 1)
}

/// Takes note of one object; whether there are still few enough names.
fn take<'a>(columns: &mut Vec<Column<'a>>, object: Node<'a>) -> bool {
    for (guess, (name, value)) in object.members().enumerate() {
        let is = |column: &Column<'_>| name.is(&column.key);
        let found =
            if columns.get(guess).is_some_and(is) { Some(guess) } else { columns.iter().position(is) };
        if found.is_none() {
            let key = clean::read(name);
            // Names that cleaning changed could become one.
            if columns.len() >= NAMES || !name.is(&key) {
                return false;
            }
            columns.push(Column {
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
        column.any |= value.kind() == Type::Number;
        column.numbers &= matches!(value.kind(), Type::Number | Type::Null);
        let tells = matches!(value.kind(), Type::String | Type::Number) && fits && width > 0;
        column.telling += usize::from(tells);
    }
    true
}

/// How wide a value is, and whether it can stand in a cell.
fn measure(value: Node<'_>) -> (usize, bool) {
    match value.kind() {
        Type::String => value.text().map_or((0, true), |text| {
            let width = length(text);
            (width, width <= CELL && !has_lines(text))
        }),
        Type::Object => (1, value.is_empty()),
        Type::Array => {
            let mut width = 0;
            for element in value.elements() {
                let (one, fits) = measure(element);
                width += one + 2;
                if !fits || width > CELL || matches!(element.kind(), Type::Object | Type::Array) {
                    return (width, false);
                }
            }
            (width, true)
        }
        Type::Number => (value.number().map_or(0, str::len), true),
        _ => (4, true),
    }
}

/// In characters, whatever escapes it is written with.
fn length(text: Text<'_>) -> usize {
    match text.plain() {
        Some(plain) if plain.is_ascii() => plain.len(),
        Some(plain) => plain.chars().count(),
        None => text.chars().count(),
    }
}

/// Whether a string has more than one line.
pub(super) fn has_lines(text: Text<'_>) -> bool {
    // Without escapes, only what is longer than a byte can end a line.
    let may = text.plain().is_none_or(|plain| plain.bytes().any(|byte| matches!(byte, 0xc2 | 0xe2)));
    may && clean::read(text).trim().contains('\n')
}

fn is_table(columns: &[Column<'_>]) -> bool {
    let width: usize = columns.iter().map(|column| column.widest + 2).sum();
    let few = columns.len() <= COLUMNS && width <= ROW;
    let narrow = columns.len() <= NARROW_COLUMNS && width <= NARROW_ROW;
    !columns.is_empty() && (few || narrow) && columns.iter().all(|column| column.fits)
}

/// The field that tells one object from another, of those that every object has.
fn telling(columns: Vec<Column<'_>>, rows: usize) -> Option<Cow<'_, str>> {
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
pub(super) fn is_name(key: &str) -> bool {
    let key = key.to_lowercase();
    ["title", "name", "label", "subject", "headline", "question", "summary", "path", "file", "uri"]
        .iter()
        .any(|end| key.ends_with(end))
}

/// The field that tells most of the objects of a list that is laid out as a list.
pub(super) fn telling_of(list: Node<'_>) -> Option<Cow<'_, str>> {
    let mut columns = Vec::new();
    let mut rows = 0;
    for element in list.elements() {
        if element.kind() != Type::Object || !take(&mut columns, element) {
            return None;
        }
        rows += 1;
    }
    telling(columns, rows)
}

/// Whether values of a list fit in one line.
pub(super) fn in_line(list: Node<'_>) -> bool {
    let mut width = 0;
    for (at, element) in list.elements().enumerate() {
        let (one, fits) = measure(element);
        width += one + 2;
        let plain = !matches!(element.kind(), Type::Object | Type::Array);
        let blank = element.text().is_some_and(|text| length(text) == 0);
        let clause =
            at > 0 && element.text().and_then(Text::decode).is_some_and(|text| text.contains([',', ';']));
        if !fits || !plain || blank || clause || width > LINE || at >= IN_LINE {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;
    use mcp_attune_wire::message::Message;

    fn check(list: &str, expected: &str) {
        let message = Message::parse(list.as_bytes()).unwrap();
        let tree = Tree::of(message.body());
        let told = match layout(tree.root()) {
            Layout::Values => "values".to_owned(),
            Layout::Mixed => "mixed".to_owned(),
            Layout::Matrix(columns) => format!("matrix {columns}"),
            Layout::Records(telling) => format!("records {}", telling.unwrap_or_default()),
            Layout::Table(columns) => {
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
            let tree = Tree::of(message.body());
            assert_eq!(in_line(tree.root()), expected, "{list}");
        }
    }
}

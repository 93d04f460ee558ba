//! Rows in columns, no wider than the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::paint::{self, PaintStyle};

/// What stands between columns.
const GAP: usize = 2;
/// What the last column keeps while others have more than they need, what those keep, and what all keep.
const LAST_COLUMN_MIN: usize = 32;
const MIDDLE_COLUMN_MIN: usize = 14;
const ANY_COLUMN_MIN: usize = 8;

/// Lays rows out under their heads. Columns without a text in any row are left out; what is too long is
/// cut.
pub(crate) fn render_table(heads: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let used: Vec<usize> = (0..heads.len())
        .filter(|&column| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty())))
        .collect();
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let widest = |&column: &usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width());
        cells.chain([heads.get(column).map_or(0, |head| head.width())]).max().unwrap_or(0)
    };
    let widths = fit_widths(used.iter().map(widest).collect(), width);
    let mut out = String::new();
    let heads: Vec<String> = heads.iter().map(|&head| head.to_owned()).collect();
    for (number, row) in std::iter::once(&heads).chain(rows).enumerate() {
        let cells = used
            .iter()
            .zip(&widths)
            .map(|(&column, &width)| (truncate_to_columns(&cell(row, column), width), width));
        let line: String = cells.map(|(cell, width)| padded(&cell, width + GAP)).collect();
        let line = line.trim_end();
        out += &if number == 0 { paint::stdout().paint(PaintStyle::Strong, line) } else { line.to_owned() };
        out.push('\n');
    }
    out
}

/// Takes what is too much: from the last column while it stays readable, from those in the middle, then from all.
fn fit_widths(mut widths: Vec<usize>, width: usize) -> Vec<usize> {
    let gaps = GAP * widths.len().saturating_sub(1);
    let mut over = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
    let last = widths.len().saturating_sub(1);
    let mut take = |columns: std::ops::Range<usize>, least: usize| {
        for column in widths.get_mut(columns).into_iter().flatten().rev() {
            let take = over.min(column.saturating_sub(least));
            *column -= take;
            over -= take;
        }
    };
    take(last..last + 1, LAST_COLUMN_MIN);
    take(1..last, MIDDLE_COLUMN_MIN);
    take(0..last + 1, ANY_COLUMN_MIN);
    widths
}

/// The beginning of a text, with a mark where it goes on.
pub(crate) fn truncate_to_columns(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |char: &char| {
        let wide = char.width().unwrap_or(0);
        let fits = wide <= room;
        room = room.saturating_sub(wide);
        fits
    };
    let start: String = text.chars().take_while(fits).collect();
    start.trim_end().to_owned() + "…"
}

pub(crate) fn padded(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(text.width()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|&cell| cell.to_owned()).collect()).collect()
    }

    #[test]
    fn columns_stand_below_each_other_and_empty_ones_go() {
        let rows = rows(&[&["get_weather", "", "天気を調べる"], &["x", "", "Says x"]]);
        insta::assert_snapshot!(render_table(&["NAME", "TITLE", "WHAT"], &rows, 80), @"
        NAME         WHAT
        get_weather  天気を調べる
        x            Says x
        ");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long = "word ".repeat(30);
        let rows = rows(&[&["a_name_that_is_rather_long", &long, "天".repeat(50).as_str()]]);
        for width in [30, 40, 80] {
            let shown = render_table(&["NAME", "TITLE", "WHAT"], &rows, width);
            assert!(shown.lines().all(|line| line.width() <= width), "{shown}");
            assert!(shown.contains('…'), "{shown}");
        }
    }
}

//! The figures as Markdown, and their place in the document.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use kit::shell;

const DOCUMENT: &str = "docs/performance.md";

/// A part of the document that is written here.
#[derive(Clone, Copy)]
pub(crate) enum Block {
    Gateway,
    Results,
    Stdio,
}

impl Block {
    /// The command that writes it, which stands in the lines around it.
    fn command(self) -> &'static str {
        match self {
            Self::Gateway => "cargo xtask bench",
            Self::Results => "cargo xtask bench results",
            Self::Stdio => "cargo xtask bench stdio",
        }
    }
}

/// A table, filled row by row.
pub(crate) struct Table(String);

impl Table {
    /// The first column is text, the others are figures.
    pub(crate) fn new(columns: &[&str]) -> Self {
        let rules: String = columns.iter().skip(1).map(|_| "---:|").collect();
        Self(format!("| {} |\n|---|{rules}\n", columns.join(" | ")))
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        let _ = writeln!(self.0, "| {} |", cells.join(" | "));
    }

    pub(crate) fn text(self) -> String {
        self.0
    }
}

/// What was wanted, and what came out.
pub(crate) struct Targets(Table);

/// Which side of the bound is the good one.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Targets {
    pub(crate) fn new() -> Self {
        Self(Table::new(&["target", "bound", "measured", ""]))
    }

    /// `measured` is what the target is about, `shown` how it is written.
    pub(crate) fn add(&mut self, what: &str, bound: Bound, measured: f64, shown: String) {
        let (bound, met) = match bound {
            Bound::AtLeast(least) => (format!("at least {least}"), measured >= least),
            Bound::AtMost(most) => (format!("at most {most}"), measured <= most),
        };
        let met = if met { "met" } else { "**missed**" };
        self.0.row(&[what.to_owned(), bound, shown, met.to_owned()]);
    }

    pub(crate) fn text(self) -> String {
        self.0.text()
    }
}

/// Puts the figures into the document.
pub(crate) fn write(block: Block, figures: &str) -> Result<()> {
    let file = shell::root().join(DOCUMENT);
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {DOCUMENT}"))?;
    let text = between(&text, block, figures).with_context(|| {
        format!("{DOCUMENT} has no place for the figures: two lines of `{}`", block.command())
    })?;
    fs::write(&file, text).with_context(|| format!("could not write {DOCUMENT}"))
}

fn between(text: &str, block: Block, figures: &str) -> Option<String> {
    let [begin, end] = ["begin", "end"].map(|word| format!("<!-- {word}: {} -->\n", block.command()));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{figures}\n{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_stands_between_the_marks() {
        let text = |one, two| {
            format!(
                "a\n<!-- begin: cargo xtask bench stdio -->\n\n{one}\n<!-- end: cargo xtask bench stdio -->\nb\n\
                 <!-- begin: cargo xtask bench -->\n\n{two}\n<!-- end: cargo xtask bench -->\nc\n"
            )
        };
        let old = text("old\n", "old\n");
        assert_eq!(between(&old, Block::Gateway, "new\n"), Some(text("old\n", "new\n")));
        assert_eq!(between(&old, Block::Stdio, "new\n"), Some(text("new\n", "old\n")));
        assert_eq!(between("a\nb\n", Block::Stdio, "new\n"), None);
    }

    #[test]
    fn marks_a_missed_target() {
        let mut targets = Targets::new();
        targets.add("speed", Bound::AtLeast(0.9), 0.89, "0.89".to_owned());
        targets.add("cost", Bound::AtMost(1.4), 1.4, "1.40".to_owned());
        let expected = "| target | bound | measured |  |\n|---|---:|---:|---:|\n\
                        | speed | at least 0.9 | 0.89 | **missed** |\n| cost | at most 1.4 | 1.40 | met |\n";
        assert_eq!(targets.text(), expected);
    }
}

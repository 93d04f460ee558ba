//! Where a setting stands in a file, for what is found out after the file was read.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::findings::line_and_column;

/// The positions of all settings in the text of a file. What is found out about a setting after the file was
/// read (a missing file, a tool that the server does not have) can be reported with its line.
///
/// ```
/// use mcp_attune_gateway::config::SettingPositions;
///
/// let positions = SettingPositions::new("[locales]\npath = 'l/${locale}.json'\n");
/// assert_eq!(positions.find(&["locales", "path"]), Some((2, 8)));
/// assert_eq!(positions.find(&["locales", "translate"]), None);
/// ```
#[derive(Debug)]
pub struct SettingPositions<'t> {
    text: &'t str,
    /// `None` if the text is not TOML.
    table: Option<Spanned<DeTable<'t>>>,
}

impl<'t> SettingPositions<'t> {
    /// Parses the text. If it is not TOML, no position is known.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self { text, table: DeTable::parse(text).ok() }
    }

    /// Returns the line and the column of a setting, both counted from 1: of its value, or of its name if it
    /// is a table. `None` if the text does not set it.
    #[must_use]
    pub fn find(&self, key: &[impl AsRef<str>]) -> Option<(usize, usize)> {
        let (last, tables) = key.split_last()?;
        let mut table = self.table.as_ref()?.get_ref();
        for name in tables {
            table = table.get(name.as_ref())?.get_ref().as_table()?;
        }
        let (name, value) = table.get_key_value(last.as_ref())?;
        let at: Range<usize> = match value.get_ref() {
            DeValue::Table(_) => name.span(),
            _ => value.span(),
        };
        Some(line_and_column(self.text, at.start))
    }

    /// Returns the position of a setting, or of the innermost table around it that the text has. `None` if it
    /// has none of them.
    #[must_use]
    pub fn nearest(&self, key: &[impl AsRef<str>]) -> Option<(usize, usize)> {
        (1..=key.len()).rev().find_map(|length| self.find(key.get(..length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_where_they_stand_and_others_at_the_table_around_them() {
        let positions =
            SettingPositions::new("log = 'info'\n[tools.a]\ntemplates = 'x'\n  [tools.\"b c\".context]\n");
        assert_eq!(positions.find(&["log"]), Some((1, 7)));
        assert_eq!(positions.find(&["tools", "a", "templates"]), Some((3, 13)));
        assert_eq!(positions.find(&["tools", "b c", "hints"]), None);
        assert_eq!(positions.nearest(&["tools", "b c", "hints"]), Some((4, 10)));
        assert_eq!(positions.nearest(&["server", "tls"]), None);
        assert_eq!(positions.find(&[""; 0]), None);
        assert_eq!(SettingPositions::new("log = ").find(&["log"]), None);
    }
}

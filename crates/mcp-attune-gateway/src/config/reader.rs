//! Reads one table of the file: every key that is asked for is known, and every other key is a finding.
//!
//! 1. A value that is wrong is noted, and the reader goes on with the default, so that one pass finds
//!    everything that is wrong. The configuration that comes out is used only if nothing was noted.
//! 2. Which keys the parser accepts in a table is written nowhere but in the function that reads it. When
//!    that returns, whatever it did not ask for is unknown.
//! 3. Defaults come from `base`, a value of the same type: the built-in one, or for a mount that of the
//!    tables at the top.
//! 4. Secrets are kept out of excerpts: the function that reads a table masks the values that it knows to be
//!    secret, and the values of unknown keys are always masked.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::choice::{KeywordSetting, nearest_name, parse_keyword};
use super::findings::{ConfigProblem, FindingCollector, quoted};

/// A value or the problem with it, and where it stands.
type SpannedResult<T> = (Range<usize>, Result<T, ConfigProblem>);

/// A TOML value with the text it was written as.
pub(super) type TomlValue<'v> = DeValue<'v>;

/// A reader of one table. A table below it is read by another reader, which notes into the same collector.
pub(super) struct ConfigTableReader<'t, 'v, 'n> {
    table: &'t DeTable<'v>,
    /// The dotted name of the table, such as `server.tls`; empty at the top.
    name: String,
    /// Where its name stands, for findings about the table as a whole.
    at: Range<usize>,
    /// The keys that were asked for so far.
    known: Vec<&'static str>,
    /// Where findings are noted.
    notes: &'n mut FindingCollector,
}

/// Reads the top of a file with `read`, and then notes the keys that it did not ask for.
pub(super) fn read_root<T>(
    table: &DeTable<'_>,
    notes: &mut FindingCollector,
    read: impl FnOnce(&mut ConfigTableReader<'_, '_, '_>) -> T,
) -> T {
    let mut reader = ConfigTableReader { table, name: String::new(), at: 0..0, known: Vec::new(), notes };
    let value = read(&mut reader);
    reader.report_unknown();
    value
}

impl<'t, 'v> ConfigTableReader<'t, 'v, '_> {
    /// Reads a value with `read`. Returns `base` if it is absent or wrong.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        base: T,
        read: impl FnOnce(&TomlValue<'v>) -> Result<T, ConfigProblem>,
    ) -> T {
        self.optional(key, read).unwrap_or(base)
    }

    /// Reads a value that may be absent. Returns `None` if it is absent or wrong.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&TomlValue<'v>) -> Result<T, ConfigProblem>,
    ) -> Option<T> {
        let value = self.find(key)?;
        read(value.get_ref()).map_err(|problem| self.report_at(key, value.span(), problem)).ok()
    }

    /// Reads a value that is one of a few words.
    pub(super) fn choice<C: KeywordSetting>(&mut self, key: &'static str, base: C) -> C {
        self.read(key, base, |value| parse_keyword(text(value)?))
    }

    /// Reads an array of strings, each with `read`. Returns `base` if it is absent or not an array. An entry
    /// that is wrong is noted and left out.
    pub(super) fn list<T: Clone + PartialEq>(
        &mut self,
        key: &'static str,
        base: &[T],
        read: impl Fn(&str) -> Result<T, ConfigProblem>,
    ) -> Vec<T> {
        self.optional_list(key, read).unwrap_or_else(|| base.to_vec())
    }

    /// Reads an array of strings that may be absent, in which no entry may come twice, and of at most
    /// [`MAX_ENTRIES`].
    pub(super) fn optional_list<T: PartialEq>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, ConfigProblem>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::new();
        for (index, (at, entry)) in self.string_entries(key)?.into_iter().enumerate() {
            match entry.and_then(&read) {
                Ok(entry) if list.contains(&entry) => {
                    let problem = ConfigProblem::new("comes twice", "take one of them out");
                    self.report_at(&format!("{key}[{index}]"), at, problem);
                }
                Ok(entry) => list.push(entry),
                Err(problem) => self.report_at(&format!("{key}[{index}]"), at, problem),
            }
            if list.len() > MAX_ENTRIES {
                let problem = ConfigProblem::new(
                    format!("has more than {MAX_ENTRIES} entries"),
                    "take some of them out",
                );
                let at = self.span(key);
                self.report_at(key, at, problem);
                break;
            }
        }
        Some(list)
    }

    /// Reads an array of strings as they are, such as a command line: entries may repeat, and may be empty.
    pub(super) fn string_array(&mut self, key: &'static str) -> Option<Vec<String>> {
        let mut words = Vec::new();
        for (index, (at, word)) in self.string_entries(key)?.into_iter().enumerate() {
            match word {
                Ok(word) if word.contains('\0') => {
                    let problem = ConfigProblem::new("holds a zero byte", "take it out");
                    self.report_at(&format!("{key}[{index}]"), at, problem);
                }
                Ok(word) => words.push(word.to_owned()),
                Err(problem) => self.report_at(&format!("{key}[{index}]"), at, problem),
            }
        }
        Some(words)
    }

    /// Returns the entries of an array, each a string or a problem. `None` if the key is absent or not an
    /// array.
    fn string_entries(&mut self, key: &'static str) -> Option<Vec<SpannedResult<&'t str>>> {
        let value = self.find(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.report_at(key, value.span(), type_problem(value.get_ref(), "an array of strings"));
            return None;
        };
        Some(array.iter().map(|entry| (entry.span(), text(entry.get_ref()))).collect())
    }

    /// Reads a table with `read`, which gets `base` for absent keys. Returns `base` if the table is absent.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        base: T,
        read: impl FnOnce(&mut ConfigTableReader<'_, '_, '_>, &T) -> T,
    ) -> T {
        self.known.push(key);
        let Some((name, value)) = self.table.get_key_value(key) else {
            return base;
        };
        let at = name.span();
        match value.get_ref() {
            TomlValue::Table(table) => self.read_subtable(key, table, at, |reader| read(reader, &base)),
            other => {
                self.report_at(key, value.span(), type_problem(other, "a table"));
                base
            }
        }
    }

    /// Reads a table of tables whose names the operator chose, such as `[tools.NAME]`, in the order of the
    /// names. Those for which `read` returns `None` are left out.
    pub(super) fn named_tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&str, &mut ConfigTableReader<'_, '_, '_>) -> Option<T>,
    ) -> Vec<(String, T)> {
        let Some(value) = self.find(key) else {
            return Vec::new();
        };
        let Some(table) = value.get_ref().as_table() else {
            self.report_at(key, value.span(), type_problem(value.get_ref(), "a table"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, value) in table {
            let path = format!("{key}.{}", quoted(name.get_ref()));
            match value.get_ref() {
                TomlValue::Table(table) => {
                    let one =
                        self.read_subtable(&path, table, name.span(), |reader| read(name.get_ref(), reader));
                    all.extend(one.map(|one| (name.get_ref().to_string(), one)));
                }
                other => self.report_at(&path, value.span(), type_problem(other, "a table")),
            }
        }
        all
    }

    /// Reads a table of strings, such as `env`. `None` if it is absent or not a table; values that are not
    /// strings are noted and left out.
    pub(super) fn string_table(&mut self, key: &'static str) -> Option<Vec<(&'t str, &'t str)>> {
        let value = self.find(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.report_at(key, value.span(), type_problem(value.get_ref(), "a table of strings"));
            return None;
        };
        let mut all = Vec::new();
        for (name, value) in table {
            match text(value.get_ref()) {
                Ok(value) => all.push((name.get_ref().as_ref(), value)),
                Err(problem) => {
                    self.report_at(&format!("{key}.{}", quoted(name.get_ref())), value.span(), problem);
                }
            }
        }
        Some(all)
    }

    /// Reads a table below this one, and notes its unknown keys.
    fn read_subtable<T>(
        &mut self,
        key: &str,
        table: &DeTable<'_>,
        at: Range<usize>,
        read: impl FnOnce(&mut ConfigTableReader<'_, '_, '_>) -> T,
    ) -> T {
        let name = self.path(key);
        let mut reader = ConfigTableReader { table, name, at, known: Vec::new(), notes: self.notes };
        let value = read(&mut reader);
        reader.report_unknown();
        value
    }

    /// Returns whether a key is there, with any value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns whether an array or a table is there and has no entries.
    pub(super) fn is_empty(&self, key: &str) -> bool {
        match self.table.get(key).map(Spanned::get_ref) {
            Some(TomlValue::Array(array)) => array.is_empty(),
            Some(TomlValue::Table(table)) => table.is_empty(),
            _ => false,
        }
    }

    /// Makes a key known without reading it.
    pub(super) fn mark_known(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Keeps the value of a key out of all excerpts.
    pub(super) fn mask(&mut self, key: &str) {
        if let Some(value) = self.table.get(key) {
            mask(value, self.notes);
        }
    }

    /// Keeps the value of a key out of all excerpts, if it is a string that `is_secret` says so of.
    pub(super) fn mask_where(&mut self, key: &str, is_secret: impl FnOnce(&str) -> bool) {
        if self.table.get(key).and_then(|value| value.get_ref().as_str()).is_some_and(is_secret) {
            self.mask(key);
        }
    }

    /// Notes what is wrong with a key, at its value; or at the table, if the key is absent.
    pub(super) fn report(&mut self, key: &str, problem: ConfigProblem) {
        let at = self.span(key);
        self.report_at(key, at, problem);
    }

    /// Notes the same problem of each of these keys that is there.
    pub(super) fn report_each_present(&mut self, keys: &[&str], problem: &ConfigProblem) {
        for key in keys {
            if self.has(key) {
                self.report(key, problem.clone());
            }
        }
    }

    /// Notes what is wrong with the table as a whole, such as a key that is missing.
    pub(super) fn report_table(&mut self, what: impl AsRef<str>, hint: impl Into<String>) {
        let what = format!("[{}] {}", self.name, what.as_ref());
        self.notes.add(self.at.clone(), ConfigProblem::new(what, hint));
    }

    /// Notes what is wrong with a key, at a byte range.
    fn report_at(&mut self, key: &str, at: Range<usize>, problem: ConfigProblem) {
        let what = format!("`{}` {}", self.path(key), problem.what);
        self.notes.add(at, ConfigProblem { what, ..problem });
    }

    /// Returns the value of a key, and makes the key known.
    fn find(&mut self, key: &'static str) -> Option<&'t Spanned<TomlValue<'v>>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// Returns where the value of a key stands, or the table if the key is absent.
    fn span(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.at.clone(), Spanned::span)
    }

    /// Returns the dotted name of a key.
    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Notes every key that was not asked for, with the key that was probably meant, or the tables where it
    /// belongs. Its value is masked: a secret under a misspelt key is still a secret.
    fn report_unknown(self) {
        let Self { table, name, known, notes, .. } = self;
        let place = if name.is_empty() { "at the top".to_owned() } else { format!("in [{name}]") };
        for (key, value) in table {
            let unknown = key.get_ref().as_ref();
            if known.contains(&unknown) {
                continue;
            }
            // What nobody knows may be anything, a secret included.
            mask(value, notes);
            let hint = match nearest_name(unknown, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => match notes.tables_of_key(unknown) {
                    Some(homes) => format!("`{unknown}` belongs in {homes}"),
                    None => format!("the keys here are {}", join_quoted(&known)),
                },
            };
            let what = format!("there is no key `{}` {place}", quoted(unknown));
            notes.add(key.span(), ConfigProblem::new(what, hint));
        }
    }
}

/// How many entries an array may have. More are a mistake, and comparing each with each must stay cheap.
const MAX_ENTRIES: usize = 1000;

/// Masks all strings, numbers and the like in a value, and leaves the shape of tables and arrays visible.
fn mask(value: &Spanned<TomlValue<'_>>, notes: &mut FindingCollector) {
    match value.get_ref() {
        // The place of a table is its header; what is to be kept back are the values in it.
        TomlValue::Table(table) => table.values().for_each(|value| mask(value, notes)),
        // Of an array its shape is shown, so that a mark stands under the right entry.
        TomlValue::Array(array) => array.iter().for_each(|value| mask(value, notes)),
        _ => notes.mask(value.span()),
    }
}

/// Joins keys for a hint, each in backticks.
fn join_quoted(keys: &[&str]) -> String {
    let mut keys = keys.to_vec();
    keys.dedup();
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the string that a value is.
pub(super) fn text<'t>(value: &'t TomlValue<'_>) -> Result<&'t str, ConfigProblem> {
    value.as_str().ok_or_else(|| type_problem(value, "a string"))
}

/// Parses a string that has more than blanks in it, and no zero byte.
pub(super) fn parse_nonempty(text: &str) -> Result<String, ConfigProblem> {
    match text.trim() {
        "" => Err(ConfigProblem::new("is empty", "write something, or leave it out")),
        _ if text.contains('\0') => Err(ConfigProblem::new("holds a zero byte", "take it out")),
        _ => Ok(text.to_owned()),
    }
}

/// Returns the boolean that a value is.
pub(super) fn flag(value: &TomlValue<'_>) -> Result<bool, ConfigProblem> {
    value.as_bool().ok_or_else(|| type_problem(value, "a boolean"))
}

/// Returns the integer that a value is, in any base that TOML has. One that does not fit is `i128::MAX`,
/// which is out of every bound. `wanted` names what is expected, for the problem of a value of another type.
pub(super) fn number(value: &TomlValue<'_>, wanted: &str) -> Result<i128, ConfigProblem> {
    let integer = value.as_integer().ok_or_else(|| type_problem(value, wanted))?;
    // The grammar has checked the digits, so what does not fit is too large.
    Ok(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
}

/// Returns the problem of a value that has another type than the one `wanted`, with a hint how to write it.
pub(super) fn type_problem(value: &TomlValue<'_>, wanted: &str) -> ConfigProblem {
    let is = match value {
        TomlValue::String(_) => "a string",
        TomlValue::Integer(_) => "an integer",
        TomlValue::Float(_) => "a float",
        TomlValue::Boolean(_) => "a boolean",
        TomlValue::Datetime(_) => "a date or time",
        TomlValue::Array(_) => "an array",
        TomlValue::Table(_) => "a table",
    };
    let hint = match (wanted, value) {
        ("a string", TomlValue::Array(_) | TomlValue::Table(_)) => {
            Cow::Borrowed("write one string, in quotes")
        }
        ("a string", _) => Cow::Borrowed("put it in quotes"),
        ("a boolean", _) => Cow::Borrowed("write true or false, without quotes"),
        ("an array of strings", TomlValue::String(_)) => Cow::Borrowed("put it in brackets: [\"…\"]"),
        _ => Cow::Owned(format!("write {wanted}")),
    };
    ConfigProblem::new(format!("is {is}, not {wanted}"), hint)
}

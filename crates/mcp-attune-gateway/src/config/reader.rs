//! Reads one table: every key that is asked for is known, and every other is a finding.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::choice::{Choice, choose, nearest};
use super::findings::{Notes, Problem, quoted};

/// What was read at a place, or why not.
type Placed<T> = (Range<usize>, Result<T, Problem>);

/// What a value is read from.
pub(super) type Value<'v> = DeValue<'v>;

/// A table, the name it is known by, and where it begins.
pub(super) struct Reader<'t, 'v, 'n> {
    table: &'t DeTable<'v>,
    name: String,
    at: Range<usize>,
    known: Vec<&'static str>,
    notes: &'n mut Notes,
}

/// Reads the whole file.
pub(super) fn root<T>(
    table: &DeTable<'_>,
    notes: &mut Notes,
    read: impl FnOnce(&mut Reader<'_, '_, '_>) -> T,
) -> T {
    let mut reader = Reader { table, name: String::new(), at: 0..0, known: Vec::new(), notes };
    let value = read(&mut reader);
    reader.report_unknown();
    value
}

impl<'t, 'v> Reader<'t, 'v, '_> {
    /// Reads a value that stays what it was where it is absent, or wrong.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        base: T,
        read: impl FnOnce(&Value<'v>) -> Result<T, Problem>,
    ) -> T {
        self.optional(key, read).unwrap_or(base)
    }

    /// Reads a value that may be absent.
    pub(super) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'v>) -> Result<T, Problem>,
    ) -> Option<T> {
        let value = self.find(key)?;
        read(value.get_ref()).map_err(|problem| self.note(key, value.span(), problem)).ok()
    }

    /// Reads one of a few words.
    pub(super) fn choice<C: Choice>(&mut self, key: &'static str, base: C) -> C {
        self.read(key, base, |value| choose(text(value)?))
    }

    /// Reads an array. What is wrong with one entry does not keep the others from being read.
    pub(super) fn list<T: Clone + PartialEq>(
        &mut self,
        key: &'static str,
        base: &[T],
        read: impl Fn(&str) -> Result<T, Problem>,
    ) -> Vec<T> {
        self.optional_list(key, read).unwrap_or_else(|| base.to_vec())
    }

    /// Reads an array that may be absent. No entry may come twice.
    pub(super) fn optional_list<T: PartialEq>(
        &mut self,
        key: &'static str,
        read: impl Fn(&str) -> Result<T, Problem>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::new();
        for (index, (at, entry)) in self.texts(key)?.into_iter().enumerate() {
            match entry.and_then(&read) {
                Ok(entry) if list.contains(&entry) => {
                    let problem = Problem::new("comes twice", "take one of them out");
                    self.note(&format!("{key}[{index}]"), at, problem);
                }
                Ok(entry) => list.push(entry),
                Err(problem) => self.note(&format!("{key}[{index}]"), at, problem),
            }
            if list.len() > MOST {
                let problem = Problem::new(format!("has more than {MOST} entries"), "take some of them out");
                let at = self.span(key);
                self.note(key, at, problem);
                break;
            }
        }
        Some(list)
    }

    /// Reads an array of strings as they are, in their order, however often one comes.
    pub(super) fn words(&mut self, key: &'static str) -> Option<Vec<String>> {
        let mut words = Vec::new();
        for (index, (at, word)) in self.texts(key)?.into_iter().enumerate() {
            match word {
                Ok(word) if word.contains('\0') => {
                    let problem = Problem::new("holds a zero byte", "take it out");
                    self.note(&format!("{key}[{index}]"), at, problem);
                }
                Ok(word) => words.push(word.to_owned()),
                Err(problem) => self.note(&format!("{key}[{index}]"), at, problem),
            }
        }
        Some(words)
    }

    /// The entries of an array of strings, as far as they are strings.
    fn texts(&mut self, key: &'static str) -> Option<Vec<Placed<&'t str>>> {
        let value = self.find(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.note(key, value.span(), wrong_type(value.get_ref(), "an array of strings"));
            return None;
        };
        Some(array.iter().map(|entry| (entry.span(), text(entry.get_ref()))).collect())
    }

    /// Reads a table, which stays what it was where it is absent.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        base: T,
        read: impl FnOnce(&mut Reader<'_, '_, '_>, &T) -> T,
    ) -> T {
        self.known.push(key);
        let Some((name, value)) = self.table.get_key_value(key) else {
            return base;
        };
        let at = name.span();
        match value.get_ref() {
            Value::Table(table) => self.below(key, table, at, |reader| read(reader, &base)),
            other => {
                self.note(key, value.span(), wrong_type(other, "a table"));
                base
            }
        }
    }

    /// Reads a table whose keys are names that the operator chose, in the order of the names.
    pub(super) fn named<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(&str, &mut Reader<'_, '_, '_>) -> Option<T>,
    ) -> Vec<(String, T)> {
        let Some(value) = self.find(key) else {
            return Vec::new();
        };
        let Some(table) = value.get_ref().as_table() else {
            self.note(key, value.span(), wrong_type(value.get_ref(), "a table"));
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, value) in table {
            let path = format!("{key}.{}", quoted(name.get_ref()));
            match value.get_ref() {
                Value::Table(table) => {
                    let one = self.below(&path, table, name.span(), |reader| read(name.get_ref(), reader));
                    all.extend(one.map(|one| (name.get_ref().to_string(), one)));
                }
                other => self.note(&path, value.span(), wrong_type(other, "a table")),
            }
        }
        all
    }

    /// The names in a table of strings, with their values.
    pub(super) fn strings(&mut self, key: &'static str) -> Option<Vec<(&'t str, &'t str)>> {
        let value = self.find(key)?;
        let Some(table) = value.get_ref().as_table() else {
            self.note(key, value.span(), wrong_type(value.get_ref(), "a table of strings"));
            return None;
        };
        let mut all = Vec::new();
        for (name, value) in table {
            match text(value.get_ref()) {
                Ok(value) => all.push((name.get_ref().as_ref(), value)),
                Err(problem) => {
                    self.note(&format!("{key}.{}", quoted(name.get_ref())), value.span(), problem);
                }
            }
        }
        Some(all)
    }

    fn below<T>(
        &mut self,
        key: &str,
        table: &DeTable<'_>,
        at: Range<usize>,
        read: impl FnOnce(&mut Reader<'_, '_, '_>) -> T,
    ) -> T {
        let name = self.path(key);
        let mut reader = Reader { table, name, at, known: Vec::new(), notes: self.notes };
        let value = read(&mut reader);
        reader.report_unknown();
        value
    }

    /// Whether a key is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Whether an array or a table is there, with nothing in it.
    pub(super) fn is_empty(&self, key: &str) -> bool {
        match self.table.get(key).map(Spanned::get_ref) {
            Some(Value::Array(array)) => array.is_empty(),
            Some(Value::Table(table)) => table.is_empty(),
            _ => false,
        }
    }

    /// Makes a key known without reading it.
    pub(super) fn skip(&mut self, key: &'static str) {
        self.known.push(key);
    }

    /// Keeps the value of one key out of what is shown.
    pub(super) fn mask(&mut self, key: &str) {
        if let Some(value) = self.table.get(key) {
            mask(value, self.notes);
        }
    }

    /// Keeps the text of one key out of what is shown, if it is such a text.
    pub(super) fn mask_where(&mut self, key: &str, is_secret: impl FnOnce(&str) -> bool) {
        if self.table.get(key).and_then(|value| value.get_ref().as_str()).is_some_and(is_secret) {
            self.mask(key);
        }
    }

    /// Notes what is wrong with a key, where its value stands.
    pub(super) fn wrong(&mut self, key: &str, problem: Problem) {
        let at = self.span(key);
        self.note(key, at, problem);
    }

    /// Notes the same of each of these keys that is there.
    pub(super) fn refuse(&mut self, keys: &[&str], problem: &Problem) {
        for key in keys {
            if self.has(key) {
                self.wrong(key, problem.clone());
            }
        }
    }

    /// Notes what is wrong with the table as a whole.
    pub(super) fn wrong_table(&mut self, what: impl AsRef<str>, hint: impl Into<String>) {
        let what = format!("[{}] {}", self.name, what.as_ref());
        self.notes.add(self.at.clone(), Problem::new(what, hint));
    }

    fn note(&mut self, key: &str, at: Range<usize>, problem: Problem) {
        let what = format!("`{}` {}", self.path(key), problem.what);
        self.notes.add(at, Problem { what, ..problem });
    }

    fn find(&mut self, key: &'static str) -> Option<&'t Spanned<Value<'v>>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn span(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.at.clone(), Spanned::span)
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

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
            let hint = match nearest(unknown, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => match notes.homes(unknown) {
                    Some(homes) => format!("`{unknown}` belongs in {homes}"),
                    None => format!("the keys here are {}", listed(&known)),
                },
            };
            let what = format!("there is no key `{}` {place}", quoted(unknown));
            notes.add(key.span(), Problem::new(what, hint));
        }
    }
}

/// How many entries an array may have; more are a mistake, and comparing each with each must stay cheap.
const MOST: usize = 1000;

fn mask(value: &Spanned<Value<'_>>, notes: &mut Notes) {
    match value.get_ref() {
        // The place of a table is its header; what is to be kept back are the values in it.
        Value::Table(table) => table.values().for_each(|value| mask(value, notes)),
        // Of an array its shape is shown, so that a mark stands under the right entry.
        Value::Array(array) => array.iter().for_each(|value| mask(value, notes)),
        _ => notes.mask(value.span()),
    }
}

fn listed(keys: &[&str]) -> String {
    let mut keys = keys.to_vec();
    keys.dedup();
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// A string.
pub(super) fn text<'t>(value: &'t Value<'_>) -> Result<&'t str, Problem> {
    value.as_str().ok_or_else(|| wrong_type(value, "a string"))
}

/// A string that is not empty.
pub(super) fn some_text(text: &str) -> Result<String, Problem> {
    match text.trim() {
        "" => Err(Problem::new("is empty", "write something, or leave it out")),
        _ if text.contains('\0') => Err(Problem::new("holds a zero byte", "take it out")),
        _ => Ok(text.to_owned()),
    }
}

/// `true` or `false`.
pub(super) fn flag(value: &Value<'_>) -> Result<bool, Problem> {
    value.as_bool().ok_or_else(|| wrong_type(value, "a boolean"))
}

/// A whole number.
pub(super) fn number(value: &Value<'_>, wanted: &str) -> Result<i128, Problem> {
    let integer = value.as_integer().ok_or_else(|| wrong_type(value, wanted))?;
    // The grammar has checked the digits, so what does not fit is too large.
    Ok(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
}

/// What is wrong with a value of another type than the one that is wanted.
pub(super) fn wrong_type(value: &Value<'_>, wanted: &str) -> Problem {
    let is = match value {
        Value::String(_) => "a string",
        Value::Integer(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Boolean(_) => "a boolean",
        Value::Datetime(_) => "a date or time",
        Value::Array(_) => "an array",
        Value::Table(_) => "a table",
    };
    let hint = match (wanted, value) {
        ("a string", Value::Array(_) | Value::Table(_)) => Cow::Borrowed("write one string, in quotes"),
        ("a string", _) => Cow::Borrowed("put it in quotes"),
        ("a boolean", _) => Cow::Borrowed("write true or false, without quotes"),
        ("an array of strings", Value::String(_)) => Cow::Borrowed("put it in brackets: [\"…\"]"),
        _ => Cow::Owned(format!("write {wanted}")),
    };
    Problem::new(format!("is {is}, not {wanted}"), hint)
}

//! A field: what it is called, what it holds, and what there is to say of it.

use std::borrow::Cow;

use mcp_attune_wire::json::JsonString;

use super::clean::{self, clean, one_line};
use super::meaning::FieldMeaning;
use super::name;
use super::words::PageLabels;
use crate::compiled_schema::Subschema;

/// Where a part of the result is, as the schema names it.
#[derive(Clone, Default)]
pub(crate) struct ResultLocation<'a> {
    pub(super) part: Option<Subschema<'a>>,
    path: String,
}

impl<'a> ResultLocation<'a> {
    pub(crate) fn root(part: Option<Subschema<'a>>) -> Self {
        Self { part, path: String::new() }
    }

    /// The place of the elements of a list.
    pub(crate) fn items(&self) -> Self {
        Self { part: self.part.and_then(Subschema::items), path: format!("{}[]", self.base()) }
    }

    /// The place of a member.
    pub(crate) fn member(&self, name: &str) -> Self {
        let named = self.part.and_then(|part| part.property(name));
        let part = named.or_else(|| self.part.and_then(Subschema::additional_properties));
        let step = if named.is_none() && part.is_some() { "*" } else { name };
        let base = self.base();
        let dot = if base.is_empty() { "" } else { "." };
        Self { part, path: format!("{base}{dot}{step}") }
    }

    /// The way to what is inside: that of the definition, where the part is one.
    fn base(&self) -> Cow<'_, str> {
        match self.part.and_then(Subschema::definition) {
            Some(definition) => Cow::Owned(format!("$defs.{definition}")),
            None => Cow::Borrowed(&self.path),
        }
    }

    /// What people call it in the caller's language.
    fn title<'t>(&'t self, labels: &'t dyn PageLabels) -> Option<Cow<'t, str>> {
        self.find_text(|path| labels.title(path))
    }

    /// What it is, in one line.
    pub(super) fn description(&self, labels: &dyn PageLabels) -> Option<String> {
        let said = self.find_text(|path| labels.description(path));
        let said = said.or_else(|| self.part.and_then(Subschema::description).map(Cow::Borrowed))?;
        Some(one_line(&clean(said)).into_owned()).filter(|said| !said.is_empty())
    }

    /// Its way through the result.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What people read in the place of a value here.
    pub(crate) fn find_value(&self, find: impl Fn(&str) -> Option<String>) -> Option<String> {
        self.find_text(|path| find(path).map(Cow::Owned)).map(Cow::into_owned)
    }

    fn find_text<'t>(&'t self, said: impl Fn(&str) -> Option<Cow<'t, str>>) -> Option<Cow<'t, str>> {
        said(&self.path).or_else(|| {
            self.part
                .and_then(Subschema::definition)
                .and_then(|definition| said(&format!("$defs.{definition}")))
        })
    }
}

/// A field of an object, the same for all objects of a list.
pub(super) struct LabeledField<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) label: String,
    pub(super) sense: FieldMeaning,
    pub(super) format: Option<&'a str>,
    pub(super) note: Option<String>,
    pub(super) place: ResultLocation<'a>,
}

impl<'a> LabeledField<'a> {
    pub(super) fn new(
        key: Cow<'a, str>,
        above: &ResultLocation<'a>,
        labels: &dyn PageLabels,
        explained: bool,
    ) -> Self {
        let place = above.member(&key);
        let format = place.part.and_then(|part| part.keyword_text("format"));
        let words = name::split_words(&key);
        let (sense, said) = FieldMeaning::detect(&words, format);
        // The name of a type is no better than that of the field.
        let definition = place.part.and_then(Subschema::definition).unwrap_or_default();
        let says =
            |title: &Cow<'_, str>| !name::repeats_name(title, &key) && !name::repeats_name(title, definition);
        // A title that somebody wrote for readers is one, whatever it is like.
        let own = place.part.and_then(Subschema::title).map(Cow::Borrowed).filter(says);
        let title = place.title(labels).or(own);
        let label = match title.map(|title| one_line(&clean(title)).into_owned()) {
            Some(title) if !title.is_empty() => title,
            _ if words.is_empty() => one_line(&key).into_owned(),
            _ => name::label(words.get(..words.len() - said).unwrap_or(&words)),
        };
        // A title that says the unit in brackets says it once.
        let sense = if label.ends_with(')') && matches!(sense, FieldMeaning::Measure(_)) {
            FieldMeaning::Plain
        } else {
            sense
        };
        let label = if label.is_empty() { "\"\"".to_owned() } else { label };
        let note = explained.then(|| place.description(labels)).flatten();
        Self { key, label, sense, format, note, place }
    }
}

/// The fields of a list of objects, each made once.
///
/// They are kept by their place, so that what stands in each of many records is looked up once.
pub(super) struct FieldCache<'a> {
    place: ResultLocation<'a>,
    known: Vec<LabeledField<'a>>,
}

/// How many fields are kept.
const MAX_KEPT_FIELDS: usize = 64;

impl<'a> FieldCache<'a> {
    /// Those of a place, taken from what was kept if they are there.
    pub(super) fn take_from(place: &ResultLocation<'a>, kept: &mut Vec<Self>) -> Self {
        match kept.iter().position(|fields| fields.place.path == place.path) {
            Some(at) => kept.swap_remove(at),
            None => Self { place: place.clone(), known: Vec::new() },
        }
    }

    /// Keeps them for the next object in their place.
    pub(super) fn return_to(self, kept: &mut Vec<Self>) {
        if kept.len() < MAX_KEPT_FIELDS {
            kept.push(self);
        }
    }

    /// The field of a name; `guess` is where it probably is.
    pub(super) fn find(
        &mut self,
        name: JsonString<'a>,
        guess: usize,
        labels: &dyn PageLabels,
        explained: bool,
    ) -> Option<&LabeledField<'a>> {
        if self.known.get(guess).is_some_and(|field| name.is(&field.key)) {
            return self.known.get(guess);
        }
        self.find_by_key(&clean::read(name), labels, explained)
    }

    /// The field of a name that was cleaned.
    pub(super) fn find_by_key(
        &mut self,
        key: &Cow<'a, str>,
        labels: &dyn PageLabels,
        explained: bool,
    ) -> Option<&LabeledField<'a>> {
        let found = self.known.iter().position(|field| field.key == *key);
        let at = found.unwrap_or_else(|| {
            // Lists whose objects have ever new names are no lists of one kind of thing.
            if self.known.len() >= MAX_KEPT_FIELDS {
                self.known.clear();
            }
            self.known.push(LabeledField::new(key.clone(), &self.place, labels, explained));
            self.known.len() - 1
        });
        self.known.get(at)
    }
}

//! Fields of objects: their labels, their meaning, and where locale files and the schema describe them.

use std::borrow::Cow;

use mcp_attune_wire::json::JsonString;
use mcp_attune_wire::text::content_lines;

use super::clean::{self, one_line};
use super::meaning::FieldMeaning;
use super::name;
use super::words::PageLabels;
use crate::compiled_schema::Subschema;

/// A location in the result of a tool, followed through the output schema and through the paths of
/// locale files at the same time.
///
/// It names a field and not a value: all elements of a list have the same location.
#[derive(Clone, Default)]
pub(crate) struct ResultLocation<'a> {
    /// The schema of this part of the result. `None` if there is no schema, or it says nothing of this
    /// part.
    pub(super) part: Option<Subschema<'a>>,
    /// Path as in locale files: `forecast[].day`, `*` for a member that only `additionalProperties`
    /// describes, and `$defs.Place.lat` for a member of a definition. Empty for the whole result.
    path: String,
}

impl<'a> ResultLocation<'a> {
    /// Returns the location of the whole result.
    pub(crate) fn root(part: Option<Subschema<'a>>) -> Self {
        Self { part, path: String::new() }
    }

    /// Returns the location that all elements of a list here share.
    pub(crate) fn items(&self) -> Self {
        Self { part: self.part.and_then(Subschema::items), path: format!("{}[]", self.base()) }
    }

    /// Returns the location of a member of an object here.
    pub(crate) fn member(&self, name: &str) -> Self {
        let named = self.part.and_then(|part| part.property(name));
        let part = named.or_else(|| self.part.and_then(Subschema::additional_properties));
        let step = if named.is_none() && part.is_some() { "*" } else { name };
        let base = self.base();
        let dot = if base.is_empty() { "" } else { "." };
        Self { part, path: format!("{base}{dot}{step}") }
    }

    /// Returns the path that the paths of members and elements continue. Inside of a definition it
    /// begins anew with the name of the definition, so that a text of it is translated once for all its
    /// uses.
    fn base(&self) -> Cow<'_, str> {
        match self.part.and_then(Subschema::definition) {
            Some(definition) => Cow::Owned(format!("$defs.{definition}")),
            None => Cow::Borrowed(&self.path),
        }
    }

    /// Returns the title that locale files give the field, in the caller's language.
    fn title<'t>(&'t self, labels: &'t dyn PageLabels) -> Option<Cow<'t, str>> {
        self.find_text(|path| labels.title(path))
    }

    /// Returns the description of the field on one line, from the locale files or else from the schema;
    /// `None` if neither has one.
    pub(super) fn description(&self, labels: &dyn PageLabels) -> Option<String> {
        let said = self.find_text(|path| labels.description(path));
        let said = said.or_else(|| self.part.and_then(Subschema::description).map(Cow::Borrowed))?;
        Some(one_line(&content_lines(said)).into_owned()).filter(|said| !said.is_empty())
    }

    /// Returns the path of the location, as in locale files.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Looks a translated value up with `find`, which gets a path: first that of the field, then that
    /// of the definition that the field is.
    pub(crate) fn find_value(&self, find: impl Fn(&str) -> Option<String>) -> Option<String> {
        self.find_text(|path| find(path).map(Cow::Owned)).map(Cow::into_owned)
    }

    /// Calls `said` with the path of the field, and if that finds nothing with the path of the
    /// definition that the field is.
    fn find_text<'t>(&'t self, said: impl Fn(&str) -> Option<Cow<'t, str>>) -> Option<Cow<'t, str>> {
        said(&self.path).or_else(|| {
            self.part
                .and_then(Subschema::definition)
                .and_then(|definition| said(&format!("$defs.{definition}")))
        })
    }
}

/// A field with everything that rendering needs of it. It is the same for all objects of a list.
pub(super) struct LabeledField<'a> {
    /// Name of the member, decoded and cleaned.
    pub(super) key: Cow<'a, str>,
    /// What the page calls the field, on one line and never empty.
    pub(super) label: String,
    /// What its numbers and strings mean.
    pub(super) sense: FieldMeaning,
    /// The keyword `format` of its schema.
    pub(super) format: Option<&'a str>,
    /// Its description, if the page explains fields.
    pub(super) note: Option<String>,
    /// Where the field is.
    pub(super) place: ResultLocation<'a>,
}

impl<'a> LabeledField<'a> {
    /// Describes the member `key` of the objects at `above`.
    ///
    /// The label is, in this order: the title in the locale files; the `title` of the schema, unless it
    /// only repeats the name of the field or of its type, as titles that libraries generate do; the
    /// name made readable, without a unit that the value has instead; the name as it is. `explained`
    /// asks for the description as well.
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
        let label = match title.map(|title| one_line(&content_lines(title)).into_owned()) {
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

/// The fields of the objects at one location, each described once.
///
/// Many records have the same fields, and describing one takes several lookups. A cache is taken from
/// those that the composer keeps, used while an object is written, and returned.
pub(super) struct FieldCache<'a> {
    /// The location of the objects.
    place: ResultLocation<'a>,
    /// The fields met so far, in the order in which they were first met.
    known: Vec<LabeledField<'a>>,
}

/// How many fields one cache holds, and how many caches the composer keeps. This bounds memory where
/// names or locations are data.
const MAX_KEPT_FIELDS: usize = 64;

impl<'a> FieldCache<'a> {
    /// Takes the cache of a location out of those that are kept, or makes an empty one.
    pub(super) fn take_from(place: &ResultLocation<'a>, kept: &mut Vec<Self>) -> Self {
        match kept.iter().position(|fields| fields.place.path == place.path) {
            Some(at) => kept.swap_remove(at),
            None => Self { place: place.clone(), known: Vec::new() },
        }
    }

    /// Puts the cache back for the next object at its location. It is dropped if too many are kept
    /// already.
    pub(super) fn return_to(self, kept: &mut Vec<Self>) {
        if kept.len() < MAX_KEPT_FIELDS {
            kept.push(self);
        }
    }

    /// Returns the field of a member. `guess` is its position in the object, where the field is found
    /// at once if all objects have the same members in the same order.
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

    /// Returns the field of a decoded and cleaned name, and describes it if it is new. A full cache is
    /// emptied first. There is always a field: `None` does not occur.
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

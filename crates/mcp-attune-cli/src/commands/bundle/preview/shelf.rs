//! The locale files of a bundle, and what their texts come to for users of one locale.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use mcp_attune::catalog::{Locale, Sheet};
use mcp_attune::language::{Languages, Tag, own_name};
use mcp_attune_bundle::{Field, From, Inside, Listed, Locales, Manifest, Resolve, Resource};

use super::view::{Covered, KEYWORDS, Kept, LISTED, LONG, Origin, Read, SHORT, Text, View, cut};
use crate::text::quoted;

/// The most bytes of all locale files together.
const MOST: usize = 64 << 20;

/// The locale files, each read once.
pub(super) struct Shelf<'a> {
    manifest: &'a Manifest,
    locales: &'a Locales,
    read: Read<'a>,
    kept: RefCell<HashMap<Inside, Option<Locale>>>,
    problems: RefCell<Vec<String>>,
    /// How many bytes of locale files may still be kept.
    left: Cell<usize>,
}

impl<'a> Shelf<'a> {
    pub(super) fn new(manifest: &'a Manifest, locales: &'a Locales, read: Read<'a>) -> Self {
        Self {
            manifest,
            locales,
            read,
            kept: RefCell::default(),
            problems: RefCell::default(),
            left: Cell::new(MOST),
        }
    }

    /// What could not be used so far, and why.
    pub(super) fn problems(self) -> Vec<String> {
        self.problems.into_inner()
    }

    /// The bundle as users of this locale see it.
    pub(super) fn view(&self, tag: Option<Tag>) -> View {
        let mut origins = HashMap::new();
        let mut row = Vec::new();
        let resolved = tag.as_ref().and_then(|tag| {
            let mut resolve = Resolve::new(self.manifest, self.locales, tag);
            row.extend(self.locales.row(tag).into_iter().map(|file| file.tag.clone()));
            while let Some(wanted) = resolve.wanted() {
                self.put(&mut resolve, wanted);
            }
            let resolved = resolve.finish();
            origins.extend(resolved.fields);
            Manifest::read(resolved.text.as_bytes()).ok()
        });
        let seen = resolved.as_ref().unwrap_or(self.manifest);
        let near = Near::new(self.locales, tag.as_ref());
        let text = |field: Field, texts: Vec<String>| {
            let from = origins.get(&field).unwrap_or(&From::Manifest);
            Text::new(texts, from, &near)
        };
        let one =
            |text: &Option<Box<str>>, most| text.as_deref().map(|text| cut(text, most)).into_iter().collect();
        let listed = |listed: &[Listed], field: fn(Box<str>) -> Field| -> Vec<(String, Text)> {
            let entry =
                |it: &Listed| (cut(&it.name, 200), text(field(it.name.clone()), one(&it.description, SHORT)));
            listed.iter().take(LISTED).map(entry).collect()
        };
        let keywords = seen.keywords.iter().take(KEYWORDS).map(|word| cut(word, 100)).collect();
        View {
            own_name: tag.as_ref().and_then(own_name),
            file: self.kept(tag.as_ref()),
            row,
            display_name: text(Field::DisplayName, one(&seen.display_name, SHORT)),
            author: text(Field::Author, one(&seen.author, SHORT)),
            description: text(Field::Description, one(&seen.description, SHORT)),
            long_description: text(Field::LongDescription, one(&seen.long_description, LONG)),
            keywords: text(Field::Keywords, keywords),
            tools: listed(&seen.tools, Field::Tool),
            prompts: listed(&seen.prompts, Field::Prompt),
            more: [&seen.tools, &seen.prompts].iter().map(|it| it.len().saturating_sub(LISTED)).sum(),
            covered: covered(self.manifest, &origins, &near),
            tag,
        }
    }

    fn kept(&self, tag: Option<&Tag>) -> Kept {
        if tag.is_some_and(|tag| self.locales.of(tag).is_some()) {
            Kept::File
        } else if tag == self.locales.default_locale() {
            Kept::Manifest
        } else {
            Kept::Elsewhere
        }
    }

    /// The bytes, where there is still room for them.
    fn paid(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let left = self
            .left
            .get()
            .checked_sub(bytes.len())
            .ok_or("the locale files before it have taken all the room")?;
        self.left.set(left);
        Ok(bytes)
    }

    /// Goes on with a locale file, or without it where it cannot be used.
    fn put(&self, resolve: &mut Resolve<'_>, wanted: &Resource) {
        let mut kept = self.kept.borrow_mut();
        let locale = kept.entry(wanted.name.clone()).or_insert_with(|| {
            let bytes = (self.read)(&wanted.name, Sheet::MAX_BYTES).and_then(|bytes| self.paid(bytes));
            match bytes
                .and_then(|bytes| Locale::read(wanted.tag.clone(), &bytes).map_err(|why| why.to_string()))
            {
                Ok((locale, _)) => Some(locale),
                Err(why) => {
                    self.problems.borrow_mut().push(format!("{}: {why}", quoted(wanted.name.as_str())));
                    None
                }
            }
        });
        match locale {
            Some(locale) => resolve.take(locale),
            None => resolve.skip(),
        }
    }
}

fn covered(manifest: &Manifest, origins: &HashMap<Field, From>, near: &Near) -> Covered {
    let mut covered = Covered::default();
    for (field, text) in Field::all(manifest) {
        if text.is_none_or(|text| text.trim().is_empty()) {
            continue;
        }
        match near.origin(origins.get(&field).unwrap_or(&From::Manifest)) {
            Origin::Own => covered.own += 1,
            Origin::Relative(_) => covered.relatives += 1,
            Origin::Foreign(_) | Origin::Nowhere => covered.missing.push(cut(&field.to_string(), 200)),
        }
    }
    covered
}

impl Text {
    fn new(texts: Vec<String>, from: &From, near: &Near) -> Self {
        let texts: Vec<String> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let origin = if texts.is_empty() { Origin::Nowhere } else { near.origin(from) };
        let language = match from {
            From::Locale(tag) => Some(tag.clone()),
            From::Manifest | From::Nowhere => near.default.clone(),
        };
        Self { texts, origin, language }
    }
}

/// A locale, and which of those there are it is related to.
struct Near {
    tag: Option<Tag>,
    default: Option<Tag>,
    relatives: Vec<Tag>,
}

impl Near {
    fn new(locales: &Locales, tag: Option<&Tag>) -> Self {
        let default = locales.default_locale().cloned();
        let files = locales.files.iter().map(|file| file.tag.clone());
        let languages = default.clone().and_then(|default| Languages::new(default, files).ok());
        let relatives = tag.zip(languages.as_ref()).map(|(tag, languages)| languages.relatives(tag));
        let relatives = relatives.into_iter().flatten().cloned().collect();
        Self { tag: tag.cloned(), default, relatives }
    }

    fn origin(&self, from: &From) -> Origin {
        let (language, told) = match from {
            From::Locale(tag) => (Some(tag), tag.to_string()),
            From::Manifest => (self.default.as_ref(), "manifest".to_owned()),
            From::Nowhere => return Origin::Nowhere,
        };
        if language == self.tag.as_ref() {
            return Origin::Own;
        }
        let related = language.is_some_and(|language| self.relatives.contains(language));
        if related { Origin::Relative(told) } else { Origin::Foreign(told) }
    }
}

#[cfg(test)]
mod tests {
    use mcp_attune_bundle::{coverage, localizable};

    use super::super::sample::{FILES, MANIFEST, shown};
    use super::*;

    fn view(tag: &str) -> View {
        let shown = shown(MANIFEST, FILES, &[tag]);
        shown.views.into_iter().find(|view| view.id() == tag).unwrap()
    }

    #[test]
    fn each_text_says_where_it_comes_from() {
        let view = view("es-UY");
        let relative = |tag: &str| Origin::Relative(tag.to_owned());
        assert_eq!((view.file, view.own_name.as_deref()), (Kept::Elsewhere, Some("español (Uruguay)")));
        assert_eq!(view.display_name.texts, ["Clima"]);
        assert_eq!(view.display_name.origin, relative("es-MX"));
        assert_eq!(view.description.origin, relative("es"));
        assert_eq!(view.keywords.texts, ["lluvia"]);
        assert_eq!(view.author.origin, Origin::Foreign("manifest".to_owned()));
        assert_eq!(view.author.language.as_ref().map(Tag::as_str), Some("en-US"));
        assert_eq!(view.tools[1].1.origin, Origin::Nowhere);
        assert_eq!((view.covered.own, view.covered.relatives, view.covered.percent()), (0, 4, 57));
        assert_eq!(view.covered.missing, ["long_description", "author.name", "prompts.pack.description"]);
    }

    #[test]
    fn the_manifest_is_its_language_and_near_to_its_relatives() {
        let own = view("en-US");
        assert_eq!((own.file, own.description.origin), (Kept::Manifest, Origin::Own));
        assert_eq!((own.covered.own, own.covered.percent()), (7, 100));
        assert_eq!(view("en-GB").description.origin, Origin::Relative("manifest".to_owned()));
        assert_eq!(view("ja").description.origin, Origin::Foreign("manifest".to_owned()));
    }

    #[test]
    fn coverage_is_what_the_rules_count() {
        let manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
        let sheet = |name: &str| {
            let (_, text) = FILES.iter().find(|(known, _)| *known == name).unwrap();
            Sheet::read(text.as_bytes()).unwrap().0
        };
        for (tag, own, relative) in
            [("es", "r/es.json", "r/es-MX.json"), ("es-MX", "r/es-MX.json", "r/es.json")]
        {
            let mut expected = coverage(&manifest, &sheet(own));
            let covered = view(tag).covered;
            assert_eq!(covered.own, expected.translated(), "{tag}");
            expected.inherit(&localizable(&sheet(relative)));
            assert_eq!((covered.total(), covered.percent()), (expected.total, expected.percent()), "{tag}");
            let missing: Vec<String> = expected.missing.iter().map(ToString::to_string).collect();
            assert_eq!(covered.missing, missing, "{tag}");
        }
    }
}

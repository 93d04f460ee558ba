//! The locale files of a bundle, and what their texts come to for users of one locale.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use mcp_attune::catalog::{CompiledLocale, ParsedLocaleFile};
use mcp_attune::language::{Languages, Tag, native_name};
use mcp_attune_bundle::{
    BundleFileName, BundleLocaleFile, BundleLocales, Manifest, ManifestEntry, ManifestField,
    ManifestFieldOrigin, ManifestResolver,
};

use super::view::{
    BundleFileReader, LocaleTextLocation, MAX_KEYWORDS, MAX_LISTED, MAX_LONG_TEXT_CHARS, MAX_TEXT_CHARS,
    PreviewCoverage, PreviewLocaleView, PreviewText, PreviewTextOrigin, truncated,
};
use crate::text::quoted;

/// The most bytes of all locale files together.
const MAX_LOCALE_FILES_BYTES: usize = 64 << 20;

/// The locale files, each read once.
pub(super) struct PreviewLocaleFiles<'a> {
    manifest: &'a Manifest,
    locales: &'a BundleLocales,
    read: BundleFileReader<'a>,
    kept: RefCell<HashMap<BundleFileName, Option<CompiledLocale>>>,
    problems: RefCell<Vec<String>>,
    /// How many bytes of locale files may still be kept.
    left: Cell<usize>,
}

impl<'a> PreviewLocaleFiles<'a> {
    pub(super) fn new(
        manifest: &'a Manifest,
        locales: &'a BundleLocales,
        read: BundleFileReader<'a>,
    ) -> Self {
        Self {
            manifest,
            locales,
            read,
            kept: RefCell::default(),
            problems: RefCell::default(),
            left: Cell::new(MAX_LOCALE_FILES_BYTES),
        }
    }

    /// What could not be used so far, and why.
    pub(super) fn problems(self) -> Vec<String> {
        self.problems.into_inner()
    }

    /// The bundle as users of this locale see it.
    pub(super) fn view(&self, tag: Option<Tag>) -> PreviewLocaleView {
        let mut origins = HashMap::new();
        let mut row = Vec::new();
        let resolved = tag.as_ref().and_then(|tag| {
            let mut resolve = ManifestResolver::new(self.manifest, self.locales, tag);
            row.extend(self.locales.fallback_files(tag).into_iter().map(|file| file.tag.clone()));
            while let Some(wanted) = resolve.next_file() {
                self.feed_locale_file(&mut resolve, wanted);
            }
            let resolved = resolve.finish();
            origins.extend(resolved.fields);
            Manifest::read(resolved.text.as_bytes()).ok()
        });
        let seen = resolved.as_ref().unwrap_or(self.manifest);
        let near = PreviewRelatives::new(self.locales, tag.as_ref());
        let text = |field: ManifestField, texts: Vec<String>| {
            let from = origins.get(&field).unwrap_or(&ManifestFieldOrigin::Manifest);
            PreviewText::new(texts, from, &near)
        };
        let one = |text: &Option<Box<str>>, most| {
            text.as_deref().map(|text| truncated(text, most)).into_iter().collect()
        };
        let listed = |listed: &[ManifestEntry],
                      field: fn(Box<str>) -> ManifestField|
         -> Vec<(String, PreviewText)> {
            let entry = |it: &ManifestEntry| {
                (truncated(&it.name, 200), text(field(it.name.clone()), one(&it.description, MAX_TEXT_CHARS)))
            };
            listed.iter().take(MAX_LISTED).map(entry).collect()
        };
        let keywords = seen.keywords.iter().take(MAX_KEYWORDS).map(|word| truncated(word, 100)).collect();
        PreviewLocaleView {
            own_name: tag.as_ref().and_then(native_name),
            file: self.text_location(tag.as_ref()),
            row,
            display_name: text(ManifestField::DisplayName, one(&seen.display_name, MAX_TEXT_CHARS)),
            author: text(ManifestField::Author, one(&seen.author, MAX_TEXT_CHARS)),
            description: text(ManifestField::Description, one(&seen.description, MAX_TEXT_CHARS)),
            long_description: text(
                ManifestField::LongDescription,
                one(&seen.long_description, MAX_LONG_TEXT_CHARS),
            ),
            keywords: text(ManifestField::Keywords, keywords),
            tools: listed(&seen.tools, ManifestField::Tool),
            prompts: listed(&seen.prompts, ManifestField::Prompt),
            more: [&seen.tools, &seen.prompts].iter().map(|it| it.len().saturating_sub(MAX_LISTED)).sum(),
            covered: count_coverage(self.manifest, &origins, &near),
            tag,
        }
    }

    fn text_location(&self, tag: Option<&Tag>) -> LocaleTextLocation {
        if tag.is_some_and(|tag| self.locales.file_for(tag).is_some()) {
            LocaleTextLocation::File
        } else if tag == self.locales.default_locale() {
            LocaleTextLocation::Manifest
        } else {
            LocaleTextLocation::Elsewhere
        }
    }

    /// The bytes, where there is still room for them.
    fn within_budget(&self, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let left = self
            .left
            .get()
            .checked_sub(bytes.len())
            .ok_or("the locale files before it have taken all the room")?;
        self.left.set(left);
        Ok(bytes)
    }

    /// Goes on with a locale file, or without it where it cannot be used.
    fn feed_locale_file(&self, resolve: &mut ManifestResolver<'_>, wanted: &BundleLocaleFile) {
        let mut kept = self.kept.borrow_mut();
        let locale = kept.entry(wanted.name.clone()).or_insert_with(|| {
            let bytes = (self.read)(&wanted.name, ParsedLocaleFile::MAX_BYTES)
                .and_then(|bytes| self.within_budget(bytes));
            match bytes.and_then(|bytes| {
                CompiledLocale::read(wanted.tag.clone(), &bytes).map_err(|why| why.to_string())
            }) {
                Ok((locale, _)) => Some(locale),
                Err(why) => {
                    self.problems.borrow_mut().push(format!("{}: {why}", quoted(wanted.name.as_str())));
                    None
                }
            }
        });
        match locale {
            Some(locale) => resolve.apply_locale(locale),
            None => resolve.skip(),
        }
    }
}

fn count_coverage(
    manifest: &Manifest,
    origins: &HashMap<ManifestField, ManifestFieldOrigin>,
    near: &PreviewRelatives,
) -> PreviewCoverage {
    let mut covered = PreviewCoverage::default();
    for (field, text) in ManifestField::all(manifest) {
        if text.is_none_or(|text| text.trim().is_empty()) {
            continue;
        }
        match near.origin(origins.get(&field).unwrap_or(&ManifestFieldOrigin::Manifest)) {
            PreviewTextOrigin::Own => covered.own += 1,
            PreviewTextOrigin::Relative(_) => covered.relatives += 1,
            PreviewTextOrigin::Foreign(_) | PreviewTextOrigin::Nowhere => {
                covered.missing.push(truncated(&field.to_string(), 200));
            }
        }
    }
    covered
}

impl PreviewText {
    fn new(texts: Vec<String>, from: &ManifestFieldOrigin, near: &PreviewRelatives) -> Self {
        let texts: Vec<String> = texts.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let origin = if texts.is_empty() { PreviewTextOrigin::Nowhere } else { near.origin(from) };
        let language = match from {
            ManifestFieldOrigin::Locale(tag) => Some(tag.clone()),
            ManifestFieldOrigin::Manifest | ManifestFieldOrigin::Nowhere => near.default.clone(),
        };
        Self { texts, origin, language }
    }
}

/// A locale, and which of those there are it is related to.
struct PreviewRelatives {
    tag: Option<Tag>,
    default: Option<Tag>,
    relatives: Vec<Tag>,
}

impl PreviewRelatives {
    fn new(locales: &BundleLocales, tag: Option<&Tag>) -> Self {
        let default = locales.default_locale().cloned();
        let files = locales.files.iter().map(|file| file.tag.clone());
        let languages = default.clone().and_then(|default| Languages::new(default, files).ok());
        let relatives = tag.zip(languages.as_ref()).map(|(tag, languages)| languages.relatives(tag));
        let relatives = relatives.into_iter().flatten().cloned().collect();
        Self { tag: tag.cloned(), default, relatives }
    }

    fn origin(&self, from: &ManifestFieldOrigin) -> PreviewTextOrigin {
        let (language, told) = match from {
            ManifestFieldOrigin::Locale(tag) => (Some(tag), tag.to_string()),
            ManifestFieldOrigin::Manifest => (self.default.as_ref(), "manifest".to_owned()),
            ManifestFieldOrigin::Nowhere => return PreviewTextOrigin::Nowhere,
        };
        if language == self.tag.as_ref() {
            return PreviewTextOrigin::Own;
        }
        let related = language.is_some_and(|language| self.relatives.contains(language));
        if related { PreviewTextOrigin::Relative(told) } else { PreviewTextOrigin::Foreign(told) }
    }
}

#[cfg(test)]
mod tests {
    use mcp_attune_bundle::{applicable_texts, coverage};

    use super::super::sample::{FILES, MANIFEST, shown};
    use super::*;

    fn view(tag: &str) -> PreviewLocaleView {
        let shown = shown(MANIFEST, FILES, &[tag]);
        shown.views.into_iter().find(|view| view.id() == tag).unwrap()
    }

    #[test]
    fn each_text_says_where_it_comes_from() {
        let view = view("es-UY");
        let relative = |tag: &str| PreviewTextOrigin::Relative(tag.to_owned());
        assert_eq!(
            (view.file, view.own_name.as_deref()),
            (LocaleTextLocation::Elsewhere, Some("español (Uruguay)"))
        );
        assert_eq!(view.display_name.texts, ["Clima"]);
        assert_eq!(view.display_name.origin, relative("es-MX"));
        assert_eq!(view.description.origin, relative("es"));
        assert_eq!(view.keywords.texts, ["lluvia"]);
        assert_eq!(view.author.origin, PreviewTextOrigin::Foreign("manifest".to_owned()));
        assert_eq!(view.author.language.as_ref().map(Tag::as_str), Some("en-US"));
        assert_eq!(view.tools[1].1.origin, PreviewTextOrigin::Nowhere);
        assert_eq!((view.covered.own, view.covered.relatives, view.covered.percent()), (0, 4, 57));
        assert_eq!(view.covered.missing, ["long_description", "author.name", "prompts.pack.description"]);
    }

    #[test]
    fn the_manifest_is_its_language_and_near_to_its_relatives() {
        let own = view("en-US");
        assert_eq!(
            (own.file, own.description.origin),
            (LocaleTextLocation::Manifest, PreviewTextOrigin::Own)
        );
        assert_eq!((own.covered.own, own.covered.percent()), (7, 100));
        assert_eq!(view("en-GB").description.origin, PreviewTextOrigin::Relative("manifest".to_owned()));
        assert_eq!(view("ja").description.origin, PreviewTextOrigin::Foreign("manifest".to_owned()));
    }

    #[test]
    fn coverage_is_what_the_rules_count() {
        let manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
        let sheet = |name: &str| {
            let (_, text) = FILES.iter().find(|(known, _)| *known == name).unwrap();
            ParsedLocaleFile::read(text.as_bytes()).unwrap().0
        };
        for (tag, own, relative) in
            [("es", "r/es.json", "r/es-MX.json"), ("es-MX", "r/es-MX.json", "r/es.json")]
        {
            let mut expected = coverage(&manifest, &sheet(own));
            let covered = view(tag).covered;
            assert_eq!(covered.own, expected.translated(), "{tag}");
            expected.inherit(&applicable_texts(&sheet(relative)));
            assert_eq!((covered.total(), covered.percent()), (expected.total, expected.percent()), "{tag}");
            let missing: Vec<String> = expected.missing.iter().map(ToString::to_string).collect();
            assert_eq!(covered.missing, missing, "{tag}");
        }
    }
}

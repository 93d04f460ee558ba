//! A manifest in the language of one user: [`ManifestResolver`] asks for locale files and puts their texts in.

use core::fmt;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};

use super::icon::ManifestIcon;
use super::locales::{BundleLocaleFile, BundleLocales};
use super::manifest::Manifest;
use mcp_attune::catalog::{self, CompiledLocale, LocaleFileFinding, LocaleKeyPath, TextSlot};
use mcp_attune::language::Tag;

/// A text of a manifest that locale files can translate.
///
/// These are all there are. A locale file cannot change anything else of a manifest, and cannot add tools or
/// prompts. `Display` writes the path in the locale file, such as `tools.get_weather.description`.
///
/// Rules: B3.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ManifestField {
    /// `display_name`
    DisplayName,
    /// `description`
    Description,
    /// `long_description`
    LongDescription,
    /// `keywords`: a translation replaces the whole list.
    Keywords,
    /// `author.name`
    Author,
    /// The `description` of the listed tool with this name.
    Tool(Box<str>),
    /// The `description` of the listed prompt with this name.
    Prompt(Box<str>),
}

impl ManifestField {
    /// Returns every translatable text of a manifest with what the manifest itself has for it, or `None` if it
    /// has nothing.
    ///
    /// Keywords count as one text, joined with commas. A tool or prompt that is listed twice is returned once.
    #[must_use]
    pub fn all(manifest: &Manifest) -> Vec<(Self, Option<Cow<'_, str>>)> {
        let keywords = Some(&manifest.keywords).filter(|words| !words.is_empty());
        let mut all = vec![
            (Self::DisplayName, manifest.display_name.as_deref().map(Cow::Borrowed)),
            (Self::Description, manifest.description.as_deref().map(Cow::Borrowed)),
            (Self::LongDescription, manifest.long_description.as_deref().map(Cow::Borrowed)),
            (Self::Keywords, keywords.map(|words| Cow::Owned(words.join(", ")))),
            (Self::Author, manifest.author.as_deref().map(Cow::Borrowed)),
        ];
        let mut known = HashSet::new();
        let tools = manifest.tools.iter().map(|it| (Self::Tool(it.name.clone()), it));
        let prompts = manifest.prompts.iter().map(|it| (Self::Prompt(it.name.clone()), it));
        for (field, listed) in tools.chain(prompts) {
            if known.insert(field.clone()) {
                all.push((field, listed.description.as_deref().map(Cow::Borrowed)));
            }
        }
        all
    }

    /// Returns where a locale file has the translation.
    #[must_use]
    pub fn path(&self) -> LocaleKeyPath {
        let path = |names: &[&str]| names.iter().fold(LocaleKeyPath::default(), |path, name| path.with(name));
        match self {
            Self::DisplayName => path(&["display_name"]),
            Self::Description => path(&["description"]),
            Self::LongDescription => path(&["long_description"]),
            Self::Keywords => path(&["keywords"]),
            Self::Author => path(&["author", "name"]),
            Self::Tool(name) => path(&["tools", name, "description"]),
            Self::Prompt(name) => path(&["prompts", name, "description"]),
        }
    }

    /// Returns the translation in a locale, written as JSON and ready to be spliced in; `None` if the locale
    /// has none.
    fn translation_in(&self, locale: &CompiledLocale) -> Option<String> {
        let own = locale.bundle();
        let quoted = |text: &Option<Box<str>>| text.as_deref().map(|text| JsonQuoted(text).to_string());
        match self {
            Self::DisplayName => quoted(&own.display_name),
            Self::Description => quoted(&own.description),
            Self::LongDescription => quoted(&own.long_description),
            Self::Keywords if own.keywords.is_empty() => None,
            Self::Keywords => {
                let words: Vec<String> =
                    own.keywords.iter().map(|word| JsonQuoted(word).to_string()).collect();
                Some(format!("[{}]", words.join(", ")))
            }
            Self::Author => quoted(&own.author),
            Self::Tool(name) => {
                locale.find(TextSlot::Tool(name, catalog::LocaleField::Description)).map(str::to_owned)
            }
            Self::Prompt(name) => {
                locale.find(TextSlot::Prompt(name, catalog::LocaleField::Description)).map(str::to_owned)
            }
        }
    }
}

impl fmt::Display for ManifestField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().fmt(f)
    }
}

/// Where the text of a field was found, for commands that show or explain a localized manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManifestFieldOrigin {
    /// In the locale file of this language.
    Locale(Tag),
    /// In no locale file that was searched; the manifest's own text stays.
    Manifest,
    /// Neither in a locale file nor in the manifest.
    Nowhere,
}

/// A state machine that localizes a manifest for one user and asks its host for the locale files it needs.
///
/// The host repeats two steps until [`next_file`](Self::next_file) returns `None`, and then calls
/// [`finish`](Self::finish):
///
/// 1. It reads the file that `next_file` names.
/// 2. It passes the contents on with [`apply_file`](Self::apply_file) or, if the file was parsed before,
///    [`apply_locale`](Self::apply_locale); if the file cannot be read, it calls [`skip`](Self::skip).
///
/// Each field takes the first translation that is found, in the order of [`BundleLocales::fallback_files`]. No
/// file is asked for once every field has one.
///
/// Rules: B3, B4, B5.
#[derive(Debug)]
pub struct ManifestResolver<'a> {
    manifest: &'a Manifest,
    /// The files after `next`, in the order of preference.
    row: std::vec::IntoIter<&'a BundleLocaleFile>,
    /// The file that the host is asked for; `None` after the last one.
    next: Option<&'a BundleLocaleFile>,
    fields: Vec<ManifestFieldLookup>,
}

/// One field, and what was found for it so far.
#[derive(Debug)]
struct ManifestFieldLookup {
    field: ManifestField,
    /// Whether the manifest itself has a text.
    own: bool,
    /// The first translation that was found, as JSON, and its language.
    found: Option<(String, Tag)>,
}

/// A manifest localized for one user.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ResolvedManifest {
    /// The manifest as JSON: translations spliced in, every other byte as in the original.
    pub text: String,
    /// Every translatable field, and where its text comes from.
    pub fields: Vec<(ManifestField, ManifestFieldOrigin)>,
}

impl ResolvedManifest {
    /// Returns the manifest with the chosen icon as an object under `icon`, with `null` for an unknown size or
    /// theme.
    ///
    /// ```
    /// use mcp_attune_bundle::{ManifestIcon, BundleLocales, Manifest, ManifestResolver};
    /// use mcp_attune::language::Tag;
    ///
    /// let manifest = Manifest::read(br#"{"icon": "a.png"}"#).unwrap();
    /// let locales = BundleLocales::find_among(&manifest, []);
    /// let resolved = ManifestResolver::new(&manifest, &locales, &Tag::parse("de").unwrap()).finish();
    /// let shown = resolved.with_icon(&ManifestIcon::new("b.png")).text;
    /// assert_eq!(shown, r#"{"icon": {"src":"b.png","size":null,"theme":null}}"#);
    /// ```
    #[must_use]
    pub fn with_icon(self, icon: &ManifestIcon) -> Self {
        let Ok(read) = Document::parse(self.text.as_bytes()) else { return self };
        let text =
            |text: Option<String>| text.map_or("null".to_owned(), |text| JsonQuoted(&text).to_string());
        let size = text(icon.size.map(|size| size.to_string()));
        let theme = text(icon.theme.as_deref().map(str::to_owned));
        let mut edits = ManifestEdits::default();
        edits.set_member(
            read.root(),
            "icon",
            &format!(r#"{{"src":{},"size":{size},"theme":{theme}}}"#, JsonQuoted(&icon.src)),
        );
        let text = edits.apply(&read);
        Self { text: text.unwrap_or_else(|| self.text.clone()), ..self }
    }
}

impl<'a> ManifestResolver<'a> {
    /// Starts to localize a manifest for a user of this locale. `locales` must have been found with the same
    /// manifest.
    #[must_use]
    pub fn new(manifest: &'a Manifest, locales: &'a BundleLocales, locale: &Tag) -> Self {
        let mut row = locales.fallback_files(locale).into_iter();
        let next = row.next();
        let fields = ManifestField::all(manifest).into_iter();
        let fields = fields
            .map(|(field, own)| ManifestFieldLookup { field, own: own.is_some(), found: None })
            .collect();
        Self { manifest, row, next, fields }
    }

    /// Returns the file that is needed next; `None` if every field has a translation or no file is left.
    #[must_use]
    pub fn next_file(&self) -> Option<&'a BundleLocaleFile> {
        self.next.filter(|_| self.fields.iter().any(|sought| sought.found.is_none()))
    }

    /// Continues without the file that was asked for, because it is missing or cannot be read.
    pub fn skip(&mut self) {
        self.next = self.row.next();
    }

    /// Continues with the file that was asked for, which the host has parsed before.
    pub fn apply_locale(&mut self, locale: &CompiledLocale) {
        for ManifestFieldLookup { field, found, .. } in &mut self.fields {
            if found.is_none() {
                *found = field.translation_in(locale).map(|text| (text, locale.tag().clone()));
            }
        }
        self.skip();
    }

    /// Parses the contents of the file that was asked for, and continues with it. Does nothing if no file is
    /// left.
    ///
    /// Returns the entries of the file that cannot be used; the others are.
    ///
    /// # Errors
    ///
    /// [`LocaleFileError`](catalog::LocaleFileError) if nothing in the file can be used. The file is skipped
    /// then, and the caller can go on.
    pub fn apply_file(&mut self, file: &[u8]) -> Result<Vec<LocaleFileFinding>, catalog::LocaleFileError> {
        let Some(wanted) = self.next else { return Ok(Vec::new()) };
        match CompiledLocale::read(wanted.tag.clone(), file) {
            Ok((locale, findings)) => {
                self.apply_locale(&locale);
                Ok(findings)
            }
            Err(why) => {
                self.skip();
                Err(why)
            }
        }
    }

    /// Returns the manifest with all translations found so far. Can be called at any time.
    #[must_use]
    pub fn finish(self) -> ResolvedManifest {
        let fields = self.fields.iter().map(|ManifestFieldLookup { field, own, found }| {
            let from = match found {
                Some((_, tag)) => ManifestFieldOrigin::Locale(tag.clone()),
                None if *own => ManifestFieldOrigin::Manifest,
                None => ManifestFieldOrigin::Nowhere,
            };
            (field.clone(), from)
        });
        let fields = fields.collect();
        let text = self.splice_texts().unwrap_or_else(|| self.manifest.text.clone().into());
        ResolvedManifest { text, fields }
    }

    /// Returns the manifest's text with the translations in it; `None` if it cannot be edited, which leaves it
    /// as it is.
    fn splice_texts(&self) -> Option<String> {
        // It was read before, so it can be read.
        let read = Document::parse(self.manifest.text.as_bytes()).ok()?;
        let root = read.root();
        let mut edits = ManifestEdits::default();
        let (mut tools, mut prompts) = (HashMap::new(), HashMap::new());
        for ManifestFieldLookup { field, found, .. } in &self.fields {
            let Some((text, _)) = found else { continue };
            match field {
                ManifestField::DisplayName => edits.set_member(root, "display_name", text),
                ManifestField::Description => edits.set_member(root, "description", text),
                ManifestField::LongDescription => edits.set_member(root, "long_description", text),
                ManifestField::Keywords => edits.set_member(root, "keywords", text),
                ManifestField::Author => {
                    if let Some(author) = root.member("author").filter(|it| it.kind() == JsonKind::Object) {
                        edits.set_member(author, "name", text);
                    }
                }
                ManifestField::Tool(name) => drop(tools.insert(&**name, &**text)),
                ManifestField::Prompt(name) => drop(prompts.insert(&**name, &**text)),
            }
        }
        edits.set_descriptions(root.member("tools"), &tools);
        edits.set_descriptions(root.member("prompts"), &prompts);
        edits.apply(&read)
    }
}

/// Spans of a manifest and what replaces them, collected and then applied in one pass.
#[derive(Default)]
struct ManifestEdits(Vec<(ByteSpan, String)>);

impl ManifestEdits {
    fn apply(&self, to: &Document<'_>) -> Option<String> {
        let edits: Vec<(ByteSpan, &str)> = self.0.iter().map(|(span, text)| (*span, text.as_str())).collect();
        to.splice(&edits).ok()
    }

    /// Sets a member of an object: replaces its value, or inserts it as the first member. `text` is JSON.
    fn set_member(&mut self, object: SpannedValue<'_>, name: &str, text: &str) {
        if let Some(there) = object.member(name) {
            self.0.push((there.span(), text.to_owned()));
            return;
        }
        let comma = if object.members().next().is_some() { ", " } else { "" };
        self.0.push((object.opening(), format!("\"{name}\": {text}{comma}")));
    }

    /// Sets the `description` of those entries of a list whose `name` has a translation. Entries are never
    /// added.
    fn set_descriptions(&mut self, list: Option<SpannedValue<'_>>, texts: &HashMap<&str, &str>) {
        if texts.is_empty() {
            return;
        }
        let list = list.filter(|it| it.kind() == JsonKind::Array);
        for entry in list.into_iter().flat_map(SpannedValue::elements) {
            let name = entry.member("name").and_then(SpannedValue::text).and_then(JsonString::decode);
            if let Some(text) = name.and_then(|name| texts.get(&*name)) {
                self.set_member(entry, "description", text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{
  "manifest_version": "0.3",
  "name": "sample",
  "x_unknown": [1.50, {"a": "\u0041"}],
  "display_name": "Sample",
  "description": "Does things",
  "keywords": ["one", "two"],
  "author": {"name": "Ann", "email": "a@example.com"},
  "localization": {"resources": "r/${locale}.json", "default_locale": "en-US"},
  "tools": [{"name": "find", "description": "Finds"}, {"name": "bare"}]
}"#;

    fn resolve(files: &[(&str, &str)], locale: &str) -> (String, Vec<String>, Vec<(String, String)>) {
        let manifest = Manifest::read(MANIFEST.as_bytes()).unwrap();
        let locales = BundleLocales::find_among(&manifest, files.iter().map(|(name, _)| *name));
        let mut resolve = ManifestResolver::new(&manifest, &locales, &Tag::parse(locale).unwrap());
        let mut read = Vec::new();
        while let Some(wanted) = resolve.next_file() {
            read.push(wanted.name.to_string());
            match files.iter().find(|(name, _)| *name == wanted.name.as_str()) {
                Some((_, "")) | None => resolve.skip(),
                Some((_, text)) => drop(resolve.apply_file(text.as_bytes())),
            }
        }
        let resolved = resolve.finish();
        let from = |from: &ManifestFieldOrigin| match from {
            ManifestFieldOrigin::Locale(tag) => tag.to_string(),
            ManifestFieldOrigin::Manifest => "manifest".to_owned(),
            ManifestFieldOrigin::Nowhere => String::new(),
        };
        let told = resolved.fields.iter().map(|(field, it)| (field.to_string(), from(it))).collect();
        (resolved.text, read, told)
    }

    fn is_from(told: &[(String, String)], field: &str) -> String {
        told.iter().find(|(name, _)| name == field).unwrap().1.clone()
    }

    #[test]
    fn each_field_comes_from_the_nearest_file_that_has_it() {
        let files = [
            (
                "r/es-MX.json",
                r#"{"display_name": "Muestra", "tools": [{"name": "find", "description": "Busca"}]}"#,
            ),
            (
                "r/es.json",
                r#"{"display_name": "no", "description": "Hace cosas", "tools": {"bare": {"description": "Nada"}, "ghost": {"description": "?"}}}"#,
            ),
            ("r/en-US.json", r#"{"keywords": ["uno"], "author": {"name": "Anna"}}"#),
        ];
        let (text, read, told) = resolve(&files, "es-UY");
        assert_eq!(read, ["r/es-MX.json", "r/es.json", "r/en-US.json"]);
        assert_eq!(is_from(&told, "display_name"), "es-MX");
        assert_eq!(is_from(&told, "description"), "es");
        assert_eq!(is_from(&told, "author.name"), "en-US");
        assert_eq!(is_from(&told, "long_description"), "");
        let expected = MANIFEST
            .replace("\"Sample\"", "\"Muestra\"")
            .replace("Does things", "Hace cosas")
            .replace(r#"["one", "two"]"#, r#"["uno"]"#)
            .replace("Ann\"", "Anna\"")
            .replace("\"Finds\"", "\"Busca\"")
            .replace(r#"{"name": "bare"}"#, r#"{"description": "Nada", "name": "bare"}"#);
        assert_eq!(text, expected);
    }

    #[test]
    fn what_is_missing_or_broken_leaves_the_text_of_the_manifest() {
        let (text, read, told) = resolve(&[], "fr");
        assert_eq!((text.as_str(), read.len()), (MANIFEST, 0));
        assert_eq!(is_from(&told, "display_name"), "manifest");
        for broken in ["", "{", "[]", "\u{0}"] {
            let (text, read, _) = resolve(&[("r/fr.json", broken)], "fr-CA");
            assert_eq!((text.as_str(), read.len()), (MANIFEST, 1), "{broken}");
        }
        let (text, ..) = resolve(&[("r/fr.json", r#"{"display_name": 7, "description": "Oui"}"#)], "fr");
        assert_eq!(text, MANIFEST.replace("Does things", "Oui"));
    }

    #[test]
    fn no_more_files_are_read_than_it_takes() {
        let all = r#"{"display_name": "a", "description": "b", "long_description": "c", "keywords": ["d"],
            "author": {"name": "e"}, "tools": {"find": {"description": "f"}, "bare": {"description": "g"}}}"#;
        let (text, read, _) =
            resolve(&[("r/de.json", all), ("r/de-AT.json", all), ("r/en-US.json", all)], "de-AT");
        assert_eq!(read, ["r/de-AT.json"]);
        assert!(text.contains(r#""long_description": "c""#), "{text}");
    }
}

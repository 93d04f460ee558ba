//! A manifest as a user of one locale sees it.

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

/// A text of a manifest that can be translated.
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
    /// `keywords`, which are replaced together
    Keywords,
    /// `author.name`
    Author,
    /// The `description` of a tool that the manifest lists.
    Tool(Box<str>),
    /// The `description` of a prompt that the manifest lists.
    Prompt(Box<str>),
}

impl ManifestField {
    /// Every text of a manifest that can be translated, with what the manifest itself has for it. Keywords are one text.
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

    /// Its place in a locale file.
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

    /// What a locale has for it, as JSON.
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

/// Where a text came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ManifestFieldOrigin {
    /// The locale file of this language.
    Locale(Tag),
    /// The manifest itself.
    Manifest,
    /// There is none.
    Nowhere,
}

/// A manifest on its way to a user: which file is needed next, until nothing is missing.
///
/// Rules: B3, B4, B5.
#[derive(Debug)]
pub struct ManifestResolver<'a> {
    manifest: &'a Manifest,
    row: std::vec::IntoIter<&'a BundleLocaleFile>,
    next: Option<&'a BundleLocaleFile>,
    fields: Vec<ManifestFieldLookup>,
}

/// A text that is looked for.
#[derive(Debug)]
struct ManifestFieldLookup {
    field: ManifestField,
    /// Whether the manifest has one.
    own: bool,
    /// What was found first, as JSON, and in which language.
    found: Option<(String, Tag)>,
}

/// A manifest as a user of one locale sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ResolvedManifest {
    /// The manifest, with the texts in their places and everything else as it was.
    pub text: String,
    /// Where each text came from.
    pub fields: Vec<(ManifestField, ManifestFieldOrigin)>,
}

impl ResolvedManifest {
    /// The same with an icon that was chosen, as an object in the place of `icon`.
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
    /// For a user of this locale.
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

    /// The file that is needed next; none once there is nothing more to find.
    #[must_use]
    pub fn next_file(&self) -> Option<&'a BundleLocaleFile> {
        self.next.filter(|_| self.fields.iter().any(|sought| sought.found.is_none()))
    }

    /// Goes on without the file that was wanted.
    pub fn skip(&mut self) {
        self.next = self.row.next();
    }

    /// Goes on with the file that was wanted, read before.
    pub fn apply_locale(&mut self, locale: &CompiledLocale) {
        for ManifestFieldLookup { field, found, .. } in &mut self.fields {
            if found.is_none() {
                *found = field.translation_in(locale).map(|text| (text, locale.tag().clone()));
            }
        }
        self.skip();
    }

    /// Goes on with the bytes of the file that was wanted; told is what of it cannot be used.
    ///
    /// # Errors
    ///
    /// [`LocaleFileError`](catalog::LocaleFileError) where nothing of it can. It is skipped then.
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

    /// The manifest with what was found.
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

#[derive(Default)]
struct ManifestEdits(Vec<(ByteSpan, String)>);

impl ManifestEdits {
    fn apply(&self, to: &Document<'_>) -> Option<String> {
        let edits: Vec<(ByteSpan, &str)> = self.0.iter().map(|(span, text)| (*span, text.as_str())).collect();
        to.splice(&edits).ok()
    }

    /// Puts a member into an object, in place of the one that is there.
    fn set_member(&mut self, object: SpannedValue<'_>, name: &str, text: &str) {
        if let Some(there) = object.member(name) {
            self.0.push((there.span(), text.to_owned()));
            return;
        }
        let comma = if object.members().next().is_some() { ", " } else { "" };
        self.0.push((object.opening(), format!("\"{name}\": {text}{comma}")));
    }

    /// Puts descriptions into the entries of a list, by their names.
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

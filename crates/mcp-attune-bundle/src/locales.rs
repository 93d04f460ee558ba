//! The locale files of a bundle, found by their names.

use super::file_name::{BundleFileName, BundleFileNameError};
use super::manifest::{Localization, Manifest};
use mcp_attune::language::{Languages, Tag};

/// A file in a bundle whose name says that it translates the manifest into one language.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BundleLocaleFile {
    /// Its language, as its name spells it.
    pub tag: Tag,
    /// Its name in the bundle.
    pub name: BundleFileName,
}

/// The locale files of a bundle, and the order in which a user's language uses them.
///
/// It is built from names only. Whether a file can be read shows when it is needed.
///
/// Rules: B2, B4.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BundleLocales {
    /// The locale files, sorted by language, each language once. There are fewer than
    /// [`Languages::MAX_OFFERED`], because the manifest's own language counts too; files beyond that are
    /// dropped.
    pub files: Vec<BundleLocaleFile>,
    /// Names of files that match the path template but cannot be used: the locale is no language tag, as in
    /// `es_MX.json`, or another file has the same language in another spelling.
    pub strange: Vec<Box<str>>,
    /// The languages of the files and of the manifest itself; `None` if the manifest has no usable
    /// `localization`.
    languages: Option<Languages>,
}

impl Localization {
    /// Returns the name of a locale's file, whether or not there is one.
    ///
    /// # Errors
    ///
    /// [`BundleFileNameError`] if the path template leads out of the bundle.
    pub fn locale_file_name(&self, tag: &Tag) -> Result<BundleFileName, BundleFileNameError> {
        BundleFileName::parse(&self.resources.with_locale(tag.as_str()))
    }
}

impl BundleLocales {
    /// Maximum number of related languages whose files are searched for a text. A hostile bundle may have a
    /// thousand of them, none with the text.
    pub const MAX_RELATIVES: usize = 32;

    /// Finds the locale files among the names of all files in a bundle, which have to be normalized as by
    /// [`BundleFileName`].
    ///
    /// Finds nothing if the manifest has no usable `localization`, or if its path leads out of the bundle. If
    /// two files have the same language in different spellings, the first name in order counts.
    pub fn find_among<'a>(manifest: &Manifest, names: impl IntoIterator<Item = &'a str>) -> Self {
        let path = manifest.localization.as_ref().and_then(|it| it.resources.normalize().ok());
        let (mut files, mut strange) = (Vec::<BundleLocaleFile>::new(), Vec::new());
        for name in names {
            let Some(path) = &path else { break };
            // Eight letters can be a language.
            if name == Manifest::FILE_NAME {
                continue;
            }
            let Some(locale) = path.locale_in(name) else { continue };
            match (Tag::parse(locale), BundleFileName::parse(name)) {
                (Ok(tag), Ok(name)) => files.push(BundleLocaleFile { tag, name }),
                _ => strange.push(name.into()),
            }
        }
        // The same language twice, as es-mx and es-MX: the first counts.
        files.sort_by_cached_key(|it| (it.tag.to_string().to_ascii_lowercase(), it.name.clone()));
        files.dedup_by(|again, first| {
            let same = again.tag == first.tag;
            if same {
                strange.push(again.name.as_str().into());
            }
            same
        });
        files.truncate(Languages::MAX_OFFERED - 1);
        let tags = files.iter().map(|it| it.tag.clone());
        let default = manifest.localization.as_ref().map(|it| it.default_locale.clone());
        let languages = default.and_then(|default| Languages::new(default, tags).ok());
        Self { files, strange, languages }
    }

    /// Returns the language of the manifest's own texts; `None` if the manifest has no usable `localization`.
    #[must_use]
    pub fn default_locale(&self) -> Option<&Tag> {
        self.languages.as_ref().map(Languages::default_language)
    }

    /// Returns whether the manifest's own texts are in this language or a related one, so that an untranslated
    /// text is still understood.
    #[must_use]
    pub fn is_near_default(&self, tag: &Tag) -> bool {
        self.languages.as_ref().is_some_and(|languages| {
            let default = languages.default_language();
            tag == default || languages.relatives(tag).contains(&default)
        })
    }

    /// Returns the file of exactly this language, compared without case.
    #[must_use]
    pub fn file_for(&self, tag: &Tag) -> Option<&BundleLocaleFile> {
        self.files.iter().find(|it| it.tag == *tag)
    }

    /// Returns the files to search for the texts of a user's locale, in the order of preference.
    ///
    /// First come the file of the locale and those of related languages, the nearest first and at most
    /// [`BundleLocales::MAX_RELATIVES`]; last comes the file of the default locale, if there is one. If the
    /// default locale is itself a relative, relatives farther away are left out, because the manifest's own
    /// text is nearer than theirs.
    #[must_use]
    pub fn fallback_files(&self, locale: &Tag) -> Vec<&BundleLocaleFile> {
        let Some(languages) = &self.languages else { return Vec::new() };
        let default = languages.default_language();
        let mut row = languages.relatives(locale);
        row.truncate(row.iter().position(|tag| *tag == default).unwrap_or(row.len()));
        row.truncate(Self::MAX_RELATIVES);
        row.push(default);
        row.into_iter().filter_map(|tag| self.file_for(tag)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resources: &str, default: &str, names: &[&str], asked: &str, expected: &[&str]) {
        let text =
            format!(r#"{{"localization": {{"resources": "{resources}", "default_locale": "{default}"}}}}"#);
        let manifest = Manifest::read(text.as_bytes()).unwrap();
        let locales = BundleLocales::find_among(&manifest, names.iter().copied());
        let row = locales.fallback_files(&Tag::parse(asked).unwrap());
        assert_eq!(row.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), expected, "{asked}");
    }

    #[test]
    fn the_nearest_file_is_first_and_the_default_locale_last() {
        let names = ["r/es-MX.json", "r/es.json", "r/es-419.json", "r/en-US.json", "r/fr.json"];
        let row = ["r/es-419.json", "r/es-MX.json", "r/es.json", "r/en-US.json"];
        check("r/${locale}.json", "en-US", &names, "es-UY", &row);
        check("r/${locale}.json", "en-US", &names, "ja", &["r/en-US.json"]);
        check("${locale}.json", "en", &["manifest.json", "de.json"], "manifest", &[]);
        check("./r//${LOCALE}.json", "en-US", &names, "fr-CA", &["r/fr.json", "r/en-US.json"]);
        check("r/${locale}.json", "es", &names, "es-MX", &["r/es-MX.json", "r/es-419.json", "r/es.json"]);
    }

    #[test]
    fn nothing_follows_the_language_of_the_manifest() {
        check("${locale}.json", "en-US", &["en-GB.json", "en-AU.json"], "en-US", &[]);
        check("${locale}.json", "en-GB", &["en-US.json", "en-AU.json"], "en-GB", &[]);
        check(
            "${locale}.json",
            "en-US",
            &["en-GB.json", "en-AU.json"],
            "en-NZ",
            &["en-GB.json", "en-AU.json"],
        );
    }

    #[test]
    fn the_locale_can_be_a_folder_and_strange_names_are_told() {
        let names = [
            "t/de/x.json",
            "t/es_MX/x.json",
            "t/de/deep/x.json",
            "t/DE-ch/x.json",
            "t/de-CH/x.json",
            "u/fr/x.json",
        ];
        check("t/${locale}/x.json", "en", &names, "de-CH", &["t/DE-ch/x.json", "t/de/x.json"]);
        let manifest = Manifest::read(br#"{"localization": {"resources": "t/${locale}/x.json"}}"#).unwrap();
        let locales = BundleLocales::find_among(&manifest, names);
        assert_eq!(locales.strange, ["t/es_MX/x.json".into(), Box::<str>::from("t/de-CH/x.json")]);
        assert_eq!(locales.default_locale().unwrap().as_str(), "en-US");
    }

    #[test]
    fn the_locale_can_stand_in_several_places_and_must_be_the_same_in_all() {
        let names =
            ["l/de/s-de.json", "l/de/s-fr.json", "l/fr/s-fr.json", "l/es_MX/s-es_MX.json", "l/s-it.json"];
        check("l/${locale}/s-${locale}.json", "en", &names, "de-CH", &["l/de/s-de.json"]);
        check("l/${LOCALE}/s-${locale}.json", "en", &names, "fr", &["l/fr/s-fr.json"]);
        check("l/${locale}/s-${locale}.json", "en", &names, "it", &[]);
    }

    #[test]
    fn a_thousand_relatives_are_not_all_looked_at() {
        let names: Vec<String> = (0..900).map(|number| format!("de-x-n{number}.json")).collect();
        let manifest = Manifest::read(br#"{"localization": {"resources": "${locale}.json"}}"#).unwrap();
        let locales =
            BundleLocales::find_among(&manifest, names.iter().map(String::as_str).chain(["en-US.json"]));
        let row = locales.fallback_files(&Tag::parse("de").unwrap());
        assert_eq!((locales.files.len(), row.len()), (901, BundleLocales::MAX_RELATIVES + 1));
        assert_eq!(row.last().unwrap().name.as_str(), "en-US.json");
    }

    #[test]
    fn a_path_that_leads_outside_has_no_files() {
        check("../${locale}.json", "en", &["../de.json", "de.json"], "de", &[]);
        check("/r/${locale}.json", "en", &["/r/de.json"], "de", &[]);
    }
}

//! Paths with a place for a locale in them: `locales/${locale}.json`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mcp_attune::language::Tag;
use mcp_attune_bundle::LocalePath;

/// How many entries of a folder are looked at.
const MAX_SCANNED_ENTRIES: usize = 10_000;

/// The path of every locale's file.
///
/// ```
/// use mcp_attune::language::Tag;
/// use mcp_attune_files::LocaleFilePattern;
///
/// let pattern = LocaleFilePattern::new("locales/${locale}.json").unwrap();
/// assert_eq!(pattern.path_for(&Tag::parse("de-CH").unwrap()).to_str(), Some("locales/de-CH.json"));
/// assert!(LocaleFilePattern::new("locales/de.json").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocaleFilePattern {
    path: LocalePath,
}

/// A path without `${locale}` in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocaleFilePatternError;

impl fmt::Display for LocaleFilePatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("has no ${locale}; write a path such as \"locales/${locale}.json\"")
    }
}

impl std::error::Error for LocaleFilePatternError {}

/// A file that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FoundLocaleFile {
    pub(crate) tag: Tag,
    pub(crate) path: PathBuf,
    pub(crate) stamp: WatchedFileStamp,
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WatchedFileStamp {
    pub(crate) bytes: u64,
    changed: Option<SystemTime>,
}

impl WatchedFileStamp {
    pub(crate) fn read_stamp(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { bytes: file.len(), changed: file.modified().ok() })
    }
}

impl LocaleFilePattern {
    /// What stands in the path where the tag goes.
    pub const LOCALE_PLACEHOLDER: &str = LocalePath::PLACEHOLDER;

    /// A path with the place in it, once or more often; the same locale goes into all of them.
    ///
    /// # Errors
    ///
    /// [`LocaleFilePatternError`] where it is not there.
    pub fn new(path: &str) -> Result<Self, LocaleFilePatternError> {
        if !path.contains(Self::LOCALE_PLACEHOLDER) {
            return Err(LocaleFilePatternError);
        }
        Ok(Self { path: LocalePath::from_pieces(path.split(Self::LOCALE_PLACEHOLDER)) })
    }

    /// The files in a folder that are named by their locale, with this suffix.
    ///
    /// ```
    /// assert_eq!(mcp_attune_files::LocaleFilePattern::in_folder("locales", ".json").to_string(), "locales/${locale}.json");
    /// ```
    #[must_use]
    pub fn in_folder(folder: &str, suffix: &str) -> Self {
        Self { path: LocalePath::from_pieces([format!("{folder}/").as_str(), suffix]) }
    }

    /// The same path, seen from a folder where it is relative.
    #[must_use]
    pub fn resolve_from(self, folder: &Path) -> Self {
        let text = self.to_string();
        match folder.join(&text).to_str().map(Self::new) {
            Some(Ok(within)) => within,
            _ => self,
        }
    }

    /// The path of one locale's file.
    #[must_use]
    pub fn path_for(&self, tag: &Tag) -> PathBuf {
        PathBuf::from(self.path.with_locale(tag.as_str()))
    }

    /// The folder that the locales are in.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        match self.path.split_at_locale().0.as_str() {
            "" if self.path.prefix().starts_with('/') => PathBuf::from("/"),
            "" => PathBuf::from("."),
            folder => PathBuf::from(folder),
        }
    }

    /// The files that are there, by their tags, and the names in their place that are no tag.
    pub(crate) fn find(&self) -> (Vec<FoundLocaleFile>, Vec<String>) {
        let (_, own, below) = self.path.split_at_locale();
        let (mut found, mut strange) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(self.folder())
            .into_iter()
            .flatten()
            .take(MAX_SCANNED_ENTRIES)
            .filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let Some(tag) = own.locale_in(name) else { continue };
            let path = below
                .as_ref()
                .map_or_else(|| entry.path(), |below| entry.path().join(below.with_locale(tag)));
            let Some(stamp) = WatchedFileStamp::read_stamp(&path) else { continue };
            match Tag::parse(tag) {
                Ok(tag) => found.push(FoundLocaleFile { tag, path, stamp }),
                Err(_) => strange.push(name.to_owned()),
            }
        }
        // A disk gives them in any order, and the order of languages decides between equals.
        found.sort_by(|one, other| one.tag.as_str().cmp(other.tag.as_str()));
        strange.sort();
        (found, strange)
    }
}

impl fmt::Display for LocaleFilePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.with_locale(Self::LOCALE_PLACEHOLDER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_can_be_a_name_a_part_of_one_or_a_folder() {
        let root = std::env::temp_dir().join(format!("attune-pattern-{}", std::process::id()));
        let files = [
            "de.json",
            "x-fr-CH-y.json",
            "it/texts.json",
            "no.tag.json",
            "rm.txt",
            "de.json.bak",
            "pt/s-pt.json",
            "ja/s-ko.json",
        ];
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let find = |pattern: &str| {
            let pattern = LocaleFilePattern::new(&format!("{}/{pattern}", root.display())).unwrap();
            let (found, strange) = pattern.find();
            let paths: Vec<_> = found.iter().map(|found| pattern.path_for(&found.tag)).collect();
            assert_eq!(paths, found.iter().map(|found| found.path.clone()).collect::<Vec<_>>());
            (found.iter().map(|found| found.tag.to_string()).collect::<Vec<_>>().join(" "), strange.join(" "))
        };
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert_eq!(find("${locale}.json"), pair("de x-fr-CH-y", "no.tag.json"));
        assert_eq!(find("x-${locale}-y.json"), pair("fr-CH", ""));
        assert_eq!(find("${locale}/texts.json"), pair("it", ""));
        assert_eq!(find("${locale}/s-${locale}.json"), pair("pt", ""));
        assert_eq!(find("nowhere/${locale}.json"), pair("", ""));
        fs::remove_dir_all(root).unwrap();
    }
}

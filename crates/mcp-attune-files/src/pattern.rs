//! Path patterns of locale files, such as `locales/${locale}.json`, and the files that match them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use mcp_attune::language::Tag;
use mcp_attune_bundle::LocalePath;

/// Maximum number of entries of a folder that are looked at; the others are ignored.
const MAX_SCANNED_ENTRIES: usize = 10_000;

/// The path of every locale's file, with `${locale}` in place of the language tag.
///
/// The placeholder may be a file name, a part of one, or a folder, and may occur several times. It is
/// recognized in lower case only. The path comes from an operator and may lead anywhere; paths in bundles are
/// checked by `mcp-attune-bundle`.
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

/// A path without `${locale}` in it. `Display` says what to write instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocaleFilePatternError;

impl fmt::Display for LocaleFilePatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("has no ${locale}; write a path such as \"locales/${locale}.json\"")
    }
}

impl std::error::Error for LocaleFilePatternError {}

/// A locale file that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FoundLocaleFile {
    pub(crate) tag: Tag,
    pub(crate) path: PathBuf,
    /// Its state when the folder was listed.
    pub(crate) stamp: WatchedFileStamp,
}

/// The state of a file, by which a change is recognized: its size and modification time.
///
/// A change that keeps both goes unnoticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WatchedFileStamp {
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Its modification time; `None` if the system does not provide it.
    changed: Option<SystemTime>,
}

impl WatchedFileStamp {
    /// Returns the current state of a regular file, following links; `None` if there is none.
    pub(crate) fn read_stamp(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { bytes: file.len(), changed: file.modified().ok() })
    }
}

impl LocaleFilePattern {
    /// The placeholder that is replaced by the language tag.
    pub const LOCALE_PLACEHOLDER: &str = LocalePath::PLACEHOLDER;

    /// Parses a path with at least one placeholder. The same locale replaces all of them.
    ///
    /// # Errors
    ///
    /// [`LocaleFilePatternError`] if the path has no placeholder.
    pub fn new(path: &str) -> Result<Self, LocaleFilePatternError> {
        if !path.contains(Self::LOCALE_PLACEHOLDER) {
            return Err(LocaleFilePatternError);
        }
        Ok(Self { path: LocalePath::from_pieces(path.split(Self::LOCALE_PLACEHOLDER)) })
    }

    /// Returns the pattern of files in a folder that are named by their locale, with a suffix such as `.json`.
    ///
    /// ```
    /// assert_eq!(mcp_attune_files::LocaleFilePattern::in_folder("locales", ".json").to_string(), "locales/${locale}.json");
    /// ```
    #[must_use]
    pub fn in_folder(folder: &str, suffix: &str) -> Self {
        Self { path: LocalePath::from_pieces([format!("{folder}/").as_str(), suffix]) }
    }

    /// Resolves a relative pattern from a folder, such as the one of the configuration that names it. An
    /// absolute pattern stays.
    ///
    /// So does a relative one if the folder's path is not UTF-8.
    #[must_use]
    pub fn resolve_from(self, folder: &Path) -> Self {
        let text = self.to_string();
        match folder.join(&text).to_str().map(Self::new) {
            Some(Ok(within)) => within,
            _ => self,
        }
    }

    /// Returns the path of one locale's file, whether or not there is one.
    #[must_use]
    pub fn path_for(&self, tag: &Tag) -> PathBuf {
        PathBuf::from(self.path.with_locale(tag.as_str()))
    }

    /// Returns the folder that is listed to find the files: the one that the part with the first placeholder is
    /// in.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        match self.path.split_at_locale().0.as_str() {
            "" if self.path.prefix().starts_with('/') => PathBuf::from("/"),
            "" => PathBuf::from("."),
            folder => PathBuf::from(folder),
        }
    }

    /// Lists the folder, and returns the files that exist, sorted by tag, and the names that match the pattern
    /// but have no language tag, for a warning. A folder that cannot be read has no files.
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

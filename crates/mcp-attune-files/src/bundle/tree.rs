//! A bundle that is a folder. Links that stay in it are followed, others are refused.
//!
//! Rules: B2, B8.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use mcp_attune_bundle::{BundleFileName, Localization};

use super::fault::BundleReadError;
use super::limits::MAX_ENTRIES;

/// Maximum number of entries of the folder of locale files that are looked at.
const MAX_LOCALE_ENTRIES: usize = 10_000;

/// A folder with a bundle in it.
pub(super) struct BundleFolder {
    /// Its absolute path, with links resolved.
    root: PathBuf,
}

impl BundleFolder {
    pub(super) fn open(root: &Path) -> std::io::Result<Self> {
        Ok(Self { root: fs::canonicalize(root)? })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Resolves all links in the path of a file or folder. Returns [`BundleReadError::Outside`] if that leads
    /// out of the bundle.
    fn locate(&self, name: &str) -> Result<PathBuf, BundleReadError> {
        let found = fs::canonicalize(self.root.join(name)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => BundleReadError::Missing,
            kind => BundleReadError::Unreadable(kind),
        })?;
        if found.starts_with(&self.root) { Ok(found) } else { Err(BundleReadError::Outside) }
    }

    /// Reads a regular file of at most `most` bytes. The kind is checked before opening, because opening a pipe
    /// may block forever.
    pub(super) fn read(&self, name: &BundleFileName, most: u64) -> Result<Vec<u8>, BundleReadError> {
        let unreadable = |error: std::io::Error| BundleReadError::Unreadable(error.kind());
        let path = self.locate(name.as_str())?;
        // A pipe that nobody writes to would be waited for.
        let about = fs::symlink_metadata(&path).map_err(unreadable)?;
        if !about.is_file() {
            return Err(BundleReadError::NoFile);
        }
        if about.len() > most {
            return Err(BundleReadError::TooLarge { most });
        }
        let mut bytes = Vec::new();
        // One byte more, so that a file that grows meanwhile is found too large.
        let file = File::open(path).map_err(unreadable)?;
        file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() as u64 > most { Err(BundleReadError::TooLarge { most }) } else { Ok(bytes) }
    }

    /// Returns the names of files that may be locale files, sorted. Only the folder where they can be is
    /// listed, so that opening a bundle with many dependencies is fast.
    pub(super) fn locales(&self, localization: &Localization) -> Vec<String> {
        let Ok(path) = localization.resources.normalize() else { return Vec::new() };
        let (folder, named, below) = path.split_at_locale();
        let Ok(entries) =
            self.locate(&folder).and_then(|path| fs::read_dir(path).map_err(|_| BundleReadError::Missing))
        else {
            return Vec::new();
        };
        let entries = entries.take(MAX_LOCALE_ENTRIES).filter_map(Result::ok);
        let names = entries.filter_map(|entry| {
            let own = entry.file_name().into_string().ok()?;
            let below = below.as_ref().map(|below| Some(below.with_locale(named.locale_in(&own)?)));
            let mut name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
            if let Some(below) = below {
                let below = below?;
                name = format!("{name}/{below}");
                entry.path().join(below).exists().then_some(name)
            } else {
                let kind = entry.file_type().ok()?;
                (kind.is_file() || kind.is_symlink()).then_some(name)
            }
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Walks the folder and returns the names of all files, sorted, up to as many as an archive may have.
    ///
    /// Left out are names that no bundle can have, and links to folders or out of the bundle.
    pub(super) fn files(&self) -> Vec<BundleFileName> {
        let (mut files, mut folders, mut seen) = (Vec::new(), vec![String::new()], 0);
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(self.root.join(&folder)).into_iter().flatten().filter_map(Result::ok);
            for entry in entries {
                seen += 1;
                if seen > MAX_ENTRIES {
                    break;
                }
                let (Ok(own), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                    continue;
                };
                let name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
                let Ok(inside) = BundleFileName::parse(&name) else { continue };
                // Links to folders are not followed: they may lead in circles.
                if kind.is_dir() {
                    folders.push(name);
                } else if kind.is_file() || self.locate(&name).is_ok_and(|path| path.is_file()) {
                    files.push(inside);
                }
            }
        }
        files.sort();
        files
    }
}

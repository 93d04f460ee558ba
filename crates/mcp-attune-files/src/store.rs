//! Locale files read and written whole, for translators' tools; and how any file is replaced safely.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use mcp_attune::catalog::ParsedLocaleFile;
use mcp_attune::language::Tag;

use crate::pattern::{FoundLocaleFile, LocaleFilePattern};

/// A locale file that exists, and the language that its name says.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TaggedLocaleFile {
    /// The language, as the name spells it.
    pub tag: Tag,
    /// The path of the file.
    pub path: PathBuf,
}

impl LocaleFilePattern {
    /// Lists the files of this pattern. Blocks on the disk.
    ///
    /// Returns the files that exist, sorted by tag, and the names that match the pattern but have no language
    /// tag, for a warning.
    #[must_use]
    pub fn files(&self) -> (Vec<TaggedLocaleFile>, Vec<String>) {
        let (found, strange) = self.find();
        (
            found
                .into_iter()
                .map(|FoundLocaleFile { tag, path, .. }| TaggedLocaleFile { tag, path })
                .collect(),
            strange,
        )
    }
}

/// Reads a locale file, but no more than one byte over [`ParsedLocaleFile::MAX_BYTES`]. That byte makes
/// [`ParsedLocaleFile::read`] refuse the file as too large.
///
/// # Errors
///
/// Those of opening and reading the file.
pub fn read_locale_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(ParsedLocaleFile::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// An error: something that is not a regular file is where a file should be written, namely a folder, a device,
/// a pipe, a socket, or a link that leads to one of them or nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotAFile;

impl fmt::Display for NotAFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is there and no file")
    }
}

impl std::error::Error for NotAFile {}

/// Returns the file that has to be replaced in order to write to a path: the path itself, or what it points to
/// if it is a link.
///
/// Everything that replaces a file by renaming another one onto it has to ask this first, because renaming
/// would replace a link or a device as well.
///
/// # Errors
///
/// [`NotAFile`] if there is something at the path that is not a regular file. It is left as it is.
pub fn resolve_write_target(path: &Path) -> Result<PathBuf, NotAFile> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(path.to_owned());
    }
    let target = fs::canonicalize(path).map_err(|_| NotAFile)?;
    if fs::metadata(&target).is_ok_and(|found| found.is_file()) { Ok(target) } else { Err(NotAFile) }
}

/// Writes a file such that readers see either the old or the new contents, never a part.
///
/// The text is written to a temporary file in the same folder, synchronized to disk, given the permissions of
/// the old file, and renamed onto it. Two writers in one process must not write to the same path at the same
/// time: they would share the temporary file.
///
/// # Errors
///
/// Those of the file system, or [`NotAFile`] as the source of an `AlreadyExists`. The old contents stay, and
/// the temporary file is removed.
pub fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let path = resolve_write_target(path).map_err(|why| io::Error::new(io::ErrorKind::AlreadyExists, why))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
    // No locale file ends so.
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        if let Ok(before) = fs::metadata(&path) {
            fs::set_permissions(&beside, before.permissions())?;
        }
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_as_a_whole_and_nothing_is_left_beside_it() {
        let folder = std::env::temp_dir().join(format!("attune-store-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("de.json");
        write_atomically(&path, "{}").unwrap();
        write_atomically(&path, "{\"a\":1}").unwrap();
        assert_eq!(read_locale_file(&path).unwrap(), b"{\"a\":1}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&path, folder.join("fr.json")).unwrap();
            write_atomically(&folder.join("fr.json"), "{}").unwrap();
            assert_eq!(read_locale_file(&path).unwrap(), b"{}");
            assert!(fs::symlink_metadata(folder.join("fr.json")).unwrap().is_symlink());
        }
        assert!(write_atomically(&folder.join("none/de.json"), "{}").is_err());
        // A folder in its place stays, and so does what is in it.
        fs::create_dir_all(folder.join("it.json/x")).unwrap();
        assert!(write_atomically(&folder.join("it.json"), "{}").is_err());
        assert!(
            fs::read_dir(&folder).unwrap().all(|it| !it
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with("tmp"))
        );
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn what_is_there_and_no_file_is_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, symlink};
        let folder = std::env::temp_dir().join(format!("attune-store-kinds-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        symlink(at("socket"), at("to-socket")).unwrap();
        symlink(at("nowhere"), at("to-nowhere")).unwrap();
        symlink(at("round"), at("round")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for name in ["socket", "to-socket", "to-nowhere", "round", "folder"] {
            assert_eq!(resolve_write_target(&at(name)), Err(NotAFile), "{name}");
            let error = write_atomically(&at(name), "{}").unwrap_err();
            assert_eq!(error.to_string(), "it is there and no file", "{name}");
        }
        assert!(fs::metadata(at("socket")).unwrap().file_type().is_socket());
        assert!(fs::symlink_metadata(at("to-nowhere")).unwrap().is_symlink());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 5);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn no_more_is_read_than_can_be_used() {
        let path = std::env::temp_dir().join(format!("attune-store-{}.json", std::process::id()));
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(read_locale_file(&path).unwrap().len(), ParsedLocaleFile::MAX_BYTES + 1);
        fs::remove_file(path).unwrap();
    }
}

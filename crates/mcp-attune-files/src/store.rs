//! Locale files read and written whole, for translators' tools.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use mcp_attune::catalog::Sheet;
use mcp_attune::language::Tag;

use crate::pattern::{Found, Pattern};

/// A file, and the language that its name says.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Named {
    /// The language.
    pub tag: Tag,
    /// Where the file is.
    pub path: PathBuf,
}

impl Pattern {
    /// The files that are there, by their tags, and the names in their place that are no tag.
    #[must_use]
    pub fn files(&self) -> (Vec<Named>, Vec<String>) {
        let (found, strange) = self.find();
        (found.into_iter().map(|Found { tag, path, .. }| Named { tag, path }).collect(), strange)
    }
}

/// Reads a file, up to one byte more than a locale file may have: [`Sheet::read`] then says that it is too large.
///
/// # Errors
///
/// What the system says.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(Sheet::MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file as a whole: whoever reads it sees what it was or what it is, and never a part.
///
/// # Errors
///
/// What the system says. The file then is what it was.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    // Where it is a link, what it points to is written.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
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
        write(&path, "{}").unwrap();
        write(&path, "{\"a\":1}").unwrap();
        assert_eq!(read(&path).unwrap(), b"{\"a\":1}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&path, folder.join("fr.json")).unwrap();
            write(&folder.join("fr.json"), "{}").unwrap();
            assert_eq!(read(&path).unwrap(), b"{}");
            assert!(fs::symlink_metadata(folder.join("fr.json")).unwrap().is_symlink());
        }
        assert!(write(&folder.join("none/de.json"), "{}").is_err());
        // A folder in its place stays, and so does what is in it.
        fs::create_dir_all(folder.join("it.json/x")).unwrap();
        assert!(write(&folder.join("it.json"), "{}").is_err());
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
    fn no_more_is_read_than_can_be_used() {
        let path = std::env::temp_dir().join(format!("attune-store-{}.json", std::process::id()));
        File::create(&path).unwrap().set_len(1 << 30).unwrap();
        assert_eq!(read(&path).unwrap().len(), Sheet::MAX_BYTES + 1);
        fs::remove_file(path).unwrap();
    }
}

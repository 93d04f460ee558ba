//! An archive as a folder.
//!
//! Rules: B2, B8.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::archive::{Archive, NotCopied};
use super::directory::Entry;
use super::fault::{Shown, Wrong};
use super::{Bundle, Place};

/// Why an archive was not unpacked. Nothing of it is left then.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NotUnpacked {
    /// The bundle is a folder already.
    AFolder,
    /// There is something where it should go.
    NotEmpty,
    /// An entry is not as it should be.
    Entry {
        /// Its name.
        name: Box<str>,
        /// What is wrong with it.
        why: Wrong,
    },
    /// The archive can no longer be read.
    Unreadable(io::ErrorKind),
    /// The system does not take it.
    Unwritable(io::ErrorKind),
}

impl fmt::Display for NotUnpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AFolder => f.write_str("is a folder already"),
            Self::NotEmpty => f.write_str("is there already, and is no empty folder"),
            Self::Entry { name, why } => write!(f, "its entry {} {why}", Shown(name)),
            Self::Unreadable(why) => write!(f, "can no longer be read: {why}"),
            Self::Unwritable(why) => write!(f, "cannot be written: {why}"),
        }
    }
}

impl NotUnpacked {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::AFolder => "use it where it is".into(),
            Self::NotEmpty => "name a folder that is not there yet".into(),
            Self::Entry { why, .. } => why.hint(),
            Self::Unreadable(_) => "see whether it is still there".into(),
            Self::Unwritable(_) => "see who may write there, and whether there is room".into(),
        }
    }
}

impl std::error::Error for NotUnpacked {}

impl Bundle {
    /// Unpacks an archive into a folder that is not there yet, or has nothing in it. Files and folders are made, never
    /// links, and nothing that is there is written to; what Unix permissions the entries have, the files get.
    ///
    /// # Errors
    ///
    /// [`NotUnpacked`]; what was written is removed again.
    pub fn unpack(&self, into: impl AsRef<Path>) -> Result<(), NotUnpacked> {
        let Place::Archive(archive) = &self.place else { return Err(NotUnpacked::AFolder) };
        let mut made = Made::default();
        let unpacked = unpack(archive, into.as_ref(), &mut made);
        if unpacked.is_err() {
            made.remove();
        }
        unpacked
    }
}

fn unpack(archive: &Archive, into: &Path, made: &mut Made) -> Result<(), NotUnpacked> {
    let unwritable = |error: io::Error| match error.kind() {
        // Somebody else writes there too.
        io::ErrorKind::AlreadyExists => NotUnpacked::NotEmpty,
        kind => NotUnpacked::Unwritable(kind),
    };
    match fs::read_dir(into).map(|mut there| there.next().is_none()) {
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = into.parent() {
                fs::create_dir_all(parent).map_err(unwritable)?;
            }
            made.folder(into.to_owned()).map_err(unwritable)?;
        }
        Err(error) if error.kind() != io::ErrorKind::NotADirectory => return Err(unwritable(error)),
        _ => return Err(NotUnpacked::NotEmpty),
    }
    for entry in archive.entries() {
        // By their names, so that the folders that a file is in are made in their order.
        let mut path = into.to_owned();
        let parts: Vec<&str> = entry.name.as_str().split('/').collect();
        let folders = parts.len() - usize::from(!entry.folder);
        for part in parts.iter().take(folders) {
            path.push(part);
            if !made.has(&path) {
                made.folder(path.clone()).map_err(unwritable)?;
            }
        }
        if let Some(part) = parts.last().filter(|_| !entry.folder) {
            path.push(part);
            let file = made.file(path).map_err(unwritable)?;
            fill(archive, entry, file).map_err(|fault| match fault {
                NotCopied::Entry(why) => NotUnpacked::Entry { name: entry.name.as_str().into(), why },
                NotCopied::Read(error) => NotUnpacked::Unreadable(error.kind()),
                NotCopied::Written(error) => unwritable(error),
            })?;
        }
    }
    Ok(())
}

fn fill(archive: &Archive, entry: &Entry, file: File) -> Result<(), NotCopied> {
    let mut writer = BufWriter::new(file);
    archive.copy(entry, &mut writer)?;
    writer.flush().map_err(NotCopied::Written)?;
    #[cfg(unix)]
    if entry.mode != 0 {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(entry.mode);
        writer.get_ref().set_permissions(mode).map_err(NotCopied::Written)?;
    }
    Ok(())
}

/// What was made, to be removed if it comes to nothing.
#[derive(Default)]
struct Made {
    files: Vec<PathBuf>,
    folders: std::collections::BTreeSet<PathBuf>,
}

impl Made {
    fn has(&self, folder: &Path) -> bool {
        self.folders.contains(folder)
    }

    fn folder(&mut self, path: PathBuf) -> io::Result<()> {
        fs::create_dir(&path)?;
        self.folders.insert(path);
        Ok(())
    }

    fn file(&mut self, path: PathBuf) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        self.files.push(path);
        Ok(file)
    }

    fn remove(&self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // What is in a folder sorts after it.
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

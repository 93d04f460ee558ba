//! Unpacking of an archive into a folder.
//!
//! 1. The target does not exist, or is an empty folder. Every file and folder is created anew; nothing is
//!    overwritten, and no links are created.
//! 2. Names, sizes and kinds were checked when the archive was opened; sizes and checksums of the data are
//!    verified while it is written.
//! 3. After an error, every file and folder that was created in the target is removed again, and so is the
//!    target if it was created.
//!
//! Rules: B2, B8.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::archive::{Archive, EntryCopyError};
use super::directory::ArchiveEntry;
use super::fault::{ArchiveEntryError, EscapedFileName};
use super::{Bundle, BundleStorage};

/// Why an archive was not unpacked. The files that were created are removed then.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BundleUnpackError {
    /// The bundle is a folder already.
    AFolder,
    /// The target exists and is not an empty folder, or something appeared in it while it was written.
    NotEmpty,
    /// An entry is damaged.
    Entry {
        /// Its name in the archive.
        name: Box<str>,
        /// What is wrong with it.
        why: ArchiveEntryError,
    },
    /// Reading the archive failed.
    Unreadable(io::ErrorKind),
    /// Creating or writing a file or folder failed.
    Unwritable(io::ErrorKind),
}

impl fmt::Display for BundleUnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AFolder => f.write_str("is a folder already"),
            Self::NotEmpty => f.write_str("is there already, and is no empty folder"),
            Self::Entry { name, why } => write!(f, "its entry {} {why}", EscapedFileName(name)),
            Self::Unreadable(why) => write!(f, "can no longer be read: {why}"),
            Self::Unwritable(why) => write!(f, "cannot be written: {why}"),
        }
    }
}

impl BundleUnpackError {
    /// Returns what the user can do about it.
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

impl std::error::Error for BundleUnpackError {}

impl Bundle {
    /// Unpacks an archive into a folder that does not exist yet, or is empty. Missing parents of the folder are
    /// created.
    ///
    /// Only files and folders are created, never links, and nothing that exists is overwritten. On Unix, files
    /// get the permissions that the archive has for them, if any; never set-user-id and the like.
    ///
    /// # Errors
    ///
    /// [`BundleUnpackError`]; what was created in the folder is removed again.
    pub fn unpack(&self, into: impl AsRef<Path>) -> Result<(), BundleUnpackError> {
        let BundleStorage::Archive(archive) = &self.place else { return Err(BundleUnpackError::AFolder) };
        let mut made = UnpackedPaths::default();
        let unpacked = unpack(archive, into.as_ref(), &mut made);
        if unpacked.is_err() {
            made.remove_created();
        }
        unpacked
    }
}

fn unpack(archive: &Archive, into: &Path, made: &mut UnpackedPaths) -> Result<(), BundleUnpackError> {
    let unwritable = |error: io::Error| match error.kind() {
        // Somebody else writes there too.
        io::ErrorKind::AlreadyExists => BundleUnpackError::NotEmpty,
        kind => BundleUnpackError::Unwritable(kind),
    };
    match fs::read_dir(into).map(|mut there| there.next().is_none()) {
        Ok(true) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = into.parent() {
                fs::create_dir_all(parent).map_err(unwritable)?;
            }
            made.create_folder(into.to_owned()).map_err(unwritable)?;
        }
        Err(error) if error.kind() != io::ErrorKind::NotADirectory => return Err(unwritable(error)),
        _ => return Err(BundleUnpackError::NotEmpty),
    }
    for entry in archive.entries() {
        // By their names, so that the folders that a file is in are made in their order.
        let mut path = into.to_owned();
        let parts: Vec<&str> = entry.name.as_str().split('/').collect();
        let folders = parts.len() - usize::from(!entry.folder);
        for part in parts.iter().take(folders) {
            path.push(part);
            if !made.has_folder(&path) {
                made.create_folder(path.clone()).map_err(unwritable)?;
            }
        }
        if let Some(part) = parts.last().filter(|_| !entry.folder) {
            path.push(part);
            let file = made.create_file(path).map_err(unwritable)?;
            write_entry(archive, entry, file).map_err(|fault| match fault {
                EntryCopyError::Entry(why) => {
                    BundleUnpackError::Entry { name: entry.name.as_str().into(), why }
                }
                EntryCopyError::Read(error) => BundleUnpackError::Unreadable(error.kind()),
                EntryCopyError::Written(error) => unwritable(error),
            })?;
        }
    }
    Ok(())
}

/// Writes one file, and sets its permissions.
fn write_entry(archive: &Archive, entry: &ArchiveEntry, file: File) -> Result<(), EntryCopyError> {
    let mut writer = BufWriter::new(file);
    archive.copy(entry, &mut writer)?;
    writer.flush().map_err(EntryCopyError::Written)?;
    #[cfg(unix)]
    if entry.mode != 0 {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::Permissions::from_mode(entry.mode);
        writer.get_ref().set_permissions(mode).map_err(EntryCopyError::Written)?;
    }
    Ok(())
}

/// What was created, to be removed after an error. Folders are created only if they are not in here, so that
/// nothing that exists is written to.
#[derive(Default)]
struct UnpackedPaths {
    files: Vec<PathBuf>,
    folders: std::collections::BTreeSet<PathBuf>,
}

impl UnpackedPaths {
    fn has_folder(&self, folder: &Path) -> bool {
        self.folders.contains(folder)
    }

    fn create_folder(&mut self, path: PathBuf) -> io::Result<()> {
        fs::create_dir(&path)?;
        self.folders.insert(path);
        Ok(())
    }

    fn create_file(&mut self, path: PathBuf) -> io::Result<File> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        self.files.push(path);
        Ok(file)
    }

    fn remove_created(&self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
        // What is in a folder sorts after it.
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

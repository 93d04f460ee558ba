//! A settings file: read whole and bounded, and replaced whole.
//!
//! 1. The new text is written beside the file and renamed onto it, with the permissions of the old one. A link stays, and what it leads to is replaced.
//! 2. The old text is kept beside the file before that, as `FILE.before-attune`, readable by nobody who could not read the file.
//! 3. A file that somebody else has changed meanwhile is left alone.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune_files::resolve_write_target;
use tempfile::NamedTempFile;

use crate::exit::hinted;
use crate::text::byte_size;

/// How many bytes a settings file may have.
pub(super) const MAX_SETTINGS_BYTES: u64 = 4 << 20;
/// What the name of the old file ends with.
const BACKUP_SUFFIX: &str = ".before-attune";

/// Reads a file; `None` where there is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let is_file = match fs::metadata(path) {
        Ok(found) => found.is_file(),
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
    };
    if !is_file {
        return Err(hinted(format!("{} is no file", path.display()), "name the settings file with --file"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut bytes));
    read.with_context(|| format!("could not read {}", path.display()))?;
    if bytes.len() as u64 > MAX_SETTINGS_BYTES {
        let what = format!("{} is larger than {}", path.display(), byte_size(MAX_SETTINGS_BYTES));
        return Err(hinted(what, "is it the settings file? Name another one with --file"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let what = format!("{} is not UTF-8: byte {at} is the first that is not", path.display());
        hinted(what, "save it as UTF-8 in an editor")
    })?;
    Ok(Some(text))
}

/// The name of the old file.
pub(super) fn backup_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP_SUFFIX);
    name.into()
}

/// Replaces a file whose text was `old`, or makes it where there was none.
pub(super) fn replace(path: &Path, old: Option<&str>, new: &str) -> anyhow::Result<()> {
    let target = resolve_write_target(path).with_context(|| format!("could not write {}", path.display()))?;
    if let Some(old) = old {
        let backup = backup_path(path);
        let backup_target =
            resolve_write_target(&backup).with_context(|| format!("could not write {}", backup.display()))?;
        store(&backup_target, old, Some(&target))
            .with_context(|| format!("could not write {}, and left all as it was", backup.display()))?;
    }
    if read(&target)?.as_deref() != old {
        let what =
            format!("{} was changed meanwhile by another program, and nothing was written", path.display());
        return Err(hinted(what, "close the client, and try again"));
    }
    store(&target, new, old.map(|_| target.as_path()))
        .with_context(|| format!("could not write {}, and left it as it was", path.display()))
}

/// Writes a file in one step, with the permissions of another; without one, only its owner can read it.
fn store(path: &Path, text: &str, permissions_of: Option<&Path>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    if let Some(other) = permissions_of {
        file.as_file().set_permissions(fs::metadata(other)?.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_meanwhile_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.json");
        fs::write(&path, "theirs").expect("a file");
        assert!(replace(&path, Some("old"), "new").is_err());
        assert!(replace(&path, None, "new").is_err());
        assert_eq!(fs::read_to_string(&path).expect("a file"), "theirs");
        replace(&path, Some("theirs"), "new").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
        assert_eq!(fs::read_to_string(backup_path(&path)).expect("a file"), "theirs");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }

    #[test]
    #[cfg(unix)]
    fn permissions_and_links_stay_and_the_backup_is_no_more_open() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (folder.path().join("real.json"), folder.path().join("mcp.json"));
        fs::write(&path, "old").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
        symlink(&path, &link).expect("a link");
        replace(&link, Some("old"), "new").expect("written");
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
        assert_eq!((mode(&path), mode(&backup_path(&link))), (0o640, 0o640));
    }

    #[test]
    fn what_is_too_large_or_no_text_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mcp.json");
        assert_eq!(read(&path).expect("none"), None);
        assert!(read(folder.path()).is_err());
        fs::write(&path, b"{\"a\":\"\xff\"}").expect("a file");
        assert!(read(&path).expect_err("no text").to_string().ends_with("byte 6 is the first that is not"));
        let file = File::create(&path).expect("a file");
        file.set_len(MAX_SETTINGS_BYTES + 1).expect("a large file");
        assert!(read(&path).expect_err("too large").to_string().ends_with("is larger than 4.1 MB"));
    }
}

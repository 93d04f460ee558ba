//! Files that commands write.

use std::path::Path;

use mcp_attune_files::replaceable;

use crate::exit::hinted;

/// Says before anything is done whether a file can be written: one that is there is replaced; a folder, a device, a pipe or
/// anything else is not.
pub(crate) fn writable(file: &Path, hint: &str) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let what = if replaceable(file).is_err() {
        format!("{} is there and no file", file.display())
    } else if folder.is_some_and(|folder| !folder.is_dir()) {
        format!("there is no folder for {}", file.display())
    } else {
        return Ok(());
    };
    Err(hinted(what, hint))
}

//! Files that commands write.

use std::path::Path;

use mcp_attune_files::resolve_write_target;

use crate::exit::hinted;

/// Says before anything is done whether a file can be written: one that is there is replaced; a folder, a device, a pipe or
/// anything else is not.
pub(crate) fn check_writable(file: &Path, hint: &str) -> anyhow::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let what = if resolve_write_target(file).is_err() {
        format!("{} is there and no file", file.display())
    } else if folder.is_some_and(|folder| !folder.is_dir()) {
        format!("there is no folder for {}", file.display())
    } else {
        return Ok(());
    };
    Err(hinted(what, hint))
}

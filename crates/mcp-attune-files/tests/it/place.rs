//! A folder for one test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own, gone with its test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attune-bundle-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, with the folders that it is in.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn tree(&self) -> BTreeMap<String, Vec<u8>> {
        tree(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// All files under a folder with what is in them; folders end in `/`, and links say where they lead.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let to = fs::read_link(entry.path()).unwrap();
            found.insert(name + "@", to.to_string_lossy().into_owned().into_bytes());
        } else if kind.is_dir() {
            let inner = tree(&entry.path());
            found.extend(inner.into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
            found.insert(name + "/", Vec::new());
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

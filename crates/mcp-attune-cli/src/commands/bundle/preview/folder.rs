//! The folder of a bundle, as far as a preview needs it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mcp_attune::bundle::{Inside, Manifest};

use crate::exit::hinted;

/// How many files are looked at, and how many folders inside each other.
const MOST: usize = 20_000;
const DEEPEST: usize = 8;

pub(super) struct Folder {
    /// Where it is, without links.
    root: PathBuf,
    pub(super) manifest: Vec<u8>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let hint = "name the folder of a bundle, with a manifest.json in it";
        let root = path
            .canonicalize()
            .map_err(|why| hinted(format!("could not open {}: {why}", path.display()), hint))?;
        let mut folder = Self { root, manifest: Vec::new() };
        let read = bounded(&folder.file(), Manifest::MAX_BYTES + 1);
        folder.manifest =
            read.map_err(|why| hinted(format!("could not read {}: {why}", folder.file().display()), hint))?;
        Ok(folder)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.root.join(Manifest::NAME)
    }

    /// The names of the files, sorted; links are not followed.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![(self.root.clone(), String::new(), 0)];
        while let Some((folder, before, depth)) = folders.pop() {
            for entry in folder.read_dir().into_iter().flatten().flatten() {
                let Some(name) = entry.file_name().to_str().map(|name| format!("{before}{name}")) else {
                    continue;
                };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && depth < DEEPEST && !name.ends_with("node_modules") => {
                        folders.push((entry.path(), format!("{name}/"), depth + 1));
                    }
                    Ok(kind) if kind.is_file() && names.len() < MOST => names.push(name),
                    _ => {}
                }
            }
        }
        names.sort();
        names
    }

    /// A file of it; more than this many bytes are not read.
    pub(super) fn read(&self, name: &Inside, most: usize) -> Result<Vec<u8>, String> {
        let path =
            self.root.join(name.as_str()).canonicalize().map_err(|_| "there is no such file".to_owned())?;
        if !path.starts_with(&self.root) {
            return Err("it is a link that leads out of the bundle".to_owned());
        }
        if !path.is_file() {
            return Err("it is no file".to_owned());
        }
        let read = bounded(&path, most + 1).map_err(|why| why.to_string())?;
        if read.len() > most { Err(format!("it has more than {} KiB", most / 1024)) } else { Ok(read) }
    }
}

fn bounded(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

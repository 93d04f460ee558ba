//! A bundle in a folder, as the check wants it.
//!
//! Pictures are told from other files by how they begin, and of their facts only the size is measured here.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune::bundle::{Files, Inside, Manifest, NoPicture, Picture, Size, Unavailable};

use crate::exit::hinted;

/// A folder with a manifest in it.
pub(super) struct Folder {
    root: PathBuf,
    /// The manifest as it is.
    pub(super) manifest: Vec<u8>,
}

impl Folder {
    /// Opens a folder, or that of a manifest.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let is_file =
            fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?.is_file();
        let root = if is_file { path.parent().unwrap_or(Path::new("")).to_owned() } else { path.to_owned() };
        let manifest = if is_file { path.to_owned() } else { path.join(Manifest::NAME) };
        let most = Manifest::MAX_BYTES as u64 + 1;
        let mut bytes = Vec::new();
        let read = File::open(&manifest).and_then(|file| file.take(most).read_to_end(&mut bytes));
        if let Err(why) = read {
            let hint = format!("a bundle is a folder with a {} in it", Manifest::NAME);
            return Err(hinted(format!("cannot read {}: {why}", manifest.display()), hint));
        }
        Ok(Self { root, manifest: bytes })
    }

    /// A file that is in the folder, wherever links lead.
    fn find(&self, name: &Inside) -> Result<File, Unavailable> {
        let real = self.root.join(name.as_str()).canonicalize().map_err(|_| Unavailable::Missing)?;
        let root = self.root.canonicalize().map_err(|_| Unavailable::Unreadable)?;
        if !real.starts_with(root) {
            return Err(Unavailable::Outside);
        }
        if !real.is_file() {
            return Err(Unavailable::Missing);
        }
        File::open(real).map_err(|_| Unavailable::Unreadable)
    }
}

impl Files for Folder {
    fn names(&self) -> Vec<String> {
        const MOST: usize = 50_000;
        let (mut names, mut folders) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder)).into_iter().flatten().flatten() {
                let name = format!("{folder}{}", entry.file_name().to_string_lossy());
                if names.len() + folders.len() >= MOST {
                    return names;
                }
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(name + "/"),
                    Ok(_) => names.push(name),
                    Err(_) => {}
                }
            }
        }
        names.sort();
        names
    }

    fn read(&self, name: &Inside, most: usize) -> Result<Vec<u8>, Unavailable> {
        let mut bytes = Vec::new();
        let read = self.find(name)?.take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|_| Unavailable::Unreadable)?;
        if bytes.len() > most { Err(Unavailable::TooLarge) } else { Ok(bytes) }
    }

    fn picture(&self, name: &Inside) -> Result<Picture, NoPicture> {
        let mut head = Vec::new();
        let file = self.find(name).map_err(|_| NoPicture::Missing)?;
        file.take(24).read_to_end(&mut head).map_err(|_| NoPicture::Missing)?;
        if !head.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Err(NoPicture::NotPng);
        }
        let side = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let (width, height) = side(16).zip(side(20)).ok_or(NoPicture::Broken)?;
        // The name tells pictures apart as long as nobody looks inside.
        let digest = name.as_str().bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31) ^ u64::from(byte));
        Ok(Picture::new(Size { width, height }, true, 21.0, 21.0, digest))
    }

    fn has(&self, name: &Inside) -> bool {
        self.find(name).is_ok()
    }
}

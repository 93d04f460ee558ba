//! The locale files in a folder: `DIR/de-CH.json`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune::catalog::Sheet;
use mcp_attune::language::Tag;
use mcp_attune_files::{Named, Pattern};

use crate::exit::hinted;
use crate::text::quoted;

/// A folder of locale files, and which of them is the one that the others are translated from.
pub(in crate::commands) struct Desk {
    folder: PathBuf,
    pattern: Pattern,
    pub(in crate::commands) default: Tag,
}

impl Desk {
    pub(in crate::commands) fn new(folder: &Path, default: &str) -> anyhow::Result<Self> {
        let path = folder.to_str();
        let path =
            path.ok_or_else(|| hinted(format!("{} is no UTF-8", folder.display()), "rename the folder"))?;
        let pattern = Pattern::beside(path, ".json");
        Ok(Self { folder: folder.to_owned(), pattern, default: language(default)? })
    }

    /// The same for a folder that must be there.
    pub(super) fn open(folder: &Path, default: &str) -> anyhow::Result<Self> {
        if !folder.is_dir() {
            let hint = "name the folder that the locale files are in; `attune catalog extract` makes the first of them";
            return Err(hinted(format!("there is no folder {}", folder.display()), hint));
        }
        Self::new(folder, default)
    }

    /// The files, and the names of those whose names are no tags.
    pub(super) fn files(&self) -> (Vec<Named>, Vec<String>) {
        self.pattern.files()
    }

    pub(in crate::commands) fn path(&self, tag: &Tag) -> PathBuf {
        // As it is written in the folder, where it is there.
        let known = self.files().0.into_iter().find(|file| file.tag == *tag);
        known.map_or_else(|| self.pattern.of(tag), |file| file.path)
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
        mcp_attune_files::read(path).with_context(|| format!("could not read {}", path.display()))
    }

    /// Reads one file, which must be fit to be used.
    pub(super) fn sheet(path: &Path) -> anyhow::Result<Sheet> {
        let (sheet, _) = Sheet::read(&Self::read(path)?).map_err(|why| {
            let shown = path.display();
            hinted(format!("{shown} is no locale file: {why}"), "`attune catalog lint` tells what is wrong")
        })?;
        Ok(sheet)
    }

    /// The file that the others are translated from.
    pub(super) fn source(&self) -> anyhow::Result<Sheet> {
        let path = self.path(&self.default);
        if path.exists() {
            return Self::sheet(&path);
        }
        let what = format!(
            "there is no {} in {}",
            path.file_name().unwrap_or_default().display(),
            self.folder.display()
        );
        let hint = "name the language of the server's own texts with --default-language, or make the file with \
                    `attune catalog extract`";
        Err(hinted(what, hint))
    }
}

pub(in crate::commands) fn language(text: &str) -> anyhow::Result<Tag> {
    let hint = "write a tag of BCP 47, such as en or de-CH";
    Tag::parse(text).map_err(|why| hinted(format!("{} is {why}", quoted(text)), hint))
}

//! The locale files in a folder: `DIR/de-CH.json`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use mcp_attune::catalog::ParsedLocaleFile;
use mcp_attune::language::Tag;
use mcp_attune_files::{LocaleFilePattern, TaggedLocaleFile};

use crate::exit::hinted;
use crate::text::quoted;

/// A folder of locale files, and which of them is the one that the others are translated from.
pub(in crate::commands) struct CatalogFolder {
    folder: PathBuf,
    pattern: LocaleFilePattern,
    pub(in crate::commands) default: Tag,
}

impl CatalogFolder {
    pub(in crate::commands) fn new(folder: &Path, default: &str) -> anyhow::Result<Self> {
        let path = folder.to_str();
        let path =
            path.ok_or_else(|| hinted(format!("{} is no UTF-8", folder.display()), "rename the folder"))?;
        let pattern = LocaleFilePattern::in_folder(path, ".json");
        Ok(Self { folder: folder.to_owned(), pattern, default: parse_language(default)? })
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
    pub(super) fn files(&self) -> (Vec<TaggedLocaleFile>, Vec<String>) {
        self.pattern.files()
    }

    pub(in crate::commands) fn path(&self, tag: &Tag) -> PathBuf {
        // As it is written in the folder, where it is there.
        let known = self.files().0.into_iter().find(|file| file.tag == *tag);
        known.map_or_else(|| self.pattern.path_for(tag), |file| file.path)
    }

    pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
        mcp_attune_files::read_locale_file(path).with_context(|| format!("could not read {}", path.display()))
    }

    /// Reads one file, which must be fit to be used.
    pub(super) fn read_sheet(path: &Path) -> anyhow::Result<ParsedLocaleFile> {
        let (sheet, _) = ParsedLocaleFile::read(&Self::read(path)?).map_err(|why| {
            let shown = path.display();
            hinted(format!("{shown} is no locale file: {why}"), "`attune catalog lint` tells what is wrong")
        })?;
        Ok(sheet)
    }

    /// The file that the others are translated from.
    pub(super) fn source_sheet(&self) -> anyhow::Result<ParsedLocaleFile> {
        let path = self.path(&self.default);
        if path.exists() {
            return Self::read_sheet(&path);
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

pub(in crate::commands) fn parse_language(text: &str) -> anyhow::Result<Tag> {
    let hint = "write a tag of BCP 47, such as en or de-CH";
    Tag::parse(text).map_err(|why| hinted(format!("{} is {why}", quoted(text)), hint))
}

//! Attune's files on disk. Locale files: a [`LocaleFolder`] knows which there are, and loads them when they are first needed;
//! translators' tools read and write them whole. Templates: a [`TemplateFiles`] has those of one tool, resource or prompt, and
//! [`ServerTemplateFiles`] those of a server. A [`FileWatcher`] follows locale files and templates when they change. Bundles:
//! [`bundle::Bundle`] is a folder or an archive of one, opened without trusting it.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

mod pattern;
mod watcher;

mod store;

mod locale_folder;

mod templates;
mod server_templates;

pub mod bundle;

pub use locale_folder::LocaleFolder;
pub use pattern::{LocaleFilePattern, LocaleFilePatternError};
pub use server_templates::{ServerTemplateFiles, ServerTemplatePaths, ToolTemplatePaths};
pub use store::{NotAFile, TaggedLocaleFile, read_locale_file, resolve_write_target, write_atomically};
pub use templates::{TemplateFileError, TemplateFileFinding, TemplateFiles};
pub use watcher::{FileWatcher, WatchedFiles, WatcherHandle};

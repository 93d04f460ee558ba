//! Attune's files on disk: locale files, templates and bundles.
//!
//! The crates with the rules do no I/O; this one reads the files for them, within bounds, and follows their
//! changes.
//!
//! - Locale files: [`LocaleFolder`] knows which there are, and loads each when it is first needed. Translators'
//!   tools read and write them whole, with [`read_locale_file`] and [`write_atomically`].
//! - Templates: [`TemplateFiles`] has those of one tool, resource or prompt, and [`ServerTemplateFiles`] those
//!   of a server.
//! - [`FileWatcher`] reloads locale files and templates when they change. No request waits for it.
//! - Bundles: [`bundle::Bundle`] is a folder or an archive of one, opened without trusting it.
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

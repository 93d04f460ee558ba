//! Attune's files on disk. Locale files: a [`Folder`] knows which there are, and loads them when they are first needed;
//! translators' tools read and write them whole. Templates: a [`Shelf`] has those of one tool, resource or prompt, and
//! [`Shelves`] those of a server. A [`Watcher`] follows locale files and templates when they change. Bundles:
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

mod folder;

mod templates;
mod shelves;

pub mod bundle;

pub use folder::Folder;
pub use pattern::{NoPlace, Pattern};
pub use shelves::{Places, Shelves, ToolPlaces};
pub use store::{Named, NotAFile, read, replaceable, write};
pub use templates::{Finding, Shelf, Unfit};
pub use watcher::{Following, Watched, Watcher};

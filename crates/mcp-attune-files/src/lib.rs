//! Attune's files on disk. So far locale files: a [`Folder`] knows which there are, loads them when they are first needed,
//! and follows them when they change; translators' tools read and write them whole.
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

mod store;

mod folder;

pub use folder::Folder;
pub use pattern::{NoPlace, Pattern};
pub use store::{Named, read, write};

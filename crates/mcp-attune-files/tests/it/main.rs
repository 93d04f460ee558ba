//! Bundles on disk: honest ones, and those that are made to do harm. Files that are followed.

mod place;
mod zipped;

mod archives;
mod folders;
mod hostile;
mod packing;
mod signed;
mod watching;

//! One tool, the right answer for agents and for people.
//!
//! Rules: F4–F14.

mod output;
pub mod render;

pub mod template;

pub use output::{Output, Part};

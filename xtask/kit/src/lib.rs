//! What the tools of the maintainers share: how they tell failures, and how they start programs and end them.

pub mod report;
pub mod shell;

mod leash;

pub mod running;

pub mod server;

//! What the crate promises, seen from outside.

mod allocations;
mod cases;
mod hostile;
mod mirrored;
mod properties;

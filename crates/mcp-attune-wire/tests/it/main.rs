//! What the crate promises, seen from outside.

mod cases;
mod hostile;
mod properties;

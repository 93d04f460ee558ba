//! What the maintainers run.
fn main() {}

//! The command line of Attune.
fn main() {}

//! Bundles from outside: data-driven cases, each kind of problem, and hostile input.

mod check;

mod cases;

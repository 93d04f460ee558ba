//! Formatting from outside: what holds for every value, locale and length.

mod format;

//! What is being done, on a terminal, in one line that is written over.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use crate::paint;

/// What stands in the line now.
static CURRENT_LINE: Mutex<String> = Mutex::new(String::new());

/// Shows what is being done; nothing where nobody looks, or where a line cannot be written over.
pub(crate) fn show(what: &str) {
    let mut shown = CURRENT_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    if is_shown() {
        what.clone_into(&mut shown);
        eprint!("\r\u{1b}[K{what}");
    }
}

/// Takes the line away.
pub(crate) fn clear() {
    let shown = CURRENT_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_empty = shown.is_empty();
    drop(shown);
    if !is_empty {
        show("");
    }
}

/// Writes a line of somebody else above the one that is written over.
pub(crate) fn print_above(line: &str) {
    let shown = CURRENT_LINE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut errors = std::io::stderr().lock();
    let _ = if is_shown() && !shown.is_empty() {
        write!(errors, "\r\u{1b}[K{line}\n{shown}")
    } else {
        writeln!(errors, "{line}")
    };
}

fn is_shown() -> bool {
    std::io::stderr().is_terminal() && !paint::terminal_is_dumb()
}

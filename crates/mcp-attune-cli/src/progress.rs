//! What is being done, on a terminal, in one line that is written over.

use std::io::IsTerminal;

/// Shows what is being done; nothing where nobody looks.
pub(crate) fn show(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\u{1b}[K{what}");
    }
}

/// Takes the line away.
pub(crate) fn clear() {
    show("");
}

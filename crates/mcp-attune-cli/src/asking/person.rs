//! Whoever is asked by a server: what they are told, and what they say.

use std::io::{self, BufRead, Write};

use crate::show::width;
use crate::show::wrap::wrapped;

/// Where questions are shown and answers come from.
pub(crate) trait Person {
    fn tell(&mut self, line: &str);
    /// A line of theirs; none when they are gone.
    fn hear(&mut self, prompt: &str) -> Option<String>;
}

/// The person at this terminal.
pub(crate) struct Terminal;

impl Person for Terminal {
    fn tell(&mut self, line: &str) {
        eprintln!("{}", wrapped(line, width(), 0));
    }

    fn hear(&mut self, prompt: &str) -> Option<String> {
        eprint!("{prompt}");
        let _ = io::stderr().flush();
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(read) if read > 0 => Some(line.trim().to_owned()),
            _ => None,
        }
    }
}

/// Why a form was not filled in.
pub(super) enum Left {
    Declined,
    Cancelled,
}

pub(super) fn heard(person: &mut impl Person, prompt: &str) -> Result<String, Left> {
    match person.hear(prompt) {
        Some(said) if said == "!decline" => Err(Left::Declined),
        Some(said) if said != "!cancel" => Ok(said),
        _ => Err(Left::Cancelled),
    }
}

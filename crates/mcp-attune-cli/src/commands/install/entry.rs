//! The command of a server within a text, with Attune before it and without.
//!
//! 1. The program becomes the first word after `--`, letter for letter as it was written, so that nothing has to be remembered to undo it.
//! 2. Words are put before the first argument, on lines of their own where the arguments are.
//! 3. Whether there was an empty list of arguments or none is seen from a blank: a list that was there keeps one before its end.
//! 4. What goes through Attune is told by the program's name, `attune`, and the word `stdio` after it, whoever wrote them.

use std::ops::Range;

use super::splice::{TextSplice, line_start};

/// A string in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedWord {
    /// Where it is, with its quotes.
    pub(super) at: Range<usize>,
    pub(super) value: String,
}

/// A list of strings in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocatedList {
    /// Where it is, with its brackets.
    pub(super) at: Range<usize>,
    pub(super) words: Vec<LocatedWord>,
}

/// Where a list of arguments is written that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListPlace {
    pub(super) at: usize,
    /// What stands before the list, its name for instance.
    pub(super) lead: String,
}

/// How a server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LaunchWords {
    /// The program, and a list of its arguments.
    Split {
        program: LocatedWord,
        arguments: Option<LocatedList>,
        /// Where the list is put; `None` where that cannot be said.
        place: Option<ListPlace>,
    },
    /// One list of all.
    List(LocatedList),
}

/// A server in a client's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfiguredServer {
    /// One that the client starts.
    Local(LaunchWords),
    /// One that the client connects to.
    Remote,
}

/// Something in a file that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsProblem {
    /// Where, in bytes.
    pub(super) at: usize,
    pub(super) what: String,
}

impl SettingsProblem {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }
}

/// What a command says of Attune.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrapping<'w> {
    /// The server is started directly.
    Absent,
    /// Through Attune, and these words start the server.
    Around(&'w [String]),
    /// Through Attune, which finds the server elsewhere, in a bundle for instance.
    Elsewhere,
}

/// Whether words start Attune before a server.
pub(super) fn wrapping(words: &[String]) -> Wrapping<'_> {
    let [program, subcommand, rest @ ..] = words else { return Wrapping::Absent };
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    if name.strip_suffix(".exe").unwrap_or(&name) != "attune" || subcommand != "stdio" {
        return Wrapping::Absent;
    }
    let server = rest.iter().position(|word| word == "--").and_then(|dashes| rest.get(dashes + 1..));
    server.filter(|server| !server.is_empty()).map_or(Wrapping::Elsewhere, Wrapping::Around)
}

impl LaunchWords {
    /// The program and its arguments.
    pub(super) fn words(&self) -> Vec<String> {
        let value = |word: &LocatedWord| word.value.clone();
        match self {
            Self::Split { program, arguments, .. } => {
                let arguments = arguments.iter().flat_map(|list| &list.words).map(value);
                std::iter::once(program.value.clone()).chain(arguments).collect()
            }
            Self::List(list) => list.words.iter().map(value).collect(),
        }
    }

    /// Puts words before the command; `literal` writes a string as the file does.
    pub(super) fn wrap(
        &self,
        text: &str,
        attune: &[String],
        literal: fn(&str) -> String,
    ) -> Result<Vec<TextSplice>, SettingsProblem> {
        let literals = |words: &[String]| words.iter().map(|word| literal(word)).collect::<Vec<_>>();
        match self {
            Self::List(list) => {
                let first = list.words.first().ok_or_else(|| unexpected(list.at.start))?;
                Ok(vec![TextSplice::insert(first.at.start, lead_in(text, list, first, &literals(attune)))])
            }
            Self::Split { program, arguments, place } => {
                let (new_program, options) =
                    attune.split_first().ok_or_else(|| unexpected(program.at.start))?;
                let mut words = literals(options);
                words.push(text.get(program.at.clone()).unwrap_or_default().to_owned());
                let added = match (arguments, place) {
                    (Some(list), _) => match list.words.first() {
                        Some(first) => TextSplice::insert(first.at.start, lead_in(text, list, first, &words)),
                        None => TextSplice::insert(list.at.start + 1, words.join(", ") + " "),
                    },
                    (None, Some(place)) => {
                        TextSplice::insert(place.at, format!("{}[{}]", place.lead, words.join(", ")))
                    }
                    (None, None) => {
                        let what = "there is no list of arguments, and no place to write one here; write an empty one first";
                        return Err(SettingsProblem::new(program.at.start, what));
                    }
                };
                Ok(vec![TextSplice::replace(program.at.clone(), literal(new_program)), added])
            }
        }
    }

    /// Takes Attune out of a command that is `Wrapping::Around` another.
    pub(super) fn unwrap(&self, text: &str) -> Result<Vec<TextSplice>, SettingsProblem> {
        match self {
            Self::List(list) => {
                let own = own_words(list)?;
                check_gaps(text, list, own + 1)?;
                let (first, server) = (list.words.first(), list.words.get(own));
                let (first, server) = first.zip(server).ok_or_else(|| unexpected(list.at.start))?;
                Ok(vec![TextSplice::remove(first.at.start..server.at.start)])
            }
            Self::Split { program, arguments, place } => {
                let list = arguments.as_ref().ok_or_else(|| unexpected(program.at.start))?;
                // The program of the server is one of the words that were put there.
                let own = own_words(list)?;
                let (first, server) = (list.words.first(), list.words.get(own));
                let (first, server) = first.zip(server).ok_or_else(|| unexpected(list.at.start))?;
                let literal = text.get(server.at.clone()).unwrap_or_default();
                let removed = match list.words.get(own + 1) {
                    Some(next) => {
                        check_gaps(text, list, own + 2)?;
                        first.at.start..next.at.start
                    }
                    None => {
                        check_gaps(text, list, own + 1)?;
                        removed_list(text, list, first.at.start, server.at.end, place.as_ref())
                    }
                };
                Ok(vec![TextSplice::replace(program.at.clone(), literal), TextSplice::remove(removed)])
            }
        }
    }
}

/// Something that cannot be, as the caller has looked at the words before.
fn unexpected(at: usize) -> SettingsProblem {
    SettingsProblem::new(at, "the command here is not one that can be changed")
}

/// Words before the first one of a list, each followed by what separates words there.
fn lead_in(text: &str, list: &LocatedList, first: &LocatedWord, words: &[String]) -> String {
    let own_line =
        line_start(text, first.at.start).filter(|lead| first.at.start - lead.len() > list.at.start);
    let separator = format!(",{}", own_line.unwrap_or(" "));
    words.iter().map(|word| format!("{word}{separator}")).collect()
}

/// How many words of a list come before the server's own.
fn own_words(list: &LocatedList) -> Result<usize, SettingsProblem> {
    let dashes = list.words.iter().position(|word| word.value == "--");
    dashes.map(|dashes| dashes + 1).ok_or_else(|| unexpected(list.at.start))
}

/// Looks at what stands between the first so many words: a comment there is somebody's, and would be lost.
fn check_gaps(text: &str, list: &LocatedList, count: usize) -> Result<(), SettingsProblem> {
    let words = list.words.get(..count).unwrap_or(&list.words);
    for (one, next) in words.iter().zip(words.iter().skip(1)) {
        let gap = text.get(one.at.end..next.at.start).unwrap_or_default();
        if gap.trim() != "," {
            let what = "there is a comment between the words that start Attune; move it, and try again";
            return Err(SettingsProblem::new(one.at.end, what));
        }
    }
    Ok(())
}

/// What goes of a list whose words all go: the whole of it where it was not there before.
fn removed_list(
    text: &str,
    list: &LocatedList,
    first: usize,
    last: usize,
    place: Option<&ListPlace>,
) -> Range<usize> {
    let inside = list.at.start + 1..list.at.end.saturating_sub(1);
    let (before, after) = (text.get(inside.start..first), text.get(last..inside.end));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let place = place.filter(|place| text.get(place.at..list.at.start) == Some(place.lead.as_str()));
    match place {
        Some(place) if before.is_empty() && after.is_empty() => place.at..list.at.end,
        _ if before.is_empty() && after.starts_with(' ') => first..last + 1,
        // Somebody has laid the list out anew.
        _ if before.trim().is_empty() && matches!(after.trim(), "" | ",") => inside,
        _ => first..last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: Option<&[&str]>) {
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match (wrapping(&owned), expected) {
            (Wrapping::Around(server), Some(expected)) => assert_eq!(server, expected),
            (found, expected) => {
                assert_eq!(found == Wrapping::Absent, expected.is_none(), "{words:?}: {found:?}");
            }
        }
    }

    #[test]
    fn attune_is_known_by_its_name_and_its_command() {
        check(&["npx", "-y", "x"], None);
        check(&["attune"], None);
        check(&["attune", "demo", "--", "x"], None);
        check(&["/opt/attune-tools/run", "stdio", "--", "x"], None);
        check(&["attune", "stdio", "--", "x"], Some(&["x"]));
        check(
            &["/usr/bin/attune", "stdio", "--caller", "system", "--", "x", "--", "y"],
            Some(&["x", "--", "y"]),
        );
        check(&[r"C:\Tools\Attune.EXE", "stdio", "--", "x"], Some(&["x"]));
    }

    #[test]
    fn attune_that_finds_its_server_elsewhere_is_told_apart() {
        let words = ["attune", "stdio", "--bundle", "x.mcpb"].map(str::to_owned);
        assert_eq!(wrapping(&words), Wrapping::Elsewhere);
        assert_eq!(wrapping(&["attune", "stdio", "--"].map(str::to_owned)), Wrapping::Elsewhere);
    }
}

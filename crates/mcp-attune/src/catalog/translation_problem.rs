//! What can be doubtful about a text, and what to do about it.

use core::fmt;

use super::slot::LocaleKeyPath;
use mcp_attune_wire::text;

/// One doubtful thing in a locale file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TranslationFinding {
    /// Where, by names; empty for the file itself.
    pub path: LocaleKeyPath,
    /// Where, as an offset into the file.
    pub at: usize,
    /// What is doubtful.
    pub what: TranslationProblem,
}

impl fmt::Display for TranslationFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// What can be doubtful about a text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TranslationProblem {
    /// A variable of the default language that is not here.
    LostVariable(Box<str>),
    /// A variable that the default language does not have.
    InventedVariable(Box<str>),
    /// Something that machines read, which is not here.
    LostName(Box<str>),
    /// An entry that the default language does not have, beside one that is missing.
    TranslatedName(Box<str>),
    /// A value of a result field that is not translated, where others of that field are.
    MissingValue(Box<str>),
    /// A value of a result field that the default language does not have.
    UnknownValue(Box<str>),
    /// A word with letters of two alphabets.
    MixedScripts(Box<str>),
    /// Letters of a script that neither language is written in.
    ForeignScript(&'static str),
    /// A blank at an end.
    Untrimmed,
    /// Much longer than in the default language: so many characters instead of so many.
    Longer(usize, usize),
    /// Longer than there is room for: so many characters, where there are so many at most. A character is a Unicode scalar
    /// value.
    OverLimit(usize, usize),
    /// A plural form that the language does not have.
    UnknownForm(Box<str>),
    /// A plural form that the language has, and a number that needs it.
    MissingForm(&'static str, u8),
    /// A tag that is better written so.
    Tag(Box<str>),
    /// A tag of a language that nothing is known about.
    UnknownLanguage,
}

impl fmt::Display for TranslationProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LostVariable(name) => write!(f, "the variable ${name} is lost"),
            Self::InventedVariable(name) => {
                write!(f, "there is no variable ${name} in the default language")
            }
            Self::LostName(name) => write!(f, "`{}` is not here as it was", ShortenedName(name)),
            Self::TranslatedName(name) => {
                write!(f, "the default language has no `{}`, and another is missing", ShortenedName(name))
            }
            Self::MissingValue(value) => {
                write!(f, "`{}` is not translated, and other values of this field are", ShortenedName(value))
            }
            Self::UnknownValue(value) => {
                write!(f, "the default language has no value `{}` of this field", ShortenedName(value))
            }
            Self::MixedScripts(word) => {
                write!(f, "the word `{}` has letters of two alphabets", ShortenedName(word))
            }
            Self::ForeignScript(script) => {
                write!(f, "{script} letters, which this language is not written in")
            }
            Self::Untrimmed => f.write_str("a blank at the beginning or the end"),
            Self::Longer(now, before) => {
                write!(f, "{now} characters, where the default language has {before}")
            }
            Self::OverLimit(now, most) => write!(f, "{now} characters, where {most} are allowed"),
            Self::UnknownForm(form) => write!(f, "this language has no plural form [{form}]"),
            Self::MissingForm(form, number) => {
                write!(f, "the plural form [{form}] is missing, which {number} needs")
            }
            Self::Tag(better) => write!(f, "the language is better called {better}"),
            Self::UnknownLanguage => f.write_str("nothing is known about this language"),
        }
    }
}

impl TranslationProblem {
    /// A name for programs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LostVariable(_) => "lost-variable",
            Self::InventedVariable(_) => "invented-variable",
            Self::LostName(_) => "lost-name",
            Self::TranslatedName(_) => "translated-name",
            Self::MissingValue(_) => "missing-value",
            Self::UnknownValue(_) => "unknown-value",
            Self::MixedScripts(_) => "mixed-scripts",
            Self::ForeignScript(_) => "foreign-script",
            Self::Untrimmed => "untrimmed",
            Self::Longer(..) => "longer",
            Self::OverLimit(..) => "over-limit",
            Self::UnknownForm(_) => "unknown-form",
            Self::MissingForm(..) => "missing-form",
            Self::Tag(_) => "tag",
            Self::UnknownLanguage => "unknown-language",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::LostVariable(_) => "put it where the value belongs in your sentence, or choose by it",
            Self::InventedVariable(_) => "use the variables of the default language's text",
            Self::LostName(_) => "machines read it: copy it from the default language, letter by letter",
            Self::TranslatedName(_) => {
                "names are not translated: write the server's own; if the server no longer has it, take it out"
            }
            Self::MissingValue(_) => "translate it too: people would see two languages in one column",
            Self::UnknownValue(_) => {
                "copy what stands to the left of the colon from the default language; if the server no longer has it, take it out"
            }
            Self::MixedScripts(_) => {
                "type the word again with one keyboard layout: some letters only look right"
            }
            Self::ForeignScript(_) => "see whether the text is in the right file",
            Self::Untrimmed => "take it out",
            Self::Longer(..) => "shorten it: there may be no room for it",
            Self::OverLimit(..) => {
                "shorten it: hosts may cut or refuse it (a character is a Unicode scalar value)"
            }
            Self::UnknownForm(_) => "take it out: no number chooses it",
            Self::MissingForm(..) => "add a text for it, or the wrong one is shown",
            Self::Tag(_) => "rename the file",
            Self::UnknownLanguage => "name the file by a tag of BCP 47, such as de-CH or zh-Hant",
        }
    }
}

/// A quoted name, escaped and shortened.
struct ShortenedName<'a>(&'a str);

impl fmt::Display for ShortenedName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_CHARS: usize = 60;
        f.write_str(&text::escape_and_truncate(self.0, MAX_CHARS))
    }
}

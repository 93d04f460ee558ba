//! Feature tags: what a client says about the answers that it can use.
//!
//! 1. A tag is `tag`, `!tag`, `key=value` or `key!=value`. Names have letters, digits, `_` and `-`; a value has printable
//!    ASCII without space and `=`. What is malformed, or unknown, changes nothing and is told. Vendors' names begin
//!    with `x-`.
//! 2. Tags are compared exactly: `Agent` is not `agent`.
//! 3. `format=` asks for a format. Without one, `agent` asks for JSON and `human` for Markdown.
//! 4. `!=` only excludes: where the format that was asked for is excluded too, none is chosen.
//! 5. Of tags that disagree the first stands, and the others are told.
//!
//! Rules: F2, F3, F9, F15.
//!
//! ```
//! use mcp_attune::features::{ContentFormat, FeaturePreferences};
//!
//! let wanted = FeaturePreferences::read(["agent", "format=markdown", "format=json", "x-acme", "colour=red", "no space"]);
//! assert_eq!(wanted.format(), Some(ContentFormat::Markdown));
//! assert_eq!(wanted.ignored().map(|(tag, why)| format!("{tag}: {why}")).collect::<Vec<_>>(), [
//!     "format=json: another format was asked for before it",
//!     "colour=red: unknown",
//!     "no space: a name has letters, digits, `_` and `-`",
//! ]);
//! ```

use core::fmt;

mod content_format;
mod effect;
mod predicate;

pub use content_format::ContentFormat;
pub use effect::TagEffect;
pub use predicate::TagPredicate;

/// How much an answer says.
///
/// Rules: F8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verbosity {
    /// What matters.
    Compact,
    /// As the server says it.
    Standard,
    /// All, explained.
    Verbose,
}

impl Verbosity {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Compact, Self::Standard, Self::Verbose];

    /// Its name in a tag.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Standard => "standard",
            Self::Verbose => "verbose",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verbosity| verbosity.name() == name)
    }
}

impl fmt::Display for Verbosity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The tags without a value that have a meaning.
///
/// Rules: F9, F10.
pub const KNOWN_FLAGS: [&str; 8] =
    ["agent", "human", "interactive", "mcp-capable", "sampling", "elicitation", "roots", "tasks"];

/// Why a tag changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IgnoredTagReason {
    /// Its name is none.
    Name,
    /// Its value is none.
    Value,
    /// `!tag=value`: it says no twice.
    TwoNots,
    /// Nothing is known of it.
    Unknown,
    /// Its opposite was said before it.
    Contradicts,
    /// Another format was asked for before it.
    SecondFormat,
    /// Another verbosity was asked for before it.
    SecondVerbosity,
    /// The other of `agent` and `human` was said before it.
    SecondReader,
}

impl IgnoredTagReason {
    /// Whether the tag is well formed and means nothing here, which is nobody's fault.
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self == Self::Unknown
    }

    /// Whether the tag breaks the grammar.
    #[must_use]
    pub fn is_malformed(self) -> bool {
        matches!(self, Self::Name | Self::Value | Self::TwoNots)
    }
}

impl fmt::Display for IgnoredTagReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "a name has letters, digits, `_` and `-`",
            Self::Value => "a value has printable ASCII without space and `=`",
            Self::TwoNots => "write `key!=value`",
            Self::Unknown => "unknown",
            Self::Contradicts => "its opposite was said before it",
            Self::SecondFormat => "another format was asked for before it",
            Self::SecondVerbosity => "another verbosity was asked for before it",
            Self::SecondReader => "the other of `agent` and `human` was said before it",
        })
    }
}

/// What a client wants, from its tags.
///
/// Rules: F2, F3, F9.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeaturePreferences {
    format: Option<ContentFormat>,
    excluded: Vec<ContentFormat>,
    verbosity: Option<Verbosity>,
    too_much: Vec<Verbosity>,
    flags: [Option<bool>; KNOWN_FLAGS.len()],
    custom: Vec<Box<str>>,
    ignored: Vec<(Box<str>, IgnoredTagReason)>,
}

impl FeaturePreferences {
    /// Reads tags in their order.
    #[must_use]
    pub fn read<'t>(tags: impl IntoIterator<Item = &'t str>) -> Self {
        let mut wanted = Self::default();
        for tag in tags {
            if let Err(why) = wanted.add(tag) {
                wanted.ignored.push((tag.into(), why));
            }
        }
        wanted
    }

    fn add(&mut self, tag: &str) -> Result<(), IgnoredTagReason> {
        let read = FeatureTagParts::read(tag)?;
        match read {
            FeatureTagParts { name: ContentFormat::KEY, value: Some(value), not } => {
                let format = ContentFormat::named(value).ok_or(IgnoredTagReason::Unknown)?;
                if not {
                    push_unique(&mut self.excluded, format);
                } else if *self.format.get_or_insert(format) != format {
                    return Err(IgnoredTagReason::SecondFormat);
                }
            }
            FeatureTagParts { name: "verbosity", value: Some(value), not } => {
                let verbosity = Verbosity::named(value).ok_or(IgnoredTagReason::Unknown)?;
                if not {
                    push_unique(&mut self.too_much, verbosity);
                } else if *self.verbosity.get_or_insert(verbosity) != verbosity {
                    return Err(IgnoredTagReason::SecondVerbosity);
                }
            }
            FeatureTagParts { name, .. } if name.starts_with("x-") => {
                let opposite = opposite(tag, &read);
                if self.custom.iter().any(|held| **held == *opposite) {
                    return Err(IgnoredTagReason::Contradicts);
                }
                push_unique(&mut self.custom, tag.into());
            }
            FeatureTagParts { name, value: None, not } => {
                let reader = |name| self.flag(name) == Some(true);
                if !not && ((name == "agent" && reader("human")) || (name == "human" && reader("agent"))) {
                    return Err(IgnoredTagReason::SecondReader);
                }
                let mut flags = KNOWN_FLAGS.iter().zip(&mut self.flags);
                let (_, flag) = flags.find(|(known, _)| **known == name).ok_or(IgnoredTagReason::Unknown)?;
                if *flag.get_or_insert(!not) == not {
                    return Err(IgnoredTagReason::Contradicts);
                }
            }
            FeatureTagParts { value: Some(_), .. } => return Err(IgnoredTagReason::Unknown),
        }
        Ok(())
    }

    /// Whether no tag says anything.
    ///
    /// Rules: F4.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let Self { format, excluded, verbosity, too_much, flags, custom, ignored: _ } = self;
        (format.is_none() && excluded.is_empty() && verbosity.is_none() && too_much.is_empty())
            && (flags.iter().all(Option::is_none) && custom.is_empty())
    }

    /// The format that was asked for in so many words.
    #[must_use]
    pub fn explicit_format(&self) -> Option<ContentFormat> {
        self.format
    }

    /// The format that the answer should have; none where it stays as the server wrote it.
    ///
    /// Rules: F9.
    #[must_use]
    pub fn format(&self) -> Option<ContentFormat> {
        let reader = if self.flag("agent") == Some(true) {
            Some(ContentFormat::Json)
        } else if self.flag("human") == Some(true) {
            Some(ContentFormat::Markdown)
        } else {
            None
        };
        self.format.or(reader).filter(|format| !self.excluded.contains(format))
    }

    /// How much the answer should say; none where nothing was asked for, or what was is excluded.
    #[must_use]
    pub fn verbosity(&self) -> Option<Verbosity> {
        self.verbosity.filter(|verbosity| !self.too_much.contains(verbosity))
    }

    /// Whether one of [`KNOWN_FLAGS`] was said, or its opposite.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        KNOWN_FLAGS.iter().zip(self.flags).find(|(known, _)| **known == name).and_then(|(_, said)| said)
    }

    /// The value that was said of a vendor's tag: the first, where there are several.
    ///
    /// ```
    /// use mcp_attune::features::FeaturePreferences;
    ///
    /// let wanted = FeaturePreferences::read(["x-tier=gold", "x-beta"]);
    /// assert_eq!((wanted.custom_value("x-tier"), wanted.custom_value("x-beta")), (Some("gold"), None));
    /// ```
    #[must_use]
    pub fn custom_value(&self, name: &str) -> Option<&str> {
        self.vendor_tags().find_map(|said| said.strip_prefix(name)?.strip_prefix('='))
    }

    /// The tags of vendors, as they were written.
    pub fn vendor_tags(&self) -> impl Iterator<Item = &str> {
        self.custom.iter().map(AsRef::as_ref)
    }

    /// The tags that change nothing, and why.
    pub fn ignored(&self) -> impl Iterator<Item = (&str, IgnoredTagReason)> {
        self.ignored.iter().map(|(tag, why)| (&**tag, *why))
    }
}

fn push_unique<T: PartialEq>(held: &mut Vec<T>, value: T) {
    if !held.contains(&value) {
        held.push(value);
    }
}

/// The tag that says the opposite.
fn opposite(tag: &str, read: &FeatureTagParts<'_>) -> String {
    match (read.value, read.not) {
        (None, false) => format!("!{tag}"),
        (None, true) => read.name.to_owned(),
        (Some(value), false) => format!("{}!={value}", read.name),
        (Some(value), true) => format!("{}={value}", read.name),
    }
}

/// A tag taken apart.
struct FeatureTagParts<'t> {
    name: &'t str,
    value: Option<&'t str>,
    not: bool,
}

impl<'t> FeatureTagParts<'t> {
    fn read(tag: &'t str) -> Result<Self, IgnoredTagReason> {
        let (bare, before) = tag.strip_prefix('!').map_or((tag, false), |bare| (bare, true));
        let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        let (name, after) = match (name.strip_suffix('!'), value) {
            (Some(name), Some(_)) => (name, true),
            _ => (name, false),
        };
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || !name.bytes().all(letters) {
            return Err(IgnoredTagReason::Name);
        }
        let printable = |byte: u8| byte.is_ascii_graphic() && byte != b'=';
        if value.is_some_and(|value| value.is_empty() || !value.bytes().all(printable)) {
            return Err(IgnoredTagReason::Value);
        }
        if before && value.is_some() {
            return Err(IgnoredTagReason::TwoNots);
        }
        Ok(Self { name, value, not: before || after })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen, and what changes nothing.
    #[track_caller]
    fn check(tags: &[&str], format: Option<ContentFormat>, ignored: &[(&str, IgnoredTagReason)]) {
        let wanted = FeaturePreferences::read(tags.iter().copied());
        assert_eq!(wanted.format(), format, "{tags:?}");
        assert_eq!(wanted.ignored().collect::<Vec<_>>(), ignored, "{tags:?}");
    }

    #[test]
    fn the_format_asked_for_wins_over_the_one_of_the_reader() {
        check(&[], None, &[]);
        check(&["agent"], Some(ContentFormat::Json), &[]);
        check(&["human"], Some(ContentFormat::Markdown), &[]);
        check(&["!agent"], None, &[]);
        check(&["agent", "format=text"], Some(ContentFormat::Text), &[]);
        check(&["format=text", "human"], Some(ContentFormat::Text), &[]);
    }

    #[test]
    fn what_is_excluded_is_not_chosen_and_nothing_is_in_its_place() {
        check(&["agent", "format!=json"], None, &[]);
        check(&["human", "format!=json"], Some(ContentFormat::Markdown), &[]);
        check(&["format=json", "format!=json"], None, &[]);
        check(&["format!=json", "format!=json"], None, &[]);
    }

    #[test]
    fn of_tags_that_disagree_the_first_stands() {
        check(
            &["format=json", "format=text"],
            Some(ContentFormat::Json),
            &[("format=text", IgnoredTagReason::SecondFormat)],
        );
        check(&["format=json", "format=json"], Some(ContentFormat::Json), &[]);
        check(&["agent", "human"], Some(ContentFormat::Json), &[("human", IgnoredTagReason::SecondReader)]);
        check(
            &["human", "agent", "!human"],
            Some(ContentFormat::Markdown),
            &[("agent", IgnoredTagReason::SecondReader), ("!human", IgnoredTagReason::Contradicts)],
        );
        check(&["!agent", "agent"], None, &[("agent", IgnoredTagReason::Contradicts)]);
        check(
            &["verbosity=compact", "verbosity=verbose"],
            None,
            &[("verbosity=verbose", IgnoredTagReason::SecondVerbosity)],
        );
        check(&["x-a", "!x-a"], None, &[("!x-a", IgnoredTagReason::Contradicts)]);
        check(&["!x-a", "x-a"], None, &[("x-a", IgnoredTagReason::Contradicts)]);
        check(&["x-a=1", "x-a!=1"], None, &[("x-a!=1", IgnoredTagReason::Contradicts)]);
        check(&["x-a!=1", "x-a=2", "x-a=1"], None, &[("x-a=1", IgnoredTagReason::Contradicts)]);
    }

    #[test]
    fn what_is_malformed_or_unknown_changes_nothing() {
        for name in ["", "!", "=", "!=", "=json", "a b", "é", "!!a", "a!", "format =json", "a.b"] {
            check(&[name], None, &[(name, IgnoredTagReason::Name)]);
        }
        for value in ["format=", "format=a b", "format=a=b", "format==json", "format=é", "x-a=\u{7f}"] {
            check(&[value], None, &[(value, IgnoredTagReason::Value)]);
        }
        check(&["!format=json"], None, &[("!format=json", IgnoredTagReason::TwoNots)]);
        for unknown in ["Agent", "format", "format=xml", "format!=xml", "verbosity=loud", "agent=yes", "a=b"]
        {
            check(&[unknown], None, &[(unknown, IgnoredTagReason::Unknown)]);
        }
    }

    #[test]
    fn flags_verbosity_and_the_tags_of_vendors_are_kept() {
        let wanted =
            FeaturePreferences::read(["!interactive", "tasks", "verbosity=compact", "x-a", "x-b=1", "x-a"]);
        assert_eq!(wanted.flag("interactive"), Some(false));
        assert_eq!(wanted.flag("tasks"), Some(true));
        assert_eq!(wanted.flag("roots"), None);
        assert_eq!(wanted.verbosity(), Some(Verbosity::Compact));
        assert_eq!(wanted.vendor_tags().collect::<Vec<_>>(), ["x-a", "x-b=1"]);
        let wanted = FeaturePreferences::read(["verbosity!=compact", "verbosity=compact"]);
        assert_eq!(wanted.verbosity(), None);
    }
}

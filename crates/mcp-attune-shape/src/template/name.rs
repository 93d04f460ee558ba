//! What the name of a template's file says: what it is for, and for whom.

use core::fmt;

use mcp_attune::features::{FLAGS, Format, Predicate, Verbosity, Wanted, Why};
use mcp_attune::near::{nearest, shown};

/// What a template is written in, by the end of its file's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// `.md`
    Markdown,
    /// `.txt`
    Text,
    /// `.json`: another shape of the structured content.
    Json,
}

impl Kind {
    /// All of them, with the ends of names.
    pub const ALL: [(&str, Self); 3] = [("md", Self::Markdown), ("txt", Self::Text), ("json", Self::Json)];

    /// The kind that gives a format.
    #[must_use]
    pub fn of(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Text => Self::Text,
            Format::Json => Self::Json,
        }
    }
}

/// Which callers a template is for: what stands between its name and the end of it.
///
/// ```
/// use mcp_attune::features::Wanted;
/// use mcp_attune_shape::template::{Kind, Variant};
///
/// let variant = Variant::parse("compact.!interactive.md").unwrap();
/// assert_eq!(variant.kind(), Kind::Markdown);
/// assert!(variant.holds(&Wanted::read(["verbosity=compact", "!interactive"])));
/// assert!(!variant.holds(&Wanted::read(["verbosity=compact"])));
/// assert_eq!(Variant::parse("compat.md").unwrap_err().hint(), "did you mean `compact`?");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    kind: Kind,
    verbosity: Option<Verbosity>,
    predicates: Vec<Predicate>,
}

/// Why the name of a file is none that a template can have.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Misnamed {
    /// It ends in something else than `.md`, `.txt` or `.json`.
    Ending(String),
    /// A part that is neither a verbosity nor a tag.
    Segment {
        /// As it is written.
        text: String,
        /// Why it is no tag.
        why: Why,
        /// It may be this one that was meant.
        meant: Option<String>,
    },
    /// Two verbosities, of which a caller has one.
    TwoVerbosities,
}

impl fmt::Display for Misnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ending(text) => write!(f, "no template ends in `.{}`", shown(text)),
            Self::Segment { text, why: Why::Unknown, .. } => {
                write!(f, "`{}` is neither a verbosity nor a known tag", shown(text))
            }
            Self::Segment { text, why, .. } => write!(f, "`{}` is no tag: {why}", shown(text)),
            Self::TwoVerbosities => f.write_str("two verbosities, of which a caller has one"),
        }
    }
}

impl core::error::Error for Misnamed {}

impl Misnamed {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Ending(_) => "name it .md, .txt or .json, or move it away".to_owned(),
            Self::Segment { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Self::Segment { .. } => {
                "write `compact`, `standard`, `verbose`, or a tag such as `!interactive` or `x-acme-tier=gold`".to_owned()
            }
            Self::TwoVerbosities => "keep one of them".to_owned(),
        }
    }
}

impl Variant {
    /// Reads what follows the name and its dot: `md`, `compact.md`, `x-acme-tier=gold.txt`.
    ///
    /// # Errors
    ///
    /// [`Misnamed`] says why it is none.
    pub fn parse(rest: &str) -> Result<Self, Misnamed> {
        let (segments, ending) =
            rest.rsplit_once('.').map_or(("", rest), |(segments, ending)| (segments, ending));
        let kind = Kind::ALL.iter().find(|(text, _)| *text == ending).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| Misnamed::Ending(ending.to_owned()))?;
        let mut variant = Self { kind, verbosity: None, predicates: Vec::new() };
        for text in segments.split('.').filter(|_| !segments.is_empty()) {
            let short = Verbosity::ALL.into_iter().find(|verbosity| verbosity.name() == text);
            let predicate = match short {
                Some(_) => None,
                None => Some(Predicate::parse(text).map_err(|why| segment(text, why))?),
            };
            let verbosity = short.or_else(|| predicate.as_ref()?.verbosity());
            if verbosity.is_some() && core::mem::replace(&mut variant.verbosity, verbosity).is_some() {
                return Err(Misnamed::TwoVerbosities);
            }
            let predicate = predicate.filter(|it| verbosity.is_none() && !variant.predicates.contains(it));
            variant.predicates.extend(predicate);
        }
        Ok(variant)
    }

    /// What the template is written in.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether a caller is among those that it is for. Who asks for no verbosity wants the standard one.
    ///
    /// Rules: F8, F10.
    #[must_use]
    pub fn holds(&self, wanted: &Wanted) -> bool {
        let verbosity = wanted.verbosity().unwrap_or(Verbosity::Standard);
        self.verbosity.is_none_or(|asked| asked == verbosity)
            && self.predicates.iter().all(|predicate| predicate.holds(wanted))
    }

    /// How much it asks of a caller: the template that asks most is used.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.predicates.len() + usize::from(self.verbosity.is_some())
    }

    /// The names of the vendors' tags that it asks for.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.predicates.iter().filter_map(Predicate::vendor)
    }
}

fn segment(text: &str, why: Why) -> Misnamed {
    let verbosities = Verbosity::ALL.iter().map(|verbosity| verbosity.name());
    let known = verbosities.chain(FLAGS);
    Misnamed::Segment { text: text.to_owned(), why, meant: nearest(text, known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_for_whom_it_is() {
        for (rest, kind, weight) in [
            ("md", Kind::Markdown, 0),
            ("txt", Kind::Text, 0),
            ("compact.json", Kind::Json, 1),
            ("verbosity=compact.md", Kind::Markdown, 1),
            ("agent.!interactive.x-acme-tier=gold.md", Kind::Markdown, 3),
            ("agent.agent.verbose.md", Kind::Markdown, 2),
        ] {
            let variant = Variant::parse(rest).unwrap();
            assert_eq!((variant.kind(), variant.weight()), (kind, weight), "{rest}");
        }
        let variant = Variant::parse("x-a=1.!x-b.md").unwrap();
        assert_eq!(variant.vendors().collect::<Vec<_>>(), ["x-a", "x-b"]);
    }

    #[test]
    fn who_asks_for_no_verbosity_wants_the_standard_one() {
        let holds = |rest: &str, tags: &[&str]| {
            Variant::parse(rest).unwrap().holds(&Wanted::read(tags.iter().copied()))
        };
        assert!(holds("standard.md", &[]) && holds("standard.md", &["verbosity=standard"]));
        assert!(!holds("standard.md", &["verbosity=compact"]) && !holds("compact.md", &[]));
        assert!(holds("md", &["verbosity=verbose"]));
    }

    #[test]
    fn other_names_are_told() {
        for (rest, what, hint) in [
            ("", "no template ends in `.`", "name it .md, .txt or .json, or move it away"),
            ("html", "no template ends in `.html`", "name it .md, .txt or .json, or move it away"),
            ("md~", "no template ends in `.md~`", "name it .md, .txt or .json, or move it away"),
            ("agnt.md", "`agnt` is neither a verbosity nor a known tag", "did you mean `agent`?"),
            ("compact.verbose.md", "two verbosities, of which a caller has one", "keep one of them"),
            (
                "x-a=.md",
                "`x-a=` is no tag: a value has printable ASCII without space and `=`",
                "write `compact`, `standard`, `verbose`, or a tag such as `!interactive` or `x-acme-tier=gold`",
            ),
        ] {
            let wrong = Variant::parse(rest).unwrap_err();
            assert_eq!((wrong.to_string().as_str(), wrong.hint().as_str()), (what, hint), "{rest}");
        }
    }
}

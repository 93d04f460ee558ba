//! What the name of a template's file says: what it is for, and for whom.

use core::fmt;

use mcp_attune::features::{
    ContentFormat, FeaturePreferences, IgnoredTagReason, KNOWN_FLAGS, TagPredicate, Verbosity,
};
use mcp_attune::suggestion::{nearest, quote_name};

/// What a template is written in, by the end of its file's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TemplateFormat {
    /// `.md`
    Markdown,
    /// `.txt`
    Text,
    /// `.json`: another shape of the structured content.
    Json,
}

impl TemplateFormat {
    /// All of them, with the ends of names.
    pub const ALL: [(&str, Self); 3] = [("md", Self::Markdown), ("txt", Self::Text), ("json", Self::Json)];

    /// The kind that gives a format.
    #[must_use]
    pub fn of(format: ContentFormat) -> Self {
        match format {
            ContentFormat::Markdown => Self::Markdown,
            ContentFormat::Text => Self::Text,
            ContentFormat::Json => Self::Json,
        }
    }
}

/// Which callers a template is for: what stands between its name and the end of it.
///
/// ```
/// use mcp_attune::features::FeaturePreferences;
/// use mcp_attune_shape::template::{TemplateFormat, TemplateVariant};
///
/// let variant = TemplateVariant::parse("compact.!interactive.md").unwrap();
/// assert_eq!(variant.kind(), TemplateFormat::Markdown);
/// assert!(variant.matches_caller(&FeaturePreferences::read(["verbosity=compact", "!interactive"])));
/// assert!(!variant.matches_caller(&FeaturePreferences::read(["verbosity=compact"])));
/// assert_eq!(TemplateVariant::parse("compat.md").unwrap_err().hint(), "did you mean `compact`?");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateVariant {
    kind: TemplateFormat,
    verbosity: Option<Verbosity>,
    predicates: Vec<TagPredicate>,
}

/// Why the name of a file is none that a template can have.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateNameError {
    /// It ends in something else than `.md`, `.txt` or `.json`.
    Ending(String),
    /// A part that is neither a verbosity nor a tag.
    Segment {
        /// As it is written.
        text: String,
        /// Why it is no tag.
        why: IgnoredTagReason,
        /// It may be this one that was meant.
        meant: Option<String>,
    },
    /// Two verbosities, of which a caller has one.
    TwoVerbosities,
}

impl fmt::Display for TemplateNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ending(text) => write!(f, "no template ends in `.{}`", quote_name(text)),
            Self::Segment { text, why: IgnoredTagReason::Unknown, .. } => {
                write!(f, "`{}` is neither a verbosity nor a known tag", quote_name(text))
            }
            Self::Segment { text, why, .. } => write!(f, "`{}` is no tag: {why}", quote_name(text)),
            Self::TwoVerbosities => f.write_str("two verbosities, of which a caller has one"),
        }
    }
}

impl core::error::Error for TemplateNameError {}

impl TemplateNameError {
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

impl TemplateVariant {
    /// Reads what follows the name and its dot: `md`, `compact.md`, `x-acme-tier=gold.txt`.
    ///
    /// # Errors
    ///
    /// [`TemplateNameError`] says why it is none.
    pub fn parse(rest: &str) -> Result<Self, TemplateNameError> {
        let (segments, ending) =
            rest.rsplit_once('.').map_or(("", rest), |(segments, ending)| (segments, ending));
        let kind = TemplateFormat::ALL.iter().find(|(text, _)| *text == ending).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| TemplateNameError::Ending(ending.to_owned()))?;
        let mut variant = Self { kind, verbosity: None, predicates: Vec::new() };
        for text in segments.split('.').filter(|_| !segments.is_empty()) {
            let short = Verbosity::ALL.into_iter().find(|verbosity| verbosity.name() == text);
            let predicate = match short {
                Some(_) => None,
                None => Some(TagPredicate::parse(text).map_err(|why| segment(text, why))?),
            };
            let verbosity = short.or_else(|| predicate.as_ref()?.verbosity());
            if verbosity.is_some() && core::mem::replace(&mut variant.verbosity, verbosity).is_some() {
                return Err(TemplateNameError::TwoVerbosities);
            }
            let predicate = predicate.filter(|it| verbosity.is_none() && !variant.predicates.contains(it));
            variant.predicates.extend(predicate);
        }
        Ok(variant)
    }

    /// What the template is written in.
    #[must_use]
    pub fn kind(&self) -> TemplateFormat {
        self.kind
    }

    /// Whether a caller is among those that it is for. Who asks for no verbosity wants the standard one.
    ///
    /// Rules: F8, F10.
    #[must_use]
    pub fn matches_caller(&self, wanted: &FeaturePreferences) -> bool {
        let verbosity = wanted.verbosity().unwrap_or(Verbosity::Standard);
        self.verbosity.is_none_or(|asked| asked == verbosity)
            && self.predicates.iter().all(|predicate| predicate.holds(wanted))
    }

    /// How much it asks of a caller: the template that asks most is used.
    #[must_use]
    pub fn specificity(&self) -> usize {
        self.predicates.len() + usize::from(self.verbosity.is_some())
    }

    /// The names of the vendors' tags that it asks for.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.predicates.iter().filter_map(TagPredicate::vendor)
    }
}

fn segment(text: &str, why: IgnoredTagReason) -> TemplateNameError {
    let verbosities = Verbosity::ALL.iter().map(|verbosity| verbosity.name());
    let known = verbosities.chain(KNOWN_FLAGS);
    TemplateNameError::Segment { text: text.to_owned(), why, meant: nearest(text, known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_for_whom_it_is() {
        for (rest, kind, weight) in [
            ("md", TemplateFormat::Markdown, 0),
            ("txt", TemplateFormat::Text, 0),
            ("compact.json", TemplateFormat::Json, 1),
            ("verbosity=compact.md", TemplateFormat::Markdown, 1),
            ("agent.!interactive.x-acme-tier=gold.md", TemplateFormat::Markdown, 3),
            ("agent.agent.verbose.md", TemplateFormat::Markdown, 2),
        ] {
            let variant = TemplateVariant::parse(rest).unwrap();
            assert_eq!((variant.kind(), variant.specificity()), (kind, weight), "{rest}");
        }
        let variant = TemplateVariant::parse("x-a=1.!x-b.md").unwrap();
        assert_eq!(variant.vendors().collect::<Vec<_>>(), ["x-a", "x-b"]);
    }

    #[test]
    fn who_asks_for_no_verbosity_wants_the_standard_one() {
        let holds = |rest: &str, tags: &[&str]| {
            TemplateVariant::parse(rest)
                .unwrap()
                .matches_caller(&FeaturePreferences::read(tags.iter().copied()))
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
            let wrong = TemplateVariant::parse(rest).unwrap_err();
            assert_eq!((wrong.to_string().as_str(), wrong.hint().as_str()), (what, hint), "{rest}");
        }
    }
}

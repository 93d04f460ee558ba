//! What the name of a template's file says: which format it writes, and for which callers.

use core::fmt;

use mcp_attune::features::{
    ContentFormat, FeaturePreferences, IgnoredTagReason, KNOWN_FLAGS, TagPredicate, Verbosity,
};
use mcp_attune::suggestion::{nearest, quote_name};

/// The format that a template writes, and the callers that it is for: what stands behind the subject's name
/// in the name of the file.
///
/// Everything that it asks of a caller must hold. The page of the module `template` explains the form of
/// names.
///
/// ```
/// use mcp_attune::features::{ContentFormat, FeaturePreferences};
/// use mcp_attune_shape::template::TemplateVariant;
///
/// let variant = TemplateVariant::parse("compact.!interactive.md").unwrap();
/// assert_eq!(variant.kind(), ContentFormat::Markdown);
/// assert!(variant.matches_caller(&FeaturePreferences::read(["verbosity=compact", "!interactive"])));
/// assert!(!variant.matches_caller(&FeaturePreferences::read(["verbosity=compact"])));
/// assert_eq!(TemplateVariant::parse("compat.md").unwrap_err().hint(), "did you mean `compact`?");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemplateVariant {
    /// What the template is written in.
    kind: ContentFormat,
    /// The verbosity that a caller must want; `None` if it is for all of them.
    verbosity: Option<Verbosity>,
    /// What a caller's other tags must say. No predicate is in the list twice.
    predicates: Vec<TagPredicate>,
}

/// Why a file cannot be a template, by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TemplateNameError {
    /// It ends in none of the [endings of templates](template_endings). The ending is in the field.
    Ending(String),
    /// A part of the name is neither a verbosity nor a tag that a caller could declare.
    Segment {
        /// The part as it is written.
        text: String,
        /// Why it is no tag.
        why: IgnoredTagReason,
        /// The verbosity or tag that was probably meant; `None` if none is similar enough.
        meant: Option<String>,
    },
    /// The name asks for two verbosities, of which a caller has one.
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
    /// Returns what an operator can do about it, for the line that follows the error.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Ending(_) => format!("name it {}, or move it away", template_endings()),
            Self::Segment { meant: Some(meant), .. } => format!("did you mean `{meant}`?"),
            Self::Segment { .. } => {
                "write `compact`, `standard`, `verbose`, or a tag such as `!interactive` or `x-acme-tier=gold`".to_owned()
            }
            Self::TwoVerbosities => "keep one of them".to_owned(),
        }
    }
}

/// Returns the endings that names of templates can have, as an enumeration: `.md, .txt or .json`.
#[must_use]
pub fn template_endings() -> String {
    let (structured, text): (Vec<_>, Vec<_>) =
        ContentFormat::ALL.into_iter().partition(|format| format.is_structured());
    let mut endings = text.into_iter().chain(structured).map(|format| format!(".{}", format.extension()));
    let last = endings.next_back().unwrap_or_default();
    format!("{} or {last}", endings.collect::<Vec<_>>().join(", "))
}

impl TemplateVariant {
    /// Parses what follows the subject's name and its dot: `md`, `compact.md`, `x-acme-tier=gold.txt`.
    ///
    /// A verbosity may be written `compact` or `verbosity=compact`. A part that is written twice counts once,
    /// unless it is a verbosity.
    ///
    /// # Errors
    ///
    /// [`TemplateNameError`] says why no template can have this name.
    pub fn parse(rest: &str) -> Result<Self, TemplateNameError> {
        let (segments, ending) =
            rest.rsplit_once('.').map_or(("", rest), |(segments, ending)| (segments, ending));
        let kind = ContentFormat::ALL.into_iter().find(|format| format.extension() == ending);
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

    /// Returns what the template is written in.
    #[must_use]
    pub fn kind(&self) -> ContentFormat {
        self.kind
    }

    /// Returns whether the template is for a caller with these tags. A caller that asks for no verbosity
    /// counts as one that wants `standard`.
    ///
    /// Rules: F8, F10.
    #[must_use]
    pub fn matches_caller(&self, wanted: &FeaturePreferences) -> bool {
        let verbosity = wanted.verbosity().unwrap_or(Verbosity::Standard);
        self.verbosity.is_none_or(|asked| asked == verbosity)
            && self.predicates.iter().all(|predicate| predicate.holds(wanted))
    }

    /// Returns how many things the name asks of a caller. Of the templates that fit, the one that asks most
    /// is used.
    #[must_use]
    pub fn specificity(&self) -> usize {
        self.predicates.len() + usize::from(self.verbosity.is_some())
    }

    /// Returns the names of the vendors' tags that the name asks for.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.predicates.iter().filter_map(TagPredicate::vendor)
    }
}

/// Makes the error for a part of a name, with the verbosity or flag that was probably meant.
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
            ("md", ContentFormat::Markdown, 0),
            ("txt", ContentFormat::Text, 0),
            ("compact.json", ContentFormat::Json, 1),
            ("verbosity=compact.md", ContentFormat::Markdown, 1),
            ("agent.!interactive.x-acme-tier=gold.md", ContentFormat::Markdown, 3),
            ("agent.agent.verbose.md", ContentFormat::Markdown, 2),
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

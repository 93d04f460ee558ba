//! The templates of one tool, resource or prompt, and which of them a caller gets.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::compiled::Template;
use mcp_attune::features::{ContentFormat, FeaturePreferences};

/// The templates that stand beside each other for one tool, resource or prompt.
///
/// 1. A template is used for the callers of whom everything holds that its name says.
/// 2. Of several the one that asks most is used; of those that ask as much, the first by name.
///
/// Rules: F6, F7, F8, F10, F11.
///
/// ```
/// use mcp_attune::features::{ContentFormat, FeaturePreferences};
/// use mcp_attune_shape::template::{Template, TemplateSet};
///
/// let compile = |(name, source)| Template::compile(name, source).unwrap();
/// let templates = TemplateSet::new(
///     [("md", "all of it"), ("compact.md", "little"), ("x-acme-tier=gold.md", "gold")].map(compile),
/// );
/// let chosen = |tags: &[&str]| {
///     let template = templates.choose(&FeaturePreferences::read(tags.iter().copied()), ContentFormat::Markdown);
///     template.unwrap().name().to_owned()
/// };
/// assert_eq!(chosen(&[]), "md");
/// assert_eq!(chosen(&["verbosity=compact"]), "compact.md");
/// assert_eq!(chosen(&["x-acme-tier=gold"]), "x-acme-tier=gold.md");
/// assert!(templates.choose(&FeaturePreferences::default(), ContentFormat::Text).is_none());
/// assert_eq!(templates.vendors().collect::<Vec<_>>(), ["x-acme-tier"]);
/// ```
#[derive(Debug, Default)]
pub struct TemplateSet {
    /// The templates, in the order in which they are tried: those that ask most first, equals by name.
    all: Vec<Arc<Template>>,
    /// The vendors' tags that any of them asks for.
    vendors: BTreeSet<String>,
}

impl TemplateSet {
    /// Makes a set of templates, which may come in any order. Two with the same name are not expected, and
    /// the first one would be used.
    #[must_use]
    pub fn new(templates: impl IntoIterator<Item = impl Into<Arc<Template>>>) -> Self {
        let mut all: Vec<Arc<Template>> = templates.into_iter().map(Into::into).collect();
        all.sort_by(|one, other| {
            let weight = |template: &Template| template.variant().specificity();
            weight(other).cmp(&weight(one)).then_with(|| one.name().cmp(other.name()))
        });
        let vendors = all.iter().flat_map(|template| template.vendors()).map(str::to_owned).collect();
        Self { all, vendors }
    }

    /// Returns the template for a result or a resource in a format, or `None` if none of that format is for
    /// this caller.
    #[must_use]
    pub fn choose(&self, wanted: &FeaturePreferences, format: ContentFormat) -> Option<&Template> {
        self.iter()
            .find(|template| template.variant().kind() == format && template.variant().matches_caller(wanted))
    }

    /// Returns the template for a prompt, or `None` if none is for this caller.
    ///
    /// The text of a prompt serves every format. So templates of all text formats compete by how much they
    /// ask; of those that ask as much, a caller that wants plain text gets the `.txt` one, and one that wants
    /// no text gets the `.md` one. `.json` templates are not used.
    #[must_use]
    pub fn choose_for_prompt(&self, wanted: &FeaturePreferences) -> Option<&Template> {
        let first = wanted.format().filter(|format| !format.is_structured());
        let first = first.unwrap_or(ContentFormat::Markdown);
        let fit = |template: &&Template| {
            !template.variant().kind().is_structured() && template.variant().matches_caller(wanted)
        };
        let most = self.iter().find(fit)?.variant().specificity();
        let mut best = self.iter().filter(fit).filter(|template| template.variant().specificity() == most);
        let first_of = |template: &&Template| template.variant().kind() == first;
        best.clone().find(first_of).or_else(|| best.next())
    }

    /// Returns the names of the vendors' tags that names and texts of these templates ask for. They are the
    /// ones that a legacy session has to remember.
    ///
    /// Rules: F3.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.vendors.iter().map(String::as_str)
    }

    /// Iterates over the templates, those that ask most first.
    pub fn iter(&self) -> impl Iterator<Item = &Template> + Clone {
        self.all.iter().map(AsRef::as_ref)
    }

    /// Returns whether there is no template.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn templates(names: &[&str]) -> TemplateSet {
        TemplateSet::new(names.iter().map(|name| Template::compile(name, "x").unwrap()))
    }

    #[test]
    fn the_one_that_asks_most_is_used() {
        let templates = templates(&[
            "md",
            "compact.md",
            "agent.md",
            "agent.compact.md",
            "!interactive.compact.md",
            "sampling.txt",
            "txt",
            "json",
            "x-acme-tier=gold.json",
            "x-acme-tier!=gold.json",
        ]);
        for (tags, format, expected) in [
            (&[][..], ContentFormat::Markdown, "md"),
            (&["agent"], ContentFormat::Markdown, "agent.md"),
            (&["interactive"], ContentFormat::Markdown, "md"),
            (&["interactive", "verbosity=compact"], ContentFormat::Markdown, "compact.md"),
            // Two ask as much: the first by name.
            (
                &["agent", "!interactive", "verbosity=compact"],
                ContentFormat::Markdown,
                "!interactive.compact.md",
            ),
            (&["agent", "interactive", "verbosity=compact"], ContentFormat::Markdown, "agent.compact.md"),
            (&["verbosity=verbose"], ContentFormat::Markdown, "md"),
            (&["sampling"], ContentFormat::Text, "sampling.txt"),
            (&["!sampling"], ContentFormat::Text, "txt"),
            (&["x-acme-tier=gold"], ContentFormat::Json, "x-acme-tier=gold.json"),
            (&["x-acme-tier=silver"], ContentFormat::Json, "x-acme-tier!=gold.json"),
            (&["x-acme-tier!=gold"], ContentFormat::Json, "x-acme-tier!=gold.json"),
            (&[], ContentFormat::Json, "json"),
        ] {
            let chosen = templates.choose(&FeaturePreferences::read(tags.iter().copied()), format);
            assert_eq!(chosen.map(Template::name), Some(expected), "{tags:?} {format}");
        }
    }

    #[test]
    fn without_a_template_that_fits_there_is_none() {
        let templates = templates(&["compact.md", "agent.txt"]);
        assert!(templates.choose(&FeaturePreferences::default(), ContentFormat::Markdown).is_none());
        assert!(templates.choose(&FeaturePreferences::default(), ContentFormat::Text).is_none());
        assert!(
            templates.choose(&FeaturePreferences::read(["verbosity=compact"]), ContentFormat::Json).is_none()
        );
        assert!(templates.choose_for_prompt(&FeaturePreferences::default()).is_none());
    }

    #[test]
    fn a_prompt_takes_whichever_asks_most_and_then_what_is_wanted() {
        let templates = templates(&["md", "txt", "compact.md", "json", "agent.json"]);
        for (tags, expected) in [
            (&[][..], "md"),
            (&["format=markdown"], "md"),
            (&["format=text"], "txt"),
            (&["format=json"], "md"),
            (&["agent"], "md"),
            (&["format=text", "verbosity=compact"], "compact.md"),
        ] {
            let chosen = templates.choose_for_prompt(&FeaturePreferences::read(tags.iter().copied()));
            assert_eq!(chosen.map(Template::name), Some(expected), "{tags:?}");
        }
    }
}

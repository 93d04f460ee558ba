//! What each tag does where the operator wrote nothing for it, in a sentence for those who write clients.

use super::{ContentFormat, FeaturePreferences};

/// What a tag does by default.
///
/// Rules: F5–F10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TagEffect {
    /// The tag; what stands in capitals in it can be anything.
    pub tag: &'static str,
    /// What it does.
    pub does: &'static str,
    /// The rule that says so.
    pub rule: &'static str,
}

impl TagEffect {
    /// The effect of a tag; none where it is malformed or unknown.
    ///
    /// ```
    /// use mcp_attune::features::TagEffect;
    ///
    /// assert_eq!(TagEffect::of("human").unwrap().rule, "F9");
    /// assert_eq!(TagEffect::of("!agent").unwrap().tag, "!TAG");
    /// assert_eq!(TagEffect::of("x-acme-tier=gold").unwrap().tag, "x-NAME");
    /// assert!(TagEffect::of("loud").is_none());
    /// ```
    #[must_use]
    pub fn of(tag: &str) -> Option<Self> {
        let found = |wanted: &str| Self::all().find(|effect| effect.tag == wanted);
        let wanted = FeaturePreferences::read([tag]);
        if wanted.ignored().next().is_some() {
            return found(tag);
        }
        found(tag).or_else(|| {
            let name = tag.trim_start_matches('!');
            match tag {
                _ if name.starts_with("x-") => found("x-NAME"),
                _ if tag.starts_with('!') => found("!TAG"),
                _ if tag.contains("!=") => found("KEY!=VALUE"),
                _ => None,
            }
        })
    }

    /// All of them, in the order in which they are told.
    pub fn all() -> impl Iterator<Item = Self> {
        let format = |format: ContentFormat| {
            let (does, rule) = format.effect();
            Self { tag: format.tag(), does, rule }
        };
        let formats = ContentFormat::ALL.into_iter().map(format);
        Self::READERS.iter().copied().chain(formats).chain(Self::OTHERS.iter().copied())
    }

    const READERS: &[Self] = &[
        Self { tag: "agent", does: "stands for format=json where no format is asked for", rule: "F9" },
        Self { tag: "human", does: "stands for format=markdown where no format is asked for", rule: "F9" },
    ];

    const OTHERS: &[Self] = &[
        Self {
            tag: "verbosity=compact",
            does: "data comes without nulls, empty lists and objects, and fields in `low_priority`, but with all that the \
                   outputSchema requires. Prose stays as it is without a template. Needs a format",
            rule: "F8",
        },
        Self {
            tag: "verbosity=standard",
            does: "data comes as it is, which is also what happens without this tag",
            rule: "F8",
        },
        Self {
            tag: "verbosity=verbose",
            does: "data as text also says what its fields are, from the descriptions in the outputSchema. Prose stays as it \
                   is without a template. Needs a format",
            rule: "F8",
        },
        Self {
            tag: "sampling",
            does: "adds the hints that the operator wrote for a tool; nothing where there are none",
            rule: "F10",
        },
        Self { tag: "interactive", does: NOTHING, rule: "F10" },
        Self { tag: "elicitation", does: NOTHING, rule: "F10" },
        Self { tag: "roots", does: NOTHING, rule: "F10" },
        Self { tag: "tasks", does: NOTHING, rule: "F10" },
        Self { tag: "mcp-capable", does: NOTHING, rule: "F10" },
        Self {
            tag: "x-NAME",
            does: "a vendor's tag: nothing of its own; an operator's template can ask for it",
            rule: "F10",
        },
        Self {
            tag: "!TAG",
            does: "says that the tag does not hold: nothing of its own; an operator's template can ask for it",
            rule: "F10",
        },
        Self {
            tag: "KEY!=VALUE",
            does: "excludes a value: where the format that is asked for is excluded, results stay as the server writes them",
            rule: "F9",
        },
    ];
}

const NOTHING: &str = "nothing of its own; an operator's template can ask for it";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tag_that_counts_has_an_effect_and_no_other() {
        for effect in TagEffect::all() {
            assert_eq!(TagEffect::of(effect.tag), Some(effect));
            let known = effect.tag.chars().all(|char| !char.is_ascii_uppercase());
            assert_eq!(
                FeaturePreferences::read([effect.tag]).ignored().next().is_none(),
                known || effect.tag == "x-NAME",
                "{}",
                effect.tag
            );
        }
        for (tag, expected) in [
            ("format!=json", "KEY!=VALUE"),
            ("!human", "!TAG"),
            ("!x-acme", "x-NAME"),
            ("x-acme!=1", "x-NAME"),
        ] {
            assert_eq!(TagEffect::of(tag).map(|effect| effect.tag), Some(expected), "{tag}");
        }
        for tag in ["", "loud", "format=xml", "no space", "Agent", "!loud"] {
            assert_eq!(TagEffect::of(tag), None, "{tag}");
        }
    }
}

//! What an operator asks of a caller's tags.

use core::fmt;

use super::{ContentFormat, FeaturePreferences, FeatureTagParts, IgnoredTagReason, KNOWN_FLAGS, Verbosity};

/// A question about a caller's tags, written as a tag.
///
/// 1. `tag` holds where the caller said it. `x-acme` is not said by `x-acme=gold`: tags are compared exactly.
/// 2. `!tag` holds where the caller said `!tag`. Who says nothing of it is served by what asks for nothing: a file for all who
///    do not say `tag` is the one without it in its name.
/// 3. `key=value` holds where the caller said it. For `format` and `verbosity` that is what came of all of the caller's
///    tags: `format=json` holds for an `agent` that asked for no other format.
/// 4. `key!=value` holds where the caller said that, or another value of the key; not where it said nothing of the key.
///
/// Rules: F2, F9, F10, F15.
///
/// ```
/// use mcp_attune::features::{TagPredicate, FeaturePreferences};
///
/// let wanted = FeaturePreferences::read(["agent", "!interactive", "x-acme-tier=gold"]);
/// let holds = |text: &str| TagPredicate::parse(text).unwrap().holds(&wanted);
/// assert!(holds("agent") && holds("format=json") && holds("x-acme-tier=gold"));
/// assert!(holds("!interactive") && holds("x-acme-tier!=silver"));
/// assert!(!holds("sampling") && !holds("!sampling") && !holds("x-other!=1"));
/// assert!(TagPredicate::parse("colour=red").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TagPredicate {
    asks: TagCondition,
    not: bool,
    text: Box<str>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum TagCondition {
    Format(ContentFormat),
    Verbosity(Verbosity),
    /// One of [`KNOWN_FLAGS`].
    Flag(&'static str),
    /// A vendor's tag, and its value where it has one.
    Custom(Box<str>, Option<Box<str>>),
}

impl TagPredicate {
    /// Reads a predicate.
    ///
    /// # Errors
    ///
    /// [`IgnoredTagReason`] it is none, or could never hold: [`IgnoredTagReason::Unknown`] for a name that no tag has.
    pub fn parse(text: &str) -> Result<Self, IgnoredTagReason> {
        let FeatureTagParts { name, value, not } = FeatureTagParts::read(text)?;
        let asks = match (name, value) {
            ("format", Some(value)) => {
                TagCondition::Format(ContentFormat::named(value).ok_or(IgnoredTagReason::Unknown)?)
            }
            ("verbosity", Some(value)) => {
                TagCondition::Verbosity(Verbosity::named(value).ok_or(IgnoredTagReason::Unknown)?)
            }
            (name, value) if name.starts_with("x-") => {
                TagCondition::Custom(name.into(), value.map(Into::into))
            }
            (name, None) => TagCondition::Flag(
                KNOWN_FLAGS.iter().find(|flag| **flag == name).copied().ok_or(IgnoredTagReason::Unknown)?,
            ),
            _ => return Err(IgnoredTagReason::Unknown),
        };
        Ok(Self { asks, not, text: text.into() })
    }

    /// Whether it holds for a caller.
    #[must_use]
    pub fn holds(&self, wanted: &FeaturePreferences) -> bool {
        match (&self.asks, self.not) {
            (TagCondition::Format(format), false) => wanted.format() == Some(*format),
            (TagCondition::Format(format), true) => {
                wanted.excluded.contains(format) || wanted.format().is_some_and(|other| other != *format)
            }
            (TagCondition::Verbosity(verbosity), false) => wanted.verbosity() == Some(*verbosity),
            (TagCondition::Verbosity(verbosity), true) => {
                wanted.too_much.contains(verbosity)
                    || wanted.verbosity().is_some_and(|other| other != *verbosity)
            }
            (TagCondition::Flag(name), not) => wanted.flag(name) == Some(!not),
            (TagCondition::Custom(_, None), _) | (TagCondition::Custom(_, Some(_)), false) => {
                wanted.vendor_tags().any(|said| said == &*self.text)
            }
            (TagCondition::Custom(name, Some(value)), true) => wanted.vendor_tags().any(|said| {
                said == &*self.text
                    || said
                        .strip_prefix(&**name)
                        .and_then(|rest| rest.strip_prefix('='))
                        .is_some_and(|other| other != &**value)
            }),
        }
    }

    /// How much the caller is asked to want, where that is the question.
    #[must_use]
    pub fn verbosity(&self) -> Option<Verbosity> {
        match self.asks {
            TagCondition::Verbosity(verbosity) if !self.not => Some(verbosity),
            _ => None,
        }
    }

    /// The name of the vendor's tag that is asked for.
    #[must_use]
    pub fn vendor(&self) -> Option<&str> {
        match &self.asks {
            TagCondition::Custom(name, _) => Some(name),
            _ => None,
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for TagPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predicates that hold for these tags, and those that do not.
    #[track_caller]
    fn check(tags: &[&str], hold: &[&str], fail: &[&str]) {
        let wanted = FeaturePreferences::read(tags.iter().copied());
        for (predicates, expected) in [(hold, true), (fail, false)] {
            for text in predicates {
                assert_eq!(TagPredicate::parse(text).unwrap().holds(&wanted), expected, "{text} of {tags:?}");
            }
        }
    }

    #[test]
    fn a_tag_and_its_opposite_hold_where_they_were_said() {
        check(&[], &[], &["!agent", "!interactive", "!x-a", "agent", "interactive", "x-a"]);
        check(&["agent", "x-a"], &["agent", "x-a"], &["!agent", "!x-a", "human", "!human"]);
        check(&["!interactive", "!x-a"], &["!interactive", "!x-a"], &["interactive", "x-a"]);
        check(&["x-a=1"], &[], &["x-a", "!x-a"]);
    }

    #[test]
    fn formats_and_verbosities_are_those_that_came_of_all_tags() {
        check(&["agent"], &["format=json", "format!=text"], &["format=markdown", "format!=json"]);
        check(&["agent", "format=text"], &["format=text", "format!=json"], &["format=json"]);
        check(&[], &[], &["format=json", "format!=json", "verbosity=standard", "verbosity!=compact"]);
        check(&["format!=json"], &["format!=json"], &["format!=text"]);
        check(&["agent", "format!=json"], &["format!=json"], &["format=json"]);
        check(
            &["verbosity=compact", "verbosity!=verbose"],
            &["verbosity=compact", "verbosity!=standard", "verbosity!=verbose"],
            &["verbosity!=compact", "verbosity=verbose"],
        );
    }

    #[test]
    fn values_of_vendors_are_compared_exactly() {
        check(
            &["x-tier=gold"],
            &["x-tier=gold", "x-tier!=silver"],
            &["x-tier=silver", "x-tier!=gold", "x-tier=Gold", "x-tie=gold"],
        );
    }

    #[test]
    fn what_was_only_excluded_is_excluded_and_nothing_else() {
        check(&["x-tier!=gold"], &["x-tier!=gold"], &["x-tier=gold", "x-tier!=silver", "x-tier"]);
        check(&["x-tier2=gold"], &[], &["x-tier!=gold", "x-tier!=silver"]);
    }

    #[test]
    fn what_could_never_hold_is_refused() {
        for (text, why) in [
            ("", IgnoredTagReason::Name),
            ("no space", IgnoredTagReason::Name),
            ("x-a=", IgnoredTagReason::Value),
            ("!x-a=1", IgnoredTagReason::TwoNots),
            ("Agent", IgnoredTagReason::Unknown),
            ("agent=1", IgnoredTagReason::Unknown),
            ("format", IgnoredTagReason::Unknown),
            ("format=xml", IgnoredTagReason::Unknown),
            ("verbosity=loud", IgnoredTagReason::Unknown),
            ("colour=red", IgnoredTagReason::Unknown),
        ] {
            assert_eq!(TagPredicate::parse(text), Err(why), "{text}");
        }
    }
}

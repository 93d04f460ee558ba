//! The decision: which of the languages on offer a caller gets, and why.
//!
//! Rules: L4, L5, L6.

use core::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use mcp_attune_wire::quality::Quality;

use super::accept::{AcceptLanguage, PreferenceMember};
use super::ancestry::LocaleAncestry;
use super::distance::{LanguageReadability, may_read_others, nearness};
use super::form::{RangeRelation, SubtagForms};
use super::languages::{Languages, OfferedLanguage};
use super::range::LanguageRange;
use super::tag::Tag;

/// What a caller gets, and why.
///
/// Rules: L4, L5, L6.
///
/// ```
/// use mcp_attune::language::{AcceptLanguage, Languages, Why, lookup};
///
/// let accept = AcceptLanguage::parse("es-UY, en;q=0.5").unwrap();
/// let languages = Languages::new("en", ["es-ES", "es-MX"]).unwrap();
/// let choice = lookup(&accept, &languages);
/// assert_eq!(choice.language.as_str(), "es-MX");
/// assert_eq!(choice.why, Why::Shortened);
/// assert_eq!(choice.range.map(|range| range.as_str()), Some("es-UY"));
/// assert_eq!(choice.quality.map(|quality| quality.thousandths()), Some(1000));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Choice<'a> {
    /// The language, in the server's own spelling.
    pub language: &'a Tag,
    /// What made it the one.
    pub why: Why,
    /// The weight it had; none for a relative and the default.
    pub quality: Option<Quality>,
    /// The range that gave it that weight, as the caller wrote it; none for a relative and the default.
    pub range: Option<LanguageRange<'a>>,
}

/// What made a language the one that the caller gets.
///
/// Rules: L4, L5, L6.
///
/// ```
/// use mcp_attune::language::{AcceptLanguage, Languages, Why, lookup};
///
/// let languages = Languages::new("en", ["de-CH", "nb"]).unwrap();
/// for (accept, why) in [
///     ("DE-ch", Why::Exact),
///     ("de", Why::Covered),
///     ("de-AT", Why::Shortened),
///     ("*", Why::Wildcard),
///     ("nn", Why::Relative),
///     ("ja", Why::Default),
/// ] {
///     assert_eq!(lookup(&AcceptLanguage::parse(accept).unwrap(), &languages).why, why);
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Why {
    /// A range is this very language, perhaps under another of its names: `iw` for `he`.
    Exact,
    /// The tag begins with a range: `de` for `de-CH`.
    Covered,
    /// The tag begins with a range that was shortened: `de-AT` for `de-CH`.
    Shortened,
    /// Nothing but `*` covers it.
    Wildcard,
    /// Nothing matched, and readers of a range most likely read this too: `nn` for `nb`.
    Relative,
    /// Nothing matched at all, or nothing was asked for.
    Default,
}

impl Why {
    /// The reason in one word, as logs and the command line print it.
    ///
    /// Rules: L4, L6.
    ///
    /// ```
    /// use mcp_attune::language::Why;
    ///
    /// assert_eq!(Why::Shortened.as_str(), "shortened");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Covered => "covered",
            Self::Shortened => "shortened",
            Self::Wildcard => "wildcard",
            Self::Relative => "relative",
            Self::Default => "default",
        }
    }
}

impl core::fmt::Display for Why {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Chooses a language; always answers, and always with one that is on offer.
///
/// Rules: L4, L5, L6.
///
/// ```
/// use mcp_attune::language::{AcceptLanguage, Languages, lookup};
///
/// let accept = AcceptLanguage::parse("zh-TW, zh;q=0.9, en;q=0.8").unwrap();
/// let languages = Languages::new("en", ["zh-Hans", "zh-Hant"]).unwrap();
/// assert_eq!(lookup(&accept, &languages).language.as_str(), "zh-Hant");
/// ```
#[must_use]
pub fn lookup<'a>(accept: &'a AcceptLanguage, languages: &'a Languages) -> Choice<'a> {
    let default =
        Choice { language: languages.default_language(), why: Why::Default, quality: None, range: None };
    if accept.is_empty() {
        return default;
    }
    let wishes = PreferenceMatcher::new(accept, languages);
    let mut best: Option<OfferRank> = None;
    let mut tied = Vec::new();
    for offered in languages.offered() {
        let OfferStanding::Ranked(rank) = wishes.standing(offered.form()) else { continue };
        let order = best.map_or(Ordering::Greater, |best| rank.cmp(&best));
        if order.is_gt() {
            best = Some(rank);
            tied.clear();
        }
        if order.is_ge() {
            tied.push(offered);
        }
    }
    let winner = best.and_then(|rank| {
        let member = accept.member(rank.position.0)?;
        Some((wishes.nearest(&member, rank, &tied)?, member, rank))
    });
    if let Some((offered, member, rank)) = winner {
        return Choice {
            language: &offered.tag,
            why: rank.fit.reason(),
            quality: Some(member.quality),
            range: Some(member.range),
        };
    }
    let relative = wishes.relative(languages);
    relative.map_or(default, |offered| Choice { language: &offered.tag, why: Why::Relative, ..default })
}

/// How a range fits a tag, the best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum RangeFit {
    Wildcard,
    Shortened,
    Covered,
    Exact,
}

impl RangeFit {
    const fn reason(self) -> Why {
        match self {
            Self::Wildcard => Why::Wildcard,
            Self::Shortened => Why::Shortened,
            Self::Covered => Why::Covered,
            Self::Exact => Why::Exact,
        }
    }
}

/// What a language on offer is worth to the caller, the best last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct OfferRank {
    quality: Quality,
    position: Reverse<usize>,
    fit: RangeFit,
}

/// How a language on offer stands with the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OfferStanding {
    Ranked(OfferRank),
    Excluded,
    Unmatched,
}

/// A preference laid out for asking about one language after the other.
struct PreferenceMatcher<'a> {
    accept: &'a AcceptLanguage,
    /// Those members that could have to do with a language on offer, by how they begin.
    members: Vec<PreferenceMember<'a>>,
    wildcard: Option<(Quality, Reverse<usize>)>,
}

impl<'a> PreferenceMatcher<'a> {
    fn new(accept: &'a AcceptLanguage, languages: &Languages) -> Self {
        let members = accept.members().filter(|member| languages.may_match(member.form)).collect();
        let wildcard = accept.weight_of_wildcard().map(|(quality, position)| (quality, Reverse(position)));
        Self { accept, members, wildcard }
    }

    /// Rules 2 to 4 of the module: the most specific range that covers, else the best that reaches, else `*`.
    fn standing(&self, tag: SubtagForms<'_>) -> OfferStanding {
        let mut covering: Option<(RangeRelation, Quality, Reverse<usize>)> = None;
        let mut reaching: Option<(Quality, Reverse<usize>)> = None;
        for member in &self.members {
            let position = Reverse(member.position);
            match member.form.relation(tag) {
                RangeRelation::Apart => {}
                // What is not wanted is not widened by shortening.
                RangeRelation::Reaches if member.quality.is_zero() => {}
                RangeRelation::Reaches => reaching = reaching.max(Some((member.quality, position))),
                relation => covering = covering.max(Some((relation, member.quality, position))),
            }
        }
        let (quality, position, fit) = match (covering, reaching, self.wildcard) {
            (Some((RangeRelation::Exact, quality, position)), _, _) => (quality, position, RangeFit::Exact),
            (Some((_, quality, position)), _, _) => (quality, position, RangeFit::Covered),
            (None, Some((quality, position)), _) => (quality, position, RangeFit::Shortened),
            (None, None, Some((quality, position))) => (quality, position, RangeFit::Wildcard),
            (None, None, None) => return OfferStanding::Unmatched,
        };
        if quality.is_zero() {
            OfferStanding::Excluded
        } else {
            OfferStanding::Ranked(OfferRank { quality, position, fit })
        }
    }

    /// Rule 5 of the module: of languages that rank equal, the nearest; of several, the first, which the default is.
    fn nearest<'b>(
        &self,
        member: &PreferenceMember<'_>,
        rank: OfferRank,
        tied: &[&'b OfferedLanguage],
    ) -> Option<&'b OfferedLanguage> {
        if tied.len() < 2 || rank.fit == RangeFit::Wildcard {
            return tied.first().copied();
        }
        let wish = self.narrowest_range(member);
        let from = LocaleAncestry::of(wish.canonical());
        let near = |offered: &OfferedLanguage| {
            nearness(from.as_ref(), offered.place.as_ref(), wish.shared_subtags(offered.form()))
        };
        tied.iter().copied().min_by_key(|offered| near(offered))
    }

    /// What nearness is measured from: the range itself, or a narrower one that the caller wants at least as much.
    fn narrowest_range(&self, member: &PreferenceMember<'a>) -> SubtagForms<'a> {
        let narrower = self.accept.members().filter(|other| {
            other.quality >= member.quality
                && matches!(member.form.relation(other.form), RangeRelation::Covers(_))
        });
        narrower.min_by_key(|other| Reverse(other.quality)).map_or(member.form, |other| other.form)
    }

    /// Rule 6 of the module: what readers of a wanted language most likely also read.
    fn relative<'b>(&self, languages: &'b Languages) -> Option<&'b OfferedLanguage> {
        let reads_others = |member: &PreferenceMember<'_>| {
            member.form.canonical().first().copied().is_some_and(may_read_others)
        };
        let wanted = self.accept.members().filter(|member| !member.quality.is_zero());
        let mut wanted: Vec<_> = wanted.filter(reads_others).collect();
        wanted.sort_by_key(|member| Reverse(member.quality));
        // A region adds no readers, so each language and script is asked about once, however long the value.
        let mut asked = BTreeSet::new();
        wanted.iter().find_map(|member| {
            let from = LocaleAncestry::of(member.form.canonical())?;
            asked.insert((from.full.language, from.full.script)).then_some(())?;
            let reader = LanguageReadability::of(&from);
            let readable = languages.offered().filter_map(|offered| {
                let place = offered.place.as_ref()?;
                let key = (reader.distance_to(place)?, nearness(Some(&from), Some(place), 0));
                (self.standing(offered.form()) == OfferStanding::Unmatched).then_some((key, offered))
            });
            readable.min_by_key(|(key, _)| *key).map(|(_, offered)| offered)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(accept: &str, available: &[&str], expected: &str) {
        let (accept, languages) = given(accept, available);
        assert_eq!(lookup(&accept, &languages).language.as_str(), expected);
    }

    fn given(accept: &str, available: &[&str]) -> (AcceptLanguage, Languages) {
        let languages = Languages::new(available[0], available[1..].iter().copied());
        (AcceptLanguage::parse(accept).unwrap(), languages.unwrap())
    }

    #[test]
    fn prefers_latin_american_spanish_for_uruguay() {
        check("es-UY", &["es-ES", "es-MX"], "es-MX");
        check("es-UY", &["es-MX", "es-419"], "es-419");
    }

    #[test]
    fn prefers_british_english_for_australia() {
        check("en-AU", &["en-US", "en-GB"], "en-GB");
    }

    #[test]
    fn never_gives_simplified_script_to_taiwan_while_traditional_is_there() {
        check("zh-TW", &["zh-Hans", "zh-Hant"], "zh-Hant");
        check("zh-TW, zh;q=0.9", &["zh-Hans", "zh-Hant"], "zh-Hant");
        check("zh, zh-TW", &["zh-Hans", "zh-Hant"], "zh-Hant");
        check("zh-TW", &["zh-Hans"], "zh-Hans");
    }

    #[test]
    fn falls_back_to_the_default() {
        check("ja", &["en", "fr"], "en");
        check("", &["en", "fr"], "en");
        check("en;q=0, *;q=0", &["en", "fr"], "en");
    }

    #[test]
    fn says_which_range_and_weight_decided() {
        let (accept, languages) = given("fr;q=0.2, DE-at;q=0.4", &["en", "de"]);
        let choice = lookup(&accept, &languages);
        assert_eq!(choice.why, Why::Shortened);
        assert_eq!(choice.quality.map(Quality::thousandths), Some(400));
        assert_eq!(choice.range.map(LanguageRange::as_str), Some("DE-at"));
    }

    #[test]
    fn says_nothing_of_ranges_for_a_relative_or_the_default() {
        for (text, why) in [("nn", Why::Relative), ("ja", Why::Default)] {
            let (accept, languages) = given(text, &["en", "nb"]);
            let choice = lookup(&accept, &languages);
            assert_eq!((choice.why, choice.quality, choice.range), (why, None, None));
        }
    }

    #[test]
    fn keeps_an_excluded_language_out_however_it_is_called() {
        check("no;q=0, *", &["nb", "en"], "en");
        check("i-lux;q=0, gsw", &["en", "lb", "de"], "de");
    }
}

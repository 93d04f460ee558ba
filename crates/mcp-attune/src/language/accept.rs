//! The preference of a caller: the grammar of `Accept-Language`.
//!
//! 1. Members are separated by commas; empty members are read over; spaces and tabs may stand around a comma.
//! 2. A member is a [`Range`] and optionally `;q=` with a weight. Spaces and tabs may stand around `;`, not around
//!    `=`; the `q` is in either case. Without a weight it is 1.
//! 3. A value without any member is well formed and says nothing: no preference.
//! 4. A space or tab at either end of the value makes it malformed, since no HTTP header could carry it.
//! 5. A value of more than [`AcceptLanguage::MAX_LEN`] bytes is malformed.
//! 6. A range that is listed more than once, one time with weight 0, is excluded: for matching all of them have weight 0.
//!
//! Rules: L1, L2, L4, L19.

use core::fmt::{self, Write as _};
use core::ops;
use core::str::FromStr;
use std::collections::BTreeSet;

use mcp_attune_wire::quality::Quality;

use super::alias;
use super::form::SubtagForms;
use super::malformed::AcceptLanguageError;
use super::range::LanguageRange;
use super::subtag::Subtag;
use super::tag::Tag;

/// A well-formed language preference: ranges with weights, and exactly the text that they were read from.
///
/// Rules: L1, L2.
///
/// ```
/// use mcp_attune::language::AcceptLanguage;
///
/// let accept = AcceptLanguage::parse("da, en-gb;q=0.8, en;q=0.7").unwrap();
/// let read: Vec<_> = accept.ranges().map(|(range, weight)| (range.as_str(), weight.thousandths())).collect();
/// assert_eq!(read, [("da", 1000), ("en-gb", 800), ("en", 700)]);
/// assert_eq!(accept.as_str(), "da, en-gb;q=0.8, en;q=0.7");
/// assert!(AcceptLanguage::parse("en; q = 0.5").is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct AcceptLanguage {
    source: Box<str>,
    members: Vec<StoredPreferenceMember>,
    raw: Vec<Subtag>,
    renamed: Vec<Subtag>,
    wildcard: Option<usize>,
}

/// Where the parts of a member stand: its range in the source, and each form among the subtags.
#[derive(Clone, Debug)]
struct StoredPreferenceMember {
    /// The weight as it was written.
    quality: Quality,
    /// Whether the same range is listed with weight 0.
    excluded: bool,
    source: ops::Range<usize>,
    raw: ops::Range<usize>,
    renamed: ops::Range<usize>,
}

/// A member as matching sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PreferenceMember<'a> {
    pub(super) position: usize,
    pub(super) range: LanguageRange<'a>,
    pub(super) quality: Quality,
    pub(super) form: SubtagForms<'a>,
}

impl AcceptLanguage {
    /// How many bytes a preference can have.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::{AcceptLanguage, AcceptLanguageError};
    ///
    /// let long = "en,".repeat(2000);
    /// assert_eq!(AcceptLanguage::parse(&long).unwrap_err(), AcceptLanguageError::TooLong { at: AcceptLanguage::MAX_LEN });
    /// ```
    pub const MAX_LEN: usize = 4096;

    /// Reads a preference, or says what is wrong with it and where.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::{AcceptLanguage, AcceptLanguageError};
    ///
    /// assert!(AcceptLanguage::parse("fr-CH, fr;Q=0.9,,*;q=0.").is_ok());
    /// assert_eq!(AcceptLanguage::parse(" fr").unwrap_err(), AcceptLanguageError::Edge { at: 0 });
    /// ```
    pub fn parse(text: &str) -> Result<Self, AcceptLanguageError> {
        if text.len() > Self::MAX_LEN {
            return Err(AcceptLanguageError::TooLong { at: Self::MAX_LEN });
        }
        if text.starts_with(BLANK) {
            return Err(AcceptLanguageError::Edge { at: 0 });
        }
        if text.ends_with(BLANK) {
            return Err(AcceptLanguageError::Edge { at: text.len() - 1 });
        }
        let mut accept = Self { source: text.into(), ..Self::default() };
        let mut at = 0;
        for element in text.split(',') {
            let member = element.trim_start_matches(BLANK);
            accept.read_member(member.trim_end_matches(BLANK), at + element.len() - member.len())?;
            at += element.len() + 1;
        }
        accept.mark_excluded();
        Ok(accept)
    }

    /// Marks every member whose range is also listed with weight 0.
    fn mark_excluded(&mut self) {
        let excluded: BTreeSet<Vec<Subtag>> = self
            .members()
            .filter(|member| member.quality.is_zero())
            .map(|member| member.form.canonical().to_vec())
            .collect();
        if excluded.is_empty() {
            return;
        }
        let marks: Vec<_> = self.members().map(|member| excluded.contains(member.form.canonical())).collect();
        for (stored, mark) in self.members.iter_mut().zip(marks) {
            stored.excluded = mark;
        }
    }

    /// Reads one member, which starts at a byte of the source and may be empty.
    fn read_member(&mut self, member: &str, at: usize) -> Result<(), AcceptLanguageError> {
        if member.is_empty() {
            return Ok(());
        }
        let (range, quality) = match member.split_once(';') {
            None => (member, Quality::ONE),
            Some((range, parameter)) => {
                let weight = parameter.trim_start_matches(BLANK);
                let at = at + member.len() - weight.len();
                let weight = weight.strip_prefix(['q', 'Q']).and_then(|rest| rest.strip_prefix('='));
                let weight = weight.ok_or(AcceptLanguageError::Parameter { at })?;
                let quality = Quality::parse(weight).ok_or(AcceptLanguageError::Weight { at: at + 2 })?;
                (range.trim_end_matches(BLANK), quality)
            }
        };
        let (raw, renamed) = (self.raw.len(), self.renamed.len());
        let read = LanguageRange::parse_with(range, |subtag| self.raw.push(subtag))
            .map_err(|fault| fault.shifted(at))?;
        alias::canonicalize(self.raw.get(raw..).unwrap_or_default(), &mut self.renamed);
        if read.is_wildcard() && self.weight_of_wildcard().is_none_or(|(best, _)| quality > best) {
            self.wildcard = Some(self.members.len());
        }
        self.members.push(StoredPreferenceMember {
            quality,
            excluded: false,
            source: at..at + range.len(),
            raw: raw..self.raw.len(),
            renamed: renamed..self.renamed.len(),
        });
        Ok(())
    }

    /// The preference that a locale stands for: its language, script, region and variants. Extensions say how to format
    /// and not what to read. None where the locale names no language.
    ///
    /// Rules: C7.
    ///
    /// ```
    /// use mcp_attune::language::{AcceptLanguage, Tag};
    ///
    /// let locale = Tag::parse("de-CH-u-fw-sun").unwrap();
    /// assert_eq!(AcceptLanguage::of_locale(&locale).unwrap().as_str(), "de-CH");
    /// assert!(AcceptLanguage::of_locale(&Tag::parse("und-CH").unwrap()).is_none());
    /// ```
    #[must_use]
    pub fn of_locale(locale: &Tag) -> Option<Self> {
        let text = locale.as_str();
        if locale.primary().eq_ignore_ascii_case("und") {
            return None;
        }
        // A subtag of one letter begins an extension, unless it is the first, as in `i-klingon`.
        let mut end = locale.primary().len();
        let extended = locale.primary().len() == 1;
        for subtag in text.split('-').skip(1) {
            if subtag.len() == 1 && !extended {
                break;
            }
            end += 1 + subtag.len();
        }
        Self::parse(text.get(..end)?).ok()
    }

    /// Builds a preference from ranges and weights, the way people write it.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::{AcceptLanguage, LanguageRange};
    /// use mcp_attune_wire::quality::Quality;
    ///
    /// let ranges = [(LanguageRange::parse("fr").unwrap(), Quality::ONE), (LanguageRange::WILDCARD, Quality::ZERO)];
    /// assert_eq!(AcceptLanguage::from_ranges(ranges).unwrap().as_str(), "fr, *;q=0");
    /// ```
    pub fn from_ranges<'a>(
        ranges: impl IntoIterator<Item = (LanguageRange<'a>, Quality)>,
    ) -> Result<Self, AcceptLanguageError> {
        let mut text = String::new();
        for (range, quality) in ranges {
            let comma = if text.is_empty() { "" } else { ", " };
            // Writing to a string does not fail.
            let _ = match quality {
                Quality::ONE => write!(text, "{comma}{range}"),
                quality => write!(text, "{comma}{range};q={quality}"),
            };
            if text.len() > Self::MAX_LEN {
                break;
            }
        }
        Self::parse(&text)
    }

    /// The value exactly as it was written.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::AcceptLanguage;
    ///
    /// assert_eq!(AcceptLanguage::parse("en ,\tde;Q=0.50").unwrap().as_str(), "en ,\tde;Q=0.50");
    /// ```
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The ranges with their weights as they were written, in the order of the value.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::AcceptLanguage;
    ///
    /// let accept = AcceptLanguage::parse("en, *;q=0.1").unwrap();
    /// assert_eq!(accept.ranges().count(), 2);
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = (LanguageRange<'_>, Quality)> {
        self.members().zip(&self.members).map(|(member, stored)| (member.range, stored.quality))
    }

    /// The ranges that are wanted, with the weights that count in matching: none that is listed with weight 0.
    ///
    /// Rules: L4.
    ///
    /// ```
    /// use mcp_attune::language::AcceptLanguage;
    ///
    /// let accept = AcceptLanguage::parse("fr, en;q=0.5, fr;q=0").unwrap();
    /// assert_eq!(accept.wanted_ranges().map(|(range, _)| range.as_str()).collect::<Vec<_>>(), ["en"]);
    /// ```
    pub fn wanted_ranges(&self) -> impl Iterator<Item = (LanguageRange<'_>, Quality)> {
        let wanted = self.members().filter(|member| !member.quality.is_zero());
        wanted.map(|member| (member.range, member.quality))
    }

    /// Whether it has no member: no preference.
    ///
    /// Rules: L1.
    ///
    /// ```
    /// use mcp_attune::language::AcceptLanguage;
    ///
    /// assert!(AcceptLanguage::parse(", ,").unwrap().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// A coarse form that gives less away: the language of each range alone, each language once, at its best weight.
    ///
    /// A refusal of a part of a language (`de-CH;q=0`) is left out rather than widened to the whole, and so is
    /// private use (`x-…`). What is left may be empty; then leave the preference out.
    ///
    /// Rules: L19.
    ///
    /// ```
    /// use mcp_attune::language::AcceptLanguage;
    ///
    /// let accept = AcceptLanguage::parse("de-CH, de;q=0.9, en-GB;q=0.8, fr-CA;q=0, *;q=0.1").unwrap();
    /// assert_eq!(accept.coarse().as_str(), "de, en;q=0.8, *;q=0.1");
    /// ```
    #[must_use]
    pub fn coarse(&self) -> Self {
        let mut kept: Vec<(Vec<Subtag>, String, Quality)> = Vec::new();
        for member in self.members() {
            let Some((key, text)) = coarse_member(&member) else {
                continue;
            };
            match kept.iter_mut().find(|(other, _, _)| *other == key) {
                Some((_, _, best)) => *best = member.quality.max(*best),
                None => kept.push((key, text, member.quality)),
            }
        }
        let ranges = kept.iter().map(|(_, text, quality)| (LanguageRange::new_unchecked(text), *quality));
        Self::from_ranges(ranges).unwrap_or_default()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = PreferenceMember<'_>> {
        (0..self.members.len()).filter_map(|position| self.member(position))
    }

    pub(super) fn member(&self, position: usize) -> Option<PreferenceMember<'_>> {
        let stored = self.members.get(position)?;
        let StoredPreferenceMember { source, raw, renamed, .. } = stored;
        let form = SubtagForms {
            raw: self.raw.get(raw.clone())?,
            renamed: self.renamed.get(renamed.clone()).filter(|renamed| !renamed.is_empty()),
        };
        let range = LanguageRange::new_unchecked(self.source.get(source.clone())?);
        Some(PreferenceMember { position, range, quality: stored.effective_weight(), form })
    }

    /// The weight and position of `*`; of several, the one with the highest weight, unless one of them excludes it.
    pub(super) fn weight_of_wildcard(&self) -> Option<(Quality, usize)> {
        let position = self.wildcard?;
        self.members.get(position).map(|stored| (stored.effective_weight(), position))
    }
}

impl StoredPreferenceMember {
    /// The weight that counts in matching.
    fn effective_weight(&self) -> Quality {
        if self.excluded { Quality::ZERO } else { self.quality }
    }
}

/// Optional whitespace of HTTP.
const BLANK: [char; 2] = [' ', '\t'];

/// The language of a member alone, to compare and to print.
fn coarse_member(member: &PreferenceMember<'_>) -> Option<(Vec<Subtag>, String)> {
    let primary = member.range.primary();
    if member.quality.is_zero() && primary.len() != member.range.as_str().len() {
        return None;
    }
    if primary == "*" {
        return Some((Vec::new(), primary.to_owned()));
    }
    let (language, text) = if primary.len() > 1 {
        (Subtag::new(primary), primary.to_owned())
    } else {
        // `i-klingon` has a language by another name; `x-…` has none.
        let language = *member.form.renamed?.first()?;
        (language, format!("{language:?}"))
    };
    let mut key = Vec::new();
    if !alias::canonicalize(&[language], &mut key) {
        key.push(language);
    }
    Some((key, text))
}

impl FromStr for AcceptLanguage {
    type Err = AcceptLanguageError;

    fn from_str(text: &str) -> Result<Self, AcceptLanguageError> {
        Self::parse(text)
    }
}

/// A preference for one language alone.
impl From<&Tag> for AcceptLanguage {
    fn from(tag: &Tag) -> Self {
        // Every tag is a range, and shorter than a preference can be.
        Self::parse(tag.as_str()).unwrap_or_default()
    }
}

/// Preferences are compared by their exact text, as caches and headers do.
impl PartialEq for AcceptLanguage {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for AcceptLanguage {}

impl fmt::Display for AcceptLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// Reads what came in place of a preference: what is absent or malformed is no preference, and the fault comes with it.
///
/// Rules: L2.
///
/// ```
/// use mcp_attune::language::{self, AcceptLanguageError};
///
/// let (accept, fault) = language::read_preference(Some("en;q=2"));
/// assert!(accept.is_empty());
/// assert_eq!(fault, Some(AcceptLanguageError::Weight { at: 5 }));
/// assert_eq!(language::read_preference(Some("en")).1, None);
/// assert!(language::read_preference(None).0.is_empty());
/// ```
#[must_use]
pub fn read_preference(text: Option<&str>) -> (AcceptLanguage, Option<AcceptLanguageError>) {
    match text.map(AcceptLanguage::parse) {
        None => (AcceptLanguage::default(), None),
        Some(Ok(accept)) => (accept, None),
        Some(Err(fault)) => (AcceptLanguage::default(), Some(fault)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(text: &str) -> Vec<(String, u16)> {
        let accept = AcceptLanguage::parse(text).unwrap();
        accept.ranges().map(|(range, quality)| (range.to_string(), quality.thousandths())).collect()
    }

    #[test]
    fn reads_over_empty_members() {
        assert_eq!(ranges(",, en ,\t,de;q=0.5,"), [("en".to_owned(), 1000), ("de".to_owned(), 500)]);
    }

    #[test]
    fn says_where_a_later_member_is_wrong() {
        for (text, fault) in [
            ("en, de_CH", AcceptLanguageError::Character { at: 6 }),
            ("en,  de; q=2", AcceptLanguageError::Weight { at: 11 }),
            ("en,de ;x=1", AcceptLanguageError::Parameter { at: 7 }),
            ("en, ", AcceptLanguageError::Edge { at: 3 }),
        ] {
            assert_eq!(AcceptLanguage::parse(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn takes_the_best_of_several_wildcards() {
        let accept = AcceptLanguage::parse("*;q=0.1, en, *;q=0.5, *;q=0.2, *;q=0.5").unwrap();
        assert_eq!(accept.weight_of_wildcard().map(|(_, position)| position), Some(2));
    }

    #[test]
    fn a_wildcard_that_is_also_listed_with_weight_0_excludes() {
        let accept = AcceptLanguage::parse("*;q=0.5, en, *;q=0").unwrap();
        assert_eq!(accept.weight_of_wildcard().map(|(quality, _)| quality), Some(Quality::ZERO));
        assert_eq!(ranges("*;q=0.5, *;q=0"), [("*".to_owned(), 500), ("*".to_owned(), 0)]);
    }

    #[test]
    fn compares_by_exact_text() {
        assert_ne!(AcceptLanguage::parse("en"), AcceptLanguage::parse("EN"));
        assert_eq!(AcceptLanguage::parse("en;q=1"), AcceptLanguage::parse("en;q=1"));
    }

    #[test]
    fn asks_for_one_language_in_the_spelling_of_its_tag() {
        let tag = Tag::parse("pt-br").unwrap();
        assert_eq!(AcceptLanguage::from(&tag).as_str(), "pt-br");
    }

    #[test]
    fn drops_nothing_silently_when_it_cannot_read() {
        assert_eq!(
            read_preference(Some(" en")),
            (AcceptLanguage::default(), Some(AcceptLanguageError::Edge { at: 0 }))
        );
        assert_eq!(read_preference(None), (AcceptLanguage::default(), None));
    }
}

//! Which message a text is.
//!
//! All sources are looked for in one pass by an Aho–Corasick automaton over one fixed part of each, the one that fewest
//! others have, then the longest. Those that were found are compared with the whole text, those with the most fixed text
//! first. How many are compared is bounded, so that no text can cost more than a multiple of its length; should the
//! bound be met, the text is none of them.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};

use super::source::SourcePattern;

/// The longest text that is compared with sources that have variables, in bytes.
const MAX_MATCHED_BYTES: usize = 16 * 1024;

/// How often fixed parts may be found in one text, and how many sources may be compared with it.
const MAX_ANCHOR_HITS: usize = 10_000;
const MAX_COMPARISONS: usize = 256;

/// How many sources may have no fixed part but ones that others have too.
const MAX_SOURCES_PER_ANCHOR: usize = 128;

/// Sources with the numbers of their messages.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceMatcher {
    exact: HashMap<Box<str>, u32>,
    anchors: Option<AhoCorasick>,
    /// For every anchor the sources that have it, those with the most fixed text first.
    groups: Box<[Box<[SourceCandidate]>]>,
}

#[derive(Clone, Debug)]
struct SourceCandidate {
    source: SourcePattern,
    weight: u32,
    message: u32,
}

/// A message, and what the variables of its source stand for.
pub(super) struct SourceMatch<'s, 't> {
    pub(super) message: u32,
    pub(super) names: &'s [Box<str>],
    pub(super) values: Vec<&'t str>,
}

impl SourceMatcher {
    /// Tells beside it which messages are left out, in their order, because too many are too much alike.
    pub(super) fn new(sources: Vec<(u32, SourcePattern)>) -> (Self, Vec<u32>) {
        let (mut exact, mut left_out) = (HashMap::new(), Vec::new());
        let mut anchors = Vec::<Box<str>>::new();
        let mut known = HashMap::<Box<str>, usize>::new();
        let mut groups = Vec::<Vec<SourceCandidate>>::new();
        let counts = anchor_counts(&sources);
        for (message, source) in sources {
            if let Some(text) = source.exact_text() {
                exact.insert(text.into(), message);
                continue;
            }
            let rank = |anchor: &&str| (counts.get(*anchor).copied(), core::cmp::Reverse(anchor.len()));
            let anchor: Box<str> = source.anchors().min_by_key(rank).unwrap_or_default().into();
            let group = *known.entry(anchor.clone()).or_insert_with(|| {
                anchors.push(anchor);
                groups.push(Vec::new());
                groups.len() - 1
            });
            let weight = u32::try_from(source.fixed_len()).unwrap_or(u32::MAX);
            match groups.get_mut(group) {
                Some(group) if group.len() < MAX_SOURCES_PER_ANCHOR => {
                    group.push(SourceCandidate { source, weight, message });
                }
                _ => left_out.push(message),
            }
        }
        for group in &mut groups {
            group.sort_by_key(|candidate| (core::cmp::Reverse(candidate.weight), candidate.message));
        }
        let automaton = || {
            AhoCorasickBuilder::new()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .prefilter(false)
                .build(anchors.iter().map(|anchor| anchor.as_bytes()))
        };
        // Building fails where the texts have more bytes than can be counted, which the bounds of a file rule out.
        let anchors = if anchors.is_empty() { None } else { automaton().ok() };
        (Self { exact, anchors, groups: groups.into_iter().map(Into::into).collect() }, left_out)
    }

    /// The message of a text, and what the variables of its source stand for.
    pub(super) fn find<'s, 't>(&'s self, text: &'t str) -> Option<SourceMatch<'s, 't>> {
        if let Some(message) = self.exact.get(text) {
            return Some(SourceMatch { message: *message, names: &[], values: Vec::new() });
        }
        let anchors = self.anchors.as_ref().filter(|_| text.len() <= MAX_MATCHED_BYTES)?;
        let mut best: Option<(&'s SourceCandidate, Vec<&'t str>)> = None;
        let mut seen = SeenAnchors::default();
        let mut compared = 0;
        for (count, found) in anchors.find_overlapping_iter(text).enumerate() {
            if count >= MAX_ANCHOR_HITS {
                return None;
            }
            let anchor = found.pattern().as_usize();
            if !seen.insert_new(anchor) {
                continue;
            }
            for candidate in self.groups.get(anchor)? {
                let rank =
                    |candidate: &SourceCandidate| (candidate.weight, core::cmp::Reverse(candidate.message));
                if best.as_ref().is_some_and(|(best, _)| rank(best) >= rank(candidate)) {
                    break;
                }
                compared += 1;
                if compared > MAX_COMPARISONS {
                    return None;
                }
                if let Some(values) = candidate.source.match_text(text) {
                    best = Some((candidate, values));
                    break;
                }
            }
        }
        let found = |(candidate, values): (&'s SourceCandidate, _)| SourceMatch {
            message: candidate.message,
            names: candidate.source.variable_names(),
            values,
        };
        best.map(found)
    }
}

/// How many sources have each fixed part.
fn anchor_counts(sources: &[(u32, SourcePattern)]) -> HashMap<Box<str>, u32> {
    let mut counts = HashMap::<Box<str>, u32>::new();
    for anchor in sources
        .iter()
        .filter(|(_, source)| source.exact_text().is_none())
        .flat_map(|(_, source)| source.anchors())
    {
        match counts.get_mut(anchor) {
            Some(count) => *count += 1,
            None => _ = counts.insert(anchor.into(), 1),
        }
    }
    counts
}

/// Which anchors were found before, a bit each.
#[derive(Default)]
struct SeenAnchors(Vec<u64>);

impl SeenAnchors {
    fn insert_new(&mut self, anchor: usize) -> bool {
        let (word, bit) = (anchor / 64, 1 << (anchor % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0.get_mut(word).is_some_and(|word| {
            let before = *word;
            *word |= bit;
            before != *word
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(sources: &[&str]) -> SourceMatcher {
        let read = |(number, source): (u32, &&str)| (number, SourcePattern::read(source).unwrap());
        let (matcher, left_out) = SourceMatcher::new((0..).zip(sources).map(read).collect());
        assert!(left_out.is_empty(), "{left_out:?}");
        matcher
    }

    #[track_caller]
    fn check(sources: &[&str], text: &str, expected: Option<(u32, &[&str])>) {
        let matcher = matcher(sources);
        let found = matcher.find(text);
        assert_eq!(found.as_ref().map(|found| (found.message, &*found.values)), expected, "{text}");
    }

    #[test]
    fn most_fixed_text_wins_then_the_first() {
        let sources = [
            "Error: {what}",
            "Error: {what} not found",
            "{what} not found",
            "Error: none",
            "{who} not found",
        ];
        check(&sources, "Error: disk", Some((0, &["disk"])));
        check(&sources, "Error: disk not found", Some((1, &["disk"])));
        check(&sources, "disk not found", Some((2, &["disk"])));
        check(&sources, "Error: none", Some((3, &[])));
        check(&sources, "All is well", None);
        check(&[], "All is well", None);
    }

    #[test]
    fn a_text_cannot_cost_more_than_a_multiple_of_its_length() {
        let long = "a".repeat(MAX_MATCHED_BYTES);
        // Every place of the text is the end of dozens of fixed parts.
        let nested: Vec<_> = (1..60).map(|length| format!("{{x}}{}{{y}}", "a".repeat(length))).collect();
        let nested = matcher(&nested.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(nested.find(&long).is_none());
        assert_eq!(nested.find("aaaaa").map(|found| found.message), Some(2));
        // One fixed part is that of thousands, and the other tells them apart.
        let alike: Vec<_> = (0..5_000).map(|number| format!("Error in line {{x}} of {number}")).collect();
        let alike = matcher(&alike.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(alike.find(&format!("Error in line {}", "a".repeat(16_000))).is_none());
        assert!(alike.find(&long).is_none());
        assert_eq!(alike.find("Error in line 7 of 4321").map(|found| found.message), Some(4321));
    }

    #[test]
    fn sources_that_are_too_much_alike_are_told() {
        // Each of both parts is that of many.
        let alike = |number: u32| format!("Error {} in {{x}} of {}", number % 20, number / 20);
        let read = |number| (number, SourcePattern::read(&alike(number)).unwrap());
        let (_, left_out) = SourceMatcher::new((0..400).map(read).collect());
        assert!(left_out.is_empty(), "{left_out:?}");
        let read = |number: u32| (number, SourcePattern::read(&format!("{{x}}: {{y{number}}} ")).unwrap());
        let (_, left_out) = SourceMatcher::new((0..200).map(read).collect());
        assert_eq!(left_out, (128..200).collect::<Vec<_>>());
    }
}

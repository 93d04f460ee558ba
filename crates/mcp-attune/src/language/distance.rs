//! How near one language is to another, by CLDR.
//!
//! 1. First by the tree of locales: fewer steps up to a common ancestor, then fewer steps down from it. Two languages
//!    that only meet in the root are farther apart than any that meet below it.
//! 2. Then by CLDR's language matching: what it costs a reader of the one to read the other, in language, script
//!    and region. At each level the first rule that fits counts.
//! 3. Then by how many subtags they share from the start, which tells variants and private use apart.
//!
//! Rules: L5, L6.

use core::cmp::Reverse;

use super::ancestry::{LocaleAncestry, has_foreign_parent};
use super::cldr;
use super::subtag::{LocaleNode, Subtag};

/// The distance up to which readers of one language also read another.
const MAX_READABLE_DISTANCE: u16 = 20;

/// The order of nearness; less is nearer.
pub(super) type Nearness = (bool, usize, usize, u16, Reverse<usize>);

/// How near `to` is for somebody who asked for `from`; `shared` is how many subtags they begin with alike.
pub(super) fn nearness(
    from: Option<&LocaleAncestry>,
    to: Option<&LocaleAncestry>,
    shared: usize,
) -> Nearness {
    let (Some(from), Some(to)) = (from, to) else {
        return (true, 0, 0, u16::MAX, Reverse(shared));
    };
    let (apart, up, down) = from.common_ancestor(to).map_or((true, 0, 0), |(up, down, _)| (false, up, down));
    (apart, up, down, distance(from.full, to.full), Reverse(shared))
}

/// Somebody who reads one language, and asks which others that makes readable.
#[derive(Debug)]
pub(super) struct LanguageReadability<'a> {
    place: &'a LocaleAncestry,
    neighbours: &'static [(Subtag, Subtag, u16)],
    inherits: bool,
}

/// Whether another language could be readable for readers of this one; quicker to tell than which.
pub(super) fn may_read_others(language: Subtag) -> bool {
    !neighbours(language).is_empty() || has_foreign_parent(language)
}

impl<'a> LanguageReadability<'a> {
    /// A reader of the language at `place`.
    pub(super) fn of(place: &'a LocaleAncestry) -> Self {
        let language = place.full.language;
        let inherits = place.chain().iter().any(|node| node.language != language);
        Self { place, neighbours: neighbours(language), inherits }
    }

    /// The distance to a language that this reader most likely also reads, or none where likely not.
    ///
    /// A language above in the tree counts too, since CLDR lets `hi-Latn` read `en-IN`; one below does not, since
    /// that says nothing about readers of English.
    pub(super) fn distance_to(&self, to: &LocaleAncestry) -> Option<u16> {
        let from = self.place.full;
        let language = distance_in_language(self.neighbours, from.language, to.full.language);
        let inherited = self.inherits && self.inherits_from(to);
        if language > MAX_READABLE_DISTANCE && !inherited {
            return None;
        }
        let distance = language + distance_in_script(from, to.full);
        (distance <= MAX_READABLE_DISTANCE || inherited).then_some(distance)
    }

    fn inherits_from(&self, to: &LocaleAncestry) -> bool {
        let kind = |node: &LocaleNode| (node.language, node.script);
        let meeting = self.place.common_ancestor(to);
        meeting.is_some_and(|(_, _, node)| to.chain().first().is_some_and(|here| kind(here) == kind(&node)))
    }
}

/// The part of the table about one language.
fn neighbours(language: Subtag) -> &'static [(Subtag, Subtag, u16)] {
    let table = cldr::LANGUAGE_DISTANCES;
    let start = table.partition_point(|(desired, _, _)| *desired < language);
    let rest = table.get(start..).unwrap_or_default();
    rest.get(..rest.partition_point(|(desired, _, _)| *desired == language)).unwrap_or_default()
}

fn distance(from: LocaleNode, to: LocaleNode) -> u16 {
    let language = distance_in_language(neighbours(from.language), from.language, to.language);
    language + distance_in_script(from, to) + distance_in_region(from, to)
}

fn distance_in_language(neighbours: &[(Subtag, Subtag, u16)], from: Subtag, to: Subtag) -> u16 {
    if from == to {
        return 0;
    }
    let found = neighbours.iter().find(|(_, supported, _)| *supported == to);
    found.map_or(cldr::LANGUAGE_DISTANCE, |(_, _, distance)| *distance)
}

fn distance_in_script(from: LocaleNode, to: LocaleNode) -> u16 {
    if from.script == to.script {
        return 0;
    }
    let key = (from.without_region(), to.without_region());
    let found = cldr::SCRIPT_DISTANCES.binary_search_by_key(&key, |(one, other, _)| (*one, *other));
    let entry = found.ok().and_then(|at| cldr::SCRIPT_DISTANCES.get(at));
    entry.map_or(cldr::SCRIPT_DISTANCE, |(_, _, distance)| *distance)
}

fn distance_in_region(from: LocaleNode, to: LocaleNode) -> u16 {
    if from.region == to.region {
        return 0;
    }
    let fits =
        |wanted: Subtag, one: Subtag, other: Subtag| wanted.is_none() || (wanted == one && wanted == other);
    let rule = cldr::REGION_RULES.iter().find(|rule| {
        fits(rule.language, from.language, to.language)
            && fits(rule.script, from.script, to.script)
            && ((rule.one.contains(from.region) && rule.other.contains(to.region))
                || (rule.one.contains(to.region) && rule.other.contains(from.region)))
    });
    rule.map_or(0, |rule| rule.distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(tag: &str) -> LocaleAncestry {
        let subtags: Vec<_> = tag.split('-').map(Subtag::new).collect();
        LocaleAncestry::of(&subtags).unwrap()
    }

    fn check(from: &str, expected: u16, to: &str) {
        assert_eq!(distance(place(from).full, place(to).full), expected, "{from} to {to}");
    }

    #[test]
    fn adds_the_levels_of_language_matching() {
        check("nn", 20, "nb");
        check("gsw", 8, "de");
        check("gsw-DE", 4, "de");
        check("ta", 44, "en");
        check("sr", 5, "sr-Latn");
        check("zh-TW", 54, "zh-CN");
        check("fr", 84, "de");
        check("de", 0, "de-DE");
    }

    #[test]
    fn reads_one_way_rules_one_way() {
        check("ca", 20, "es");
        check("es", 80, "ca");
        check("hi-Latn", 20, "hi");
        check("hi", 50, "hi-Latn");
    }

    #[test]
    fn knows_sets_of_regions() {
        check("es-UY", 4, "es-MX");
        check("es-UY", 4, "es-419");
        check("es-UY", 5, "es-ES");
        check("en-IN", 3, "en-GB");
        check("en-GB", 3, "en-IN");
        check("en-IN", 4, "en-AU");
        check("en-IN", 5, "en-US");
        check("en-CA", 4, "en-US");
        check("pt-AO", 4, "pt-PT");
        check("ar-MA", 4, "ar-DZ");
        check("ar-MA", 5, "ar-EG");
        check("zh-HK", 4, "zh-MO");
        check("zh-HK", 5, "zh-TW");
        check("zh-CN", 4, "zh-SG");
        check("fr-BE", 4, "fr-CA");
    }

    fn reads(from: &str, to: &str) -> Option<u16> {
        let from = place(from);
        LanguageReadability::of(&from).distance_to(&place(to))
    }

    #[test]
    fn lets_readers_read_up_the_tree_and_not_down() {
        assert!(reads("hi-Latn", "en-IN").is_some());
        assert!(reads("hi-Latn", "en-GB").is_some());
        assert!(reads("en-IN", "hi-Latn").is_none());
        assert!(reads("ht", "fr-CA").is_some());
        assert!(reads("fr", "ht").is_none());
        assert!(!LanguageReadability::of(&place("en-IN")).inherits_from(&place("hi-Latn")));
    }

    #[test]
    fn draws_the_line_at_twenty() {
        assert_eq!(reads("ca", "es-MX"), Some(20));
        assert_eq!(reads("sw", "en"), None);
        assert_eq!(reads("ms", "id"), None);
        assert_eq!(reads("ta", "en"), None);
        assert_eq!(reads("ug", "zh"), None);
        assert_eq!(reads("yue", "zh-TW"), Some(10));
        assert_eq!(reads("yue", "zh-CN"), None);
    }

    #[test]
    fn tells_quickly_who_reads_nothing_else() {
        for (language, expected) in
            [("nn", true), ("hi", true), ("ht", true), ("ja", false), ("en", false), ("th", false)]
        {
            assert_eq!(may_read_others(Subtag::new(language)), expected, "{language}");
        }
    }

    #[test]
    fn finds_every_distance_by_binary_search() {
        assert!(cldr::LANGUAGE_DISTANCES.is_sorted_by_key(|(one, other, _)| (*one, *other)));
        assert!(cldr::SCRIPT_DISTANCES.is_sorted_by_key(|(one, other, _)| (*one, *other)));
        for regions in [cldr::AMERICAS, cldr::CNSAR, cldr::ENUS, cldr::MAGHREB] {
            assert!(regions.is_sorted());
        }
    }
}

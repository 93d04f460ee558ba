//! Where a language stands in CLDR's tree of locales.
//!
//! 1. A node has no region where the region says nothing: `de-DE` is at `de`, `zh-TW` at `zh-Hant`. That is the
//!    region whose content CLDR keeps under the shorter name, as a rule the likely one.
//! 2. It has no script where the script is the likely one of the language: `zh-Hans-SG` is at `zh-SG`, while
//!    `sr-ME` is at `sr-Latn-ME`.
//! 3. Its parent is the one that CLDR lists (`es-UY` → `es-419`, `zh-Hant-MO` → `zh-Hant-HK`, `hi-Latn` → `en-IN`),
//!    else the same without the region. Above a language, or a script that is not its likely one, is the root,
//!    where everything meets and which therefore says nothing.
//!
//! Rules: L5, L6.

use super::alias::split_subtags;
use super::cldr;
use super::likely::maximize;
use super::subtag::{LocaleNode, Subtag};

/// Longer than any chain of parents in CLDR 48, whose longest has five nodes.
const MAX_CHAIN_NODES: usize = 8;

/// A place in the tree: the full form, and the nodes from here up to the root, the root left out.
#[derive(Clone, Debug)]
pub(super) struct LocaleAncestry {
    pub(super) full: LocaleNode,
    chain: [LocaleNode; MAX_CHAIN_NODES],
    length: usize,
}

impl LocaleAncestry {
    /// The place of a canonical form, or none where it names no language that CLDR could know.
    pub(super) fn of(canonical: &[Subtag]) -> Option<Self> {
        let (written, _) = split_subtags(canonical);
        if written.language.is_singleton() || written.language == Subtag::new("und") {
            return None;
        }
        let full = maximize(written);
        let mut place = Self { full, chain: [LocaleNode::default(); MAX_CHAIN_NODES], length: 0 };
        let mut next = Some(shortest(full));
        for slot in &mut place.chain {
            let Some(node) = next else { break };
            *slot = node;
            place.length += 1;
            next = parent(node);
        }
        Some(place)
    }

    /// The nodes from this place up, the root left out.
    pub(super) fn chain(&self) -> &[LocaleNode] {
        self.chain.get(..self.length).unwrap_or_default()
    }

    /// The first node from here up that is also above the other: steps up to it, steps down from it, and the node.
    pub(super) fn common_ancestor(&self, other: &Self) -> Option<(usize, usize, LocaleNode)> {
        self.chain().iter().enumerate().find_map(|(up, node)| {
            let down = other.chain().iter().position(|above| above == node)?;
            Some((up, down, *node))
        })
    }
}

/// A full form without what goes without saying.
fn shortest(full: LocaleNode) -> LocaleNode {
    let likely = maximize(LocaleNode { language: full.language, ..LocaleNode::default() });
    let script = if full.script == likely.script { Subtag::NONE } else { full.script };
    let node = LocaleNode { script, ..full };
    let short = node.without_region();
    let default = cldr::DEFAULT_REGIONS.iter().find(|(key, _)| *key == short).map(|(_, region)| *region);
    let default = default.unwrap_or_else(|| {
        if script.is_none() { likely.region } else { maximize(full.without_region()).region }
    });
    if full.region == default { short } else { node }
}

fn parent(node: LocaleNode) -> Option<LocaleNode> {
    if let Ok(at) = cldr::PARENTS.binary_search_by_key(&node, |(child, _)| *child) {
        return cldr::PARENTS.get(at).map(|(_, parent)| *parent);
    }
    (!node.region.is_none()).then(|| node.without_region())
}

/// Whether CLDR puts any form of a language below another language, as it does `hi-Latn` below `en-IN`.
pub(super) fn has_foreign_parent(language: Subtag) -> bool {
    let start = cldr::PARENTS.partition_point(|(child, _)| child.language < language);
    let mut own = cldr::PARENTS.iter().skip(start).take_while(|(child, _)| child.language == language);
    own.any(|(_, parent)| parent.language != language)
}

#[cfg(test)]
mod tests {
    use super::super::subtag::n;
    use super::*;

    fn check(tag: &str, chain: &[LocaleNode]) {
        let subtags: Vec<_> = tag.split('-').map(Subtag::new).collect();
        let place = LocaleAncestry::of(&subtags);
        assert_eq!(place.as_ref().map_or(&[][..], LocaleAncestry::chain), chain, "{tag}");
    }

    #[test]
    fn leaves_out_what_goes_without_saying() {
        check("de-DE", &[n("de", "", "")]);
        check("de-Latn-DE", &[n("de", "", "")]);
        check("zh-TW", &[n("zh", "hant", "")]);
        check("zh-Hans-SG", &[n("zh", "", "sg"), n("zh", "", "")]);
        check("sr-ME", &[n("sr", "latn", "me"), n("sr", "latn", "")]);
        check("sr-Cyrl-ME", &[n("sr", "", "me"), n("sr", "", "")]);
    }

    #[test]
    fn keeps_egypt_apart_from_modern_standard_arabic() {
        check("ar-EG", &[n("ar", "", "eg"), n("ar", "", "")]);
        check("ar-001", &[n("ar", "", "")]);
    }

    #[test]
    fn follows_the_parents_that_cldr_lists() {
        check("es-UY", &[n("es", "", "uy"), n("es", "", "419"), n("es", "", "")]);
        check("pt-AO", &[n("pt", "", "ao"), n("pt", "", "pt"), n("pt", "", "")]);
        check("zh-MO", &[n("zh", "hant", "mo"), n("zh", "hant", "hk"), n("zh", "hant", "")]);
        check("en-AT", &[n("en", "", "at"), n("en", "", "150"), n("en", "", "001"), n("en", "", "")]);
        check(
            "hi-Latn-US",
            &[
                n("hi", "latn", "us"),
                n("hi", "latn", ""),
                n("en", "", "in"),
                n("en", "", "001"),
                n("en", "", ""),
            ],
        );
        check("ht", &[n("ht", "", ""), n("fr", "", "ht"), n("fr", "", "")]);
    }

    #[test]
    fn has_no_place_for_what_names_no_language() {
        for tag in ["x-private", "i", "und", "und-TW"] {
            check(tag, &[]);
        }
    }

    #[test]
    fn every_chain_that_cldr_lists_ends_before_the_room_does() {
        for (child, _) in cldr::PARENTS {
            let mut node = *child;
            let mut length = 2;
            while let Some(above) = parent(node) {
                node = above;
                length += 1;
                assert!(length < MAX_CHAIN_NODES, "{child:?}");
            }
        }
        assert!(cldr::PARENTS.is_sorted_by_key(|(child, _)| *child));
    }
}

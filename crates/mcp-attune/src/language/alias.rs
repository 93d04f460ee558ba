//! The one name of a language that goes by several: CLDR's aliases and the extended languages of BCP 47.
//!
//! 1. Several subtags that name one language together become that language: `i-klingon` is `tlh`,
//!    `zh-min-nan` is `nan`, `sgn-BE-FR` is `sfb`. The longest that fits is taken.
//! 2. An extended language stands for itself: `zh-yue` is `yue`, `ar-arz` is `arz`.
//! 3. One subtag that is an old, another or a longer name gives way: `iw` is `he`, `deu` is `de`, `no` is `nb`. A
//!    script or region that comes with it (`sh` is `sr-Latn`) gives way to one that is written out.
//! 4. So do old scripts, regions and variants: `DD` is `DE`, `UK` is `GB`, `840` is `US`. Of the regions that a
//!    region split into, the likely one for the language is taken, else the first.
//!
//! Nothing behind a singleton is touched.
//!
//! Rules: L4.

use super::cldr;
use super::likely::maximize;
use super::subtag::{LocaleNode, Subtag, s};

/// The languages that have extended languages in the registry of BCP 47.
static EXTENDED: &[Subtag] = &[s("ar"), s("kok"), s("lv"), s("ms"), s("sgn"), s("sw"), s("uz"), s("zh")];

/// Writes the canonical form behind `out` and says so, or leaves `out` alone where the form given is canonical.
pub(super) fn canonicalize(subtags: &[Subtag], out: &mut Vec<Subtag>) -> bool {
    let start = out.len();
    match subtags {
        [] => return false,
        [_] => rename(subtags, out),
        [first, second, ..] => {
            if let Some((new, rest)) = alias_of_prefix(*first, subtags) {
                rename(&[new, rest].concat(), out);
            } else if second.len() == 3 && second.is_alphabetic() && EXTENDED.contains(first) {
                rename(subtags.get(1..).unwrap_or_default(), out);
            } else {
                rename(subtags, out);
            }
        }
    }
    let differs = out.get(start..) != Some(subtags);
    if !differs {
        out.truncate(start);
    }
    differs
}

/// The canonical form of a tag as text, for readers that know only canonical names: `iw` is `he`.
#[must_use]
pub fn canonical_tag(tag: &str) -> String {
    let raw: Vec<_> = tag.split('-').map(Subtag::new).collect();
    let mut renamed = Vec::new();
    let subtags = if canonicalize(&raw, &mut renamed) { renamed } else { raw };
    subtags.iter().map(|subtag| format!("{subtag:?}")).collect::<Vec<_>>().join("-")
}

/// The language that the first subtags name together, and the subtags behind them.
fn alias_of_prefix(first: Subtag, subtags: &[Subtag]) -> Option<(&'static [Subtag], &[Subtag])> {
    let start = cldr::PREFIX_ALIASES.partition_point(|(old, _)| old.first() < Some(&first));
    let mut rules =
        cldr::PREFIX_ALIASES.iter().skip(start).take_while(|(old, _)| old.first() == Some(&first));
    rules.find_map(|(old, new)| Some((*new, subtags.strip_prefix(*old)?)))
}

/// A language, script and region as they are written, and the subtags behind them.
pub(super) fn split_subtags(subtags: &[Subtag]) -> (LocaleNode, &[Subtag]) {
    let mut node = LocaleNode::default();
    let mut rest = subtags;
    if let Some((&language, after)) = rest.split_first() {
        (node.language, rest) = (language, after);
    }
    if let Some((&script, after)) = rest.split_first()
        && script.len() == 4
        && script.is_alphabetic()
    {
        (node.script, rest) = (script, after);
    }
    if let Some((&region, after)) = rest.split_first()
        && ((region.len() == 2 && region.is_alphabetic()) || (region.len() == 3 && region.is_numeric()))
    {
        (node.region, rest) = (region, after);
    }
    (node, rest)
}

/// Writes the subtags with every old name replaced.
fn rename(subtags: &[Subtag], out: &mut Vec<Subtag>) {
    let (written, rest) = split_subtags(subtags);
    if written.language.is_singleton() {
        out.extend_from_slice(subtags);
        return;
    }
    let found = cldr::LANGUAGE_ALIASES.binary_search_by_key(&written.language, |(old, _)| *old);
    let named = found.ok().and_then(|at| cldr::LANGUAGE_ALIASES.get(at)).map(|(_, new)| *new);
    let language = named.map_or(written.language, |new| new.language);
    let script = replace(cldr::SCRIPT_ALIASES, written.script).or(named.unwrap_or_default().script);
    let region = current_region(LocaleNode { language, script, region: written.region });
    let region = region.or(named.unwrap_or_default().region);
    out.extend([language, script, region].into_iter().filter(|subtag| !subtag.is_none()));
    let mut variants = true;
    for &subtag in rest {
        variants &= !subtag.is_singleton();
        out.push(if variants { replace(cldr::VARIANT_ALIASES, subtag) } else { subtag });
    }
}

fn replace(aliases: &[(Subtag, Subtag)], subtag: Subtag) -> Subtag {
    aliases.iter().find(|(old, _)| *old == subtag).map_or(subtag, |(_, new)| *new)
}

fn current_region(node: LocaleNode) -> Subtag {
    let found = cldr::REGION_ALIASES.binary_search_by_key(&node.region, |(old, _)| *old);
    match found.ok().and_then(|at| cldr::REGION_ALIASES.get(at)) {
        None => node.region,
        Some((_, [only])) => *only,
        Some((_, several)) => {
            let likely = maximize(node.without_region()).region;
            several.iter().find(|new| **new == likely).or(several.first()).copied().unwrap_or(node.region)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tag: &str, expected: Option<&str>) {
        let subtags: Vec<_> = tag.split('-').map(Subtag::new).collect();
        let mut out = Vec::new();
        let differs = canonicalize(&subtags, &mut out);
        let text = out.iter().map(|subtag| format!("{subtag:?}")).collect::<Vec<_>>().join("-");
        assert_eq!(differs.then_some(text.as_str()), expected, "{tag}");
        assert_eq!(out.is_empty(), !differs, "{tag}");
    }

    #[test]
    fn renames_old_other_and_longer_names_of_languages() {
        check("iw", Some("he"));
        check("iw-IL", Some("he-il"));
        check("tl", Some("fil"));
        check("deu-CH", Some("de-ch"));
        check("mo", Some("ro"));
        check("cmn-Hant", Some("zh-hant"));
        check("arb", Some("ar"));
    }

    #[test]
    fn knows_norwegian_as_bokmal() {
        check("no", Some("nb"));
        check("nor-NO", Some("nb-no"));
        check("no-bokmal", Some("nb"));
        check("no-nynorsk", Some("nn"));
        check("nb", None);
    }

    #[test]
    fn lets_a_written_script_or_region_win_over_the_one_in_the_name() {
        check("sh", Some("sr-latn"));
        check("sh-BA", Some("sr-latn-ba"));
        check("sh-Cyrl", Some("sr-cyrl"));
        check("cnr", Some("sr-me"));
        check("cnr-RS", Some("sr-rs"));
        check("prs", Some("fa-af"));
    }

    #[test]
    fn reads_grandfathered_and_irregular_tags() {
        check("i-klingon", Some("tlh"));
        check("I-LUX", Some("lb"));
        check("art-lojban", Some("jbo"));
        check("zh-min-nan", Some("nan"));
        check("zh-min-nan-TW", Some("nan-tw"));
        check("sgn-BE-FR", Some("sfb"));
        check("en-GB-oed", Some("en-gb-oxendict"));
        check("i-default", Some("en-x-i-default"));
    }

    #[test]
    fn reads_extended_languages() {
        check("zh-yue", Some("yue"));
        check("zh-yue-HK", Some("yue-hk"));
        check("zh-cmn-Hans", Some("zh-hans"));
        check("zh-cmn-Hans-CN", Some("zh-hans-cn"));
        check("ar-arz", Some("arz"));
        check("sgn-ase-US", Some("ase-us"));
    }

    #[test]
    fn takes_no_other_three_letters_for_an_extended_language() {
        check("en-usa", None);
        check("de-deu", None);
    }

    #[test]
    fn renames_regions_scripts_and_variants() {
        check("de-DD", Some("de-de"));
        check("my-BU", Some("my-mm"));
        check("en-UK", Some("en-gb"));
        check("en-840", Some("en-us"));
        check("ja-Latn-hepburn-heploc", Some("ja-latn-hepburn-alalc97"));
        check("el-polytoni", Some("el-polyton"));
    }

    #[test]
    fn takes_the_likely_region_of_those_that_one_split_into() {
        check("hy-SU", Some("hy-am"));
        check("ru-SU", Some("ru-ru"));
        check("sr-YU", Some("sr-rs"));
        check("de-SU", Some("de-ru"));
    }

    #[test]
    fn touches_nothing_behind_a_singleton() {
        check("x-uk", None);
        check("x-iw", None);
        check("en-x-uk-heploc", None);
        check("en-a-polytoni", None);
        check("en-UK-x-uk", Some("en-gb-x-uk"));
    }

    #[test]
    fn leaves_current_names_alone() {
        for tag in ["en", "de-CH", "zh-Hant-TW", "sr-Latn-ME", "es-419", "de-CH-1996", "qqq-QQ"] {
            check(tag, None);
        }
    }

    #[test]
    fn finds_every_alias_by_binary_search() {
        assert!(cldr::LANGUAGE_ALIASES.is_sorted_by_key(|(old, _)| *old));
        assert!(cldr::REGION_ALIASES.is_sorted_by_key(|(old, _)| *old));
        assert!(
            cldr::PREFIX_ALIASES.is_sorted_by_key(|(old, _)| (old.first(), std::cmp::Reverse(old.len())))
        );
        assert!(cldr::LANGUAGE_ALIASES.len() > 400 && cldr::REGION_ALIASES.len() > 300);
    }
}

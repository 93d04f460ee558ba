//! A language as it is written and, where that differs, as its one canonical name; and how ranges relate to tags.

use super::subtag::Subtag;

/// The subtags of a range or tag, in both forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubtagForms<'a> {
    pub(super) raw: &'a [Subtag],
    pub(super) renamed: Option<&'a [Subtag]>,
}

/// What a range is to a tag, the closest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RangeRelation {
    /// Nothing.
    Apart,
    /// The range covers it once it is shortened.
    Reaches,
    /// The tag begins with the range, which has so many subtags.
    Covers(usize),
    /// Range and tag are the same language.
    Exact,
}

impl<'a> SubtagForms<'a> {
    /// The canonical form, which often is the written one.
    pub(super) fn canonical(self) -> &'a [Subtag] {
        self.renamed.unwrap_or(self.raw)
    }

    /// What this range is to a tag, in the form in which it is closest.
    pub(super) fn relation(self, tag: SubtagForms<'_>) -> RangeRelation {
        let raw = relation(self.raw, tag.raw);
        if self.renamed.is_none() && tag.renamed.is_none() {
            return raw;
        }
        raw.max(relation(self.canonical(), tag.canonical()))
    }

    /// The first subtag of each form; forms that have something to do with each other have one in common.
    pub(super) fn first_subtags(self) -> impl Iterator<Item = Subtag> {
        self.raw.first().into_iter().chain(self.renamed.and_then(<[Subtag]>::first)).copied()
    }

    /// How many subtags both begin with, in the form in which it is more.
    pub(super) fn shared_subtags(self, tag: SubtagForms<'_>) -> usize {
        shared(self.raw, tag.raw).max(shared(self.canonical(), tag.canonical()))
    }
}

fn relation(range: &[Subtag], tag: &[Subtag]) -> RangeRelation {
    let shared = shared(range, tag);
    if shared == 0 {
        RangeRelation::Apart
    } else if shared == range.len() {
        if shared == tag.len() { RangeRelation::Exact } else { RangeRelation::Covers(shared) }
    } else if shortest(range).is_some_and(|shortest| shared >= shortest) {
        RangeRelation::Reaches
    } else {
        RangeRelation::Apart
    }
}

fn shared(one: &[Subtag], other: &[Subtag]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// How many subtags the last shortening leaves: RFC 4647 lookup drops a single character with the subtag behind it, so
/// the shortest form ends at the first subtag that is longer. It covers whatever a longer form covers.
fn shortest(range: &[Subtag]) -> Option<usize> {
    range.iter().position(|subtag| !subtag.is_singleton()).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: &str, tag: &str, expected: RangeRelation) {
        let split = |text: &str| text.split('-').map(Subtag::new).collect::<Vec<_>>();
        let (one, other) = (split(range), split(tag));
        let form = |raw| SubtagForms { raw, renamed: None };
        assert_eq!(form(&one).relation(form(&other)), expected, "{range} to {tag}");
    }

    #[test]
    fn covers_what_begins_with_it_subtag_by_subtag() {
        check("de-de", "de-DE-1996", RangeRelation::Covers(2));
        check("de-de", "de-DE", RangeRelation::Exact);
        check("de", "deu", RangeRelation::Apart);
        check("de-d", "de-DE", RangeRelation::Reaches);
    }

    #[test]
    fn reaches_by_shortening() {
        check("zh-Hant-CN-x-private1-private2", "zh-Hant-CN-x-private1", RangeRelation::Reaches);
        check("zh-Hant-CN-x-private1-private2", "zh", RangeRelation::Reaches);
        check("de-CH", "de-AT", RangeRelation::Reaches);
    }

    #[test]
    fn never_shortens_to_a_single_character() {
        check("x-one", "x-two", RangeRelation::Apart);
        check("i-one", "i-lux", RangeRelation::Apart);
        check("x-1-one", "x-1", RangeRelation::Apart);
        check("x-one-two", "x-one", RangeRelation::Reaches);
        check("x", "x-one", RangeRelation::Covers(1));
    }

    #[test]
    fn compares_canonical_forms_too() {
        let (iw, he) = ([Subtag::new("iw")], [Subtag::new("he")]);
        let old = SubtagForms { raw: &iw, renamed: Some(&he) };
        let new = SubtagForms { raw: &he, renamed: None };
        assert_eq!(old.relation(new), RangeRelation::Exact);
        assert_eq!(new.relation(old), RangeRelation::Exact);
        assert_eq!(new.shared_subtags(old), 1);
    }
}

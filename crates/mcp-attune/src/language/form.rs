//! A language as it is written and, where that differs, as its one canonical name; and how ranges relate to tags.

use super::subtag::Subtag;

/// The subtags of a range or tag, in both forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form<'a> {
    pub(super) raw: &'a [Subtag],
    pub(super) renamed: Option<&'a [Subtag]>,
}

/// What a range is to a tag, the closest last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Relation {
    /// Nothing.
    Apart,
    /// The range covers it once it is shortened.
    Reaches,
    /// The tag begins with the range, which has so many subtags.
    Covers(usize),
    /// Range and tag are the same language.
    Exact,
}

impl<'a> Form<'a> {
    /// The canonical form, which often is the written one.
    pub(super) fn canonical(self) -> &'a [Subtag] {
        self.renamed.unwrap_or(self.raw)
    }

    /// What this range is to a tag, in the form in which it is closest.
    pub(super) fn relation(self, tag: Form<'_>) -> Relation {
        let raw = relation(self.raw, tag.raw);
        if self.renamed.is_none() && tag.renamed.is_none() {
            return raw;
        }
        raw.max(relation(self.canonical(), tag.canonical()))
    }

    /// The first subtag of each form; forms that have something to do with each other have one in common.
    pub(super) fn heads(self) -> impl Iterator<Item = Subtag> {
        self.raw.first().into_iter().chain(self.renamed.and_then(<[Subtag]>::first)).copied()
    }

    /// How many subtags both begin with, in the form in which it is more.
    pub(super) fn shared(self, tag: Form<'_>) -> usize {
        shared(self.raw, tag.raw).max(shared(self.canonical(), tag.canonical()))
    }
}

fn relation(range: &[Subtag], tag: &[Subtag]) -> Relation {
    let shared = shared(range, tag);
    if shared == 0 {
        Relation::Apart
    } else if shared == range.len() {
        if shared == tag.len() { Relation::Exact } else { Relation::Covers(shared) }
    } else if shortest(range).is_some_and(|shortest| shared >= shortest) {
        Relation::Reaches
    } else {
        Relation::Apart
    }
}

fn shared(one: &[Subtag], other: &[Subtag]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// How many subtags the last shortening leaves: RFC 4647 lookup drops a single character with the subtag behind it, so
/// the shortest form ends at the first subtag that is longer. It covers whatever a longer form covers.
fn shortest(range: &[Subtag]) -> Option<usize> {
    range.iter().position(|subtag| !subtag.is_single()).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: &str, tag: &str, expected: Relation) {
        let split = |text: &str| text.split('-').map(Subtag::new).collect::<Vec<_>>();
        let (one, other) = (split(range), split(tag));
        let form = |raw| Form { raw, renamed: None };
        assert_eq!(form(&one).relation(form(&other)), expected, "{range} to {tag}");
    }

    #[test]
    fn covers_what_begins_with_it_subtag_by_subtag() {
        check("de-de", "de-DE-1996", Relation::Covers(2));
        check("de-de", "de-DE", Relation::Exact);
        check("de", "deu", Relation::Apart);
        check("de-d", "de-DE", Relation::Reaches);
    }

    #[test]
    fn reaches_by_shortening() {
        check("zh-Hant-CN-x-private1-private2", "zh-Hant-CN-x-private1", Relation::Reaches);
        check("zh-Hant-CN-x-private1-private2", "zh", Relation::Reaches);
        check("de-CH", "de-AT", Relation::Reaches);
    }

    #[test]
    fn never_shortens_to_a_single_character() {
        check("x-one", "x-two", Relation::Apart);
        check("i-one", "i-lux", Relation::Apart);
        check("x-1-one", "x-1", Relation::Apart);
        check("x-one-two", "x-one", Relation::Reaches);
        check("x", "x-one", Relation::Covers(1));
    }

    #[test]
    fn compares_canonical_forms_too() {
        let (iw, he) = ([Subtag::new("iw")], [Subtag::new("he")]);
        let old = Form { raw: &iw, renamed: Some(&he) };
        let new = Form { raw: &he, renamed: None };
        assert_eq!(old.relation(new), Relation::Exact);
        assert_eq!(new.relation(old), Relation::Exact);
        assert_eq!(new.shared(old), 1);
    }
}

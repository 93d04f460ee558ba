//! Subtags packed into one word each, so that comparing languages is comparing numbers.
//!
//! A subtag has at most eight ASCII characters. They are lowercased and stand in a `u64`, the first character in
//! the highest byte, so that the order of the numbers is the order of the texts.

use core::fmt;

/// One lowercased subtag of at most eight ASCII characters; zero is none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Subtag(u64);

/// A subtag, for tables.
pub(super) const fn s(text: &str) -> Subtag {
    Subtag::new(text)
}

impl Subtag {
    pub(super) const NONE: Self = Self(0);

    /// Packs a text; characters after the eighth don't count.
    pub(super) const fn new(text: &str) -> Self {
        let mut rest = text.as_bytes();
        let mut packed = 0;
        let mut place = 0;
        while let Some((byte, after)) = rest.split_first()
            && place < 8
        {
            packed |= (byte.to_ascii_lowercase() as u64) << (56 - 8 * place);
            rest = after;
            place += 1;
        }
        Self(packed)
    }

    pub(super) const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// This one, or the other where this one is none.
    pub(super) const fn or(self, other: Self) -> Self {
        if self.is_none() { other } else { self }
    }

    /// Whether it is a single character: the start of an extension or of private use.
    pub(super) const fn is_singleton(self) -> bool {
        self.0 << 8 == 0
    }

    pub(super) const fn len(self) -> usize {
        8 - self.0.trailing_zeros() as usize / 8
    }

    pub(super) fn is_alphabetic(self) -> bool {
        self.bytes().all(|byte| byte.is_ascii_alphabetic())
    }

    pub(super) fn is_numeric(self) -> bool {
        self.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Its characters in lower case, then zeros.
    pub(super) const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    fn bytes(self) -> impl Iterator<Item = u8> {
        self.to_bytes().into_iter().take_while(|byte| *byte != 0)
    }
}

impl fmt::Debug for Subtag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().try_for_each(|byte| write!(f, "{}", char::from(byte)))
    }
}

/// A language, its script and its region, where the last two may be missing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub(super) struct LocaleNode {
    pub(super) language: Subtag,
    pub(super) script: Subtag,
    pub(super) region: Subtag,
}

/// A node, for tables.
pub(super) const fn n(language: &str, script: &str, region: &str) -> LocaleNode {
    LocaleNode { language: s(language), script: s(script), region: s(region) }
}

impl LocaleNode {
    /// The same without its region.
    pub(super) const fn without_region(self) -> Self {
        Self { region: Subtag::NONE, ..self }
    }
}

/// A set of regions: those listed, or all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions {
    listed: &'static [Subtag],
    inside: bool,
}

impl Regions {
    pub(super) const fn inside(listed: &'static [Subtag]) -> Self {
        Self { listed, inside: true }
    }

    pub(super) const fn outside(listed: &'static [Subtag]) -> Self {
        Self { listed, inside: false }
    }

    pub(super) fn contains(self, region: Subtag) -> bool {
        self.listed.binary_search(&region).is_ok() == self.inside
    }
}

/// What it costs to read another region's form of a language, both ways; a language or script of none is any.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionRule {
    pub(super) language: Subtag,
    pub(super) script: Subtag,
    pub(super) one: Regions,
    pub(super) other: Regions,
    pub(super) distance: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_without_case_and_in_order() {
        assert_eq!(s("HANT"), s("hant"));
        assert!(s("de") < s("deu") && s("deu") < s("en") && s("419") < s("gb"));
        assert_eq!(format!("{:?}", s("Oxendict")), "oxendict");
    }

    #[test]
    fn measures_subtags() {
        assert_eq!([s(""), s("x"), s("de"), s("oxendict")].map(Subtag::len), [0, 1, 2, 8]);
        assert!(s("x").is_singleton() && !s("de").is_singleton());
        assert!(s("419").is_numeric() && !s("41a").is_numeric() && !s("41a").is_alphabetic());
    }

    #[test]
    fn knows_a_set_of_regions_and_its_complement() {
        static ISLANDS: &[Subtag] = &[s("fj"), s("mt")];
        assert!(Regions::inside(ISLANDS).contains(s("MT")) && !Regions::inside(ISLANDS).contains(s("ch")));
        assert!(Regions::outside(ISLANDS).contains(s("ch")) && !Regions::outside(ISLANDS).contains(s("mt")));
    }
}

//! Numbers that follow from a seed, and tokens.

/// A generator of the kind splitmix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True so many times in a thousand.
    pub(super) fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

const PREFIX: &str = "tok-";
const DIGITS: usize = 16;

/// A token of a call, in words that occur nowhere else.
pub(super) fn token(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// All tokens in what came.
pub(super) fn tokens(came: &[u8]) -> impl Iterator<Item = &[u8]> {
    let length = PREFIX.len() + DIGITS;
    came.windows(length).filter(|window| {
        window.starts_with(PREFIX.as_bytes()) && window[PREFIX.len()..].iter().all(u8::is_ascii_hexdigit)
    })
}

/// The number of a token.
pub(super) fn number(token: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(token.get(PREFIX.len()..)?).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_among_other_bytes() {
        let text = format!("\u{ff}{}\", tok-xyz {}", token(7), token(u64::MAX));
        let numbers: Vec<_> = tokens(text.as_bytes()).map(number).collect();
        assert_eq!(numbers, [Some(7), Some(u64::MAX)]);
    }

    #[test]
    fn a_seed_gives_the_same_numbers_every_time() {
        let numbers = |seed| [(); 4].map(|()| seed).map(|seed| Random::new(seed).next());
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }
}

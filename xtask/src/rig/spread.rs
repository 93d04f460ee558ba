//! Several measurements of one thing: the middle, and how far they lie apart.

use std::fmt;

/// Measurements in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spread(Vec<f64>);

impl Spread {
    pub(crate) fn of(measurements: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = measurements.into_iter().filter(|one| one.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Self(sorted)
    }

    /// The measurement that this part of all lies below, from 0 to 1.
    pub(crate) fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let index = (part * last as f64).round() as usize;
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }
}

/// `1.02 (0.97–1.10)`: the median, and the middle half.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median(), self.at(0.25), self.at(0.75))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_middle_and_the_middle_half() {
        let spread = Spread::of([5.0, 1.0, 4.0, f64::NAN, 2.0, 3.0]);
        assert_eq!(spread.median(), 3.0);
        assert_eq!(spread.to_string(), "3.00 (2.00–4.00)");
        assert!(Spread::of([]).median().is_nan());
    }
}

//! Which rules there are.

/// The families of rules: letter, number of rules, subject. Their order is the order of every listing.
pub(crate) const FAMILIES: [(char, u32, &str); 8] = [
    ('L', 23, "Language"),
    ('H', 20, "Headers agree with the body"),
    ('F', 17, "Content negotiation"),
    ('C', 17, "The caller's context"),
    ('B', 8, "Bundles"),
    ('G', 17, "The gateway"),
    ('A', 7, "Assumed callers"),
    ('X', 8, "The bridge between the eras"),
];

/// Every id, in the order of listings.
pub(crate) fn all() -> impl Iterator<Item = String> {
    FAMILIES.into_iter().flat_map(|(letter, count, _)| (1..=count).map(move |n| format!("{letter}{n}")))
}

/// All ids in a few words, for hints.
pub(crate) fn ranges() -> String {
    FAMILIES.map(|(letter, count, _)| format!("{letter}1–{letter}{count}")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_run_in_order_without_gaps() {
        let ids: Vec<String> = all().collect();
        assert_eq!(ids.len(), 117);
        assert_eq!(ids[..2], ["L1", "L2"]);
        assert_eq!(ids[22..24], ["L23", "H1"]);
        assert_eq!(ids.last().map(String::as_str), Some("X8"));
        assert_eq!(ranges(), "L1–L23, H1–H20, F1–F17, C1–C17, B1–B8, G1–G17, A1–A7, X1–X8");
    }
}

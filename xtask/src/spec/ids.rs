//! Which rules there are.

/// The families of rules: letter, number of rules, subject. Their order is the order of every listing.
pub(crate) const FAMILIES: [(char, u32, &str); 6] = [
    ('L', 21, "Language"),
    ('H', 20, "Headers agree with the body"),
    ('F', 17, "Content negotiation"),
    ('C', 11, "The caller's context"),
    ('B', 8, "Bundles"),
    ('G', 12, "The gateway"),
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
        assert_eq!(ids.len(), 89);
        assert_eq!(ids[..2], ["L1", "L2"]);
        assert_eq!(ids[20..22], ["L21", "H1"]);
        assert_eq!(ids.last().map(String::as_str), Some("G12"));
        assert_eq!(ranges(), "L1–L21, H1–H20, F1–F17, C1–C11, B1–B8, G1–G12");
    }
}

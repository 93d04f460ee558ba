//! What somebody meant who wrote a name that is not there.

/// A name that a server wrote, as it may be told: escaped, and no longer than a line can bear.
pub(crate) fn shown(name: &str) -> String {
    crate::quoted::shortened(name, 64)
}

/// The name that somebody meant who wrote this one.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // Longer names are no typing errors of each other, and comparing them costs.
    const LONGEST: usize = 64;
    let length = name.chars().count();
    if length > LONGEST {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let wanted = plain(name);
    let near = names
        .filter(|other| other.len() <= LONGEST * 4)
        .map(|other| (strsim::damerau_levenshtein(&wanted, &plain(other)), other))
        .filter(|(far, _)| *far <= length.div_ceil(3).min(3));
    near.min_by_key(|(far, _)| *far).map(|(_, other)| shown(other))
}

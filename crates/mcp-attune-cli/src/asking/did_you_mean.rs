//! What somebody meant who wrote a name that is not there.

use crate::text::quoted;

/// How many names are listed.
const MAX_SUGGESTED_NAMES: usize = 20;

/// A hint for a name that is not there: the one that was probably meant, else all there are.
pub(crate) fn hint(name: &str, names: &[String]) -> String {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let near = names.iter().filter(|other| other.len() <= 256 && name.len() <= 256);
    let near = near.map(|other| (strsim::damerau_levenshtein(&plain(name), &plain(other)), other));
    match near.min().filter(|(far, _)| *far <= name.chars().count().div_ceil(3).min(3)) {
        Some((_, meant)) => format!("did you mean `{}`?", quoted(meant)),
        None if names.is_empty() => "there are none".to_owned(),
        None => {
            let listed: Vec<_> = names.iter().take(MAX_SUGGESTED_NAMES).map(|name| quoted(name)).collect();
            let more = names.len().saturating_sub(MAX_SUGGESTED_NAMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("there are {}{more}", listed.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_was_meant_or_what_there_is() {
        let names = ["get_weather".to_owned(), "find_connections".to_owned()];
        assert_eq!(hint("get-wether", &names), "did you mean `get_weather`?");
        assert_eq!(hint("x", &names), "there are get_weather, find_connections");
        assert_eq!(hint("x", &[]), "there are none");
        let many: Vec<_> = (0..25).map(|number| format!("a_tool_with_number_{number}")).collect();
        assert!(hint("x", &many).ends_with("number_19 and 5 more"));
    }
}

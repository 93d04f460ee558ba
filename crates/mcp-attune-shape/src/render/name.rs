//! Labels for fields that nobody gave a title: their names, made readable.
//!
//! 1. `departure_time`, `departure-time` and `departureTime` are `Departure time`; `user_id` is
//!    `User ID`.
//! 2. What is no such name stays as it is: names with blanks were written for people, and paths,
//!    addresses, dates and hexadecimal ids are data that stand in the place of a name.
//! 3. A title that says no more than the name (`Departure Time`), as libraries make them, counts as
//!    none.

/// Words that are written in capitals, in small letters here.
const ACRONYMS: [&str; 64] = [
    "ai", "api", "arn", "asn", "aws", "bic", "cidr", "cli", "cpu", "crs", "css", "csv", "cve", "cvss", "db",
    "dns", "dst", "ean", "etag", "eta", "etd", "faq", "gpu", "gps", "gtin", "guid", "html", "http", "https",
    "iata", "iban", "icao", "id", "ip", "iso", "json", "llm", "mcp", "md5", "mime", "os", "pdf", "pid",
    "pin", "pr", "ram", "sha", "sha256", "sku", "sql", "ssl", "svg", "tls", "ttl", "uid", "ui", "uri", "url",
    "urn", "utc", "uuid", "vat", "vpn", "xml",
];

/// Splits the name of a field into its words, at `_`, `-` and where capitals begin a word.
///
/// Returns no words for names that are not made of words and stay as they are: those with characters
/// other than ASCII letters, digits, `_` and `-`, those that do not begin with a letter behind their
/// underscores, those with both hyphens and digits, such as dates and UUIDs, and those longer than 80
/// bytes.
pub(super) fn split_words(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = bytes.iter().find(|byte| **byte != b'_').is_some_and(u8::is_ascii_alphabetic);
    let id = bytes.contains(&b'-') && bytes.iter().any(u8::is_ascii_digit);
    if !begins || id || bytes.len() > 80 || !bytes.iter().all(plain) {
        return Vec::new();
    }
    let mut words = Vec::with_capacity(4);
    let mut start = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let after = bytes.get(at + 1);
        let separates = matches!(byte, b'_' | b'-');
        // `fooBar`, and `HTTPServer` where a word in capitals ends.
        let begins = byte.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && after.is_some_and(u8::is_ascii_lowercase)
            });
        if separates || begins {
            words.extend(name.get(start..at).filter(|word| !word.is_empty()));
            start = if separates { at + 1 } else { at };
        }
    }
    words.extend(name.get(start..).filter(|word| !word.is_empty()));
    words
}

/// Joins words to a label: the first one capitalized, the others in small letters, acronyms and words
/// that are all capitals in capitals.
pub(super) fn label(words: &[&str]) -> String {
    let mut label = String::new();
    for word in words {
        if !label.is_empty() {
            label.push(' ');
        }
        let lower = word.to_ascii_lowercase();
        let shouted = word.len() > 1 && word.bytes().all(|byte| !byte.is_ascii_lowercase());
        if ACRONYMS.contains(&lower.as_str()) {
            label.push_str(&word.to_ascii_uppercase());
        } else if shouted {
            label.push_str(word);
        } else if label.is_empty() {
            let mut letters = lower.chars();
            label.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            label.push_str(letters.as_str());
        } else {
            label.push_str(&lower);
        }
    }
    label
}

/// Returns whether a title only repeats a name: both have the same letters and digits, whatever their
/// case and what stands between them.
pub(super) fn repeats_name(title: &str, name: &str) -> bool {
    // Most titles that repeat a name differ in the case of a letter.
    if title.eq_ignore_ascii_case(name) {
        return true;
    }
    fn letters(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase)
    }
    letters(title).eq(letters(name))
}

/// Returns a heading made of the `title` of an output schema. `None` if nothing is left of it.
///
/// A title with white space was written for people and stays. Any other is the name of a type or a
/// function: it is made readable, without words at its end that say nothing, such as `Output` or
/// `Response`.
pub(super) fn heading_from_title(title: &str) -> Option<String> {
    const ENDS: [&str; 9] =
        ["output", "result", "results", "response", "model", "schema", "dict", "args", "arguments"];
    if title.contains(char::is_whitespace) {
        return Some(title.trim().to_owned()).filter(|title| !title.is_empty());
    }
    let mut words = split_words(title);
    if words.is_empty() {
        return Some(title.to_owned()).filter(|title| !title.is_empty());
    }
    while words.last().is_some_and(|last| ENDS.iter().any(|end| last.eq_ignore_ascii_case(end))) {
        words.pop();
    }
    Some(label(&words)).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_readable() {
        for (name, expected) in [
            ("city", "City"),
            ("departure_time", "Departure time"),
            ("departure-time", "Departure time"),
            ("departureTime", "Departure time"),
            ("HTTPServer", "HTTP server"),
            ("userID", "User ID"),
            ("user_id", "User ID"),
            ("ipv4Address", "Ipv4 address"),
            ("html_url", "HTML URL"),
            ("area_km2", "Area km2"),
            ("__typename", "Typename"),
            ("CHF", "CHF"),
            ("NextPageToken", "Next page token"),
            ("x", "X"),
        ] {
            assert_eq!(label(&split_words(name)), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_name_has_no_words() {
        for name in [
            "",
            "_",
            "Straße Nr.",
            "größe",
            "都市",
            "2024-09-10",
            "550e8400-e29b-41d4",
            "/etc/hosts",
            "a.b",
            "42",
            "a|b",
        ] {
            assert_eq!(split_words(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn titles_that_libraries_make_are_known() {
        for (title, name, expected) in [
            ("Temperature C", "temperature_c", true),
            ("Nextpagetoken", "nextPageToken", true),
            ("Temperature", "temperature_c", false),
            ("Stadt", "city", false),
        ] {
            assert_eq!(repeats_name(title, name), expected, "{title}");
        }
    }

    #[test]
    fn the_name_of_a_type_is_made_a_heading() {
        for (title, expected) in [
            ("Weather in Bern", Some("Weather in Bern")),
            ("get_weatherOutput", Some("Get weather")),
            ("WeatherReport", Some("Weather report")),
            ("SearchResponse", Some("Search")),
            ("Wetter", Some("Wetter")),
            ("Output", None),
            ("", None),
            ("Ort/Zeit", Some("Ort/Zeit")),
        ] {
            assert_eq!(heading_from_title(title).as_deref(), expected, "{title}");
        }
    }
}

//! The language and the time zone of the system, which are those of the person at its terminal.
//!
//! 1. The language is that of the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set: `de_CH.UTF-8` is `de-CH`,
//!    `sr_RS@latin` is `sr-Latn-RS`. `C` and `POSIX` are no language.
//! 2. The zone is that of `TZ`, else of `/etc/localtime`, where that is a name that others know too.

use mcp_attune::context::IanaTimeZone;
use mcp_attune::language::{AcceptLanguage, Tag};

/// The variables that name a language, the first one first.
const LANGUAGE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The locale of the system's texts, and the variable that says so.
pub(crate) fn display_locale() -> Option<(Tag, &'static str)> {
    let (name, locale) = first_of(LANGUAGE_VARIABLES)?;
    Some((parse_posix_locale(&locale)?, name))
}

/// The language preference of the system, and the variable that says so.
pub(crate) fn language() -> Option<(AcceptLanguage, &'static str)> {
    let (locale, name) = display_locale()?;
    Some((AcceptLanguage::of_locale(&locale)?, name))
}

/// The locale of the system for times and dates.
pub(crate) fn locale() -> Option<Tag> {
    parse_posix_locale(&first_of(["LC_ALL", "LC_TIME", "LANG"])?.1)
}

fn first_of(variables: [&'static str; 3]) -> Option<(&'static str, String)> {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    variables.into_iter().find_map(|name| Some((name, set(name)?)))
}

/// A locale's name by POSIX as a tag.
fn parse_posix_locale(locale: &str) -> Option<Tag> {
    let (name, modifier) = locale.split_once('@').unwrap_or((locale, ""));
    let name = name.split('.').next().unwrap_or_default();
    if matches!(name, "" | "C" | "POSIX") {
        return None;
    }
    let (language, region) = name.split_once('_').unwrap_or((name, ""));
    if language.is_empty() {
        return None;
    }
    let (script, variant) = match modifier.to_ascii_lowercase().as_str() {
        "latin" => ("Latn", ""),
        "cyrillic" => ("Cyrl", ""),
        "devanagari" => ("Deva", ""),
        "valencia" => ("", "valencia"),
        _ => ("", ""),
    };
    let parts = [language, script, region, variant].into_iter().filter(|part| !part.is_empty());
    Tag::parse(&parts.collect::<Vec<_>>().join("-")).ok()
}

/// The zone of the system.
pub(crate) fn zone() -> Option<IanaTimeZone> {
    let zone = jiff::tz::TimeZone::try_system().ok()?;
    IanaTimeZone::parse(zone.iana_name()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_of_posix_is_a_tag() {
        let check = |locale: &str, expected: Option<&str>| {
            assert_eq!(
                parse_posix_locale(locale).map(|tag| tag.to_string()).as_deref(),
                expected,
                "{locale}"
            );
        };
        check("de_CH.UTF-8", Some("de-CH"));
        check("en", Some("en"));
        check("sr_RS@latin", Some("sr-Latn-RS"));
        check("ca_ES.UTF-8@valencia", Some("ca-ES-valencia"));
        check("de_DE@euro", Some("de-DE"));
        for none in ["C", "C.UTF-8", "POSIX", "", "not a locale", "_CH"] {
            check(none, None);
        }
    }
}

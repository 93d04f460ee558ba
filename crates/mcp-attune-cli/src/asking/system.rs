//! The language and the time zone of the system, which are those of the person at its terminal.
//!
//! 1. The locale is that of the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set: `de_CH.UTF-8` is `de-CH`,
//!    `sr_RS@latin` is `sr-Latn-RS`. `C` and `POSIX` are no language.
//! 2. Languages are those that `LANGUAGE` lists, in its order, where the locale is one; else that of the locale. So gettext
//!    does it.
//! 3. The zone is that of `TZ`, else of `/etc/localtime`, else of `/etc/timezone`, where that is a name that others know too.

use std::io::Read;
use std::path::Path;

use mcp_attune::context::IanaTimeZone;
use mcp_attune::language::{AcceptLanguage, Tag};

/// The variables that name a language, the first one first.
const LANGUAGE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// gettext's list of languages, with colons between.
const LANGUAGE_LIST: &str = "LANGUAGE";

/// How many of that list count.
const MAX_LANGUAGES: usize = 10;

/// The locale of the system's texts, and the variable that says so.
pub(crate) fn display_locale() -> Option<(Tag, &'static str)> {
    let (name, locale) = first_of(LANGUAGE_VARIABLES)?;
    Some((parse_posix_locale(&locale)?, name))
}

/// The language preference of the system, and the variable that says so.
pub(crate) fn language() -> Option<(AcceptLanguage, &'static str)> {
    let (locale, name) = display_locale()?;
    let listed = std::env::var(LANGUAGE_LIST).ok().and_then(|list| parse_language_list(&list));
    match listed {
        Some(preference) => Some((preference, LANGUAGE_LIST)),
        None => Some((AcceptLanguage::of_locale(&locale)?, name)),
    }
}

/// The languages of gettext's list, the first one most wanted: `de_CH:fr` is `de-CH, fr;q=0.9`.
fn parse_language_list(list: &str) -> Option<AcceptLanguage> {
    let tags =
        list.split(':').filter_map(parse_posix_locale).filter_map(|tag| AcceptLanguage::of_locale(&tag));
    let tags: Vec<AcceptLanguage> = tags.take(MAX_LANGUAGES).collect();
    let weighted = tags.iter().enumerate().map(|(place, tag)| match place {
        0 => tag.as_str().to_owned(),
        place => format!("{};q=0.{}", tag.as_str(), MAX_LANGUAGES - place),
    });
    let preference = AcceptLanguage::parse(&weighted.collect::<Vec<_>>().join(", ")).ok()?;
    (!preference.is_empty()).then_some(preference)
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

/// The zone of the system as it is set now: a library that keeps what it read would miss that somebody travels.
pub(crate) fn current_zone() -> Option<IanaTimeZone> {
    let set = std::env::var("TZ").ok().filter(|value| !value.is_empty());
    match set {
        Some(set) => zone_of_variable(&set),
        None => zone_of_files(Path::new("/etc/localtime"), Path::new("/etc/timezone")).or_else(zone),
    }
}

/// `Europe/Vienna`, `:Europe/Vienna` and `/usr/share/zoneinfo/Europe/Vienna` name a zone; `CET-1CEST` does not.
fn zone_of_variable(set: &str) -> Option<IanaTimeZone> {
    let name = set.strip_prefix(':').unwrap_or(set);
    if name.starts_with('/') { zone_of_path(name) } else { IanaTimeZone::parse(name).ok() }
}

fn zone_of_path(path: &str) -> Option<IanaTimeZone> {
    let (_, name) = path.rsplit_once("/zoneinfo/")?;
    let name = ["posix/", "right/"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    IanaTimeZone::parse(name).ok()
}

fn zone_of_files(localtime: &Path, timezone: &Path) -> Option<IanaTimeZone> {
    let linked = std::fs::read_link(localtime).ok();
    let linked = linked.as_deref().and_then(Path::to_str).and_then(zone_of_path);
    linked.or_else(|| {
        let mut text = String::new();
        std::fs::File::open(timezone).ok()?.take(MAX_ZONE_FILE_BYTES).read_to_string(&mut text).ok()?;
        IanaTimeZone::parse(text.trim()).ok()
    })
}

/// A file with the name of a zone is not longer.
const MAX_ZONE_FILE_BYTES: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_of_gettext_are_a_preference_in_their_order() {
        let check = |list: &str, expected: Option<&str>| {
            let read = parse_language_list(list);
            assert_eq!(read.as_ref().map(AcceptLanguage::as_str), expected, "{list}");
        };
        check("de_CH:fr:en", Some("de-CH, fr;q=0.9, en;q=0.8"));
        check("ne_NP.UTF-8", Some("ne-NP"));
        check("C:not a locale:it", Some("it"));
        check(
            &"de:".repeat(50),
            Some(
                "de, de;q=0.9, de;q=0.8, de;q=0.7, de;q=0.6, de;q=0.5, de;q=0.4, de;q=0.3, de;q=0.2, de;q=0.1",
            ),
        );
        for none in ["", ":", "C", "not a locale"] {
            check(none, None);
        }
    }

    #[test]
    fn a_zone_is_found_by_what_names_it() {
        let name = |zone: Option<IanaTimeZone>| zone.map(IanaTimeZone::name);
        for set in [
            "Asia/Kathmandu",
            ":Asia/Kathmandu",
            "/usr/share/zoneinfo/Asia/Kathmandu",
            ":/usr/share/zoneinfo/right/Asia/Kathmandu",
        ] {
            assert_eq!(name(zone_of_variable(set)), Some("Asia/Kathmandu"), "{set}");
        }
        for set in ["CET-1CEST", "/etc/passwd", ":", "Mars/Olympus", "../Asia/Kathmandu"] {
            assert_eq!(name(zone_of_variable(set)), None, "{set}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_zone_that_is_set_anew_is_read_anew() {
        let folder = std::env::temp_dir().join(format!("attune-zone-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (localtime, timezone) = (folder.join("localtime"), folder.join("timezone"));
        let name = || zone_of_files(&localtime, &timezone).map(IanaTimeZone::name);
        assert_eq!(name(), None);
        std::fs::write(&timezone, "Europe/Vienna\n").unwrap();
        assert_eq!(name(), Some("Europe/Vienna"));
        for zone in ["Asia/Kathmandu", "Pacific/Apia"] {
            let _ = std::fs::remove_file(&localtime);
            std::os::unix::fs::symlink(format!("/usr/share/zoneinfo/{zone}"), &localtime).unwrap();
            assert_eq!(name(), Some(zone));
        }
        std::fs::write(&timezone, "x".repeat(70_000)).unwrap();
        std::fs::remove_file(&localtime).unwrap();
        assert_eq!(name(), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

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

//! What a child finds in its environment.
//!
//! 1. A child gets all that we have, as a program does that a shell starts, and what is named in `env`, which wins.
//! 2. What is meant for us, such as `ATTUNE_TOKEN`, stays with us: it may be a secret for another server. The settings of
//!    bundles, `ATTUNE_SETTING_…`, go on: the child may be another Attune.
//! 3. Where the operator says so, a child gets no more than programs need to find themselves and their files, speak the
//!    operator's language and reach the network, beside `env`.
//! 4. There, a value that begins with `()` is a function that a shell exported, and stays behind.

use std::ffi::{OsStr, OsString};

/// What every program may know: the names that the MCP SDKs pass on, and those of language, zone, temporary and
/// user's own folders.
#[cfg(not(windows))]
const NAMES: &[&str] =
    &["HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];
#[cfg(windows)]
const NAMES: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Families of such names: the parts of a locale, and where a user's files are.
const ESSENTIAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// The part of an environment that a child gets.
pub(crate) fn essential_variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    environment.filter(|(name, value)| is_essential(name) && !value.as_encoded_bytes().starts_with(b"()"))
}

/// The names of what is meant for us.
pub(crate) fn own_variable_names(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = OsString> {
    let is_ours = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"ATTUNE_") && !name.starts_with(b"ATTUNE_SETTING_")
    };
    environment.map(|(name, _)| name).filter(is_ours)
}

fn is_essential(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let same = |known: &&str| if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { *known == name };
    NAMES.iter().any(same) || ESSENTIAL_PREFIXES.iter().any(|family| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_for_us_stays_with_us_and_settings_of_bundles_go_on() {
        let all = ["PATH", "ATTUNE_TOKEN", "ATTUNE_SETTING_KEY", "MY_ATTUNE_"];
        let all = all.map(|name| (OsString::from(name), OsString::new()));
        let kept: Vec<_> = own_variable_names(all.into_iter()).collect();
        assert_eq!(kept, ["ATTUNE_TOKEN"]);
    }

    #[test]
    fn passes_on_what_programs_need_and_nothing_else() {
        let all = [
            ("PATH", "/bin"),
            ("HOME", "/root"),
            ("LC_TIME", "de_CH"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("PATHOLOGY", "x"),
            ("path", "x"),
            ("SHELL", "() { :; }; echo"),
        ];
        let all = all.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let names: Vec<_> = essential_variables(all.into_iter()).map(|(name, _)| name).collect();
        let expected: &[&str] =
            if cfg!(windows) { &["PATH", "LC_TIME", "path"] } else { &["PATH", "HOME", "LC_TIME"] };
        assert_eq!(names, expected);
    }
}

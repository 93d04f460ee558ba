//! Chooses the environment variables that a child process gets.
//!
//! 1. A child gets all variables that we have, as a program does that a shell starts, and those that the
//!    operator names in `env`, which win.
//! 2. Variables that configure ourselves, such as `ATTUNE_TOKEN`, are not passed on: they may be a secret for
//!    another server. The settings of bundles, `ATTUNE_SETTING_…`, are: the child may be another Attune.
//! 3. If the operator asks for it, a child gets only those variables that programs need to find themselves and
//!    their files, speak the operator's language and reach the network, beside `env`.
//! 4. In that case, a value that begins with `()` is a function that a shell exported, and is not passed on.

use std::ffi::{OsStr, OsString};

/// The variables that every program may know: those that the MCP SDKs pass on, and those of language, time
/// zone, and temporary and home folders. On Windows names are compared without case.
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

/// Prefixes of further such variables: the categories of a locale (`LC_TIME`), and the XDG base directories.
const ESSENTIAL_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Filters an environment down to the variables of rules 3 and 4, for a child that starts with an empty one.
pub(crate) fn essential_variables(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    environment.filter(|(name, value)| is_essential(name) && !value.as_encoded_bytes().starts_with(b"()"))
}

/// Returns the names of the variables of rule 2 that a child must not inherit: `ATTUNE_…`, except
/// `ATTUNE_SETTING_…`.
pub(crate) fn own_variable_names(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = OsString> {
    let is_ours = |name: &OsString| {
        let name = name.as_encoded_bytes();
        name.starts_with(b"ATTUNE_") && !name.starts_with(b"ATTUNE_SETTING_")
    };
    environment.map(|(name, _)| name).filter(is_ours)
}

/// Returns whether a variable may be passed on under rule 3. A name that is not Unicode never is.
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

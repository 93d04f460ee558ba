//! Tells the program which commit it was built from, for `attune --version` and bug reports.
//!
//! Only for release builds, so that a commit does not build everything anew while somebody works. What is told depends on the
//! commit alone, and where `SOURCE_DATE_EPOCH` is set on that. Without git, or outside a checkout of this project, nothing is told.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let set = |name| std::env::var(name).unwrap_or_default();
    let mut parts = built(set("PROFILE") == "release", set("SOURCE_DATE_EPOCH").parse().ok());
    parts.push(set("TARGET"));
    println!("cargo::rustc-env=ATTUNE_VERSION={} ({})", set("CARGO_PKG_VERSION"), parts.join(", "));
}

/// What is told of a build: for a release its commit and its day, which `epoch` sets.
pub(crate) fn built(is_release: bool, epoch: Option<i64>) -> Vec<String> {
    if !is_release {
        return vec!["debug build".to_owned()];
    }
    let commit = packaged(Path::new("."));
    let (commit, time) = commit.map_or_else(checked_out, |commit| (Some(commit), None));
    commit.into_iter().chain(epoch.or(time).map(date)).collect()
}

/// The commit that `cargo package` wrote down.
pub(crate) fn packaged(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\": \"")?;
    rest.get(..12).map(str::to_owned)
}

/// The commit of a checkout and its time, as seconds since 1970.
fn checked_out() -> (Option<String>, Option<i64>) {
    // Copied into somebody else's repository, this file is not tracked there or the commit is not ours.
    let ours = git(&["ls-files", "--error-unmatch", "build.rs"]).is_some();
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| ours) else {
        return (None, None);
    };
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    let time = git(&["show", "--no-patch", "--format=%ct", "HEAD"]).and_then(|text| text.parse().ok());
    (Some(commit), time)
}

pub(crate) fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The day in UTC, by Howard Hinnant's `civil_from_days`.
pub(crate) fn date(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

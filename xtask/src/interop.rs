//! `cargo xtask interop`: other people's software against ours.
//!
//! Each part starts servers, lets somebody else's program talk to them directly and through the gateway, and says
//! what is wrong. What cannot be installed here is an error of its own kind, so that CI can go on without it.

mod install;
mod leash;
mod running;
pub(crate) mod servers;
mod packages;
mod aliases;
mod bound;
mod bundles;
mod checks;
mod clients;
mod referee;
mod judged;
mod judging;
mod local;
mod operating;
mod preview;
mod replicas;
mod roles;
mod shaped;
mod when;

use std::time::Instant;

use anyhow::Result;

use crate::report::hinted;
use install::Unavailable;

/// What a part found wrong, a line each. It is told whether only the quick half is wanted.
type Part = fn(bool) -> Result<Vec<String>>;

const PARTS: &[(&str, Part)] = &[
    ("the official referee", referee::run),
    ("our client before the official referee", judged::run),
    ("our referee", judging::run),
    ("clients and servers of other people", clients::run),
    ("other spellings at web servers", aliases::run),
    ("local servers", local::run),
    ("catalogs of local servers", local::catalog::run),
    ("what results of local servers cost", local::audit::run),
    ("arguments bound to the context", bound::run),
    ("content negotiation", shaped::run),
    ("replicas behind nginx", replicas::run),
    ("the page for operators", operating::run),
    ("the preview in a browser", preview::run),
    ("expressions of time in Python", when::run),
    ("bundles beside the official tool", bundles::run),
    ("the first hour of eight people", roles::run),
];

/// Runs the part about other spellings alone.
pub(crate) fn aliases() -> Result<()> {
    aliases::alone()
}

/// Runs the first hours alone.
pub(crate) fn roles() -> Result<()> {
    roles::alone()
}

/// Runs the part about the page for operators alone.
pub(crate) fn operating() -> Result<()> {
    operating::alone()
}

/// Runs our referee alone, and writes what it says into its page.
pub(crate) fn check() -> Result<()> {
    judging::write()
}

/// Runs every part. `quick`: what CI runs. `if_possible`: what cannot be installed is a notice, not a failure.
pub(crate) fn run(quick: bool, if_possible: bool) -> Result<()> {
    let mut faults = Vec::new();
    for (name, part) in PARTS {
        println!("==> {name}");
        let begun = Instant::now();
        match part(quick) {
            Ok(found) => faults.extend(found),
            Err(error) if if_possible && error.is::<Unavailable>() => {
                println!("    NOTICE: {} DID NOT RUN: {error:#}", name.to_uppercase());
            }
            Err(error) => return Err(error),
        }
        println!("    {:.1} s", begun.elapsed().as_secs_f64());
    }
    if faults.is_empty() {
        return Ok(());
    }
    for fault in &faults {
        println!("{fault}");
    }
    let what = if faults.len() == 1 { "1 fault".to_owned() } else { format!("{} faults", faults.len()) };
    Err(hinted(format!("interop: {what}"), "look at target/interop/seen"))
}

//! `cargo xtask release`: attune as it is handed out.
//!
//! A call touches more code than the nearest cache holds, so it matters where that code lies. A first build counts what
//! callers of all kinds make it do; the second is laid out by these counts. It is the same program, with the same
//! answers, for a fifth to a quarter less of the time that is its own.

mod training;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::bench::servers::Bench;
use crate::report::hinted;
use crate::shell::{self, built, cargo, program};

/// Everything of it, in the folder of what is built.
const FOLDER: &str = "target/trained";

/// Builds it and says where it is.
pub(crate) fn run() -> Result<()> {
    let trained = trained(&plain()?)?;
    training::show(&Bench::of(trained.clone())?).context("what was built does not answer as it should")?;
    println!("attune as it is handed out is {FOLDER}/attune");
    Ok(())
}

/// Everything that a build is trained with, once and without training: it must be answered as it is expected.
pub(crate) fn check() -> Result<()> {
    training::show(&Bench::unoptimized()?)
}

/// What cargo builds by itself.
pub(crate) fn plain() -> Result<PathBuf> {
    built("build --release -p mcp-attune-cli --bin attune")
}

/// The trained build of what is built plainly. The counts are kept for as long as that stays the same, byte for byte.
pub(crate) fn trained(plain: &Path) -> Result<PathBuf> {
    let folder = shell::root().join(FOLDER);
    let (counts, of) = (folder.join("counts"), folder.join("of"));
    let known =
        counts.exists() && fs::read(&of).is_ok_and(|of| fs::read(plain).is_ok_and(|plain| plain == of));
    if !known {
        // What counts were made for is said last, so that a run that was cut off is not taken for a whole one.
        let _ = fs::remove_file(&of);
        learn(&folder, &counts)?;
        fs::copy(plain, &of)?;
    }
    println!("Building it with the counts");
    let built = build(&folder.join("build"), &format!("-Cprofile-use={}", counts.display()))?;
    let trained = folder.join("attune");
    fs::copy(built, &trained)?;
    Ok(trained)
}

/// Builds what counts, lets it be called, and gathers its counts.
fn learn(folder: &Path, counts: &Path) -> Result<()> {
    let merge = merger()?;
    let raw = folder.join("raw");
    if raw.exists() {
        fs::remove_dir_all(&raw)?;
    }
    println!("Building what counts");
    let counting = build(&folder.join("counting"), &format!("-Cprofile-generate={}", raw.display()))?;
    println!("Training it");
    training::train(&Bench::of(counting)?).context("what counts does not answer as it should")?;
    let mut merge = program(merge.to_str().context("the path of the toolchain is not UTF-8")?, "merge -o");
    shell::run(merge.arg(counts).arg(&raw), "does the free space suffice?")
}

fn build(folder: &Path, flags: &str) -> Result<PathBuf> {
    // A target of its own, so that the programs which run while building are left as they are.
    let arguments = format!("build --release -p mcp-attune-cli --bin attune --target {}", host()?);
    shell::built_by(cargo(&arguments).env("RUSTFLAGS", flags).arg("--target-dir").arg(folder))
}

fn host() -> Result<String> {
    let told = shell::output(&mut program("rustc", "-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say for which machine it builds")?.to_owned())
}

/// The program that merges counts, which must be of the compiler's own version.
fn merger() -> Result<PathBuf> {
    let libraries = shell::output(&mut program("rustc", "--print target-libdir"))?;
    let merger = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
    if merger.exists() {
        return Ok(merger);
    }
    Err(hinted("the compiler's llvm-profdata is not here", "install it: `rustup component add llvm-tools`"))
}

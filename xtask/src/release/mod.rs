//! `cargo xtask release`: attune as it is handed out.
//!
//! A call touches more code than the nearest cache holds, so it matters where that code lies. A first build counts what
//! callers of all kinds make it do; the second is laid out by these counts. It is the same program, with the same
//! answers, for a quarter to a third less of the time that is its own.

mod training;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::rig::servers::Bench;
use kit::report::hinted;
use kit::shell::{self, built, cargo, program};

/// Everything of it, in the folder of what is built.
const FOLDER: &str = "target/trained";
/// What cargo builds by itself, and the profile that is handed out.
const PLAIN: &str = "build --release -p mcp-attune-cli --bin attune";
const DIST: &str = "build --profile dist -p mcp-attune-cli --bin attune";

/// Builds it and says where it is.
pub(crate) fn run() -> Result<()> {
    let Built { trained, .. } = build()?;
    training::show(&Bench::of(trained)?).context("what was built does not answer as it should")?;
    println!("attune as it is handed out is {FOLDER}/attune");
    Ok(())
}

/// Everything that a build is trained with, once and without training: it must be answered as it is expected.
pub(crate) fn check() -> Result<()> {
    training::show(&Bench::unoptimized()?)
}

/// Two builds of one program.
pub(crate) struct Built {
    /// What cargo builds by itself.
    pub(crate) plain: PathBuf,
    pub(crate) trained: PathBuf,
}

/// Builds both. What is counted is kept for as long as the plain build and the training stay the same.
pub(crate) fn build() -> Result<Built> {
    // Asked for before anything is built, because building takes long.
    let merger = merger()?;
    let plain = built(PLAIN)?;
    let folder = shell::root().join(FOLDER);
    // Cargo looks at the flags, and not into the files that they name: other counts need another name.
    let counts = folder.join(format!("counts-{:016x}", mark(&fs::read(&plain)?)));
    let building = folder.join("build");
    if !counts.exists() {
        if building.exists() {
            fs::remove_dir_all(&building)?;
        }
        learn(&folder, &counts, &merger)?;
    }
    println!("Building it with the counts");
    let built = flagged(&building, &format!("-Cprofile-use={}", counts.display()))?;
    let trained = folder.join("attune");
    fs::copy(built, &trained)?;
    Ok(Built { plain, trained })
}

/// Tells one build and its training from others.
fn mark(plain: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (plain, include_str!("training.rs")).hash(&mut hasher);
    hasher.finish()
}

/// Builds what counts, lets it be called, and gathers its counts.
fn learn(folder: &Path, counts: &Path, merger: &Path) -> Result<()> {
    let raw = folder.join("raw");
    if raw.exists() {
        fs::remove_dir_all(&raw)?;
    }
    println!("Building what counts");
    let counting = flagged(&folder.join("counting"), &format!("-Cprofile-generate={}", raw.display()))?;
    println!("Training it");
    training::train(&Bench::of(counting)?).context("what counts does not answer as it should")?;
    let mut merge = program(merger.to_str().context("the path of the toolchain is not UTF-8")?, "merge -o");
    let merged = folder.join("merged");
    shell::run(merge.arg(&merged).arg(&raw), "does the free space suffice?")?;
    // Named as a whole, so that a run that was cut off is not taken for one.
    Ok(fs::rename(merged, counts)?)
}

fn flagged(folder: &Path, flags: &str) -> Result<PathBuf> {
    // With its target named, the flags are not for the programs that run while building.
    let mut cargo = cargo(DIST);
    cargo.args(["--target", &host()?]);
    shell::built_by(cargo.env("RUSTFLAGS", flags).arg("--target-dir").arg(folder))
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

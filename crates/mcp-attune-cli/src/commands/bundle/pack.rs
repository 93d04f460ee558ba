//! `attune bundle pack`: a folder as one file.

use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_attune_bundle::{BundleThresholds, check};
use mcp_attune_files::bundle::{PackProgress, pack_with_progress};

use super::open;
use crate::exit::{Exit, hinted};
use crate::output::check_writable;
use crate::progress;
use crate::show::plain::line;
use crate::text::byte_size;

/// Pack a bundle's folder into a .mcpb file: exit 0 if it was written, 1 if the bundle is not valid
///
/// The same files make the same bytes, wherever and whenever they are packed. Left out is what the official tool leaves out, and
/// what .mcpbignore names.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  $ attune bundle pack examples/bundle target/weather.mcpb")]
pub(super) struct BundlePackArgs {
    /// The bundle's folder
    path: PathBuf,
    /// Where the file goes; without it, NAME.mcpb in this folder, by the name of the bundle's folder
    #[arg(value_name = "OUT.mcpb")]
    out: Option<PathBuf>,
}

impl BundlePackArgs {
    pub(super) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        if let Some(to) = &self.out {
            check_writable(to, "name a file for the bundle, such as weather.mcpb")?;
        }
        let bundle = open(&self.path)?;
        let Some(folder) = bundle.folder() else {
            return Err(hinted(
                format!("{} is packed already", self.path.display()),
                "name the folder of a bundle",
            ));
        };
        let report = check(bundle.manifest_bytes(), &bundle, BundleThresholds::default());
        if !report.valid {
            for it in report.official.iter().chain(&report.ours).filter(|it| it.is_blocking()) {
                writeln!(out, "{it}\nhint: {}\n", it.what.hint())?;
            }
            writeln!(out, "not packed; `attune bundle validate` tells more")?;
            return Ok(Exit::Findings);
        }
        let to = match self.out {
            Some(to) => to,
            None => default_archive_path(folder)?,
        };
        let packed = pack_with_progress(folder, &to, &mut show_pack_progress);
        progress::clear();
        let packed = packed.map_err(|why| hinted(format!("{}: {why}", folder.display()), why.hint()))?;
        for (name, bytes) in &packed.files {
            writeln!(out, "{:>10}  {}", byte_size(*bytes), line(name.as_str()))?;
        }
        let digest: String = packed.sha256.iter().map(|byte| format!("{byte:02x}")).collect();
        let count = packed.files.len();
        let files = if count == 1 { "file" } else { "files" };
        writeln!(
            out,
            "{count} {files}, {} left out, {} in {}",
            packed.left_out.len(),
            byte_size(packed.bytes),
            to.display()
        )?;
        writeln!(out, "sha256 {digest}")?;
        Ok(Exit::Fine)
    }
}

/// Shows how far it is, in a bar of twenty signs.
fn show_pack_progress(PackProgress { done, total, .. }: PackProgress) {
    let share = |of: u64| done.saturating_mul(of).checked_div(total).unwrap_or(of).min(of);
    let full = usize::try_from(share(20)).unwrap_or(20);
    let bar = "█".repeat(full) + &"░".repeat(20 - full);
    progress::show(&format!(
        "packing {bar} {:>3} %, {} of {}",
        share(100),
        byte_size(done),
        byte_size(total)
    ));
}

/// The file beside us that has the name of the folder.
fn default_archive_path(folder: &Path) -> anyhow::Result<PathBuf> {
    let whole = folder.canonicalize()?;
    let name = whole.file_name().ok_or_else(|| {
        hinted(
            format!("{} has no name", folder.display()),
            "say where the file goes, as in `attune bundle pack . weather.mcpb`",
        )
    })?;
    let mut file = name.to_owned();
    file.push(".mcpb");
    Ok(PathBuf::from(file))
}

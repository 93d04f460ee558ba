//! Manifests from standard input, a JSON object with their `text` a line, and whether they are valid.
//!
//! What goes out: `official`, as the official tool would judge, and `told`, the first error. The bundle that they are judged
//! with has `icon.png`, `assets/icon.png`, and `notes.txt`, which is no picture. Another implementation is compared with this one
//! line by line, by `cargo xtask interop`.

use std::io::{self, BufRead, BufWriter, Write};

use mcp_attune_bundle::{
    BundleFileError, BundleFileName, BundleFiles, BundleProblemLevel, BundleThresholds, PictureError,
    PictureFacts, PixelSize, check,
};
use serde_json::{Value, json};

struct Few;

impl BundleFiles for Few {
    fn names(&self) -> Vec<String> {
        ["icon.png", "assets/icon.png", "notes.txt"].map(str::to_owned).into()
    }

    fn read(&self, _: &BundleFileName, _: usize) -> Result<Vec<u8>, BundleFileError> {
        Err(BundleFileError::Missing)
    }

    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureError> {
        match name.as_str() {
            "icon.png" | "assets/icon.png" => {
                Ok(PictureFacts::new(PixelSize { width: 1, height: 1 }, true, 21.0, 21.0, 0))
            }
            "notes.txt" => Err(PictureError::NotPng),
            _ => Err(PictureError::Missing),
        }
    }
}

fn main() -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let text = line.get("text").and_then(Value::as_str).unwrap_or_default();
        let report = check(text.as_bytes(), &Few, BundleThresholds::default());
        let told =
            report.official.iter().find(|it| it.level == BundleProblemLevel::Error).map(ToString::to_string);
        writeln!(out, "{}", json!({"official": report.officially_valid, "told": told}))?;
    }
    out.flush()
}

//! Bundles: never a panic, whatever the manifest and a locale file are; a verdict that follows from what is told; and a manifest
//! that can be read after it was resolved.
//!
//! What stands before the first NUL is the manifest, and what follows it a locale file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::language::Tag;
use mcp_attune_bundle::{
    BundleFileError, BundleFileName, BundleFiles, BundleLocales, BundleProblem, BundleThresholds, Manifest,
    ManifestResolver, PictureError, PictureFacts, PixelSize, check, choose_icon,
};

struct One<'a>(&'a [u8]);

impl BundleFiles for One<'_> {
    fn names(&self) -> Vec<String> {
        ["mcpb-resources/de.json", "l/de.json", "l/de_DE.json", "icon.png"].map(str::to_owned).into()
    }

    fn read(&self, _: &BundleFileName, most: usize) -> Result<Vec<u8>, BundleFileError> {
        if self.0.len() > most { Err(BundleFileError::TooLarge) } else { Ok(self.0.to_vec()) }
    }

    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureError> {
        match name.as_str().len() % 4 {
            0 => Ok(PictureFacts::new(PixelSize { width: 16, height: 16 }, true, 2.0, 9.0, 1)),
            1 => Err(PictureError::Missing),
            2 => Err(PictureError::NotPng),
            _ => Err(PictureError::Broken),
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let (manifest, locale) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let report = check(manifest, &One(locale), BundleThresholds::default());
    let mut told = report.official.iter().chain(&report.ours);
    assert!(report.left_out > 0 || report.valid != told.any(BundleProblem::is_blocking));
    for problem in report.official.iter().chain(&report.ours) {
        assert!(!problem.to_string().is_empty() && !problem.what.hint().is_empty());
        assert!(problem.line > 0 && problem.column > 0);
    }
    let Ok(read) = Manifest::read(manifest) else { return assert!(!report.valid) };
    drop(choose_icon(&read.icons(), Some("dark"), Some(64)).cloned());
    let names = One(locale).names();
    let locales = BundleLocales::find_among(&read, names.iter().map(String::as_str));
    let mut resolve = ManifestResolver::new(&read, &locales, &Tag::parse("de-AT").unwrap());
    while resolve.next_file().is_some() {
        drop(resolve.apply_file(locale));
    }
    let again = Manifest::read(resolve.finish().text.as_bytes()).expect("a manifest stays one");
    assert_eq!((again.name, again.icons, again.localization), (read.name, read.icons, read.localization));
});

//! Desktop bundles: a manifest in every language, an icon for every theme, and a program that runs.
//!
//! A bundle is a folder, or an archive of one, with a `manifest.json` in it. Nothing here reads files; a host does:
//!
//! 1. [`Manifest::read`] takes the bytes of the manifest. What it has of the right kind is there as a type, and all else
//!    stays in its text. Only what is no JSON object is refused.
//! 2. [`BundleLocales::find_among`] finds the locale files among the names in the bundle, by the manifest's `localization`.
//! 3. [`ManifestResolver`] says which locale file is needed next for a caller's locale, one after the other and no more than it takes, and
//!    puts their texts into the manifest field by field. It cannot fail: what no file has stays as the manifest says it.
//! 4. [`choose_icon`] picks an icon for a theme and a size.
//! 5. [`check`] judges all of it: by the official schemas, and by what else goes wrong.
//! 6. [`BundleLaunchCommand::from_manifest`] makes a command out of `mcp_config`, with its variables filled in.
//!
//! Rules: B1–B8.
//!
//! ```
//! use mcp_attune_bundle::{BundleLocales, Manifest, ManifestResolver};
//! use mcp_attune::language::Tag;
//!
//! let manifest = Manifest::read(br#"{"manifest_version": "0.3", "name": "weather", "description": "The weather",
//!     "localization": {"resources": "texts/${locale}.json", "default_locale": "en-US"}}"#)?;
//! let locales = BundleLocales::find_among(&manifest, ["manifest.json", "texts/es-MX.json", "texts/fr.json"]);
//! let mut resolve = ManifestResolver::new(&manifest, &locales, &Tag::parse("es-UY")?);
//! assert_eq!(resolve.next_file().unwrap().name.as_str(), "texts/es-MX.json");
//! resolve.apply_file(br#"{"description": "El tiempo"}"#);
//! assert!(resolve.finish().text.contains(r#""description": "El tiempo""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

// Names inside a bundle,
mod file_name;
mod locale_path;

// what a manifest has,
mod icon;
mod version;

mod manifest;

// whose texts there are,
mod locales;

mod resolve;

mod coverage;

// whether it is in order,
mod picture;

mod files;

mod problem;

mod check;

// and how its server is started.
mod launch;

pub use check::{BundleCheckReport, BundleLocaleCoverage, BundleThresholds, check};
pub use coverage::{applicable_texts, coverage, translatable_texts};
pub use file_name::{BundleFileName, BundleFileNameError};
pub use files::{BundleFileError, BundleFiles};
pub use icon::{ManifestIcon, PixelSize, choose_icon};
pub use launch::{BundleLaunchCommand, BundleLaunchContext, BundleLaunchError, Platform};
pub use locale_path::LocalePath;
pub use locales::{BundleLocaleFile, BundleLocales};
pub use manifest::{
    Localization, Manifest, ManifestEntry, ManifestError, ManifestServer, McpConfig, PartialCommandLine,
    UserConfigSetting,
};
pub use picture::{PictureError, PictureFacts};
pub use problem::{
    AcceptedDeviation, BundleProblem, BundleProblemKind, BundleProblemLevel, BundleProblemSource,
    IconProblem, LocaleProblem, ManifestConsistencyProblem, ManifestSchemaProblem, PathProblem,
};
pub use resolve::{ManifestField, ManifestFieldOrigin, ManifestResolver, ResolvedManifest};
pub use version::ManifestVersion;

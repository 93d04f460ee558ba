//! Rules of desktop bundles: MCP servers packed with a `manifest.json`, for one-click installation.
//!
//! A bundle (MCPB, formerly DXT) is a folder, or a zip archive of one, with a `manifest.json` at its top. This
//! crate decides everything about a bundle that can be decided without I/O: what the manifest says, which
//! locale files belong to it, how it reads in a user's language, whether it is valid, and which command starts
//! its server. A host reads the files; `mcp-attune-files` is the one that reads them from disk. The steps, in
//! the order in which a host takes them:
//!
//! 1. [`Manifest::read`] parses the bytes of the manifest. Values of the expected type become fields;
//!    everything else stays in the original text. Only input that is not a JSON object is refused.
//! 2. [`BundleLocales::find_among`] finds the locale files among the names of all files, by the manifest's
//!    `localization`.
//! 3. [`ManifestResolver`] names the locale files that are needed for a user's locale, one at a time and no
//!    more than necessary, and puts their texts into the manifest field by field. It cannot fail: a field that
//!    no file translates keeps the manifest's own text.
//! 4. [`choose_icon`] picks an icon for a theme and a size.
//! 5. [`check`] validates the bundle, by the official schemas and by checks of Attune's own, and reports every
//!    problem with its position and a hint.
//! 6. [`BundleLaunchCommand::from_manifest`] builds the command line of the server out of `mcp_config`, with
//!    its variables replaced.
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

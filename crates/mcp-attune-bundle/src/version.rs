//! Versions of the manifest format.

use core::fmt;

/// A version of the manifest format, which decides the official schema that a manifest is validated with.
///
/// Versions are ordered from old to new. Each allows the keys of the versions before it.
///
/// Rules: B1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ManifestVersion {
    /// The first version, mostly declared as `dxt_version` instead of `manifest_version`.
    V0_1,
    /// Adds `privacy_policies`.
    V0_2,
    /// Adds `localization`, `icons` and `_meta`.
    V0_3,
    /// Adds the server type `uv`.
    V0_4,
}

impl ManifestVersion {
    /// All known versions, the oldest first.
    pub const ALL: [Self; 4] = [Self::V0_1, Self::V0_2, Self::V0_3, Self::V0_4];

    /// Returns the version as a manifest writes it, such as `0.3`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V0_4 => "0.4",
        }
    }

    /// Parses a version exactly as a manifest writes it. Returns `None` for an unknown one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }
}

impl fmt::Display for ManifestVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

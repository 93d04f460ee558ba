//! Which manifests there are.

use core::fmt;

/// The version of a manifest.
///
/// Rules: B1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ManifestVersion {
    /// The first, mostly said as `dxt_version`.
    V0_1,
    /// With `privacy_policies`.
    V0_2,
    /// With `localization`, `icons` and `_meta`.
    V0_3,
    /// With servers that uv runs.
    V0_4,
}

impl ManifestVersion {
    /// All of them, the oldest first.
    pub const ALL: [Self; 4] = [Self::V0_1, Self::V0_2, Self::V0_3, Self::V0_4];

    /// As a manifest writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V0_1 => "0.1",
            Self::V0_2 => "0.2",
            Self::V0_3 => "0.3",
            Self::V0_4 => "0.4",
        }
    }

    /// Reads what a manifest writes.
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

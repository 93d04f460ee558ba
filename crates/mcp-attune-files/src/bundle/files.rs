//! [`Bundle`] as the files of a check: its errors are mapped to the fewer ones that the check knows.

use mcp_attune_bundle::{self as rules, BundleFileName, BundleFiles, PictureFacts};

use super::fault::BundleReadError;
use super::{Bundle, PictureReadError};

impl BundleFiles for Bundle {
    fn names(&self) -> Vec<String> {
        Self::names(self).iter().map(ToString::to_string).collect()
    }

    fn read(&self, name: &BundleFileName, most: usize) -> Result<Vec<u8>, rules::BundleFileError> {
        Self::read(self, name, most as u64).map_err(|why| match why {
            BundleReadError::Missing => rules::BundleFileError::Missing,
            BundleReadError::Outside => rules::BundleFileError::Outside,
            BundleReadError::TooLarge { .. } => rules::BundleFileError::TooLarge,
            _ => rules::BundleFileError::Unreadable,
        })
    }

    fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, rules::PictureError> {
        Self::picture(self, name).map_err(|why| match why {
            PictureReadError::Unavailable(_) => rules::PictureError::Missing,
            PictureReadError::NotPng => rules::PictureError::NotPng,
            PictureReadError::Damaged => rules::PictureError::Broken,
            PictureReadError::TooLarge(_) => rules::PictureError::TooLarge,
        })
    }
}

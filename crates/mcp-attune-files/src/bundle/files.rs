//! A bundle's files for its check, which reads none itself.

use mcp_attune_bundle::{self as rules, Files, Inside, Picture};

use super::fault::Unavailable;
use super::{Bundle, NoPicture};

impl Files for Bundle {
    fn names(&self) -> Vec<String> {
        Self::names(self).iter().map(ToString::to_string).collect()
    }

    fn read(&self, name: &Inside, most: usize) -> Result<Vec<u8>, rules::Unavailable> {
        Self::read(self, name, most as u64).map_err(|why| match why {
            Unavailable::Missing => rules::Unavailable::Missing,
            Unavailable::Outside => rules::Unavailable::Outside,
            Unavailable::TooLarge { .. } => rules::Unavailable::TooLarge,
            _ => rules::Unavailable::Unreadable,
        })
    }

    fn picture(&self, name: &Inside) -> Result<Picture, rules::NoPicture> {
        Self::picture(self, name).map_err(|why| match why {
            NoPicture::Unavailable(_) => rules::NoPicture::Missing,
            NoPicture::NotPng => rules::NoPicture::NotPng,
            NoPicture::Damaged => rules::NoPicture::Broken,
            NoPicture::TooLarge(_) => rules::NoPicture::TooLarge,
        })
    }
}

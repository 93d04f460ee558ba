//! A bundle's files for its check, which reads none itself.

use mcp_attune::bundle::{self, Files, Inside, Picture};

use super::fault::Unavailable;
use super::{Bundle, NoPicture};

impl Files for Bundle {
    fn names(&self) -> Vec<String> {
        Self::names(self).iter().map(ToString::to_string).collect()
    }

    fn read(&self, name: &Inside, most: usize) -> Result<Vec<u8>, bundle::Unavailable> {
        Self::read(self, name, most as u64).map_err(|why| match why {
            Unavailable::Missing => bundle::Unavailable::Missing,
            Unavailable::Outside => bundle::Unavailable::Outside,
            Unavailable::TooLarge { .. } => bundle::Unavailable::TooLarge,
            _ => bundle::Unavailable::Unreadable,
        })
    }

    fn picture(&self, name: &Inside) -> Result<Picture, bundle::NoPicture> {
        Self::picture(self, name).map_err(|why| match why {
            NoPicture::Unavailable(_) => bundle::NoPicture::Missing,
            NoPicture::NotPng => bundle::NoPicture::NotPng,
            NoPicture::Damaged => bundle::NoPicture::Broken,
            NoPicture::TooLarge(_) => bundle::NoPicture::TooLarge,
        })
    }
}

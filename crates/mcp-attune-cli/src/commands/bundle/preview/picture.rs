//! Pictures of a bundle that go into the page, and why others do not.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mcp_attune_bundle::{BundleFileName, PixelSize};

use super::view::BundleFileReader;
use crate::text::quoted;

/// A larger icon is named and not shown.
pub(super) const MAX_ICON_BYTES: usize = 1024 * 1024;
/// A larger screenshot is named and not shown.
pub(super) const MAX_SCREENSHOT_BYTES: usize = 4 * 1024 * 1024;
/// A longer side is not shown: a small file can hold a picture that no browser can bear.
const MAX_SIDE_PIXELS: u32 = 4096;
/// All pictures of a page together.
const MAX_PICTURES_BYTES: usize = 24 * 1024 * 1024;

/// A picture that can stand in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviewPicture {
    pub(super) base64: String,
    pub(super) size: PixelSize,
}

/// Room for pictures, which gets less.
pub(super) struct PictureBudget(usize);

impl Default for PictureBudget {
    fn default() -> Self {
        Self(MAX_PICTURES_BYTES)
    }
}

impl PictureBudget {
    /// The picture of this name, or why it cannot be shown.
    pub(super) fn load_picture(
        &mut self,
        src: &str,
        most: usize,
        read: BundleFileReader<'_>,
    ) -> Result<PreviewPicture, String> {
        let name = BundleFileName::parse(src).map_err(|why| format!("{}: {why}", quoted(src)))?;
        let bytes = read(&name, most)?;
        let size = size(&bytes).ok_or("it is no PNG")?;
        if size.width.max(size.height) > MAX_SIDE_PIXELS || size.width.min(size.height) == 0 {
            return Err(format!("it is {size}, and sides from 1 to {MAX_SIDE_PIXELS} are shown"));
        }
        self.0 = self.0.checked_sub(bytes.len()).ok_or("the pictures before it have taken all the room")?;
        Ok(PreviewPicture { base64: STANDARD.encode(bytes), size })
    }
}

/// The size that a PNG says it has.
fn size(bytes: &[u8]) -> Option<PixelSize> {
    let rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let number = |at: usize| Some(u32::from_be_bytes(rest.get(at..at + 4)?.try_into().ok()?));
    (rest.get(4..8)? == b"IHDR").then_some(())?;
    Some(PixelSize { width: number(8)?, height: number(12)? })
}

#[cfg(test)]
mod tests {
    use super::super::sample::png;
    use super::*;

    fn check(src: &str, bytes: &[u8], expected: Result<(u32, u32), &str>) {
        let read = |_: &BundleFileName, most: usize| {
            if bytes.len() > most { Err("too large".to_owned()) } else { Ok(bytes.to_vec()) }
        };
        let taken = PictureBudget::default()
            .load_picture(src, MAX_ICON_BYTES, &read)
            .map(|it| (it.size.width, it.size.height));
        assert_eq!(taken, expected.map_err(str::to_owned), "{src}");
    }

    #[test]
    fn pictures_are_png_files_of_the_bundle() {
        check("a.png", &png(16, 8), Ok((16, 8)));
        check("a.png", b"\x89PNG\r\n\x1a\n", Err("it is no PNG"));
        check("a.svg", b"<svg onload=\"alert(1)\"/>", Err("it is no PNG"));
        check("a.png", &png(16, 0), Err("it is 16x0, and sides from 1 to 4096 are shown"));
        check("a.png", &png(60_000, 60_000), Err("it is 60000x60000, and sides from 1 to 4096 are shown"));
        assert!(
            PictureBudget::default().load_picture("../a.png", MAX_ICON_BYTES, &|_, _| Ok(png(1, 1))).is_err()
        );
        assert!(
            PictureBudget::default()
                .load_picture("javascript:alert(1)", MAX_ICON_BYTES, &|_, _| Ok(png(1, 1)))
                .is_err()
        );
    }

    #[test]
    fn all_pictures_together_are_bounded() {
        let mut room = PictureBudget::default();
        let large = [png(1, 1), vec![0; MAX_SCREENSHOT_BYTES - 200]].concat();
        let taken = (0..10)
            .filter(|_| room.load_picture("a.png", MAX_SCREENSHOT_BYTES, &|_, _| Ok(large.clone())).is_ok());
        assert_eq!(taken.count(), 6);
    }
}

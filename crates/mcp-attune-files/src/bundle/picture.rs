//! Measuring of pictures: size, transparency, and how well an icon can be seen.
//!
//! The visibility of an icon on a background is a mean of contrast ratios as WCAG 2 defines them: of that
//! quarter of its visible area that has the most contrast. A quarter, because an icon is seen when a good part
//! of it is: a dark sign on a white tile is seen on white, and a white sign without a tile is not. A pixel that
//! is half transparent counts by half, in the colour that it has on that background.
//!
//! Rules: B7, B8.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io::Cursor;
use std::sync::PoisonError;

use mcp_attune_bundle::{BundleFileName, PictureFacts, PixelSize};
use png::{ColorType, Decoder, DecodingError, Limits, Transformations};

use super::Bundle;
use super::fault::BundleReadError;
use super::limits::{MAX_PICTURE_BYTES, MAX_PICTURE_SIDE};

/// Grey level of the background of light themes: white.
const LIGHT: u8 = 0xff;
/// Grey level of the background of dark themes, most of which are not quite black.
const DARK: u8 = 0x1e;

/// Maximum number of pictures of a bundle whose measurements are cached.
const MAX_CACHED_PICTURES: usize = 1000;

/// Why a picture cannot be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PictureReadError {
    /// Its file cannot be read, or has more than [`MAX_PICTURE_BYTES`] bytes.
    Unavailable(BundleReadError),
    /// It does not begin with the PNG signature.
    NotPng,
    /// It is a PNG that cannot be decoded.
    Damaged,
    /// A side is longer than [`MAX_PICTURE_SIDE`] pixels; this is its size.
    TooLarge(PixelSize),
}

impl fmt::Display for PictureReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => why.fmt(f),
            Self::NotPng => f.write_str("is no PNG"),
            Self::Damaged => f.write_str("is a PNG that is damaged"),
            Self::TooLarge(size) => write!(f, "is {size}, larger than {MAX_PICTURE_SIDE}x{MAX_PICTURE_SIDE}"),
        }
    }
}

impl PictureReadError {
    /// Returns what the author of the bundle can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unavailable(why) => why.hint(),
            Self::NotPng => "save it as PNG".into(),
            Self::Damaged => "save it again".into(),
            Self::TooLarge(_) => "scale it down; icons are shown with 512 pixels at most".into(),
        }
    }
}

impl std::error::Error for PictureReadError {}

impl Bundle {
    /// Decodes a PNG and measures it. The result is cached, errors included.
    ///
    /// Two threads that ask for the same picture at the same time may both decode it.
    ///
    /// # Errors
    ///
    /// [`PictureReadError`] if the file cannot be read, is no PNG, is damaged, or has too many pixels.
    pub fn picture(&self, name: &BundleFileName) -> Result<PictureFacts, PictureReadError> {
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = seen().get(name) {
            return known.clone();
        }
        let picture = self.read(name, MAX_PICTURE_BYTES).map_err(PictureReadError::Unavailable);
        let picture = picture.and_then(|file| decode_picture(&file));
        let mut seen = seen();
        if seen.len() < MAX_CACHED_PICTURES {
            seen.insert(name.clone(), picture.clone());
        }
        picture
    }
}

/// Decodes a PNG into RGBA pixels with eight bits a channel, and measures them. Fully transparent pixels become
/// equal, because their colour cannot be seen. The size is checked before anything is decoded.
fn decode_picture(file: &[u8]) -> Result<PictureFacts, PictureReadError> {
    if !file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Err(PictureReadError::NotPng);
    }
    let damaged = |_: DecodingError| PictureReadError::Damaged;
    let mut decoder = Decoder::new_with_limits(Cursor::new(file), Limits { bytes: 64 << 20 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let (width, height) = decoder.read_header_info().map_err(damaged)?.size();
    let size = PixelSize { width, height };
    if width.max(height) > MAX_PICTURE_SIDE {
        return Err(PictureReadError::TooLarge(size));
    }
    let mut reader = decoder.read_info().map_err(damaged)?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or(PictureReadError::Damaged)?];
    let frame = reader.next_frame(&mut pixels).map_err(damaged)?;
    if (frame.width, frame.height) != (width, height) {
        return Err(PictureReadError::Damaged);
    }
    let mut seen = Vec::with_capacity(pixels.len() / frame.color_type.samples());
    for pixel in pixels.chunks_exact(frame.color_type.samples()) {
        seen.push(match (frame.color_type, pixel) {
            // What cannot be seen has no colour.
            (ColorType::GrayscaleAlpha, [_, 0]) | (ColorType::Rgba, [.., 0]) => [0; 4],
            (ColorType::Grayscale, [grey]) => [*grey, *grey, *grey, 0xff],
            (ColorType::GrayscaleAlpha, [grey, alpha]) => [*grey, *grey, *grey, *alpha],
            (ColorType::Rgb, [red, green, blue]) => [*red, *green, *blue, 0xff],
            (ColorType::Rgba, [red, green, blue, alpha]) => [*red, *green, *blue, *alpha],
            _ => return Err(PictureReadError::Damaged),
        });
    }
    Ok(measure_pixels(size, &seen))
}

/// About how many pixels are measured for contrast. Of a larger picture, they are taken evenly.
const SAMPLED_PIXELS: usize = 1 << 16;

/// Measures RGBA pixels. Transparency and the digest are of all pixels, contrast of a sample.
fn measure_pixels(size: PixelSize, pixels: &[[u8; 4]]) -> PictureFacts {
    let linear: [f32; 256] = std::array::from_fn(|value| {
        let value = value as f32 / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    let (mut light, mut dark) =
        (ContrastHistogram::with(LIGHT, &linear), ContrastHistogram::with(DARK, &linear));
    // Odd, so that it does not run down the columns of a picture whose sides are even.
    let step = (pixels.len() / SAMPLED_PIXELS) | 1;
    for pixel in pixels.iter().step_by(step).filter(|[.., alpha]| *alpha != 0) {
        light.add(*pixel, &linear);
        dark.add(*pixel, &linear);
    }
    let transparent = pixels.iter().any(|[.., alpha]| *alpha != 0xff);
    // Who makes two pictures with the same number gets a warning that is wrong, and nothing else.
    let mut digest = DefaultHasher::new();
    digest.write(&[size.width.to_le_bytes(), size.height.to_le_bytes()].concat());
    digest.write(pixels.as_flattened());
    PictureFacts::new(size, transparent, light.best_quarter_mean(), dark.best_quarter_mean(), digest.finish())
}

/// How much of a picture has which contrast with one background.
struct ContrastHistogram {
    /// Grey level of the background.
    background: u8,
    /// Relative luminance of the background, from 0 to 1.
    light: f32,
    /// Visible area, as a sum of alpha values, by contrast ratio in hundredths: index 100 is 1:1, index 2100 is
    /// 21:1.
    shares: Vec<u64>,
}

impl ContrastHistogram {
    fn with(background: u8, linear: &[f32; 256]) -> Self {
        let light = linear.get(usize::from(background)).copied().unwrap_or_default();
        Self { background, light, shares: vec![0; 2101] }
    }

    /// Adds one pixel, blended with the background.
    fn add(&mut self, [red, green, blue, alpha]: [u8; 4], linear: &[f32; 256]) {
        let light = |colour: u8| {
            let (over, under) = (u32::from(alpha), 255 - u32::from(alpha));
            let seen = (u32::from(colour) * over + u32::from(self.background) * under + 127) / 255;
            linear.get(seen as usize).copied().unwrap_or_default()
        };
        let light = 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
        let ratio = (light.max(self.light) + 0.05) / (light.min(self.light) + 0.05);
        if let Some(share) = self.shares.get_mut((ratio * 100.0).round() as usize) {
            *share += u64::from(alpha);
        }
    }

    /// Returns the mean contrast of the quarter with the most contrast, or 1 if nothing is visible.
    fn best_quarter_mean(&self) -> f32 {
        let quarter = self.shares.iter().sum::<u64>().div_ceil(4);
        let (mut left, mut sum) = (quarter, 0.0);
        for (hundredths, share) in self.shares.iter().enumerate().rev() {
            let taken = left.min(*share);
            sum += hundredths as f64 / 100.0 * taken as f64;
            left -= taken;
        }
        if quarter == 0 { 1.0 } else { (sum / quarter as f64) as f32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of 8 by 8 pixels.
    fn png(kind: ColorType, pixel: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, 8, 8);
        encoder.set_color(kind);
        encoder.set_depth(png::BitDepth::Eight);
        let pixels: Vec<u8> = (0..64).flat_map(pixel).collect();
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        file
    }

    fn check(file: &[u8], on_light: f32, on_dark: f32, transparent: bool) {
        let seen = decode_picture(file).unwrap();
        assert!((seen.on_light - on_light).abs() < 0.05, "{seen:?}");
        assert!((seen.on_dark - on_dark).abs() < 0.05, "{seen:?}");
        assert_eq!((seen.transparent, seen.size), (transparent, PixelSize { width: 8, height: 8 }));
    }

    #[test]
    fn what_is_seen_of_an_icon_decides_how_far_it_stands_out() {
        check(&png(ColorType::Grayscale, |_| vec![0]), 21.0, 1.26, false);
        check(&png(ColorType::Rgb, |_| vec![255, 255, 255]), 1.0, 16.67, false);
        // A white sign without a tile, and a dark one on a tile.
        check(
            &png(ColorType::Rgba, |at| vec![255, 255, 255, if at < 8 { 255 } else { 0 }]),
            1.0,
            16.67,
            true,
        );
        check(&png(ColorType::Grayscale, |at| vec![if at < 8 { 0 } else { 255 }]), 11.0, 16.67, false);
        // Hardly there at all, and not at all.
        check(&png(ColorType::GrayscaleAlpha, |_| vec![0, 10]), 1.09, 1.01, true);
        check(&png(ColorType::GrayscaleAlpha, |_| vec![0, 0]), 1.0, 1.0, true);
    }

    #[test]
    fn what_looks_the_same_has_the_same_digest() {
        let digest = |file: &[u8]| decode_picture(file).unwrap().digest;
        let grey = digest(&png(ColorType::Grayscale, |at| vec![at as u8]));
        assert_eq!(grey, digest(&png(ColorType::Rgba, |at| vec![at as u8, at as u8, at as u8, 255])));
        assert_ne!(grey, digest(&png(ColorType::Grayscale, |at| vec![at as u8 ^ 1])));
        let hidden = |colour| digest(&png(ColorType::GrayscaleAlpha, move |_| vec![colour, 0]));
        assert_eq!(hidden(0), hidden(200));
    }

    #[test]
    fn what_is_no_picture_is_told() {
        assert_eq!(decode_picture(b"GIF89a"), Err(PictureReadError::NotPng));
        let whole = png(ColorType::Grayscale, |at| vec![at as u8]);
        for length in 8..whole.len() - 12 {
            assert_eq!(decode_picture(&whole[..length]), Err(PictureReadError::Damaged), "{length}");
        }
        // Larger than anything that is shown: its header says so, and the rest is not looked at.
        let mut large = whole.clone();
        large[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
        let sum = crc32fast::hash(&large[12..29]).to_be_bytes();
        large[29..33].copy_from_slice(&sum);
        let found = decode_picture(&large).unwrap_err();
        assert_eq!(found.to_string(), "is 100000x8, larger than 4096x4096");
    }
}

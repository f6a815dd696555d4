//! Uploaded images: decoded within limits, and encoded again.
//!
//! The uploaded bytes are never stored: only the pixels are kept, so metadata such as the location
//! of a photo is dropped, and a file that is also valid in another format no longer is. Decoding
//! takes processor time and memory, so it runs on a blocking thread, few at once.

mod prefix_codes;

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageDecoder as _, ImageFormat, ImageReader, ImageResult, Limits};
use sluice_store::ImageType;
use tokio::sync::Semaphore;

/// The longest side of an upload, in pixels.
const SIDE_PIXELS_MAX: u32 = 4_096;
/// The longest side of a stored image, in pixels: enough for a wide screen with two pixels per
/// point.
const STORED_SIDE_PIXELS_MAX: u32 = 2_000;
/// The size of a stored image, in bytes.
const STORED_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The memory for one decoded image: 4,096 × 4,096 pixels of 32 bits, and half as much beside it.
const DECODED_BYTES_MAX: u64 = 96 * 1024 * 1024;
/// The maximum number of images that are decoded at once.
const AT_ONCE_MAX: usize = 2;
/// The most uploads that are converted or wait for it; each is in memory.
const UPLOADS_MAX: usize = 16;
/// The quality of stored photos, of 100.
const JPEG_QUALITY: u8 = 85;

/// Why an upload cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImageRefused {
    #[error("must be a PNG, JPEG or WebP image")]
    UnknownForm,
    #[error(
        "must be at most {SIDE_PIXELS_MAX} pixels wide and high, with 8 bits per channel if it is large"
    )]
    TooLarge,
    #[error("is damaged: it cannot be decoded")]
    Damaged,
    #[error("cannot be stored now: too many images are being uploaded")]
    Busy,
}

/// An image in the form in which it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredImage {
    pub content_type: ImageType,
    pub width: u32,
    pub height: u32,
    pub bytes: Vec<u8>,
}

/// Decodes and encodes images, few at a time.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    turns: Arc<Semaphore>,
    /// Each upload in memory has one, from its arrival to its end.
    places: Arc<Semaphore>,
}

impl Images {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            turns: Arc::new(Semaphore::new((processors / 2).clamp(1, AT_ONCE_MAX))),
            places: Arc::new(Semaphore::new(UPLOADS_MAX)),
        }
    }

    pub(crate) async fn convert(&self, upload: Bytes) -> Result<StoredImage, ImageRefused> {
        let _place = self.places.try_acquire().map_err(|_| ImageRefused::Busy)?;
        // The semaphore is never closed, and if the decoder panics, the image is damaged.
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        let converted = tokio::task::spawn_blocking(move || {
            let converted = convert(&upload);
            drop(turn);
            converted
        });
        converted.await.unwrap_or(Err(ImageRefused::Damaged))
    }
}

/// Decodes an upload within the limits, and encodes what is stored.
pub fn convert(upload: &[u8]) -> Result<StoredImage, ImageRefused> {
    let (form, image) = decode(upload)?;
    let mut image = within(image, STORED_SIDE_PIXELS_MAX);
    loop {
        let encoded = encode(&image, form, upload.len()).map_err(|_| ImageRefused::Damaged)?;
        if encoded.bytes.len() <= STORED_BYTES_MAX {
            return Ok(encoded);
        }
        // Noise with transparency hardly gets smaller in any lossless form.
        let side = image.width().max(image.height()) * 3 / 4;
        image = within(image, side.max(1));
    }
}

fn decode(upload: &[u8]) -> Result<(ImageFormat, DynamicImage), ImageRefused> {
    let form = match image::guess_format(upload) {
        Ok(form @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) => form,
        _ => return Err(ImageRefused::UnknownForm),
    };
    // The decoder learns the size of a WebP picture from its frame of reference only.
    if form == ImageFormat::WebP {
        check_webp(upload.get(12..).unwrap_or_default(), None)?;
    }
    let mut reader = ImageReader::with_format(Cursor::new(upload), form);
    let mut limits = Limits::default();
    limits.max_image_width = Some(SIDE_PIXELS_MAX);
    limits.max_image_height = Some(SIDE_PIXELS_MAX);
    limits.max_alloc = Some(DECODED_BYTES_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(refused)?;
    if decoder.total_bytes() > DECODED_BYTES_MAX {
        return Err(ImageRefused::TooLarge);
    }
    // In the metadata, which is not kept.
    let orientation = decoder.orientation();
    let mut image = DynamicImage::from_decoder(decoder).map_err(refused)?;
    if let Ok(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    Ok((form, plain(image)))
}

/// Whether every picture in the chunks of a WebP file is small enough. Each has its own size and
/// codes, which determine how much memory it takes; only an alpha channel has the size of the
/// picture that it belongs to.
fn check_webp(mut chunks: &[u8], frame: Option<[u32; 2]>) -> Result<(), ImageRefused> {
    let mut whole = frame;
    while let Some((head, rest)) = chunks.split_at_checked(8) {
        let length = head[4..].iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte));
        let body = rest.get(..length).unwrap_or(rest);
        match &head[..4] {
            b"VP8X" => whole = whole.or(webp_sides(body.get(4..))),
            b"VP8 " => check_sides(body.get(6..10).map(|it| {
                let side = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
                [side(it[0], it[1]), side(it[2], it[3])]
            }))?,
            b"VP8L" => {
                let sides = body.get(1..5).map(|it| {
                    let bits = u32::from_le_bytes([it[0], it[1], it[2], it[3]]);
                    [(bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1]
                });
                check_lossless(body.get(5..), sides)?;
            }
            // Compressed like a picture without loss.
            b"ALPH" if body.first().is_some_and(|it| it & 3 == 1) => {
                check_lossless(body.get(1..), whole)?;
            }
            b"ANMF" if frame.is_none() => {
                let sides = webp_sides(body.get(6..)).unwrap_or_default();
                check_webp(body.get(16..).unwrap_or_default(), Some(sides))?;
            }
            _ => {}
        }
        // Chunks have an even length.
        chunks = rest.get(length.saturating_add(length % 2)..).unwrap_or_default();
    }
    Ok(())
}

/// Two sides of 24 bits, each stored minus one.
fn webp_sides(bytes: Option<&[u8]>) -> Option<[u32; 2]> {
    let sides = bytes?.first_chunk::<6>()?;
    let side = |at: usize| u32::from_le_bytes([sides[at], sides[at + 1], sides[at + 2], 0]) + 1;
    Some([side(0), side(3)])
}

fn check_sides(sides: Option<[u32; 2]>) -> Result<(), ImageRefused> {
    match sides.is_some_and(|sides| sides.iter().any(|side| *side > SIDE_PIXELS_MAX)) {
        true => Err(ImageRefused::TooLarge),
        false => Ok(()),
    }
}

fn check_lossless(picture: Option<&[u8]>, sides: Option<[u32; 2]>) -> Result<(), ImageRefused> {
    check_sides(sides)?;
    let (picture, [width, height]) = picture.zip(sides).ok_or(ImageRefused::Damaged)?;
    let left = DECODED_BYTES_MAX.saturating_sub(4 * u64::from(width) * u64::from(height));
    match prefix_codes::code_bytes(picture, width, height, left) {
        None => Err(ImageRefused::Damaged),
        Some(bytes) if bytes > left => Err(ImageRefused::TooLarge),
        Some(_) => Ok(()),
    }
}

fn refused(error: image::ImageError) -> ImageRefused {
    match error {
        image::ImageError::Limits(_) => ImageRefused::TooLarge,
        _ => ImageRefused::Damaged,
    }
}

/// With 8 bits per channel, and with an alpha channel only if a pixel is not opaque.
fn plain(image: DynamicImage) -> DynamicImage {
    match image {
        DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) => image,
        image if !image.has_alpha() => image.into_rgb8().into(),
        image => {
            let image = image.into_rgba8();
            match image.pixels().all(|pixel| pixel.0[3] == u8::MAX) {
                true => DynamicImage::from(image).into_rgb8().into(),
                false => image.into(),
            }
        }
    }
}

/// Scaled down so that its longest side has at most this many pixels.
fn within(image: DynamicImage, side: u32) -> DynamicImage {
    match image.width().max(image.height()) > side {
        true => image.thumbnail(side, side),
        false => image,
    }
}

/// Photos as JPEG, all else without loss. A WebP file may be either: if it is opaque and gets much
/// larger without loss, it is a photo.
fn encode(image: &DynamicImage, form: ImageFormat, upload: usize) -> ImageResult<StoredImage> {
    let (content_type, bytes) = match form {
        ImageFormat::Jpeg => (ImageType::Jpeg, jpeg(image)?),
        ImageFormat::WebP => {
            let bytes = webp(image)?;
            match !image.has_alpha() && bytes.len() > (2 * upload).min(STORED_BYTES_MAX) {
                true => (ImageType::Jpeg, jpeg(image)?),
                false => (ImageType::WebP, bytes),
            }
        }
        _ => {
            let bytes = png(image)?;
            match !image.has_alpha() && bytes.len() > STORED_BYTES_MAX {
                true => (ImageType::Jpeg, jpeg(image)?),
                false => (ImageType::Png, bytes),
            }
        }
    };
    Ok(StoredImage { content_type, width: image.width(), height: image.height(), bytes })
}

fn jpeg(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
    Ok(bytes)
}

fn png(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    image.write_with_encoder(PngEncoder::new(&mut bytes))?;
    Ok(bytes)
}

fn webp(image: &DynamicImage) -> ImageResult<Vec<u8>> {
    let mut bytes = Vec::new();
    image.write_with_encoder(WebPEncoder::new_lossless(&mut bytes))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::prefix_codes::samples::with_groups;
    use super::*;

    /// An image that no lossless form makes small.
    fn noise(width: u32, height: u32) -> RgbImage {
        let mut state = 1_u32;
        RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let [_, r, g, b] = state.to_be_bytes();
            Rgb([r, g, b])
        })
    }

    fn kept(upload: &[u8]) -> (ImageType, u32, u32) {
        let stored = convert(upload).unwrap();
        assert!(stored.bytes.len() <= STORED_BYTES_MAX);
        let read = image::load_from_memory(&stored.bytes).unwrap();
        assert_eq!((read.width(), read.height()), (stored.width, stored.height));
        (stored.content_type, stored.width, stored.height)
    }

    #[test]
    fn an_image_keeps_its_form_and_its_pixels() {
        let clear = RgbaImage::from_fn(20, 10, |x, y| Rgba([x as u8, y as u8, 3, 128]));
        let solid = noise(30, 20);
        for (image, form, expected) in [
            (clear.clone().into(), ImageFormat::Png, (ImageType::Png, 20, 10)),
            (clear.into(), ImageFormat::WebP, (ImageType::WebP, 20, 10)),
            (solid.clone().into(), ImageFormat::Png, (ImageType::Png, 30, 20)),
            (solid.clone().into(), ImageFormat::WebP, (ImageType::WebP, 30, 20)),
            (
                DynamicImage::from(solid.clone()).to_luma8().into(),
                ImageFormat::Jpeg,
                (ImageType::Jpeg, 30, 20),
            ),
            (solid.into(), ImageFormat::Jpeg, (ImageType::Jpeg, 30, 20)),
        ] {
            let image: DynamicImage = image;
            let mut upload = Cursor::new(Vec::new());
            image.write_to(&mut upload, form).unwrap();
            assert_eq!(kept(upload.get_ref()), expected, "{form:?}");
            if form != ImageFormat::Jpeg {
                let stored = convert(upload.get_ref()).unwrap();
                assert_eq!(image::load_from_memory(&stored.bytes).unwrap(), image);
            }
        }
    }

    #[test]
    fn a_large_image_is_scaled_down_and_a_heavy_one_becomes_a_photo() {
        let upload = jpeg(&noise(3_000, 300).into()).unwrap();
        assert_eq!(kept(&upload), (ImageType::Jpeg, 2_000, 200));
        let upload = png(&noise(900, 900).into()).unwrap();
        assert!(upload.len() > STORED_BYTES_MAX);
        assert_eq!(kept(&upload), (ImageType::Jpeg, 900, 900));
        let mut clear = DynamicImage::from(noise(900, 900)).into_rgba8();
        clear.get_pixel_mut(0, 0).0[3] = 0;
        let (form, width, height) = kept(&png(&clear.into()).unwrap());
        assert_eq!((form, width), (ImageType::Png, height));
        assert!(width < 900);
    }

    #[test]
    fn metadata_is_dropped_and_the_orientation_in_it_is_applied() {
        let image =
            RgbImage::from_fn(
                40,
                20,
                |x, _| if x < 20 { Rgb([250, 0, 0]) } else { Rgb([0, 0, 250]) },
            );
        let plain = jpeg(&image.into()).unwrap();
        // Rotated by 90 degrees, and with the name of a camera.
        let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x02".to_vec();
        exif.extend(
            b"\x01\x0f\0\x02\0\0\0\x07\0\0\0\x26\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0SECRET\0",
        );
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let upload = [&plain[..2], &[0xFF, 0xE1], &length, &exif, &plain[2..]].concat();
        let stored = convert(&upload).unwrap();
        assert_eq!((stored.width, stored.height), (20, 40));
        let holds = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|it| it == text);
        assert!(holds(&upload, b"SECRET") && holds(&upload, b"Exif"));
        assert!(!holds(&stored.bytes, b"SECRET") && !holds(&stored.bytes, b"Exif"));
        let turned = image::load_from_memory(&stored.bytes).unwrap().into_rgb8();
        assert!(turned.get_pixel(10, 5).0[0] > 200 && turned.get_pixel(10, 35).0[2] > 200);
    }

    /// A PNG that claims to be this large, and has the data of one empty row.
    fn claimed(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = png(&RgbImage::new(1, 1).into()).unwrap();
        bytes[16..20].copy_from_slice(&width.to_be_bytes());
        bytes[20..24].copy_from_slice(&height.to_be_bytes());
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
        bytes
    }

    /// A WebP file with a canvas of one pixel, and a picture in it that claims to be larger.
    fn smuggled(kind: &[u8; 4], body: &[u8], is_animated: bool) -> Vec<u8> {
        let chunk = |kind: &[u8; 4], body: &[u8]| {
            let length = u32::try_from(body.len()).unwrap().to_le_bytes();
            [&kind[..], &length, body, &vec![0; body.len() % 2]].concat()
        };
        let mut picture = chunk(kind, body);
        if is_animated {
            picture = chunk(b"ANMF", &[vec![0; 16], picture].concat());
        }
        let canvas = chunk(b"VP8X", &[if is_animated { 2 } else { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let chunks = [b"WEBP".to_vec(), canvas, picture].concat();
        chunk(b"RIFF", &chunks)
    }

    #[test]
    fn a_small_canvas_does_not_hide_a_large_picture() {
        let lossy = |side: u16| {
            let [low, high] = side.to_le_bytes();
            [0x10, 0, 0, 0x9d, 0x01, 0x2a, low, high, low, high, 0, 0]
        };
        let lossless = |side: u32| {
            let bits = (side - 1) | (side - 1) << 14;
            [&[0x2f][..], &bits.to_le_bytes(), &[0; 4]].concat()
        };
        for is_animated in [false, true] {
            for (kind, large, small) in [
                (b"VP8 ", lossy(16_383).to_vec(), lossy(4_096).to_vec()),
                (b"VP8L", lossless(16_384), lossless(4_096)),
            ] {
                let upload = smuggled(kind, &large, is_animated);
                assert_eq!(convert(&upload), Err(ImageRefused::TooLarge), "{is_animated}");
                // Otherwise it is only damaged.
                let upload = smuggled(kind, &small, is_animated);
                assert_eq!(convert(&upload), Err(ImageRefused::Damaged), "{is_animated}");
            }
        }
        // Chunks that claim any length, and frames within frames.
        for length in [0, 7, u32::MAX] {
            let all = [&b"ANMF"[..], &length.to_le_bytes(), &[0; 40]].concat();
            assert_eq!(check_webp(&all.repeat(3), None), Ok(()));
        }
    }

    #[test]
    fn a_small_picture_with_many_codes_takes_no_more_memory_than_a_large_one() {
        let group_bytes = 5 * (4 * 1_024 + 128);
        let fitting = u32::try_from((DECODED_BYTES_MAX - 4) / group_bytes).unwrap();
        let chunk = |body: &[u8]| smuggled(b"VP8L", body, false);
        // The file has one pixel, and is as large as a small photo.
        let bomb = chunk(&with_groups(1, fitting + 1));
        assert!(bomb.len() < 300_000, "{}", bomb.len());
        assert_eq!(convert(&bomb), Err(ImageRefused::TooLarge));
        let animated = smuggled(b"VP8L", &with_groups(1, fitting + 1), true);
        assert_eq!(convert(&animated), Err(ImageRefused::TooLarge));
        // The same data as an alpha channel has no header.
        let alpha = [&[1][..], &with_groups(1, fitting + 1)[5..]].concat();
        assert_eq!(convert(&smuggled(b"ALPH", &alpha, false)), Err(ImageRefused::TooLarge));
        let mut picture = chunk(&with_groups(3, 200));
        picture[24..30].copy_from_slice(&[2, 0, 0, 2, 0, 0]);
        let stored = convert(&picture).unwrap();
        assert_eq!((stored.width, stored.height), (3, 3));
        assert_eq!(convert(&picture[..picture.len() / 2]), Err(ImageRefused::Damaged));
    }

    #[test]
    fn bombs_and_other_files_are_refused() {
        let photo = jpeg(&noise(50, 50).into()).unwrap();
        for (upload, expected) in [
            (b"".to_vec(), ImageRefused::UnknownForm),
            (b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(), ImageRefused::UnknownForm),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), ImageRefused::UnknownForm),
            (b"\x89PNG\r\n\x1a\n".to_vec(), ImageRefused::Damaged),
            (photo[..20].to_vec(), ImageRefused::Damaged),
            (claimed(SIDE_PIXELS_MAX + 1, 1), ImageRefused::TooLarge),
            (claimed(50_000, 50_000), ImageRefused::TooLarge),
            (claimed(SIDE_PIXELS_MAX, SIDE_PIXELS_MAX), ImageRefused::Damaged),
        ] {
            assert_eq!(convert(&upload), Err(expected), "{:?}", &upload[..upload.len().min(30)]);
        }
    }
}

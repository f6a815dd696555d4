//! Any bytes as an uploaded image.
//!
//! What is stored is within the limits, and is an image that is stored as the same kind and size if
//! it is uploaded again.

use sluice_engine::fuzzing::convert_image;

const SIDE_PIXELS_MAX: u32 = 2_000;
const BYTES_MAX: usize = 2 * 1024 * 1024;

pub(super) fn run(data: &[u8]) {
    let Ok(stored) = convert_image(data) else { return };
    assert!((1..=SIDE_PIXELS_MAX).contains(&stored.width), "{} wide", stored.width);
    assert!((1..=SIDE_PIXELS_MAX).contains(&stored.height), "{} high", stored.height);
    assert!((1..=BYTES_MAX).contains(&stored.bytes.len()), "{} bytes", stored.bytes.len());
    let again = convert_image(&stored.bytes).expect("a stored image is an image");
    assert_eq!(again.content_type, stored.content_type);
    assert_eq!((again.width, again.height), (stored.width, stored.height));
}

//! Image files.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A PNG of one colour, with a text beside the picture.
pub(crate) fn png(width: u32, height: u32, colour: [u8; 3]) -> Vec<u8> {
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..height {
        rows.write_all(&[0]).unwrap();
        rows.write_all(&colour.repeat(width as usize)).unwrap();
    }
    let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
    let head = [size.as_slice(), &[8, 2, 0, 0, 0]].concat();
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let parts: [(&[u8; 4], Vec<u8>); 4] = [
        (b"IHDR", head),
        (b"tEXt", b"Comment\0SECRET".to_vec()),
        (b"IDAT", rows.finish().unwrap()),
        (b"IEND", Vec::new()),
    ];
    for (name, data) in parts {
        bytes.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        let mut crc = flate2::Crc::new();
        crc.update(name);
        crc.update(&data);
        bytes.extend(name);
        bytes.extend(data);
        bytes.extend(crc.sum().to_be_bytes());
    }
    bytes
}

//! Reads the size of an image from the headers of the four formats that models accept.

use super::ImageSize;

/// How many characters of base64 to read. In a JPEG, other headers come before the size.
const MAX_BASE64: usize = 400_000;

/// Returns the size of a base64 image.
pub fn size(base64: &str) -> Option<ImageSize> {
    let start = Base64Bytes::new(base64).first(30);
    if start.starts_with(b"\x89PNG") {
        Some(dimensions(be32(&start, 16)?, be32(&start, 20)?))
    } else if start.starts_with(b"GIF8") {
        Some(dimensions(le16(&start, 6)?, le16(&start, 8)?))
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP".as_slice()) {
        webp(&start)
    } else if start.starts_with(b"\xff\xd8") {
        jpeg(Base64Bytes::new(base64))
    } else {
        None
    }
}

fn dimensions(width: u32, height: u32) -> ImageSize {
    ImageSize { width, height }
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(
        *bytes.get(at..)?.first_chunk()?,
    )))
}

fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    let [low, middle, high] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

/// Reads the size from a WebP header of any of its three kinds.
fn webp(start: &[u8]) -> Option<ImageSize> {
    match start.get(12..16)? {
        b"VP8X" => Some(dimensions(le24(start, 24)? + 1, le24(start, 27)? + 1)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(*start.get(21..)?.first_chunk()?);
            Some(dimensions((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some(dimensions(
            le16(start, 26)? & 0x3fff,
            le16(start, 28)? & 0x3fff,
        )),
        _ => None,
    }
}

/// Walks the segments until one states the size.
fn jpeg(mut bytes: Base64Bytes<'_>) -> Option<ImageSize> {
    bytes.first(2);
    loop {
        while bytes.next()? != 0xff {}
        let mut kind = bytes.next()?;
        while kind == 0xff {
            kind = bytes.next()?;
        }
        if matches!(kind, 0x01 | 0xd0..=0xd9) {
            continue;
        }
        let length = usize::from(bytes.word()?);
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            bytes.next()?;
            let height = bytes.word()?;
            let width = bytes.word()?;
            return Some(dimensions(u32::from(width), u32::from(height)));
        }
        bytes.skip_bytes(length.checked_sub(2)?)?;
    }
}

/// Decodes the beginning of a base64 text. Characters outside the alphabet are skipped.
struct Base64Bytes<'a> {
    letters: std::str::Bytes<'a>,
    bits: u32,
    have: u32,
}

impl<'a> Base64Bytes<'a> {
    /// Starts at the beginning of a text, and stops after [`MAX_BASE64`] characters.
    fn new(base64: &'a str) -> Base64Bytes<'a> {
        let end = (0..=MAX_BASE64.min(base64.len()))
            .rev()
            .find(|at| base64.is_char_boundary(*at));
        let start = &base64[..end.unwrap_or(0)];
        Base64Bytes {
            letters: start.bytes(),
            bits: 0,
            have: 0,
        }
    }

    /// Returns the next `count` bytes, or as many as there are.
    fn first(&mut self, count: usize) -> Vec<u8> {
        self.by_ref().take(count).collect()
    }

    /// Returns the next two bytes as a big-endian number.
    fn word(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.next()?, self.next()?]))
    }

    /// Skips `count` bytes; `None` if there are fewer.
    fn skip_bytes(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.next().map(|_| ()))
    }
}

impl Iterator for Base64Bytes<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        while self.have < 8 {
            let value = match self.letters.next()? {
                letter @ b'A'..=b'Z' => letter - b'A',
                letter @ b'a'..=b'z' => letter - b'a' + 26,
                digit @ b'0'..=b'9' => digit - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                b'=' => return None,
                _ => continue,
            };
            self.bits = (self.bits << 6) | u32::from(value);
            self.have += 6;
        }
        self.have -= 8;
        Some((self.bits >> self.have) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Base64 of a header and what follows it.
    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut out = String::new();
        for chunk in bytes.chunks(3) {
            let mut group = [0; 3];
            group[..chunk.len()].copy_from_slice(chunk);
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            for place in 0..4 {
                let letter = LETTERS[((bits >> (18 - 6 * place)) & 63) as usize];
                out.push(if place > chunk.len() {
                    '='
                } else {
                    char::from(letter)
                });
            }
        }
        out
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<(u32, u32)>) {
        let found = size(&base64(bytes)).map(|size| (size.width, size.height));
        assert_eq!(found, expected);
    }

    #[test]
    fn every_format_tells_its_size() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        png.extend(640_u32.to_be_bytes());
        png.extend(480_u32.to_be_bytes());
        check(&png, Some((640, 480)));
        check(b"GIF89a\x40\x01\xf0\x00rest", Some((320, 240)));
        let mut lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".to_vec();
        lossless.extend((99_u32 | (49 << 14)).to_le_bytes());
        check(&lossless, Some((100, 50)));
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\x03\x58\x02";
        check(lossy, Some((800, 600)));
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x1f\x03\0\x57\x02\0";
        check(extended, Some((800, 600)));
    }

    #[test]
    fn the_size_of_a_jpeg_stands_behind_other_headers() {
        let mut jpeg = vec![0xff, 0xd8, 0xff, 0xe1, 0x75, 0x30];
        jpeg.extend(vec![0xab; 0x7530 - 2]);
        jpeg.extend([0xff, 0xff, 0xc2, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3]);
        check(&jpeg, Some((800, 600)));
    }

    #[test]
    fn broken_headers_have_no_size() {
        let cases: [&[u8]; 6] = [
            b"",
            b"\x89PNG\r\n",
            b"\xff\xd8\xff\xe0\0\x00",
            b"\xff\xd8\xff\xe0\xff\xff",
            b"RIFF\0\0\0\0WEBPVP9 ",
            b"%PDF-1.7",
        ];
        for bytes in cases {
            check(bytes, None);
        }
        assert_eq!(size("这不是 base64"), None);
        assert_eq!(size(&"é".repeat(MAX_BASE64)), None);
    }
}

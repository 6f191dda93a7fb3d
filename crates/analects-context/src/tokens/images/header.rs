//! The size of a picture, read from the headers of the four formats that models take.

use super::Pixels;

/// How much base64 is looked at: in a JPEG, other headers come before the size.
const LOOKED_AT: usize = 400_000;

/// The size of a picture in base64.
pub fn size(base64: &str) -> Option<Pixels> {
    let mut bytes = Decoded::new(base64);
    let start = bytes.first(30);
    match start.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => Some(of(be(&start, 16)?, be(&start, 20)?)),
        [b'G', b'I', b'F', b'8', ..] => Some(of(le16(&start, 6)?, le16(&start, 8)?)),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => webp(&start),
        [0xff, 0xd8, ..] => jpeg(Decoded::new(base64)),
        _ => None,
    }
}

fn of(width: u32, height: u32) -> Pixels {
    Pixels { width, height }
}

fn be(bytes: &[u8], at: usize) -> Option<u32> {
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

fn webp(start: &[u8]) -> Option<Pixels> {
    match start.get(12..16)? {
        b"VP8X" => Some(of(le24(start, 24)? + 1, le24(start, 27)? + 1)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(*start.get(21..)?.first_chunk()?);
            Some(of((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some(of(le16(start, 26)? & 0x3fff, le16(start, 28)? & 0x3fff)),
        _ => None,
    }
}

/// Goes from segment to segment until one tells the size.
fn jpeg(mut bytes: Decoded<'_>) -> Option<Pixels> {
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
            let (height, width) = (bytes.word()?, bytes.word()?);
            return Some(of(u32::from(width), u32::from(height)));
        }
        bytes.pass(length.checked_sub(2)?)?;
    }
}

/// The bytes of the beginning of a base64 text. Anything that is not of its alphabet is passed over.
struct Decoded<'a> {
    letters: std::str::Bytes<'a>,
    bits: u32,
    have: u32,
}

impl<'a> Decoded<'a> {
    fn new(base64: &'a str) -> Decoded<'a> {
        let end = (0..=LOOKED_AT.min(base64.len()))
            .rev()
            .find(|at| base64.is_char_boundary(*at));
        let start = &base64[..end.unwrap_or(0)];
        Decoded {
            letters: start.bytes(),
            bits: 0,
            have: 0,
        }
    }

    fn first(&mut self, count: usize) -> Vec<u8> {
        self.by_ref().take(count).collect()
    }

    fn word(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes([self.next()?, self.next()?]))
    }

    fn pass(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.next().map(|_| ()))
    }
}

impl Iterator for Decoded<'_> {
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
        assert_eq!(size(&"é".repeat(LOOKED_AT)), None);
    }
}

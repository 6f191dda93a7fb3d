//! The checksum of a record: CRC-32C (Castagnoli), as in iSCSI and ext4. Computed for sixteen bytes at a time.

/// The polynomial, with its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The effect of each byte value on the checksum, for each of the sixteen positions.
static TABLES: [[u32; 256]; 16] = tables();

/// Computes [`TABLES`] at compile time. `for` loops are not allowed there yet.
const fn tables() -> [[u32; 256]; 16] {
    let mut tables = [[0; 256]; 16];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut place = 1;
    while place < 16 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[place - 1][byte];
            tables[place][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        place += 1;
    }
    tables
}

/// Computes the CRC-32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<16>();
    let mut crc = u32::MAX;
    for word in words {
        let mut mixed = *word;
        for (byte, before) in mixed.iter_mut().zip(crc.to_le_bytes()) {
            *byte ^= before;
        }
        crc = 0;
        for (byte, table) in mixed.iter().zip(TABLES.iter().rev()) {
            crc ^= table[*byte as usize];
        }
    }
    for byte in rest {
        crc = (crc >> 8) ^ TABLES[0][((crc ^ u32::from(*byte)) & 0xff) as usize];
    }
    !crc
}

#[cfg(test)]
mod tests {
    //! Known values, and the slow way.

    use super::*;

    #[test]
    fn it_is_the_known_checksum() {
        // From RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&(0..32).collect::<Vec<u8>>()), 0x46dd_794e);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn sixteen_bytes_at_a_time_are_as_one_at_a_time() {
        let bytes: Vec<u8> = (0..100_u32).map(|n| ((n * n) >> 3) as u8).collect();
        for end in 0..bytes.len() {
            let slow = bytes[..end].iter().fold(u32::MAX, |crc, byte| {
                (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                    if crc & 1 == 1 {
                        (crc >> 1) ^ POLYNOMIAL
                    } else {
                        crc >> 1
                    }
                })
            });
            assert_eq!(crc32c(&bytes[..end]), !slow, "{end}");
        }
    }
}

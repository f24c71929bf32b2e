//! The order of names in a directory.

use siphasher::sip::SipHasher13;

/// Bits of a reversed hash.
const BITS: u8 = 48;

/// The bit-reversed hash of a name, a 48-bit number: SipHash-1-3 under the volume's key, cut to
/// its lowest `bits` bits (at most 48), least significant bit on top.
pub fn name_key(key: [u64; 2], bits: u8, name: &[u8]) -> u64 {
    let h = SipHasher13::new_with_keys(key[0], key[1]).hash(name);
    let kept = h & ((1 << bits.min(BITS)) - 1);
    kept.reverse_bits() >> (64 - BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_bits_are_a_prefix() {
        let full = name_key([1, 2], 48, b"name");
        assert!(full < 1 << 48);
        for bits in 0..=48 {
            let cut = name_key([1, 2], bits, b"name");
            assert_eq!(cut, full & !((1u64 << (48 - bits)) - 1));
        }
        assert_eq!(name_key([1, 2], 255, b"name"), full);
    }

    #[test]
    fn the_hash_never_changes() {
        assert_ne!(name_key([1, 2], 48, b"name"), name_key([1, 3], 48, b"name"));
        assert_eq!(name_key([1, 2], 48, b"name"), 0x5da0_4dc8_553e);
    }
}

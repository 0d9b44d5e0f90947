//! Random choices that never change: SplitMix64 (Steele, Lea and Flood 2014), begun with the FNV-1a
//! hash of a text.
//!
//! Written out, because the numbers must be the same in every later version, which random number
//! crates do not promise.

pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: &str) -> Self {
        Self(hash(seed))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`; 0 where `count` is 0.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(1).max(1);
        // Lists are short, so taking the remainder prefers none noticeably.
        usize::try_from(self.next() % count).unwrap_or(0)
    }
}

/// FNV-1a, 64 bits.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::{Draw, hash};

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of SplitMix64 from 1234567, as its reference implementation prints them.
        let mut draw = Draw(1_234_567);
        assert_eq!(
            [draw.next(), draw.next(), draw.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
    }
}

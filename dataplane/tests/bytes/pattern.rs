//! A stream that both ends know: every byte is compared, where a checksum would only say "wrong".

/// Prime, so that no lost or repeated buffer lines up with it.
const PERIOD: usize = 1_048_573;

/// The longest piece of a pattern.
pub const LONGEST: usize = 256 << 10;

/// Numbers that look random and are the same in every run (xorshift64).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 1 to `most`.
    pub fn up_to(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).expect("smaller than a usize") + 1
    }
}

/// A period of random bytes, over and over.
#[derive(Clone)]
pub struct Pattern(Vec<u8>);

impl Pattern {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let words = (PERIOD + LONGEST) / 8 + 1;
        let mut bytes: Vec<u8> = (0..words)
            .flat_map(|_| random.next().to_le_bytes())
            .collect();
        bytes.truncate(PERIOD + LONGEST);
        bytes.copy_within(..LONGEST, PERIOD);
        Self(bytes)
    }

    /// The bytes of the stream from `offset` on, at most [`LONGEST`].
    pub fn at(&self, offset: u64, len: usize) -> &[u8] {
        let start = usize::try_from(offset % PERIOD as u64).expect("smaller than a usize");
        &self.0[start..start + len]
    }
}

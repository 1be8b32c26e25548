//! Hashes that mean the same on every machine: digests of content, and fingerprints of runs.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::Xxh64;

/// XXH64 behind std's [`Hasher`], with every integer written in little-endian order and `usize` as 64 bits,
/// so that a derived `Hash` gives the same number on every platform.
#[derive(Clone)]
pub struct StableHasher(Xxh64);

impl StableHasher {
    /// A hasher for one purpose; different purposes never share a value by construction of their input.
    pub fn new(purpose: u64) -> Self {
        Self(Xxh64::new(purpose))
    }
}

macro_rules! little_endian {
    ($($write:ident($int:ty)),*) => {
        $(fn $write(&mut self, value: $int) { self.0.update(&value.to_le_bytes()); })*
    };
}

impl Hasher for StableHasher {
    fn finish(&self) -> u64 {
        self.0.digest()
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    little_endian!(write_u16(u16), write_u32(u32), write_u64(u64), write_u128(u128));
    little_endian!(write_i16(i16), write_i32(i32), write_i64(i64), write_i128(i128));
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn write_isize(&mut self, value: isize) {
        self.write_i64(value as i64);
    }
}

/// Hashes `value` for `purpose`.
pub fn stable_hash(purpose: u64, value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = StableHasher::new(purpose);
    value.hash(&mut hasher);
    hasher.finish()
}

/// The digest of some content: D(m) in the papers. Collision-free for all that a run can produce.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Digest(pub u64);

impl Digest {
    /// The digest of "nothing": of a null request, of the state before the first one.
    pub const NULL: Self = Self(0);

    /// Up to this number a digest is shown as the number that it is, `#1`; beyond, by its first four digits.
    const SMALL: u64 = u32::MAX as u64;

    /// The digest of `content`; never [`Digest::NULL`].
    pub fn of(content: &(impl Hash + ?Sized)) -> Self {
        Self(stable_hash(0xD16E57, content).max(1))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("null"),
            // No hash is that small: somebody numbers things by hand.
            number @ 1..=Self::SMALL => write!(f, "#{number}"),
            hash => write!(f, "{:04x}", hash >> 48),
        }
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_told_apart() {
        let shown = [0, 1, 2, 1 << 32, 0xABCD << 48].map(|number| Digest(number).to_string());
        assert_eq!(shown, ["null", "#1", "#2", "0000", "abcd"]);
    }

    /// The reference values of XXH64. Stored fingerprints and digests depend on them: a change here is a
    /// change of every file ever saved.
    #[test]
    fn the_hash_is_xxh64() {
        let mut hasher = StableHasher::new(0);
        assert_eq!(hasher.finish(), 0xEF46_DB37_51D8_E999);
        hasher.write(b"a");
        assert_eq!(hasher.finish(), 0xD24E_C4F1_A98C_6E5B);
    }
}

//! Randomness that can be replayed: ChaCha8 streams, one per purpose, and a bounded choice of our own.
//!
//! The distributions of the `rand` crate may change value between releases; the few that turncoat needs are
//! written out here and pinned by golden vectors.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng};

use crate::hash::stable_hash;

/// What a stream of random numbers is for. Streams of one run never disturb each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Drawing a scenario.
    Strategy = 1,
    /// Choosing the next event.
    Scheduler = 2,
    /// Latencies.
    Network = 3,
    /// Probabilistic faults.
    Faults = 4,
    /// The content of a lie.
    Lies = 5,
    /// The common coin.
    Coin = 6,
    /// Nodes' own randomness (plus the seat's number).
    Node = 16,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream of `seed` for `purpose`.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        Self::stream(seed, purpose as u64)
    }

    /// The stream of `seed` with a number of its own.
    pub fn stream(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(stream);
        Self(rng)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, each equally likely (Lemire's method).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a choice needs at least one option");
        let mut wide = u64::from(self.0.next_u32()) * u64::from(bound);
        if (wide as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (wide as u32) < threshold {
                wide = u64::from(self.0.next_u32()) * u64::from(bound);
            }
        }
        (wide >> 32) as u32
    }

    /// A number below a bound that may exceed 32 bits, each equally likely.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below_u128(&mut self, bound: u128) -> u128 {
        assert!(bound > 0, "a choice needs at least one option");
        let mask = u128::MAX >> (bound - 1).leading_zeros().min(127);
        loop {
            let draw = (u128::from(self.bits()) << 64 | u128::from(self.bits())) & mask;
            if draw < bound {
                return draw;
            }
        }
    }

    /// An index into something of length `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).expect("choices fit in 32 bits")) as usize
    }

    /// One of `options`, each equally likely.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.index(options.len())]
    }

    /// True in `permille` of 1000 draws.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.below(1000) < permille
    }

    /// Puts `items` in a random order (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

/// The seed of run `index` of a campaign.
pub fn run_seed(campaign: u64, index: u64) -> u64 {
    stable_hash(0x5EED, &(campaign, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_vectors() {
        let mut rng = Rng::new(1, Purpose::Scheduler);
        let draws: Vec<u32> = (0..8).map(|_| rng.below(100)).collect();
        let mut order: Vec<u8> = (0..8).collect();
        rng.shuffle(&mut order);
        assert_eq!(draws, [82, 37, 81, 10, 46, 40, 85, 26]);
        assert_eq!(order, [7, 0, 1, 2, 4, 3, 6, 5]);
        assert_eq!(rng.below_u128(1 << 70), 528_247_152_545_682_185_115);
        assert_eq!(run_seed(1, 2), 7_978_051_648_360_802_597);
    }

    #[test]
    fn every_option_is_equally_likely() {
        let mut rng = Rng::new(7, Purpose::Strategy);
        let mut counts = [0_i64; 6];
        for _ in 0..60_000 {
            counts[rng.index(6)] += 1;
        }
        // Chi-square with 5 degrees of freedom; 20.5 is the 0.1 % point.
        let chi: f64 = counts.iter().map(|&c| ((c - 10_000).pow(2)) as f64 / 10_000.0).sum();
        assert!(chi < 20.5, "{counts:?}");
    }
}

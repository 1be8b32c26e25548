//! Set partitions of `0..n`, each equally likely, by whole numbers alone.
//!
//! Up to 42 elements there are few enough to count: [`Counted`] numbers them and draws a number. Beyond,
//! [`Urns`] draws without counting. Both give the same distribution.
//!
//! ```
//! use turncoat_strategies::partitions::Counted;
//! let four = Counted::of(4);
//! assert_eq!(four.count(), 15);
//! assert_eq!(four.unrank(0), [vec![0], vec![1], vec![2], vec![3]]);
//! assert_eq!(four.rank(&[vec![0, 1, 2, 3]]), 14);
//! ```

use std::ops::RangeInclusive;

use turncoat_core::rng::Rng;

/// The blocks of a partition: each in ascending order, and ordered by their smallest elements.
pub type Blocks = Vec<Vec<usize>>;

/// A uniform choice among the set partitions of `0..n`.
#[derive(Clone, Debug)]
pub enum SetPartitions {
    /// By number.
    Counted(Counted),
    /// By urns.
    Urns(Urns),
}

impl SetPartitions {
    /// The partitions of `0..n`.
    ///
    /// # Panics
    /// If `n` exceeds [`Urns::MAX`].
    pub fn of(n: usize) -> Self {
        if n <= Counted::MAX { Self::Counted(Counted::of(n)) } else { Self::Urns(Urns::of(n)) }
    }

    /// One of them, each equally likely.
    pub fn draw(&self, rng: &mut Rng) -> Blocks {
        match self {
            Self::Counted(counted) => counted.draw(rng),
            Self::Urns(urns) => urns.draw(rng),
        }
    }
}

/// The set partitions of `0..n`, numbered: all of them, or those into so many blocks.
///
/// A partition is what joins the smallest element in its block, and a partition of the rest. With `j`
/// companions there are C(n-1, j) * P(n-1-j) of them, where P counts the partitions of the rest into the blocks that
/// are left (Bell numbers, where all are wanted; Stirling numbers, where exactly so many blocks are). The order is by
/// the number of companions, then by the companions, then by the rest.
///
/// ```
/// use turncoat_strategies::partitions::Counted;
/// let two_blocks = Counted::into_blocks(4, 2..=2).unwrap();
/// assert_eq!(two_blocks.count(), 7);
/// assert_eq!(two_blocks.unrank(1), [vec![0, 1], vec![2, 3]]);
/// ```
#[derive(Clone, Debug)]
pub struct Counted {
    n: usize,
    /// The partitions of the rest, by the number of blocks before it and by its elements.
    rest: Vec<Vec<u128>>,
    choose: Vec<Vec<u128>>,
}

impl Counted {
    /// The most elements: the next Bell number does not fit in 128 bits.
    pub const MAX: usize = 42;

    /// The partitions of `0..n`.
    ///
    /// # Panics
    /// If `n` exceeds [`Counted::MAX`].
    pub fn of(n: usize) -> Self {
        assert!(n <= Self::MAX, "the partitions of {n} elements cannot be counted in 128 bits");
        Self::into_blocks(n, 0..=n).expect("Bell numbers up to the 42nd fit in 128 bits")
    }

    /// The partitions of `0..n` into so many blocks; nothing if they cannot be counted in 128 bits.
    pub fn into_blocks(n: usize, blocks: RangeInclusive<usize>) -> Option<Self> {
        let (least, most) = (*blocks.start(), (*blocks.end()).min(n));
        let mut choose: Vec<Vec<u128>> = Vec::new();
        for _ in 0..n {
            let inner = choose.last().into_iter().flat_map(|above| above.windows(2));
            let inner = inner.map(|pair| pair[0].checked_add(pair[1])).collect::<Option<Vec<_>>>()?;
            let last = (!choose.is_empty()).then_some(1);
            choose.push(std::iter::once(1).chain(inner).chain(last).collect());
        }
        let mut table = Self { n, rest: vec![Vec::new(); most + 1], choose };
        for before in (0..=most).rev() {
            table.rest[before].push(u128::from(before >= least));
            for left in 1..=n - before {
                let mut all = 0_u128;
                for companions in (0..left).filter(|_| before < most) {
                    all = all.checked_add(table.ways(before, left - 1, companions)?)?;
                }
                table.rest[before].push(all);
            }
        }
        Some(table)
    }

    /// How many there are.
    pub fn count(&self) -> u128 {
        self.rest[0][self.n]
    }

    /// One of them, each equally likely.
    pub fn draw(&self, rng: &mut Rng) -> Blocks {
        self.unrank(rng.below_u128(self.count()))
    }

    /// The partition with this number.
    ///
    /// # Panics
    /// If `rank` is not below [`Counted::count`].
    pub fn unrank(&self, mut rank: u128) -> Blocks {
        assert!(rank < self.count(), "there are {} partitions of {} elements", self.count(), self.n);
        let mut left: Vec<usize> = (0..self.n).collect();
        let mut blocks = Vec::new();
        while !left.is_empty() {
            let mut block = vec![left.remove(0)];
            let mut companions = 0;
            let rest = loop {
                let rest = self.rest[blocks.len() + 1][left.len() - companions];
                let ways = self.choose[left.len()][companions] * rest;
                if rank < ways {
                    break rest;
                }
                rank -= ways;
                companions += 1;
            };
            let mut subset = rank / rest;
            rank %= rest;
            let mut place = 0;
            while companions > 0 {
                let with = self.choose[left.len() - place - 1][companions - 1];
                if subset < with {
                    block.push(left.remove(place));
                    companions -= 1;
                } else {
                    subset -= with;
                    place += 1;
                }
            }
            blocks.push(block);
        }
        blocks
    }

    /// The number of a partition.
    ///
    /// # Panics
    /// If these are no [`Blocks`] of `0..n`, or too many.
    pub fn rank(&self, blocks: &[Vec<usize>]) -> u128 {
        let mut left: Vec<usize> = (0..self.n).collect();
        let mut rank = 0;
        for (before, block) in blocks.iter().enumerate() {
            assert_eq!(block.first(), left.first(), "blocks are ordered by their smallest elements");
            left.remove(0);
            let mut companions = block.len() - 1;
            let fewer = (0..companions).filter_map(|fewer| self.ways(before, left.len(), fewer));
            rank += fewer.sum::<u128>();
            let rest = self.rest[before + 1][left.len() - companions];
            let mut place = 0;
            while companions > 0 {
                if block.contains(&left[place]) {
                    left.remove(place);
                    companions -= 1;
                } else {
                    rank += rest * self.choose[left.len() - place - 1][companions - 1];
                    place += 1;
                }
            }
        }
        assert!(left.is_empty(), "every element stands in a block");
        rank
    }

    /// The partitions in which, after some blocks, so many of the `others` join the smallest element.
    fn ways(&self, before: usize, others: usize, companions: usize) -> Option<u128> {
        self.choose[others][companions].checked_mul(self.rest[before + 1][others - companions])
    }
}

/// The set partitions of `0..n` by Stam's urns: draw a number of urns, `k` with probability proportional to
/// k^n / k!, throw each element into one of them, and take what lies in the same urn as a block.
///
/// **Precision.** The weights are computed once with mantissas of 120 bits; each of at most 128 steps loses
/// less than 2^-112 of the value, so that all are right to 2^-105. They are then cut to whole numbers, the
/// greatest of them between 2^56 and 2^57. Each of 127 weights so loses less than 1, and those of more urns
/// would add up to less than 1, out of a sum of more than 2^56. So a draw differs from an exact one with a
/// probability of about 2^-49 at the most.
#[derive(Clone, Debug)]
pub struct Urns {
    n: usize,
    /// The weight of at most 1, 2, ... urns.
    up_to: Vec<u64>,
}

impl Urns {
    /// The most elements: twice as many as a cluster has replicas.
    pub const MAX: usize = 128;
    const MOST_URNS: u32 = 127;

    /// The partitions of `0..n`.
    ///
    /// # Panics
    /// If `n` exceeds [`Urns::MAX`].
    pub fn of(n: usize) -> Self {
        assert!(n <= Self::MAX, "the table of weights is made for at most {} elements", Self::MAX);
        let weights: Vec<(u128, i32)> = (1..=Self::MOST_URNS).map(|k| weight(n, k)).collect();
        let top = weights.iter().map(|&(_, exponent)| exponent).max().unwrap_or(0);
        let mut sum = 0;
        let up_to = weights.iter().map(|&(mantissa, exponent)| {
            // From below 2^120 to below 2^57, so that the sum of all stays below 2^64.
            let shift = 63 + top.abs_diff(exponent);
            sum += mantissa.checked_shr(shift).unwrap_or(0) as u64;
            sum
        });
        Self { n, up_to: up_to.collect() }
    }

    /// One of them, each equally likely.
    pub fn draw(&self, rng: &mut Rng) -> Blocks {
        let all = *self.up_to.last().expect("there is always an urn");
        let ticket = rng.below_u128(u128::from(all)) as u64;
        let urns = 1 + self.up_to.partition_point(|&up_to| up_to <= ticket);
        let mut block_of = vec![None; urns];
        let mut blocks = Blocks::new();
        for element in 0..self.n {
            let block = block_of[rng.index(urns)].get_or_insert(blocks.len());
            match blocks.get_mut(*block) {
                Some(block) => block.push(element),
                None => blocks.push(vec![element]),
            }
        }
        blocks
    }
}

/// k^n / k! as mantissa * 2^exponent, with 2^119 <= mantissa < 2^120. Needs `k` < 128.
fn weight(n: usize, k: u32) -> (u128, i32) {
    let (mut mantissa, mut exponent) = (1_u128 << 119, -119);
    for step in 1..=n.max(k as usize) {
        // Factors and divisors in turn, so that the mantissa stays within 128 bits.
        if step <= n {
            mantissa *= u128::from(k);
        }
        if step <= k as usize {
            mantissa /= step as u128;
        }
        let spare = mantissa.leading_zeros() as i32 - 8;
        mantissa = if spare >= 0 { mantissa << spare } else { mantissa >> -spare };
        exponent -= spare;
    }
    (mantissa, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bell_numbers_count_partitions() {
        let known = [(0, 1), (1, 1), (4, 15), (5, 52), (7, 877), (10, 115_975)];
        for (n, bell) in known {
            assert_eq!(Counted::of(n).count(), bell, "B({n})");
        }
        assert_eq!(Counted::of(42).count(), 35_742_549_198_872_617_291_353_508_656_626_642_567);
    }

    #[test]
    fn stirling_numbers_count_partitions_into_blocks() {
        let exactly = |n, k| Counted::into_blocks(n, k..=k).map(|counted| counted.count());
        assert_eq!([1, 2, 3, 4, 5].map(|k| exactly(5, k)), [1, 15, 25, 10, 1].map(Some));
        assert_eq!(
            [exactly(6, 2), exactly(6, 3), exactly(9, 2), exactly(9, 3)],
            [31, 90, 255, 3025].map(Some)
        );
        assert_eq!(Counted::into_blocks(5, 1..=3).unwrap().count(), 41);
        assert_eq!(exactly(4, 5), Some(0));
        assert_eq!(exactly(128, 2), Some((1 << 127) - 1));
        assert_eq!(exactly(128, 3), None);
    }

    #[test]
    fn every_number_names_another_partition() {
        let all = [5, 7].map(Counted::of);
        let some = [1..=2, 2..=2, 2..=4].map(|blocks| Counted::into_blocks(6, blocks).unwrap());
        for counted in all.into_iter().chain(some) {
            for rank in 0..counted.count() {
                let blocks = counted.unrank(rank);
                assert_eq!(counted.rank(&blocks), rank, "{blocks:?}");
            }
        }
    }

    #[test]
    fn the_largest_countable_set_has_a_first_and_a_last_partition() {
        let counted = Counted::of(42);
        let last = counted.count() - 1;
        assert_eq!(counted.unrank(0).len(), 42);
        assert_eq!(counted.unrank(last), [(0..42).collect::<Vec<_>>()]);
        for rank in [1, last / 3, last / 2, last - 1] {
            assert_eq!(counted.rank(&counted.unrank(rank)), rank);
        }
    }

    #[test]
    fn blocks_hold_every_element_once_in_order() {
        let mut rng = Rng::stream(0, 0);
        for n in [1, 2, 13, 42, 43, 64, 128] {
            let blocks = SetPartitions::of(n).draw(&mut rng);
            let mut all = blocks.concat();
            all.sort_unstable();
            assert_eq!(all, (0..n).collect::<Vec<_>>());
            assert!(blocks.is_sorted_by_key(|block| block[0]));
            assert!(blocks.iter().all(|block| block.is_sorted()));
        }
    }

    #[test]
    fn the_weights_of_urns_add_up_to_dobinskis_sum() {
        // The sum of k^n / k! over all k is e * B(n): ratios of sums are ratios of Bell numbers.
        let sum = |n: usize| {
            let whole = |(mantissa, exponent): (u128, i32)| mantissa as f64 * f64::from(exponent).exp2();
            (1..=Urns::MOST_URNS).map(|k| whole(weight(n, k))).sum::<f64>()
        };
        for n in [1, 4, 10, 42] {
            let ratio = sum(n) / Counted::of(n).count() as f64;
            assert!((ratio / std::f64::consts::E - 1.0).abs() < 1e-12, "n = {n}: {ratio}");
        }
    }

    #[test]
    fn more_urns_than_the_table_has_would_weigh_nothing() {
        for n in [1, 43, 64, Urns::MAX] {
            let up_to = Urns::of(n).up_to;
            assert_eq!(up_to[up_to.len() - 2], up_to[up_to.len() - 1], "n = {n}");
        }
    }
}

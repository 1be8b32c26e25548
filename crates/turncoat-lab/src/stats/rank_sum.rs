//! Does one sample tend to have larger values than another?

use super::a12::A12;
use super::normal::two_sided;

/// Samples smaller than this are tested exactly, as R's `wilcox.test` does.
const SMALL: usize = 50;

/// What the test of Mann and Whitney says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankSum {
    /// Pairs in which the first is larger; ties count half.
    pub u: f64,
    /// How likely a difference like this is, were both alike.
    pub p: f64,
}

/// The rank-sum test, two-sided (Mann and Whitney 1947, Ann. Math. Stat. 18).
///
/// It is exact for fewer than 50 values each and no ties; else by the normal distribution, corrected for ties
/// and for continuity. [`A12`] says how large the difference is.
///
/// ```
/// use turncoat_lab::stats::mann_whitney;
///
/// let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
/// assert_eq!((test.u, test.p), (0.0, 2.0 / 70.0));
/// ```
///
/// # Panics
/// If a value is not a number.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> RankSum {
    let (m, n) = (first.len(), second.len());
    if m == 0 || n == 0 {
        return RankSum { u: 0.0, p: 1.0 };
    }
    let a12 = A12::of_values(first, second);
    // A multiple of one half, but for rounding.
    let u = (2.0 * a12.value() * (m * n) as f64).round() / 2.0;
    let [a, b] = a12.counts();
    let ties: Vec<u64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
    let small = m < SMALL && n < SMALL && ties.iter().all(|&count| count == 1);
    RankSum { u, p: if small { exact(m, n, u as usize) } else { approximate(m, n, u, &ties) } }
}

/// The p-value by the normal distribution.
fn approximate(m: usize, n: usize, u: f64, ties: &[u64]) -> f64 {
    let (m, n) = (m as f64, n as f64);
    let all = m + n;
    let tied: f64 = ties.iter().map(|&count| (count as f64).powi(3) - count as f64).sum();
    let variance = m * n / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    // Continuity: a distance stands for all that round to it.
    let distance = ((u - m * n / 2.0).abs() - 0.5).max(0.0);
    if variance > 0.0 { two_sided(distance / variance.sqrt()) } else { 1.0 }
}

/// The p-value by counting the orders of m and n values with each u.
fn exact(m: usize, n: usize, u: usize) -> f64 {
    let u = u.min(m * n - u);
    // The numbers of orders are the coefficients of the product of (1 - x^(n + i)) / (1 - x^i).
    let mut orders = vec![0_i128; u + 1];
    orders[0] = 1;
    let mut all = 1_i128;
    for i in 1..=m {
        for k in (n + i..=u).rev() {
            orders[k] -= orders[k - n - i];
        }
        for k in i..=u {
            orders[k] += orders[k - i];
        }
        all = all * (n + i) as i128 / i as i128;
    }
    let extreme = 2 * orders.iter().sum::<i128>();
    (extreme as f64 / all as f64).min(1.0)
}

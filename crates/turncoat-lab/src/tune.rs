//! Tuning: which parameters of a strategy find most.
//!
//! A sweep tries every combination of values. With a budget too small for that, *successive halving* (Jamieson and
//! Talwalkar, 2016) gives all of them a few runs, then the better half twice as many, and so on. Whoever picks the best
//! of many has picked luck too: the rate of the winner counts only in runs that had no part in picking it.

use crate::stats::{Rate, fisher, holm};

/// The values to try of each parameter, in the order given.
pub type Sweep = Vec<(String, Vec<String>)>;

/// A value for each parameter.
pub type Point = Vec<(String, String)>;

/// All combinations, the last parameter changing fastest.
///
/// ```
/// let values = |list: &str| list.split(' ').map(str::to_owned).collect();
/// let sweep = vec![("c".to_owned(), values("1 2")), ("d".to_owned(), values("0 1 2"))];
/// let points = turncoat_lab::tune::points(&sweep);
/// assert_eq!(points.len(), 6);
/// assert_eq!(points[1], [("c".to_owned(), "1".to_owned()), ("d".to_owned(), "1".to_owned())]);
/// ```
pub fn points(sweep: &Sweep) -> Vec<Point> {
    sweep.iter().fold(vec![Point::new()], |points, (name, values)| {
        let longer = |point: Point| {
            values.iter().map(move |value| {
                let mut point = point.clone();
                point.push((name.clone(), value.clone()));
                point
            })
        };
        points.into_iter().flat_map(longer).collect()
    })
}

/// How many runs the points that are left have had in all, rung by rung, so that the last two have `runs`.
///
/// ```
/// assert_eq!(turncoat_lab::tune::rungs(9, 8000), [1000, 2000, 4000, 8000]);
/// assert_eq!(turncoat_lab::tune::rungs(1, 8000), [8000]);
/// ```
pub fn rungs(points: usize, runs: u64) -> Vec<u64> {
    let (mut left, mut rungs) = (points, vec![runs]);
    while left > 2 {
        left = left.div_ceil(2);
        rungs.insert(0, (rungs[0] / 2).max(1));
    }
    rungs
}

/// The better half of some points, by their rates: as many as `rates`, halved and rounded up. Ties go to the earlier.
pub fn better_half(rates: &[(usize, Rate)]) -> Vec<usize> {
    let mut best = rates.to_vec();
    best.sort_by(|(_, a), (_, b)| b.estimate().total_cmp(&a.estimate()));
    best.truncate(rates.len().div_ceil(2));
    let mut left: Vec<usize> = best.into_iter().map(|(point, _)| point).collect();
    left.sort_unstable();
    left
}

/// The points by rate, the best first. Of each other point the p-value of its difference to the best (Fisher, corrected
/// by Holm for all of them): where it is large, the two may well be equal.
pub fn ranking(rates: &[Rate]) -> Vec<(usize, Option<f64>)> {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[b].estimate().total_cmp(&rates[a].estimate()));
    let Some((&best, others)) = order.split_first() else { return Vec::new() };
    let p: Vec<f64> = others.iter().map(|&other| fisher(rates[best], rates[other])).collect();
    let corrected = holm(&p).into_iter().map(Some);
    [best].into_iter().zip([None]).chain(others.iter().copied().zip(corrected)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_half_goes_on_and_ties_go_to_the_earlier() {
        let rates = [3, 9, 0, 9, 9].map(|found| Rate::new(found, 10));
        let rates: Vec<(usize, Rate)> = rates.into_iter().enumerate().collect();
        assert_eq!(better_half(&rates), [1, 3, 4]);
        assert_eq!(better_half(&rates[..1]), [0]);
    }

    #[test]
    fn points_are_ranked_with_what_their_difference_to_the_best_means() {
        let ranked = ranking(&[Rate::new(20, 100), Rate::new(22, 100), Rate::new(0, 100)]);
        let order: Vec<usize> = ranked.iter().map(|(point, _)| *point).collect();
        assert_eq!(order, [1, 0, 2]);
        assert_eq!(ranked[0].1, None);
        assert!(ranked[1].1.is_some_and(|p| p > 0.5) && ranked[2].1.is_some_and(|p| p < 0.001), "{ranked:?}");
        assert_eq!(ranking(&[]), []);
    }

    #[test]
    fn a_sweep_of_nothing_is_one_point() {
        assert_eq!(points(&Sweep::new()), [Point::new()]);
    }
}

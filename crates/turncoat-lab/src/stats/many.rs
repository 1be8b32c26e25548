//! Many tests at once: of twenty p-values below 0.05, one is to be expected where there is nothing.
//!
//! Both functions give the adjusted values in the order of the given ones.

/// Adjusted so that the chance of even one false alarm is bounded (Holm 1979, Scand. J. Stat. 6): for the
/// cells of a table.
///
/// ```
/// use turncoat_lab::stats::holm;
///
/// assert_eq!(holm(&[0.5, 0.25, 0.0625]), [0.5, 0.5, 0.1875]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0_f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        let tests = (p_values.len() - rank) as f64;
        highest = highest.max((tests * p_values[index]).min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

/// Adjusted so that the share of false alarms among the alarms is bounded (Benjamini and Hochberg 1995, J. R.
/// Stat. Soc. B 57): for exploring.
///
/// ```
/// use turncoat_lab::stats::benjamini_hochberg;
///
/// assert_eq!(benjamini_hochberg(&[0.5, 0.25, 0.0625]), [0.5, 0.375, 0.1875]);
/// ```
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p_values.len()];
    let mut lowest = 1.0_f64;
    for (rank, index) in ascending(p_values).into_iter().enumerate().rev() {
        let tests = p_values.len() as f64 / (rank + 1) as f64;
        lowest = lowest.min(tests * p_values[index]);
        adjusted[index] = lowest;
    }
    adjusted
}

/// The indices of the values, smallest first.
fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

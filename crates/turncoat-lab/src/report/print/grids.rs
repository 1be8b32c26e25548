//! The tables that people read, in any format.

use std::collections::BTreeSet;

use super::super::{Faults, First, Heat, Power, Report, Row, Share, Table, Versus};
use super::grid::Grid;
use super::number::{count, estimate, p_value, percent, significant};

/// By what rows are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Metric {
    /// The share of runs that hit.
    Success,
    /// Runs until the first hit.
    RunsToFirst,
    /// Steps until the first hit.
    StepsToFirst,
}

/// A number that there is not.
const NONE: &str = "-";

/// The name of a table.
pub(super) fn title(table: &Table) -> String {
    format!("{}: {}", table.experiment, table.variant)
}

/// What each row found.
pub(super) fn results(table: &Table) -> Grid {
    let properties: BTreeSet<&String> = table.rows.iter().flat_map(|row| row.properties.keys()).collect();
    // The rows of many experiments are named by their parameters alone.
    let named = table.rows.iter().all(|row| row.name.contains(&row.strategy));
    let strategy: &[&str] = if named { &[] } else { &["strategy"] };
    let head = [&["row"][..], strategy, &["found", "of", "rate (95 % interval)"]].concat();
    let mut grid = Grid::new("What each row found", &head);
    grid.head.extend(properties.iter().map(|name| name.to_string()));
    for row in &table.rows {
        let mut cells = vec![row.name.clone()];
        cells.extend((!named).then(|| row.strategy.clone()));
        let unit = if row.learns { " campaigns" } else { "" };
        cells.extend([count(row.success.hits), format!("{}{unit}", count(row.success.of))]);
        cells.push(percent::cell(row.success));
        cells.extend(
            properties.iter().map(|&name| count(row.properties.get(name).map_or(0, |share| share.hits))),
        );
        grid.rows.push(cells);
    }
    grid
}

/// The published rates beside ours, if the experiment has any.
pub(super) fn published(table: &Table) -> Option<Grid> {
    let counted: BTreeSet<&String> = table.rows.iter().flat_map(|row| row.published.keys()).collect();
    if counted.is_empty() {
        return None;
    }
    let mut grid = Grid::new("Our rates and those published (95 % intervals)", &["row"]);
    grid.head.extend(counted.iter().flat_map(|of| [of.to_string(), format!("{of}, published")]));
    for row in table.rows.iter().filter(|row| !row.published.is_empty()) {
        let mut cells = vec![row.name.clone()];
        for of in &counted {
            // A row has counts of properties, and of what it was run for.
            let ours = match row.properties.get(*of) {
                Some(share) => Some(*share),
                None if **of == table.target => Some(row.success),
                None if of.contains(':') => None,
                None => Some(Share::independent(0, row.runs)),
            };
            cells.push(ours.map_or(NONE.to_owned(), percent::cell));
            cells.push(row.published.get(*of).map_or(NONE.to_owned(), |share| percent::cell(*share)));
        }
        grid.rows.push(cells);
    }
    Some(grid)
}

/// Every row against the baseline.
pub(super) fn compared(table: &Table, metric: Metric, alpha: f64) -> Grid {
    let first = |row: &Row| match metric {
        Metric::StepsToFirst => row.first_step.clone(),
        Metric::Success | Metric::RunsToFirst => row.first_run.clone(),
    };
    let baseline = table.baseline.as_deref().unwrap_or("nothing");
    let against = format!("against {baseline}");
    let mut grid = match metric {
        Metric::Success => Grid::new(
            format!("How often, {against}"),
            &["row", "k/n", "rate", "odds ratio", "p", "Holm p", "A12", "verdict"],
        ),
        Metric::RunsToFirst => Grid::new(
            format!("Runs until the first find, {against}"),
            &["row", "trials that found", "median runs", "log-rank p", "Holm p", "A12", "verdict"],
        ),
        Metric::StepsToFirst => Grid::new(
            format!("Steps until the first find, {against}"),
            &["row", "trials that found", "median steps", "log-rank p", "Holm p", "A12", "verdict"],
        ),
    };
    for row in &table.rows {
        let first = first(row);
        let mut cells = vec![row.name.clone()];
        match metric {
            Metric::Success => rates(row, &mut cells),
            Metric::RunsToFirst | Metric::StepsToFirst => curves(first.as_ref(), &mut cells),
        }
        cells.push(number(first.as_ref().and_then(|first| first.a12), |a12| format!("{a12:.2}")));
        cells.push(verdict(row, first.as_ref(), metric, alpha).to_owned());
        grid.rows.push(cells);
    }
    grid
}

fn rates(row: &Row, cells: &mut Vec<String>) {
    let unit = if row.learns { " campaigns" } else { "" };
    cells.push(format!("{}/{}{unit}", count(row.success.hits), count(row.success.of)));
    cells.push(percent::cell(row.success));
    match row.versus {
        Versus::Rates { odds_ratio, p, holm, .. } => {
            cells.extend([estimate(odds_ratio), p_value::cell(p), p_value::cell(holm)]);
        }
        Versus::None | Versus::Baseline => cells.extend([NONE; 3].map(str::to_owned)),
    }
}

fn curves(first: Option<&First>, cells: &mut Vec<String>) {
    let Some(first) = first else {
        return cells.extend([NONE; 4].map(str::to_owned));
    };
    cells.push(format!("{}/{}", first.found, first.trials));
    let end = |time: Option<u64>| time.map_or("?".to_owned(), count);
    cells.push(match first.median.time {
        Some(time) => format!("{} [{}, {}]", count(time), end(first.median.low), end(first.median.high)),
        None => "beyond the trials".to_owned(),
    });
    cells.push(number(first.log_rank, p_value::cell));
    cells.push(number(first.holm, p_value::cell));
}

/// What a comparison says, in words.
fn verdict(row: &Row, first: Option<&First>, metric: Metric, alpha: f64) -> &'static str {
    if row.versus == Versus::Baseline {
        return "baseline";
    }
    let (holm, better) = match (metric, &row.versus, first) {
        (Metric::Success, Versus::Rates { holm, odds_ratio, .. }, _) => (*holm, odds_ratio.value > 1.0),
        (Metric::RunsToFirst | Metric::StepsToFirst, _, Some(First { holm: Some(holm), a12, .. })) => {
            (*holm, a12.is_some_and(|a12| a12 > 0.5))
        }
        _ => return "not compared",
    };
    match (holm <= alpha, metric, better) {
        (false, _, _) => "no difference shown",
        (true, Metric::Success, true) => "more often",
        (true, Metric::Success, false) => "less often",
        (true, _, true) => "sooner",
        (true, _, false) => "later",
    }
}

fn number(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or(NONE.to_owned(), show)
}

/// What the adversary did, and what it cost.
pub(super) fn faults(table: &Table) -> Grid {
    let mut grid = Grid::new("Share of runs by the number of faults; lies; cost", &["row"]);
    grid.head.extend(Faults::labels());
    grid.head.extend(["lies told", "accepted", "steps per run", "runs/s"].map(str::to_owned));
    for row in &table.rows {
        let of = |n: u64| significant(n as f64 / row.runs as f64, 3);
        let mut cells = vec![row.name.clone()];
        let share = |&runs: &u64| if runs == 0 { "0".to_owned() } else { percent_of(runs, row.runs) };
        cells.extend(row.faults.histogram.iter().map(share));
        cells.push(count(row.faults.mutated));
        cells.push(match row.faults.mutated {
            0 => NONE.to_owned(),
            lies => percent_of(row.faults.accepted, lies),
        });
        cells.push(of(row.steps));
        cells.push(if row.seconds > 0.0 {
            count((row.runs as f64 / row.seconds) as u64)
        } else {
            NONE.to_owned()
        });
        grid.rows.push(cells);
    }
    grid
}

fn percent_of(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole as f64)
}

/// Rates by two parameters.
pub(super) fn heat(heat: &Heat) -> Grid {
    let caption = match heat.facet.as_str() {
        "" => format!("{} by {} and {}", heat.strategy, heat.x, heat.y),
        facet => format!("{} by {} and {}, {facet}", heat.strategy, heat.x, heat.y),
    };
    let mut xs: Vec<f64> = heat.cells.iter().map(|cell| cell.x).collect();
    let mut ys: Vec<f64> = heat.cells.iter().map(|cell| cell.y).collect();
    for values in [&mut xs, &mut ys] {
        values.sort_by(f64::total_cmp);
        values.dedup();
    }
    let mut grid = Grid::new(caption, &[""]);
    grid.head.extend(xs.iter().map(|x| format!("{} = {x}", heat.x)));
    for y in ys {
        let at = |x: f64| heat.cells.iter().find(|cell| cell.x == x && cell.y == y);
        let mut cells = vec![format!("{} = {y}", heat.y)];
        cells.extend(xs.iter().map(|&x| at(x).map_or(NONE.to_owned(), |cell| percent::cell(cell.success))));
        grid.rows.push(cells);
    }
    grid
}

/// Which differences this many runs can show.
pub(super) fn power(power: &[Power]) -> Grid {
    let mut grid = Grid::new("The smallest difference that this many runs can show", &["runs of each row"]);
    let rates = power.first().map(|power| &power.differences[..]).unwrap_or_default();
    let percent = |rate: f64| format!("{} %", significant(100.0 * rate, 2).trim_end_matches(".0"));
    grid.head.extend(rates.iter().map(|&(rate, _)| format!("to a rate of {}", percent(rate))));
    for power in power {
        let mut cells = vec![count(power.runs)];
        cells.extend(power.differences.iter().map(|&(_, more)| match more {
            Some(more) => format!("+ {}", percent(more)),
            None => "none".to_owned(),
        }));
        grid.rows.push(cells);
    }
    grid
}

/// The campaigns behind the numbers.
pub(super) fn campaigns(report: &Report) -> Grid {
    let head =
        ["campaign", "experiment", "variant", "row", "runs", "asked for", "seed", "key", "version", "date"];
    let mut grid = Grid::new("Campaigns", &head);
    for source in &report.campaigns {
        let wanted = source.wanted.map_or("by time".to_owned(), count);
        let texts = [&source.experiment, &source.variant, &source.row];
        let mut cells = vec![source.id.to_string()];
        cells.extend(texts.map(Clone::clone));
        cells.extend([
            count(source.runs),
            wanted,
            source.seed.clone(),
            source.key.clone(),
            source.version.clone(),
            source.date.clone().unwrap_or_else(|| NONE.to_owned()),
        ]);
        grid.rows.push(cells);
    }
    grid
}

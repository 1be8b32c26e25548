//! Rates by two parameters of a strategy.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Row, Share};

/// The rates of a strategy by two of its parameters, the others being equal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heat {
    /// The strategy.
    pub strategy: String,
    /// The parameter to the right.
    pub x: String,
    /// The parameter upwards.
    pub y: String,
    /// What else its rows share, such as `scope=small`; empty if the others are equal in all maps.
    pub facet: String,
    /// The rates.
    pub cells: Vec<HeatCell>,
}

/// One rate of a map.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeatCell {
    /// The value of the parameter to the right.
    pub x: f64,
    /// The value of the parameter upwards.
    pub y: f64,
    /// The row.
    pub row: String,
    /// Its success.
    pub success: Share,
}

/// One map for each strategy whose rows differ in two numbers, and for each setting of its other parameters.
pub(super) fn maps(rows: &[Row]) -> Vec<Heat> {
    let mut strategies: Vec<&str> = Vec::new();
    for row in rows {
        if !strategies.contains(&row.strategy.as_str()) {
            strategies.push(&row.strategy);
        }
    }
    let of = |strategy| rows.iter().filter(|row| row.strategy == strategy).collect::<Vec<_>>();
    strategies.into_iter().flat_map(|strategy| of_strategy(strategy, &of(strategy))).collect()
}

fn of_strategy(strategy: &str, rows: &[&Row]) -> Vec<Heat> {
    let [x, y] = match &axes(rows)[..] {
        [x, y, ..] => [x.clone(), y.clone()],
        _ => return Vec::new(),
    };
    let others = |row: &Row| {
        let mut others = row.params.clone();
        others.retain(|name, _| *name != x && *name != y);
        others
    };
    let mut groups: Vec<(BTreeMap<String, String>, Vec<&Row>)> = Vec::new();
    for &row in rows {
        match groups.iter_mut().find(|(params, _)| *params == others(row)) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((others(row), vec![row])),
        }
    }
    let facets = facets(&groups.iter().map(|(params, _)| params).collect::<Vec<_>>());
    let cells = |rows: Vec<&Row>| {
        let mut cells: Vec<HeatCell> = Vec::new();
        for row in rows {
            let (Some(x), Some(y)) = (number(row, &x), number(row, &y)) else { continue };
            // One rate for each pair: the first, as where the best of many is run again.
            if !cells.iter().any(|cell| (cell.x, cell.y) == (x, y)) {
                cells.push(HeatCell { x, y, row: row.name.clone(), success: row.success });
            }
        }
        cells
    };
    let heat = |((_, rows), facet): ((_, Vec<&Row>), String)| Heat {
        strategy: strategy.to_owned(),
        x: x.clone(),
        y: y.clone(),
        facet,
        cells: cells(rows),
    };
    let maps: Vec<Heat> = groups.into_iter().zip(facets).map(heat).collect();
    // Where both parameters always change together, a map would show nothing that a list does not.
    if maps.iter().all(|heat| heat.cells.len() <= heat.widest()) {
        return Vec::new();
    }
    maps.into_iter().filter(|heat| heat.cells.len() > 1).collect()
}

impl Heat {
    /// The number of values of the parameter that has more.
    fn widest(&self) -> usize {
        let values = |of: fn(&HeatCell) -> f64| {
            self.cells.iter().map(|cell| of(cell).to_bits()).collect::<BTreeSet<_>>().len()
        };
        values(|cell| cell.x).max(values(|cell| cell.y))
    }
}

/// The parameters that are numbers and differ between rows, those with most values first.
fn axes(rows: &[&Row]) -> Vec<String> {
    let names: BTreeSet<&String> = rows.iter().flat_map(|row| row.params.keys()).collect();
    let values = |name: &str| {
        let numbers: Option<BTreeSet<u64>> =
            rows.iter().map(|row| number(row, name).map(f64::to_bits)).collect();
        numbers.map_or(0, |numbers| numbers.len())
    };
    let mut axes: Vec<String> = names.into_iter().filter(|name| values(name) > 1).cloned().collect();
    axes.sort_by_key(|name| std::cmp::Reverse(values(name)));
    axes
}

fn number(row: &Row, name: &str) -> Option<f64> {
    row.params.get(name)?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// What tells the groups apart: one parameter if one suffices, the one with the shortest values; else all.
fn facets(groups: &[&BTreeMap<String, String>]) -> Vec<String> {
    if groups.len() == 1 {
        return vec![String::new()];
    }
    let names: BTreeSet<&String> = groups.iter().flat_map(|params| params.keys()).collect();
    let value = |params: &BTreeMap<String, String>, name: &str| params.get(name).cloned();
    let differs = |name: &str| groups.iter().map(|params| value(params, name)).collect::<BTreeSet<_>>();
    let label = |params: &BTreeMap<String, String>, name: &str| match params.get(name) {
        Some(value) => format!("{name}={value}"),
        None => format!("{name} not set"),
    };
    let enough = names.iter().filter(|name| differs(name).len() == groups.len());
    let shortest =
        enough.min_by_key(|name| differs(name).into_iter().flatten().map(|v| v.len()).sum::<usize>());
    let shown: Vec<&String> = match shortest {
        Some(name) => vec![name],
        None => names.into_iter().filter(|name| differs(name).len() > 1).collect(),
    };
    let all = |params: &&BTreeMap<String, String>| {
        shown.iter().map(|name| label(params, name)).collect::<Vec<_>>().join(", ")
    };
    groups.iter().map(all).collect()
}

//! All plans of at most two faults, numbered: first that of no fault, then single faults, then pairs.
//!
//! A pair has a number without all pairs before it being listed. Which second faults go with a first one depends only on the first
//! one's liar and on the replicas that it leaves interchangeable, so there are few such lists.

use std::collections::BTreeMap;

use turncoat_core::fault::Fault;
use turncoat_core::ids::NodeId;

use super::symmetry::{self, Cells, Labels};

/// A fault of the universe.
pub(super) struct Item {
    pub(super) class: usize,
    pub(super) liar: Option<NodeId>,
    pub(super) fault: Fault,
    /// The same for faults that differ in the names of interchangeable replicas alone.
    pub(super) shape: u32,
    /// None, where nobody is interchangeable.
    pub(super) labels: Labels,
}

/// All plans.
pub(super) struct Plans {
    /// The faults, ordered by their shapes.
    items: Vec<Item>,
    /// How many replicas may lie.
    liars: usize,
    cells: Cells,
    /// Those that are run alone. Of those that differ in names alone it is one.
    singles: Vec<u32>,
    /// The faults that may come second, by the cells that the first one leaves and by its liar, if nobody else may lie.
    seconds: BTreeMap<Group, Vec<u32>>,
    /// How many pairs come before those whose first fault is a single one; the last number is that of all.
    before: Vec<u128>,
}

type Group = (Cells, Option<NodeId>);

impl Plans {
    /// Plans of at most `most` of these faults, in which so many replicas may lie.
    pub(super) fn new(items: Vec<Item>, most: u32, liars: usize, cells: Cells) -> Self {
        let alone = |item: &Item| {
            most > 0 && liars >= item.liar.iter().count() && symmetry::ascends(&cells, &item.labels)
        };
        let singles = (0..items.len() as u32).filter(|&i| alone(&items[i as usize])).collect();
        let mut plans = Self { items, liars, cells, singles, seconds: BTreeMap::new(), before: vec![0] };
        if most < 2 {
            return plans;
        }
        for &first in &plans.singles {
            let group = plans.group(first);
            if !plans.seconds.contains_key(&group) {
                let list = plans.second(&group);
                plans.seconds.insert(group, list);
            }
        }
        let mut sum = 0;
        for k in 0..plans.singles.len() {
            let (list, from) = plans.pairs(plans.singles[k]);
            // Without itself.
            sum += (list.len() - from - 1) as u128;
            plans.before.push(sum);
        }
        plans
    }

    fn group(&self, first: u32) -> Group {
        let item = &self.items[first as usize];
        (symmetry::refined(&self.cells, &item.labels), item.liar.filter(|_| self.liars < 2))
    }

    /// The faults that may come second.
    fn second(&self, (cells, liar): &Group) -> Vec<u32> {
        let fits = |item: &Item| match (item.liar, liar) {
            (Some(one), Some(other)) => one == *other,
            (Some(_), None) => self.liars > 0,
            (None, _) => true,
        };
        let comes = |item: &Item| fits(item) && symmetry::ascends(cells, &item.labels);
        (0..self.items.len() as u32).filter(|&i| comes(&self.items[i as usize])).collect()
    }

    /// The faults that may come second after a first one, from some place of a list on; the first one is among them.
    fn pairs(&self, first: u32) -> (&[u32], usize) {
        let list = &self.seconds[&self.group(first)];
        let shape = self.items[first as usize].shape;
        (list, list.partition_point(|&second| self.items[second as usize].shape < shape))
    }

    /// How many plans there are.
    pub(super) fn different(&self) -> u128 {
        1 + self.singles.len() as u128 + self.before.last().copied().unwrap_or_default()
    }

    /// How many there would be if all replicas kept their names.
    pub(super) fn all(&self) -> u128 {
        let pairs = |count: u128| count * count.saturating_sub(1) / 2;
        let fit = |item: &&Item| self.liars >= item.liar.iter().count();
        let items: Vec<&Item> = self.items.iter().filter(fit).collect();
        let mut by_liar: BTreeMap<NodeId, u128> = BTreeMap::new();
        items.iter().filter_map(|item| item.liar).for_each(|liar| *by_liar.entry(liar).or_default() += 1);
        let (all, lies) = (items.len() as u128, by_liar.values().sum::<u128>());
        let unfit = match self.liars {
            1 => pairs(lies) - by_liar.values().map(|&count| pairs(count)).sum::<u128>(),
            _ => 0,
        };
        match self.before.len() {
            1 if self.singles.is_empty() => 1,
            1 => 1 + all,
            _ => 1 + all + pairs(all) - unfit,
        }
    }

    /// The faults of a plan, in the order of the universe.
    pub(super) fn get(&self, number: u128) -> Vec<&Item> {
        let singles = self.singles.len() as u128;
        let mut faults = match number {
            0 => Vec::new(),
            _ if number <= singles => vec![self.singles[number as usize - 1]],
            _ => {
                let number = number - 1 - singles;
                let k = self.before.partition_point(|&before| before <= number) - 1;
                let first = self.singles[k];
                let (list, from) = self.pairs(first);
                let mut place = from + (number - self.before[k]) as usize;
                place += usize::from(list.binary_search(&first).is_ok_and(|own| own <= place));
                vec![first, list[place]]
            }
        };
        faults.sort_unstable();
        faults.into_iter().map(|i| &self.items[i as usize]).collect()
    }

    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }
}

//! Faults that differ in names alone.
//!
//! Replicas are *interchangeable* if no rule of the protocol tells them apart: none of them leads in the views that matter, they
//! trust the same replicas and are trusted alike, and their clocks are alike. Exchanging the names of two of them makes of a run
//! under one plan a run under the renamed plan, with the same violations. So one plan of all that differ in such names is enough.
//!
//! This is about all runs of a plan. A run under a fixed schedule decides ties between messages by the numbers of replicas, so its
//! mirror image is a run of the renamed plan under another schedule.
//!
//! A *cell* is a set of interchangeable replicas. A fault gives each replica a label: how it is named in the fault. The replicas of
//! a cell that have the same label stay interchangeable for a second fault, so cells are refined by labels. Of a plan the variant
//! is kept in which the labels of the first fault ascend within each cell, and those of the second within each cell that is left.

use std::collections::BTreeMap;

use turncoat_core::fault::{Effect, Fault, When};
use turncoat_core::ids::{NodeId, NodeSet, SeatName};
use turncoat_core::scenario::{ClusterSpec, Scenario, ScenarioError};

/// The cell of each replica.
pub(super) type Cells = Vec<u32>;

/// How a fault names each replica.
pub(super) type Labels = Vec<u32>;

/// The cells at the beginning: replicas from `led` on are interchangeable unless trust, clocks or a role of their own tell them
/// apart.
pub(super) fn cells(base: &Scenario, led: usize, own_role: Option<NodeId>) -> Result<Cells, ScenarioError> {
    let ClusterSpec { n, ref trust, ref drift, ref leaders, .. } = *base.cluster;
    let trust = trust.sets(n)?;
    let name = NodeId::replica;
    // Whether exchanging the two leaves everything as it is.
    let alike = |a: usize, b: usize| {
        let swapped = |mut set: NodeSet| {
            let [has_a, has_b] = [a, b].map(|node| set.contains(name(node)));
            [a, b].into_iter().for_each(|node| set.remove(name(node)));
            if has_a {
                set.insert(name(b));
            }
            if has_b {
                set.insert(name(a));
            }
            set
        };
        let image = |node: usize| {
            if node == a {
                b
            } else if node == b {
                a
            } else {
                node
            }
        };
        let named = |node: usize| node < led || own_role == Some(name(node)) || leaders.contains(&name(node));
        !named(a)
            && !named(b)
            && drift.get(&name(a)) == drift.get(&name(b))
            && (0..n).all(|node| swapped(trust[node]) == trust[image(node)])
    };
    let mut cells: Cells = Vec::new();
    for node in 0..n {
        let like = (0..node).find(|&other| alike(other, node));
        cells.push(like.map_or(node as u32, |other| cells[other]));
    }
    Ok(cells)
}

/// The sets of interchangeable replicas that have more than one member.
pub(super) fn sets(cells: &Cells) -> Vec<NodeSet> {
    let mut sets: BTreeMap<u32, NodeSet> = BTreeMap::new();
    for (node, &cell) in cells.iter().enumerate() {
        sets.entry(cell).or_default().insert(NodeId::replica(node));
    }
    sets.into_values().filter(|set| set.len() > 1).collect()
}

/// The cells that are left once a fault has given labels.
pub(super) fn refined(cells: &Cells, labels: &Labels) -> Cells {
    let mut numbers = BTreeMap::new();
    let parts = cells.iter().zip(labels);
    parts
        .map(|part| {
            let next = numbers.len() as u32;
            *numbers.entry(part).or_insert(next)
        })
        .collect()
}

/// Whether the labels ascend within each cell. Where there are no labels, nobody is interchangeable.
pub(super) fn ascends(cells: &Cells, labels: &Labels) -> bool {
    let mut last = vec![0; cells.len()];
    cells
        .iter()
        .zip(labels)
        .all(|(&cell, &label)| std::mem::replace(&mut last[cell as usize], label) <= label)
}

/// The labels that a fault gives to `n` replicas, and the fault without their names. Of a fault that names replicas in a way that is
/// not known here, all labels differ, so that nothing is left out on its account.
pub(super) fn labelled(fault: &Fault, n: usize) -> (Labels, Option<Fault>) {
    let Some((lists, nameless)) = lists(fault) else { return ((0..n as u32).collect(), None) };
    let label = |node: usize| {
        let named = |list: &Vec<NodeId>| list.contains(&NodeId::replica(node));
        lists.iter().enumerate().filter(|(_, list)| named(list)).fold(0, |label, (i, _)| label | 1 << i)
    };
    ((0..n).map(label).collect(), Some(nameless))
}

/// The lists of nodes in a fault, and the fault without them.
fn lists(fault: &Fault) -> Option<(Vec<Vec<NodeId>>, Fault)> {
    let nodes = |names: &[SeatName]| -> Option<Vec<NodeId>> {
        names.iter().map(|name| name.instance.is_none().then_some(name.node)).collect()
    };
    let When { from, to, vitals, any, not, .. } = &fault.when;
    if !(vitals.is_empty() && any.is_empty() && not.is_none()) {
        return None;
    }
    let mut lists = vec![nodes(from)?, nodes(to)?];
    let nobody = NodeId::replica(0);
    let effect = match &fault.effect {
        Effect::Drop | Effect::Hold | Effect::Delay(_) | Effect::Duplicate(_) | Effect::Mutate(_) => {
            fault.effect.clone()
        }
        Effect::Isolate(names) => {
            lists.push(nodes(names)?);
            Effect::Isolate(Vec::new())
        }
        Effect::Deaf(names) => {
            lists.push(nodes(names)?);
            Effect::Deaf(Vec::new())
        }
        Effect::Fire(name) => {
            lists.push(nodes(&[*name])?);
            Effect::Fire(nobody.into())
        }
        Effect::Partition(blocks) if blocks.len() < 16 => {
            for block in blocks {
                lists.push(nodes(block)?);
            }
            Effect::Partition(vec![Vec::new(); blocks.len()])
        }
        Effect::Persona(persona) => {
            lists.extend([vec![persona.of], persona.to.clone()]);
            lists.extend(persona.at_view_change.clone());
            let at_view_change = persona.at_view_change.as_ref().map(|_| Vec::new());
            let persona = persona.clone();
            Effect::Persona(turncoat_core::fault::Persona {
                of: nobody,
                to: Vec::new(),
                at_view_change,
                ..persona
            })
        }
        _ => return None,
    };
    let when = When { from: Vec::new(), to: Vec::new(), ..fault.when.clone() };
    Some((lists, Fault { when, effect }))
}

//! What must hold of this engine beside agreement.

use turncoat::core::prelude::*;
use turncoat::core::sim::Sim;

use crate::{Replica, Simplex};

pub(crate) fn all() -> Vec<Check<Simplex>> {
    vec![
        Check { name: "one-finalization", judge: Box::new(one_finalization) },
        Check { name: "blocks-the-faulty", judge: Box::new(blocks_the_faulty) },
    ]
}

fn correct(sim: &Sim<Simplex>) -> impl Iterator<Item = (NodeId, &Replica)> {
    let seats = sim.seats().replicas().iter().filter(|&seat| sim.is_correct(seat));
    seats.filter_map(|seat| Some((sim.seats().node(seat), sim.replica(seat)?)))
}

/// No two correct validators see different proposals finalized in one view, whether or not they have the blocks.
fn one_finalization(sim: &Sim<Simplex>) -> Result<(), String> {
    let mut first = std::collections::BTreeMap::new();
    for (node, replica) in correct(sim) {
        for (&view, &(id, _)) in replica.finalized() {
            let &mut (before, other) = first.entry(view).or_insert((node, id));
            if other != id {
                return Err(format!("in view {view} {before} sees {other} finalized and {node} sees {id}"));
            }
        }
    }
    Ok(())
}

/// No correct validator blocks a correct one.
fn blocks_the_faulty(sim: &Sim<Simplex>) -> Result<(), String> {
    let good: NodeSet = correct(sim).map(|(node, _)| node).collect();
    for (node, replica) in correct(sim) {
        if let Some(other) = replica.blocked().and(good).iter().next() {
            return Err(format!("{node} has blocked {other}, which is correct"));
        }
    }
    Ok(())
}

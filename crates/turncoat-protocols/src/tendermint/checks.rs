//! What holds of every correct validator of Tendermint, decisions apart.

use turncoat_core::ids::Seat;
use turncoat_core::prelude::*;
use turncoat_core::sim::Sim;

use super::Tendermint;
use super::replica::Replica;

/// All checks.
pub(super) fn all() -> Vec<Check<Tendermint>> {
    let own = |name, judge: fn(&Replica) -> Option<String>| Check {
        name,
        judge: Box::new(move |sim: &Sim<Tendermint>| each(sim, judge)),
    };
    let evidence = |sim: &Sim<Tendermint>| {
        let correct: NodeSet = correct(sim).map(|(seat, _)| sim.seats().node(seat)).collect();
        each(sim, |node| {
            let wronged = node.accused.and(correct);
            (!wronged.is_empty())
                .then(|| format!("accuses {wronged} of voting twice, which it should never do"))
        })
    };
    vec![
        own("lock-safety", |node| {
            let (epoch, id) = node.broken?;
            Some(format!(
                "prevotes {id} in round {epoch}, against what it has precommitted, and saw no polka for it"
            ))
        }),
        own("locked-beyond-valid", |node| {
            let (locked, valid) = (node.locked?.0, node.valid.map(|valid| valid.epoch));
            (valid < Some(locked))
                .then(|| format!("is locked since round {locked}, its valid value is of {valid:?}"))
        }),
        own("one-polka", |node| {
            let two = node.log.epochs().find(|epoch| epoch.prevotes.winners(&node.power) > 1)?;
            Some(format!("sees two polkas at height {}, round {}", node.height, two.number))
        }),
        Check { name: "evidence", judge: Box::new(evidence) },
    ]
}

/// The validators that are correct and run.
fn correct(sim: &Sim<Tendermint>) -> impl Iterator<Item = (Seat, &Replica)> {
    let replicas = sim.seats().replicas().iter();
    let running = replicas.filter(|&seat| sim.is_correct(seat) && sim.is_alive(seat));
    running.filter_map(|seat| Some((seat, sim.replica(seat)?)))
}

/// Asks each of them.
fn each(sim: &Sim<Tendermint>, judge: impl Fn(&Replica) -> Option<String>) -> Result<(), String> {
    let wrong = correct(sim).find_map(|(seat, node)| Some((sim.seats().node(seat), judge(node)?)));
    wrong.map_or(Ok(()), |(name, why)| Err(format!("{name} {why}")))
}

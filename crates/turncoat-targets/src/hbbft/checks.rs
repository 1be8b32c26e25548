//! Whom the engine may report.

use turncoat_core::prelude::*;
use turncoat_core::sim::Sim;

use super::Hbbft;

/// No correct validator reports another one, where the configuration asks for that.
pub(super) fn reports() -> Check<Hbbft> {
    let judge = |sim: &Sim<Hbbft>| {
        let seats = sim.seats().replicas().iter().filter(|&seat| sim.is_correct(seat));
        let correct: NodeSet = seats.map(|seat| sim.seats().node(seat)).collect();
        let mut seats =
            sim.seats().replicas().iter().filter(|&seat| sim.is_correct(seat) && sim.is_alive(seat));
        let wrong = seats.find_map(|seat| {
            let node = sim.replica(seat)?;
            let wronged = node.reported().and(correct);
            let judged = node.config.judge_reports && !wronged.is_empty();
            judged.then(|| format!("{} reports {wronged}", sim.seats().node(seat)))
        });
        wrong.map_or(Ok(()), Err)
    };
    Check { name: "reports", judge: Box::new(judge) }
}

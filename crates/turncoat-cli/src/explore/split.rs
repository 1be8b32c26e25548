//! When the network was cut, and between whom.

use serde::Serialize;
use turncoat_core::fault::{Effect, Fault};
use turncoat_core::ids::SeatName;
use turncoat_core::record::{Arrival, Loss, SentCopy};
use turncoat_core::schedule::Action;

use super::replayed::Replayed;

/// One side of a cut network, as lifelines, from one choice to another.
#[derive(Serialize)]
pub(super) struct Split {
    from: usize,
    to: Option<usize>,
    side: Vec<usize>,
}

impl Replayed {
    /// Those made by hand.
    pub(super) fn splits(&self, actions: &[Action]) -> Vec<Split> {
        let mut splits: Vec<Split> = Vec::new();
        for (i, action) in actions.iter().enumerate() {
            if !matches!(action, Action::Split(_) | Action::Heal | Action::Calm) {
                continue;
            }
            splits.last_mut().filter(|split| split.to.is_none()).into_iter().for_each(|s| s.to = Some(i + 1));
            if let Action::Split(side) = action {
                splits.push(Split {
                    from: i + 1,
                    to: None,
                    side: self.side(|seat| side.contains(seat.node)),
                });
            }
        }
        splits
    }

    /// Those that the scenario asks for. Its faults go by rounds in messages, so a partition is seen by what it stops: it
    /// lasts while no message between its sides gets through.
    pub(super) fn partitions(&self, faults: &[Fault]) -> Vec<Split> {
        let mut partitions: Vec<Vec<Vec<SeatName>>> = Vec::new();
        for fault in faults {
            let blocks = match &fault.effect {
                Effect::Partition(blocks) => blocks.clone(),
                Effect::Isolate(inside) => vec![self.replicas_without(inside), inside.clone()],
                _ => continue,
            };
            if !partitions.contains(&blocks) {
                partitions.push(blocks);
            }
        }
        partitions.iter().flat_map(|blocks| self.partition(blocks)).collect()
    }

    fn partition(&self, blocks: &[Vec<SeatName>]) -> Vec<Split> {
        let biggest = blocks.iter().rev().max_by_key(|block| block.len());
        let cut_off: Vec<_> = blocks.iter().filter(|&block| Some(block) != biggest).collect();
        let side = |block: &[SeatName]| self.side(|seat| holds(block, seat));
        let split = |(from, to)| {
            let of = move |block: &&Vec<SeatName>| Split { from, to: Some(to), side: side(block) };
            cut_off.iter().map(of).collect::<Vec<_>>()
        };
        self.spans(blocks).into_iter().flat_map(split).collect()
    }

    /// The choices between which no message crossed.
    fn spans(&self, blocks: &[Vec<SeatName>]) -> Vec<(usize, usize)> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        let mut open = false;
        for (row, copy) in self.recording.copies.iter().enumerate() {
            if !crosses(blocks, copy) {
                continue;
            }
            let cut = stopped(copy);
            let end = (self.sent(row) + 1).min(self.after.len() - 1);
            match spans.last_mut().filter(|_| open && cut) {
                Some(span) => span.1 = end,
                None if cut => spans.push((self.sent(row), end)),
                None => {}
            }
            open = cut;
        }
        spans
    }

    fn side(&self, inside: impl Fn(SeatName) -> bool) -> Vec<usize> {
        let lifelines = self.lifelines.iter().enumerate();
        lifelines.filter(|(_, seat)| inside(**seat)).map(|(i, _)| i).collect()
    }

    fn replicas_without(&self, inside: &[SeatName]) -> Vec<SeatName> {
        let others = self.lifelines.iter().filter(|seat| !seat.node.is_client() && !holds(inside, **seat));
        others.copied().collect()
    }
}

/// Whether a block names somebody, or all instances of them.
fn holds(block: &[SeatName], seat: SeatName) -> bool {
    block
        .iter()
        .any(|name| name.node == seat.node && (name.instance.is_none() || name.instance == seat.instance))
}

/// Whether a message goes between two that stand in blocks and share none.
fn crosses(blocks: &[Vec<SeatName>], copy: &SentCopy) -> bool {
    let with = |seat: SeatName| blocks.iter().filter(move |block| holds(block, seat));
    with(copy.src).next().is_some()
        && with(copy.dst).next().is_some()
        && !with(copy.src).any(|block| holds(block, copy.dst))
}

/// Whether the network stopped a message as it was sent.
fn stopped(copy: &SentCopy) -> bool {
    copy.held || (copy.nth == 0 && matches!(copy.arrival, Arrival::Lost { by: Loss::Network, .. }))
}

#[cfg(test)]
mod tests {
    use super::super::session::Session;
    use super::super::waiting::Waiting;
    use crate::rows::Rows;

    #[test]
    fn partitions_of_a_scenario_are_seen_while_they_cut() {
        let ids = ["hotstuff-chained/no-consecutive-views".to_owned()];
        let bug = Rows::embedded().bugs(&ids).expect("the suite").remove(0);
        let session = Session::bug(bug, &Waiting::default()).expect("a session");
        let replayed = session.replayed(0).expect("its run");
        let partitions = replayed.partitions(&session.scenario.adversary.faults);
        let side =
            |side: &[usize]| side.iter().map(|&i| replayed.lifelines[i].to_string()).collect::<Vec<_>>();
        let mut sides: Vec<_> = partitions.iter().map(|split| side(&split.side).join(" ")).collect();
        sides.sort();
        sides.dedup();
        assert_eq!(sides, ["p0.a", "p0.b", "p3"]);
        // The views are cut in turn: now one face of p0 is alone, now the other and p3.
        let of =
            |name: &str| partitions.iter().filter(|split| side(&split.side) == [name]).collect::<Vec<_>>();
        assert!(of("p3").len() > 1 && of("p0.b").len() > 1);
        for split in partitions {
            assert!(split.to.is_some_and(|to| split.from <= to && to < replayed.after.len()));
        }
    }
}

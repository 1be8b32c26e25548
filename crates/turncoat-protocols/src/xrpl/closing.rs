//! The closing time of a ledger: with `close-time` replicas have to agree on that, too.
//!
//! Each proposes the second in which it closed its ledger. Times are rounded to bins of some seconds, the next time a heartbeat
//! looks the bin with enough votes is taken over, and there is no consensus before three quarters of the positions are in one
//! bin. If none has enough votes, replicas propose to have no time at all, and the ledger closes a second after the one before.
//! After such a ledger the bins are wider.

use std::collections::BTreeMap;

use turncoat_core::prelude::*;

use super::replica::Replica;
use super::rules::{level_at, needed};

/// The widths of the bins, in seconds.
const WIDTHS: [u32; 6] = [10, 20, 30, 60, 90, 120];

/// After so many ledgers on whose time there was agreement the bins become narrower.
const NARROWER: u32 = 8;

/// This percentage of the positions has to be in one bin.
const CONSENSUS: usize = 75;

/// What is proposed where there is no agreement.
pub(super) const NO_TIME: u32 = 0;

/// When a ledger closed, in seconds, and whether that was agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize, Part)]
pub(super) struct Closing {
    time: u32,
    /// The index of the width of its bins.
    width: u32,
    agreed: bool,
}

impl Closing {
    /// The first ledger's.
    pub(super) const GENESIS: Self = Self { time: NO_TIME, width: 0, agreed: true };

    /// The width of the bins for the ledger with this number, which is the next one.
    fn next_width(self, seq: Slot) -> u32 {
        if !self.agreed {
            return (self.width + 1).min(WIDTHS.len() as u32 - 1);
        }
        self.width.saturating_sub(u32::from(seq.0.is_multiple_of(NARROWER)))
    }

    /// The closing of the next ledger, on whose time (not rounded) there is agreement.
    pub(super) fn next(self, seq: Slot, time: u32) -> Self {
        let width = self.next_width(seq);
        match time {
            NO_TIME => Self { time: self.time + 1, width, agreed: false },
            time => Self { time: bin(time, width).max(self.time + 1), width, agreed: true },
        }
    }
}

/// The middle of the bin that a time is in.
fn bin(time: u32, width: u32) -> u32 {
    let width = WIDTHS[width as usize];
    if time == NO_TIME { NO_TIME } else { (time + width / 2) / width * width }
}

/// How many of these are so many percent, as rippled rounds it.
fn share(of: usize, percent: usize) -> usize {
    ((of * percent + percent / 2) / 100).max(1)
}

/// The time that votes agree on, if any has enough of them, and whether that is consensus.
fn agreement(votes: &BTreeMap<u32, usize>, needed: usize) -> (u32, bool) {
    let total = votes.values().sum();
    let (mut least, mut agreed) = (share(total, needed), (NO_TIME, false));
    for (&time, &count) in votes {
        if count >= least {
            least = count;
            agreed = (time, count >= share(total, CONSENSUS));
        }
    }
    agreed
}

impl Replica {
    /// The second in which a ledger closes, if that matters. All clocks agree, and say what they like when the network starts.
    pub(super) fn clock(&self, now: Time) -> Option<u32> {
        self.config.close_time.then_some(self.epoch + (now.0 / 1000) as u32)
    }

    /// Votes anew on the closing time. Says whether that changes its position.
    pub(super) fn reconsider_time(&mut self, converge_pct: u64) -> bool {
        let round = &mut self.round;
        let (proposing, seq) = (round.is_proposing(), round.prev.seq.next());
        let (Some(own), Some(before)) = (&mut round.proposal, round.prev.closing) else { return false };
        let width = before.next_width(seq);
        let mine = bin(own.close.unwrap_or(NO_TIME), width);
        if round.positions.is_empty() {
            own.time_agreed = true;
            return false;
        }
        let peers = round.positions.iter().map(|peer| bin(peer.close.unwrap_or(NO_TIME), width));
        let mut votes = BTreeMap::new();
        for time in peers.chain(proposing.then_some(mine)) {
            *votes.entry(time).or_default() += 1;
        }
        let (time, agreed) = agreement(&votes, needed(level_at(converge_pct)));
        own.time_agreed = agreed;
        let changed = time != mine;
        if changed {
            own.close = Some(time);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_and_a_ledger_closes_after_the_one_before() {
        assert_eq!([bin(4, 0), bin(5, 0), bin(14, 0), bin(15, 0), bin(NO_TIME, 3)], [0, 10, 10, 20, NO_TIME]);
        let second = Closing::GENESIS.next(Slot(2), 23);
        assert_eq!(second, Closing { time: 20, width: 0, agreed: true });
        assert_eq!(second.next(Slot(3), 24), Closing { time: 21, width: 0, agreed: true });
        let apart = second.next(Slot(3), NO_TIME);
        assert_eq!(apart, Closing { time: 21, width: 0, agreed: false });
        assert_eq!(apart.next(Slot(4), 44), Closing { time: 40, width: 1, agreed: true });
        assert_eq!(apart.next(Slot(4), 44).next(Slot(8), 46).width, 0, "after eight ledgers");
    }

    #[test]
    fn three_quarters_are_consensus_and_without_enough_votes_there_is_no_time() {
        let votes = |counts: &[(u32, usize)]| counts.iter().copied().collect::<BTreeMap<u32, usize>>();
        assert_eq!(agreement(&votes(&[(10, 4), (20, 1)]), 50), (10, true));
        assert_eq!(agreement(&votes(&[(10, 2), (20, 3)]), 50), (20, false));
        assert_eq!(agreement(&votes(&[(10, 2), (20, 3)]), 95), (NO_TIME, false));
        assert_eq!(agreement(&votes(&[(NO_TIME, 5)]), 95), (NO_TIME, true), "they agree to have none");
    }
}

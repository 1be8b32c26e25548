//! The rules of a round as plain functions of times, in milliseconds, and counts.

use serde::{Deserialize, Serialize};

/// How often a replica looks whether there is something to do.
pub(super) const HEARTBEAT: u64 = 1_000;
/// The least time that a ledger with payments stays open.
const MIN_CLOSE: u64 = 2_000;
/// An empty ledger closes after this.
pub(super) const IDLE: u64 = 15_000;
/// Nobody changes a position, or sees consensus, before this.
pub(super) const MIN_CONSENSUS: u64 = 1_950;
/// What the length of a round is measured against, at the least.
const MIN_ROUND: u64 = 5_000;
/// No round takes longer than this.
const ABANDON: u64 = 120_000;
/// After this a position of a peer no longer counts.
pub(super) const FRESH: u64 = 20_000;
/// After this a replica says its position again.
pub(super) const INTERVAL: u64 = 12_000;
/// So long a validation is current after it was signed, and after it was seen.
pub(super) const CURRENT: u64 = 180_000;
/// So long before it is signed.
pub(super) const EARLY: u64 = 300_000;
/// Who was heard of so long ago is offline.
pub(super) const ONLINE: u64 = 20_000;
/// So long validations are kept.
pub(super) const EXPIRES: u64 = 600_000;
/// A network in which nothing has closed for so long closes at once.
const FORCE_CLOSE: u64 = 600_000;
/// Who lacks a ledger asks again after this.
pub(super) const ASK_AGAIN: u64 = 500;
/// Least evaluations of a dispute at one level, from 2.5 on.
pub(super) const MIN_ROUNDS: u32 = 2;
/// After so many evaluations without a change a dispute is stalled, from 2.5 on.
pub(super) const STALLED_ROUNDS: u32 = 4;

/// A version of rippled whose rules the model knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub enum Version {
    /// Of 2021: the one that ByzzFuzz tested.
    #[serde(rename = "1.7.2")]
    V1_7_2,
    /// Of 2025: the one of the XRPL thesis.
    #[serde(rename = "2.4.0")]
    V2_4_0,
    /// Rounds that end by themselves, disputes that may stall.
    #[serde(rename = "2.6.1")]
    V2_6_1,
}

impl Version {
    /// Whether rounds expire, disputes stall, and each dispute has a level of its own.
    pub(super) fn is_2_5(self) -> bool {
        self >= Self::V2_6_1
    }

    /// So long a replica waits for others. From 2.0 on: who has heard nobody for so long has consensus with itself.
    pub(super) fn max_consensus(self) -> u64 {
        if self == Self::V1_7_2 { 10_000 } else { 15_000 }
    }
}

/// What an open ledger looks like from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) has_txs: bool,
    pub(super) prev_proposers: usize,
    /// Peers that have closed theirs.
    pub(super) closed: usize,
    /// Those that have validated the ledger before.
    pub(super) validated: usize,
    pub(super) prev_round: u64,
    pub(super) since_close: u64,
    pub(super) open: u64,
}

impl Opened {
    /// Whether it is time to close it.
    pub(super) fn should_close(self) -> bool {
        if self.prev_round > FORCE_CLOSE || self.since_close > FORCE_CLOSE {
            return true;
        }
        if self.closed + self.validated > self.prev_proposers / 2 {
            return true;
        }
        if !self.has_txs {
            return self.since_close >= IDLE;
        }
        self.open >= MIN_CLOSE && self.open >= self.prev_round / 2
    }
}

/// How far a round has got, in percent of the round before.
pub(super) fn converge_pct(round: u64, prev_round: u64) -> u64 {
    100 * round / prev_round.max(MIN_ROUND)
}

/// The avalanche: from which percentage of time on, more than which percentage of votes a disputed payment needs.
const AVALANCHE: [(u64, usize); 4] = [(0, 50), (50, 65), (85, 70), (200, 95)];

/// The last level of the avalanche.
pub(super) const LAST_LEVEL: u8 = AVALANCHE.len() as u8 - 1;

/// The level of the avalanche at this time.
pub(super) fn level_at(converge_pct: u64) -> u8 {
    AVALANCHE.iter().rposition(|&(from, _)| converge_pct >= from).unwrap_or(0) as u8
}

/// The level of a dispute that has been evaluated so often at its level: from 2.5 on it rises step by step.
pub(super) fn next_level(level: u8, evaluated: u32, converge_pct: u64) -> u8 {
    let next = level + u8::from(level < LAST_LEVEL && evaluated >= MIN_ROUNDS);
    if converge_pct >= AVALANCHE[usize::from(next)].0 { next } else { level }
}

/// The votes that a level asks for.
pub(super) fn needed(level: u8) -> usize {
    AVALANCHE[usize::from(level)].1
}

/// What a round looks like from inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) prev_proposers: usize,
    /// Positions of peers.
    pub(super) total: usize,
    /// Those that are ours.
    pub(super) agree: usize,
    /// Peers that have validated a later ledger.
    pub(super) finished: usize,
    pub(super) prev_round: u64,
    pub(super) round: u64,
    pub(super) proposing: bool,
    pub(super) stalled: bool,
}

/// Who is where, while nothing becomes final.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pack {
    /// By how many ledgers this replica is ahead of the last one that is final.
    pub(super) ahead: u32,
    /// Of those on its list: all, and how many make a quorum.
    pub(super) total: usize,
    pub(super) quorum: usize,
    /// Those who have validated lately, but no ledger as late as its own.
    pub(super) laggards: usize,
    /// Those who have not validated lately.
    pub(super) offline: usize,
}

impl Pack {
    /// Whether to wait for those who lag behind. In turns it waits for a quorum, for more and more, for all.
    pub(super) fn should_wait(self) -> bool {
        const LAST: u32 = 4;
        if self.ahead == 0 || self.laggards == 0 {
            return false;
        }
        let behind = self.laggards + self.offline;
        match (self.ahead - 1) % (LAST + 1) {
            0 => behind > self.total - self.quorum,
            LAST => true,
            turn => {
                let (last, turn) = (LAST as usize, turn as usize);
                last * (self.total - behind) < last * self.quorum + turn * (self.total - self.quorum)
            }
        }
    }
}

/// The state of a round's consensus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
pub(super) enum Consensus {
    No,
    Yes,
    /// The others are done without us.
    MovedOn,
    /// It takes too long.
    Expired,
}

impl Standing {
    /// Whether there is consensus. `min_pct` of the positions *received* have to agree, however few these are.
    pub(super) fn consensus(self, version: Version, min_pct: usize, alone: bool) -> Consensus {
        if self.round <= MIN_CONSENSUS {
            return Consensus::No;
        }
        let few = self.total < self.prev_proposers * 3 / 4;
        if few && self.round < self.prev_round + MIN_CONSENSUS {
            return Consensus::No;
        }
        let reached = |agree: usize, myself: bool| match self.total {
            0 => alone || self.round > version.max_consensus(),
            _ if self.stalled => true,
            total => 100 * (agree + usize::from(myself)) / (total + usize::from(myself)) >= min_pct,
        };
        if reached(self.agree, self.proposing) {
            return Consensus::Yes;
        }
        if reached(self.finished, false) {
            return Consensus::MovedOn;
        }
        let limit = (10 * self.prev_round).clamp(version.max_consensus(), ABANDON);
        if version.is_2_5() && self.round > limit { Consensus::Expired } else { Consensus::No }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cases of rippled's own test of the rule.
    #[test]
    fn a_ledger_closes_in_time() {
        let open = Opened {
            has_txs: true,
            prev_proposers: 10,
            closed: 0,
            validated: 0,
            prev_round: 10_000,
            since_close: 10_000,
            open: 10_000,
        };
        assert!(Opened { prev_round: 601_000, open: 0, ..open }.should_close(), "something is wrong");
        assert!(Opened { closed: 3, validated: 5, open: 0, ..open }.should_close(), "the others have closed");
        let idle = Opened { has_txs: false, since_close: 1_000, ..open };
        assert!(!idle.should_close());
        assert!(Opened { since_close: IDLE, ..idle }.should_close());
        assert!(!Opened { open: 1_000, ..open }.should_close(), "not so soon");
        assert!(!Opened { open: 3_000, ..open }.should_close(), "not in less than half of the time before");
        assert!(open.should_close());
    }

    #[test]
    fn consensus_takes_time_and_positions() {
        use Consensus::*;
        let of = |prev_proposers, total, agree, finished, prev_round, round, version, alone| {
            let (proposing, stalled) = (true, false);
            let standing =
                Standing { prev_proposers, total, agree, finished, prev_round, round, proposing, stalled };
            standing.consensus(version, 80, alone)
        };
        let new = |prev_proposers, total, agree, finished, prev_round, round| {
            of(prev_proposers, total, agree, finished, prev_round, round, Version::V2_6_1, false)
        };
        assert_eq!(new(10, 2, 2, 0, 3_000, 2_000), No, "few positions, and little time");
        assert_eq!(new(10, 2, 2, 0, 3_000, 4_000), No);
        assert_eq!(new(10, 2, 2, 0, 3_000, 10_000), Yes);
        assert_eq!(new(10, 2, 1, 0, 3_000, 10_000), No);
        assert_eq!(new(10, 2, 1, 8, 3_000, 10_000), MovedOn);
        assert_eq!(new(0, 0, 0, 0, 3_000, 10_000), No, "alone");
        assert_eq!(of(0, 0, 0, 0, 3_000, 10_000, Version::V1_7_2, true), Yes, "alone in 1.7.2");
        assert_eq!(new(0, 0, 0, 0, 3_000, 16_000), Yes, "alone for long");
        assert_eq!(new(10, 8, 1, 0, 1_000, 19_000), Expired);
        assert_eq!(of(10, 8, 1, 0, 1_000, 19_000, Version::V2_4_0, false), No, "rounds end from 2.5 on");
    }

    #[test]
    fn who_is_ahead_waits_in_turns() {
        let pack = Pack { ahead: 1, total: 5, quorum: 4, laggards: 1, offline: 0 };
        let waits = |ahead, laggards, offline| Pack { ahead, laggards, offline, ..pack }.should_wait();
        assert!(!waits(0, 5, 0) && !waits(3, 0, 5), "not while all is well, nor for those who are gone");
        assert!(!waits(1, 1, 0) && waits(1, 1, 1) && waits(1, 2, 0));
        assert!(waits(2, 1, 0), "at the second ledger for more than a quorum");
        assert!(waits(5, 1, 0) && !waits(6, 1, 0), "at the fifth for all, and then again");
    }
}

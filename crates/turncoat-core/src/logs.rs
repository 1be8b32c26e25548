//! Agreement as ByzzBench judges it, for tables that compare with its own: made only where a scenario asks for it.
//!
//! Our own agreement compares what correct replicas decide in a slot. ByzzBench compares logs, and its rule has changed: since
//! January 2025 it takes the entries with the same number in the logs of correct replicas; before, entries at the same place,
//! whatever their numbers, and at first in the logs of all replicas. A request that stands twice in one log counts as well, but its
//! loop looks only at numbers below the number of entries, so it misses a request far above all others. A number that a replica
//! decides again keeps its first entry.

use std::fmt;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::{SmallVec, smallvec};

use crate::check::Commit;
use crate::client::Request;
use crate::hash::Digest;
use crate::ids::{NodeId, Seat, SeatSet, Slot};
use crate::outcome::{Property, Violation};

/// A way to compare logs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LogCheck {
    /// Entries with the same number, in the logs of correct replicas.
    BySlot,
    /// Entries with the same number, in the logs of all replicas.
    BySlotOfAll,
    /// As `BySlot`, but of requests that stand twice in a log only those at numbers below the number of its entries.
    AsByzzBench,
    /// Entries at the same place, in the logs of correct replicas.
    ByPosition,
    /// Entries at the same place, in the logs of all replicas.
    ByPositionOfAll,
}

impl LogCheck {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::BySlot, Self::BySlotOfAll, Self::AsByzzBench, Self::ByPosition, Self::ByPositionOfAll];

    /// Its name in files, and the rule of its violations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BySlot => "agreement-by-slot",
            Self::BySlotOfAll => "agreement-by-slot:all",
            Self::AsByzzBench => "agreement-as-byzzbench",
            Self::ByPosition => "agreement-by-position",
            Self::ByPositionOfAll => "agreement-by-position:all",
        }
    }

    /// What it says, in one line.
    pub const fn about(self) -> &'static str {
        match self {
            Self::BySlot => {
                "logs of correct replicas hold the same in each slot, and no request twice (ByzzBench since 2025)"
            }
            Self::BySlotOfAll => "as agreement-by-slot, with the logs of Byzantine replicas",
            Self::AsByzzBench => {
                "as agreement-by-slot, with ByzzBench's loop: a request counts as twice only at slots below the length of the log"
            }
            Self::ByPosition => {
                "logs of correct replicas hold the same at each place, whatever its slot, and no request twice"
            }
            Self::ByPositionOfAll => {
                "as agreement-by-position, with the logs of Byzantine replicas (ByzzBench before 2025)"
            }
        }
    }

    const fn all_replicas(self) -> bool {
        matches!(self, Self::BySlotOfAll | Self::ByPositionOfAll)
    }

    const fn by_slot(self) -> bool {
        matches!(self, Self::BySlot | Self::BySlotOfAll | Self::AsByzzBench)
    }

    /// When, counted in entries, it has come to see a slot: each sees it at once, but ByzzBench not before the log is longer.
    fn sees(self, slot: Slot, position: usize) -> usize {
        if self == Self::AsByzzBench { position.max(slot.0 as usize) } else { position }
    }
}

impl FromStr for LogCheck {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|check| check.name() == name);
        found.ok_or_else(|| format!("no check `{name}`. There are: {}", known()))
    }
}

impl fmt::Display for LogCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for LogCheck {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LogCheck {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A decision, in the log of whoever made it.
#[derive(Debug)]
struct Entry {
    slot: Slot,
    id: Digest,
    requests: SmallVec<[(NodeId, u32); 1]>,
    step: u64,
}

/// The logs of all replicas, Byzantine ones too, and how to compare them.
#[derive(Debug)]
pub(crate) struct Logs {
    checks: Vec<LogCheck>,
    /// By seat.
    logs: Vec<Vec<Entry>>,
}

impl Logs {
    /// Nothing where nobody asks.
    pub(crate) fn of(checks: &[LogCheck], seats: usize) -> Option<Box<Self>> {
        let logs = || std::iter::repeat_with(Vec::new).take(seats).collect();
        (!checks.is_empty()).then(|| Box::new(Self { checks: checks.to_vec(), logs: logs() }))
    }

    pub(crate) fn commit(&mut self, commit: Commit, requests: &[Request], step: u64) {
        let Commit { seat, slot, id, .. } = commit;
        let log = &mut self.logs[seat.index()];
        if log.iter().all(|entry| entry.slot != slot) {
            let requests = requests.iter().map(|request| (request.client, request.ts)).collect();
            log.push(Entry { slot, id, requests, step });
        }
    }

    /// What they break: of each check the first.
    pub(crate) fn judge(&self, nodes: &[NodeId], correct: SeatSet) -> Vec<Violation> {
        let judged = |&check: &LogCheck| {
            let who: Vec<Seat> = (0..self.logs.len() as u8)
                .map(Seat)
                .filter(|&seat| check.all_replicas() || correct.contains(seat))
                .collect();
            let found = self.twice(check, &who, nodes).chain(self.differing(check.by_slot(), &who, nodes));
            let (step, nodes, slot, detail) = found.min_by_key(|&(step, ..)| step)?;
            let (property, rule) = (Property::Custom, check.name());
            Some(Violation { property, rule, nodes, slot: Some(slot), step, outside: None, detail })
        };
        self.checks.iter().filter_map(judged).collect()
    }

    /// Requests that stand twice in one log, as soon as a check has come to see both.
    fn twice<'a>(
        &'a self,
        check: LogCheck,
        who: &'a [Seat],
        nodes: &'a [NodeId],
    ) -> impl Iterator<Item = Found> + 'a {
        who.iter().flat_map(move |&seat| {
            let (node, log) = (nodes[seat.index()], &self.logs[seat.index()]);
            let mut known: FxHashMap<(NodeId, u32), (usize, Slot)> = FxHashMap::default();
            let mut found = Vec::new();
            for (position, entry) in log.iter().enumerate() {
                let seen = check.sees(entry.slot, position);
                for &(client, ts) in &entry.requests {
                    let Some(&(before, earlier)) = known.get(&(client, ts)) else {
                        known.insert((client, ts), (seen, entry.slot));
                        continue;
                    };
                    if let Some(last) = log.get(seen.max(before)) {
                        let detail = format!("{node} decided {client}#{ts} in {earlier} and {}", entry.slot);
                        found.push((last.step, smallvec![node], entry.slot, detail));
                    }
                    if seen < before {
                        known.insert((client, ts), (seen, entry.slot));
                    }
                }
            }
            found
        })
    }

    /// Entries that differ from those of the replica that was first to have one there.
    fn differing(
        &self,
        by_slot: bool,
        who: &[Seat],
        nodes: &[NodeId],
    ) -> impl Iterator<Item = Found> + use<> {
        let mut entries: Vec<(u64, Seat, u32, &Entry)> = Vec::new();
        for &seat in who {
            for (position, entry) in self.logs[seat.index()].iter().enumerate() {
                let place = if by_slot { entry.slot.0 } else { position as u32 + 1 };
                entries.push((entry.step, seat, place, entry));
            }
        }
        entries.sort_by_key(|&(step, seat, ..)| (step, seat));
        let mut first: FxHashMap<u32, (NodeId, Digest)> = FxHashMap::default();
        let mut found = Vec::new();
        for (step, seat, place, entry) in entries {
            let node = nodes[seat.index()];
            let &mut (other, id) = first.entry(place).or_insert((node, entry.id));
            if id != entry.id {
                let place = if by_slot { "slot" } else { "position" }.to_owned() + &format!(" {place}");
                let detail = format!("{place}: {other} decided {id}, {node} decided {}", entry.id);
                found.push((step, smallvec![other, node], entry.slot, detail));
            }
        }
        found.into_iter()
    }
}

/// A step, the nodes concerned, the slot, and what is wrong.
type Found = (u64, SmallVec<[NodeId; 2]>, Slot, String);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Op;
    use crate::grounds::Grounds;

    /// The steps at which checks break, where these replicas decide these requests in these slots, one after the other. The
    /// last replica lies.
    fn found(decisions: &[(u8, u32, u32)]) -> Vec<(LogCheck, u64)> {
        let nodes = [0, 1, 2].map(NodeId::replica);
        let mut logs = Logs::of(&LogCheck::ALL, nodes.len()).unwrap();
        for (step, &(seat, slot, ts)) in decisions.iter().enumerate() {
            let request = Request { client: NodeId::client(0), ts, op: Op::new("r"), read_only: false };
            let (seat, slot, id) = (Seat(seat), Slot(slot), Digest(ts.into()));
            logs.commit(Commit { seat, slot, id, grounds: Grounds::Unknown }, &[request], step as u64);
        }
        let mut correct = SeatSet::default();
        [Seat(0), Seat(1)].into_iter().for_each(|seat| correct.insert(seat));
        let found = logs.judge(&nodes, correct);
        found.into_iter().map(|found| (found.rule.parse().unwrap(), found.step)).collect()
    }

    use LogCheck::{AsByzzBench, ByPosition, ByPositionOfAll, BySlot, BySlotOfAll};

    #[test]
    fn equal_logs_agree_however_far_they_have_got() {
        assert_eq!(found(&[(0, 1, 1), (1, 1, 1), (0, 2, 2), (2, 1, 1)]), []);
    }

    #[test]
    fn entries_are_compared_by_number_or_by_place() {
        // p1 leaves out slot 2: what it has at its second place, others have at the third.
        assert_eq!(
            found(&[(0, 1, 1), (0, 2, 2), (0, 3, 3), (1, 1, 1), (1, 3, 3)]),
            [(ByPosition, 4), (ByPositionOfAll, 4)]
        );
        // p1 has the same order under other numbers.
        assert_eq!(
            found(&[(0, 1, 1), (0, 2, 2), (1, 2, 1), (1, 3, 2)]),
            [(BySlot, 2), (BySlotOfAll, 2), (AsByzzBench, 2)]
        );
    }

    #[test]
    fn liars_count_only_where_all_replicas_do() {
        assert_eq!(found(&[(0, 1, 1), (2, 1, 2)]), [(BySlotOfAll, 1), (ByPositionOfAll, 1)]);
        assert_eq!(found(&[(2, 1, 1), (2, 2, 1)]), [(BySlotOfAll, 1), (ByPositionOfAll, 1)]);
    }

    #[test]
    fn a_request_that_stands_twice_in_a_log_counts_as_disagreement() {
        let all = [(BySlot, 1), (BySlotOfAll, 1), (ByPosition, 1), (ByPositionOfAll, 1)];
        assert_eq!(found(&[(0, 1, 1), (0, 2, 1)]), all);
    }

    #[test]
    fn byzzbench_sees_a_request_twice_once_the_log_has_more_entries_than_its_slot() {
        let byzzbench = |decisions: &[(u8, u32, u32)]| {
            found(decisions).into_iter().find_map(|(check, step)| (check == AsByzzBench).then_some(step))
        };
        // Two entries: it looks at slots 0 and 1. A third, and it looks at slot 2.
        assert_eq!(byzzbench(&[(0, 1, 1), (0, 2, 1)]), None);
        assert_eq!(byzzbench(&[(0, 1, 1), (0, 2, 1), (0, 3, 3)]), Some(2));
        // However the entries come; those of another log do not count.
        assert_eq!(byzzbench(&[(0, 3, 3), (0, 2, 1), (0, 1, 1)]), Some(2));
        assert_eq!(byzzbench(&[(0, 1, 1), (0, 2, 1), (1, 3, 3)]), None);
        // Far above all others, never.
        assert_eq!(byzzbench(&[(0, 1, 1), (0, 50, 1), (0, 2, 2), (0, 3, 3)]), None);
        // Of three, two that it sees are enough.
        assert_eq!(byzzbench(&[(0, 50, 1), (0, 1, 1), (0, 2, 1), (0, 3, 3)]), Some(2));
        // Different entries count at once.
        assert_eq!(byzzbench(&[(0, 50, 1), (1, 50, 2)]), Some(1));
    }

    #[test]
    fn a_number_decided_again_keeps_its_first_entry() {
        assert_eq!(found(&[(0, 1, 1), (0, 1, 2), (1, 1, 1)]), []);
    }

    #[test]
    fn a_check_reads_back_from_its_name() {
        for check in LogCheck::ALL {
            assert_eq!(check.to_string().parse(), Ok(check));
        }
        assert!("agreement-by-place".parse::<LogCheck>().unwrap_err().contains("agreement-by-position:all"));
    }
}

//! Evolve: some runs are kept, and later ones change one of them a little.
//!
//! What a run came to says whether it is kept: by chance, one in ten (`keep=tenth`), or because it did something that no run
//! before it did (`keep=new`: another set of marks, or another number of decisions with them). `keep=tenth` is the honest
//! yardstick for any signal: in prototypes mutating just any earlier run helped as much as any choice among them.
//!
//! Runs depend on those before them, so that a campaign is one sample, and the strategy is in no mix. Of each find the campaign says
//! whether its scenario was drawn afresh or made from that of an earlier run: only the second is to the credit of feedback.

use std::collections::BTreeSet;

use serde::Deserialize;
use turncoat_core::fault::{Effect, Fault, Span, When};
use turncoat_core::hash::stable_hash;
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::outcome::Outcome;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Adversary, Scenario};
use turncoat_core::strategy::Strategy;

use crate::liars::LIARS_DRAWN;
use crate::params::{Param, Params};
use crate::portfolio::SHORT;
use crate::{Info, StrategyError, portfolio};

pub(crate) const INFO: Info = Info {
    name: "evolve",
    about: "learns: changes the scenarios of earlier runs a little, and draws fresh ones from the portfolio's wide mix",
    params: &[
        LIARS_DRAWN,
        SHORT,
        Param { name: "fresh", default: "50", about: "percentage of runs that are drawn afresh" },
        Param {
            name: "keep",
            default: "tenth",
            about: "which runs are kept: tenth (one in ten, by chance) or new (those that set other marks, or decide more or less)",
        },
        Param { name: "most", default: "256", about: "runs that are kept at a time; the oldest makes room" },
    ],
    make: |base, params| Ok(Box::new(Evolve::new(base, params)?)),
};

/// Which runs are kept.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Keep {
    Tenth,
    New,
}

struct Evolve {
    fresh: Box<dyn Strategy + Send>,
    percent: u32,
    keep: Keep,
    most: usize,
    /// The runs that are kept, the oldest first, and where the next one goes.
    kept: Vec<(u64, Scenario)>,
    oldest: usize,
    /// What runs have done, by its hash.
    seen: BTreeSet<u64>,
    /// The present run, and the one that it was made from.
    index: u64,
    parent: Option<u64>,
}

impl Evolve {
    fn new(base: &Scenario, params: &Params<'_>) -> Result<Self, StrategyError> {
        let mut given = params.passed(&[LIARS_DRAWN.name, SHORT.name])?;
        given.push(("mix".to_owned(), "wide".to_owned()));
        Ok(Self {
            fresh: (portfolio::INFO.make)(base, &params.part(&portfolio::INFO, &given)?)?,
            percent: params.number("fresh", 1..=100)?,
            keep: params.word("keep")?,
            most: params.number("most", 1..=100_000)? as usize,
            kept: Vec::new(),
            oldest: 0,
            seen: BTreeSet::new(),
            index: 0,
            parent: None,
        })
    }

    /// A kept scenario with one to three changes.
    fn child(&self, parent: &Scenario, rng: &mut Rng) -> Scenario {
        let mut child = parent.clone();
        for _ in 0..1 + rng.below(3) {
            match rng.below(5) {
                0 => lose(&mut child.adversary, rng),
                1 => shift(&mut child.adversary, rng),
                2 => readdress(&mut child.adversary, rng),
                3 => {
                    let (_, other) = rng.pick(&self.kept);
                    child.scheduler = other.scheduler.clone();
                }
                _ => {
                    let (_, other) = rng.pick(&self.kept);
                    take_over(&mut child.adversary, &other.adversary, rng);
                }
            }
        }
        child
    }
}

impl Strategy for Evolve {
    fn next(&mut self, index: u64, rng: &mut Rng) -> Scenario {
        (self.index, self.parent) = (index, None);
        if self.kept.is_empty() || rng.below(100) < self.percent {
            return self.fresh.next(index, rng);
        }
        let (run, parent) = rng.pick(&self.kept);
        let child = self.child(parent, rng);
        self.parent = Some(*run);
        child
    }

    fn observe(&mut self, scenario: &Scenario, outcome: &Outcome) {
        let keep = match self.keep {
            // By chance, and yet the same in each campaign: the seed of a run is drawn.
            Keep::Tenth => scenario.seed.0.is_multiple_of(10),
            Keep::New => {
                let did = (outcome.marks, outcome.commits.min(16), outcome.completed.min(16));
                self.seen.insert(stable_hash(0xE0_1E, &did))
            }
        };
        if !keep {
            return;
        }
        let kept = (self.index, Scenario { expect: None, ..scenario.clone() });
        if self.kept.len() < self.most {
            self.kept.push(kept);
        } else {
            self.kept[self.oldest] = kept;
            self.oldest = (self.oldest + 1) % self.most;
        }
    }

    fn learns(&self) -> bool {
        true
    }

    fn parent(&self) -> Option<u64> {
        self.parent
    }
}

/// One fault less. A node that stops and starts again keeps doing both, and a second face stays: other faults may name it.
fn lose(adversary: &mut Adversary, rng: &mut Rng) {
    if adversary.faults.is_empty() {
        return;
    }
    let index = rng.index(adversary.faults.len());
    if !matches!(adversary.faults[index].effect, Effect::Crash(_) | Effect::Restart(_) | Effect::Persona(_)) {
        adversary.faults.remove(index);
    }
}

/// A fault one or two rounds earlier or later.
fn shift(adversary: &mut Adversary, rng: &mut Rng) {
    let rounds = adversary.faults.iter_mut().filter_map(|fault| fault.when.round.as_mut());
    let mut bounded: Vec<&mut Span> =
        rounds.filter(|span| matches!(span, Span::At(_) | Span::Between(_))).collect();
    if bounded.is_empty() {
        return;
    }
    let by = *rng.pick(&[-2, -1, 1, 2]);
    let moved = |round: u64| round.saturating_add_signed(by).max(1);
    let index = rng.index(bounded.len());
    *bounded[index] = match *bounded[index] {
        Span::At(round) => Span::At(moved(round)),
        Span::Between([first, last]) if last < u32::MAX.into() => Span::Between([moved(first), moved(last)]),
        endless => endless,
    };
}

/// A fault about messages to some receivers: one receiver more or less, but never none, which would mean all.
fn readdress(adversary: &mut Adversary, rng: &mut Rng) {
    let faults = adversary.faults.iter_mut().map(|fault| &mut fault.when.to);
    let mut lists: Vec<&mut Vec<SeatName>> = faults.filter(|to| to.len() > 1).collect();
    if lists.is_empty() {
        return;
    }
    let index = rng.index(lists.len());
    let at = rng.index(lists[index].len());
    lists[index].remove(at);
}

/// A fault of another run, if it means the same here.
fn take_over(adversary: &mut Adversary, other: &Adversary, rng: &mut Rng) {
    if other.faults.is_empty() {
        return;
    }
    let fault = rng.pick(&other.faults);
    if fits(fault, adversary) {
        adversary.faults.push(fault.clone());
    }
}

/// Whether a fault of another scenario means the same in one with these liars: it is about messages, names nodes rather than
/// their instances, and has no other liars.
fn fits(Fault { when, effect }: &Fault, adversary: &Adversary) -> bool {
    let whole = |names: &[SeatName]| names.iter().all(|name| name.instance.is_none());
    let lies = |from: &[SeatName]| {
        let byzantine = |node: NodeId| adversary.byzantine.contains(node);
        !from.is_empty() && from.iter().all(|name| byzantine(name.node))
    };
    let plain = |When { from, to, .. }: &When| whole(from) && whole(to);
    plain(when)
        && match effect {
            Effect::Drop | Effect::Hold | Effect::Delay(_) => true,
            Effect::Mutate(_) => lies(&when.from),
            Effect::Isolate(names) | Effect::Deaf(names) => whole(names),
            Effect::Partition(blocks) => blocks.iter().all(|block| whole(block)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use turncoat_core::fault::{Form, Names, Persona};
    use turncoat_core::ids::NodeSet;

    use super::*;

    fn about(from: &str, effect: Effect) -> Fault {
        let from = vec![from.parse().expect("a name")];
        Fault { when: When { from, kind: Names::default(), ..When::default() }, effect }
    }

    #[test]
    fn what_other_liars_did_is_not_taken_over() {
        let adversary = Adversary { byzantine: NodeSet::one(NodeId::replica(1)), ..Adversary::default() };
        let lie = || Effect::Mutate(turncoat_core::fault::Mutate::Named("vote.omit".to_owned()));
        assert!(fits(&about("p1", lie()), &adversary));
        assert!(!fits(&about("p2", lie()), &adversary));
        assert!(fits(&about("p2", Effect::Hold), &adversary));
        assert!(!fits(&about("p1.b", Effect::Hold), &adversary));
        assert!(!fits(&about("p1", Effect::Crash("p1".parse().expect("a name"))), &adversary));
    }

    #[test]
    fn a_second_face_stays_since_other_faults_may_name_it() {
        let face = Persona {
            of: NodeId::replica(1),
            to: Vec::new(),
            at_view_change: None,
            edits: Vec::new(),
            overlap: false,
            form: Form::Instance,
        };
        let plan = || Adversary {
            byzantine: NodeSet::one(NodeId::replica(1)),
            faults: vec![
                Fault { when: When::default(), effect: Effect::Persona(face.clone()) },
                Fault { when: When::default(), effect: Effect::Fire("p1.b".parse().expect("a name")) },
            ],
            ..Adversary::default()
        };
        let mut rng = Rng::stream(0, 0);
        let left: Vec<usize> = (0..50)
            .map(|_| {
                let mut adversary = plan();
                lose(&mut adversary, &mut rng);
                assert!(matches!(adversary.faults[0].effect, Effect::Persona(_)));
                adversary.faults.len()
            })
            .collect();
        assert!(left.contains(&1) && left.contains(&2), "{left:?}");
    }
}

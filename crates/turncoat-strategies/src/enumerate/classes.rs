//! The faults of the universe, class by class.
//!
//! To add a class, write a function that lists its faults and add a line to [`CLASSES`]; nothing else needs to know it. With every
//! fault the list must have the same fault with replicas renamed: symmetry relies on that.

use turncoat_core::fault::{Edit, Effect, Fault, Mutate, Persona, RoundSource, Span, When};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::message::MutationTable;
use turncoat_core::part::Scope;

/// Faults of one sort.
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) list: fn(&Bounds<'_>) -> Vec<Listed>,
}

/// A fault, and the replica that must be Byzantine for it.
pub(super) struct Listed {
    pub(super) liar: Option<NodeId>,
    pub(super) fault: Fault,
}

/// All classes, in the order in which their faults stand in a plan.
pub(super) static CLASSES: [Class; 5] = [
    Class { name: "lies", about: "a mutation, told in every message of its kind", list: lies },
    Class {
        name: "omissions",
        about: "no message of a kind is sent, or none at all (silence)",
        list: omissions,
    },
    Class {
        name: "faces",
        about: "a second instance of the liar (own-order or mute); when the view changes everybody hears it, or the same replicas",
        list: faces,
    },
    Class {
        name: "cuts",
        about: "in one view a replica is isolated, the replicas are split in two, or a link is cut in one direction",
        list: cuts,
    },
    Class {
        name: "timers",
        about: "a timer fires early, when its replica first sends a message in a view",
        list: timers,
    },
];

/// How large the universe is.
pub(super) struct Bounds<'a> {
    pub(super) n: usize,
    /// Who may lie.
    pub(super) liars: Vec<NodeId>,
    pub(super) table: &'a MutationTable,
    pub(super) scope: Scope,
    pub(super) receivers: Receivers,
    /// Cuts and timers are in the first so many views.
    pub(super) views: u64,
}

/// Which sets of replicas may hear something of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Receivers {
    /// None: a lie goes to everybody.
    All,
    /// One replica.
    One,
    /// One replica, and all but one.
    Some,
    /// Every set but that of all.
    Sets,
}

impl Bounds<'_> {
    fn replicas(&self) -> impl Iterator<Item = NodeId> + Clone + use<> {
        (0..self.n).map(NodeId::replica)
    }

    /// Sets of other replicas that may hear something of their own.
    fn audiences(&self, liar: NodeId, receivers: Receivers) -> Vec<Vec<NodeId>> {
        let others: Vec<NodeId> = self.replicas().filter(|&node| node != liar).collect();
        let alone = others.iter().map(|&one| vec![one]);
        let but = others.iter().map(|left| others.iter().copied().filter(|one| one != left).collect());
        let mut sets: Vec<Vec<NodeId>> = match receivers {
            Receivers::All => Vec::new(),
            Receivers::One => alone.collect(),
            Receivers::Some => alone.chain(but).collect(),
            Receivers::Sets => subsets(&others).collect(),
        };
        sets.retain(|set| !set.is_empty() && set.len() < others.len());
        sets.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        sets.dedup();
        sets
    }

    /// What each liar may do to messages of its own, by itself: to everybody, clients included, or to some replicas.
    fn told(&self, effects: &[Effect]) -> Vec<Listed> {
        let mut all = Vec::new();
        for effect in effects {
            for &liar in &self.liars {
                for to in [Vec::new()].into_iter().chain(self.audiences(liar, self.receivers)) {
                    let when = When {
                        from: vec![liar.into()],
                        to: to.into_iter().map(SeatName::from).collect(),
                        ..When::default()
                    };
                    all.push(Listed { liar: Some(liar), fault: Fault { when, effect: effect.clone() } });
                }
            }
        }
        all
    }

    fn views(&self) -> impl Iterator<Item = When> + use<> {
        (1..=self.views).map(|view| When {
            round: Some(Span::At(view)),
            source: RoundSource::View,
            ..When::default()
        })
    }
}

/// The subsets of a few nodes.
fn subsets(nodes: &[NodeId]) -> impl Iterator<Item = Vec<NodeId>> + use<'_> {
    (0..1_u64 << nodes.len()).map(|bits| {
        nodes.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, &node)| node).collect()
    })
}

fn lies(bounds: &Bounds<'_>) -> Vec<Listed> {
    let table = bounds.table;
    let rows = (0..table.kinds().len()).flat_map(|kind| table.rows(kind as u8));
    let rows = rows.filter(|row| row.scope <= bounds.scope);
    bounds.told(&rows.map(|row| Effect::Mutate(Mutate::Named(row.name.clone()))).collect::<Vec<_>>())
}

fn omissions(bounds: &Bounds<'_>) -> Vec<Listed> {
    let omit = |kind: &&str| Effect::Mutate(Mutate::Named(format!("{kind}.omit")));
    let effects: Vec<_> = bounds.table.kinds().iter().map(omit).chain([Effect::Drop]).collect();
    bounds.told(&effects)
}

fn faces(bounds: &Bounds<'_>) -> Vec<Listed> {
    let mut all = Vec::new();
    for edit in [Edit::OwnOrder, Edit::Mute] {
        for everybody in [true, false] {
            for &liar in &bounds.liars {
                let others = || bounds.replicas().filter(|&node| node != liar).collect();
                // A face that everybody hears is no second one, and faces are few.
                for to in bounds.audiences(liar, bounds.receivers.max(Receivers::Some)) {
                    let persona = Persona {
                        of: liar,
                        to,
                        at_view_change: everybody.then(others),
                        edits: vec![edit],
                        overlap: false,
                        form: Default::default(),
                    };
                    let fault = Fault { when: When::default(), effect: Effect::Persona(persona) };
                    all.push(Listed { liar: Some(liar), fault });
                }
            }
        }
    }
    all
}

/// Nobody's fault but the network's.
fn network(when: When, effect: Effect) -> Listed {
    Listed { liar: None, fault: Fault { when, effect } }
}

/// Replicas beyond which splits are left out: there would be too many.
const SPLIT: usize = 8;

fn cuts(bounds: &Bounds<'_>) -> Vec<Listed> {
    let replicas: Vec<NodeId> = bounds.replicas().collect();
    let names = |nodes: &[NodeId]| -> Vec<SeatName> { nodes.iter().map(|&node| node.into()).collect() };
    let mut all = Vec::new();
    for when in bounds.views() {
        all.extend(replicas.iter().map(|&node| network(when.clone(), Effect::Isolate(names(&[node])))));
        if bounds.n <= SPLIT {
            // The block of the first replica comes first. A block of one is an isolated replica.
            let mut seconds: Vec<Vec<NodeId>> = subsets(&replicas[1..]).collect();
            seconds.retain(|second| (2..=bounds.n - 2).contains(&second.len()));
            for second in seconds {
                let first: Vec<_> = replicas.iter().copied().filter(|node| !second.contains(node)).collect();
                let blocks = vec![names(&first), names(&second)];
                all.push(network(when.clone(), Effect::Partition(blocks)));
            }
        }
        for &from in &replicas {
            for &to in replicas.iter().filter(|&&to| to != from) {
                let when = When { from: names(&[from]), ..when.clone() };
                all.push(network(when, Effect::Deaf(names(&[to]))));
            }
        }
    }
    all
}

fn timers(bounds: &Bounds<'_>) -> Vec<Listed> {
    let mut all = Vec::new();
    for when in bounds.views() {
        for node in bounds.replicas() {
            let when = When { from: vec![node.into()], times: Some(1), ..when.clone() };
            all.push(network(when, Effect::Fire(node.into())));
        }
    }
    all
}

//! A run with a liar in it that talks nonsense all the time.

use super::{Sim, quiet};
use crate::hash::stable_hash;
use crate::ids::{NodeId, NodeSet, Seat};
use crate::message::Message;
use crate::net::{Content, Header};
use crate::node::Protocol;
use crate::outcome::Property;
use crate::part::{Described, Liar, Scope, Seen};
use crate::probe::Nonsense;
use crate::rng::{Purpose, Rng};

/// The most nonsense of one kind in a run, so that it is spread over many states.
const MOST: u64 = 2000;

/// How many of a thousand changed messages are crafted besides: such a lie looks through the whole run.
const CRAFTED: u32 = 20;

/// The most characters of a message in a report.
const SHOWN: usize = 100;

/// The liar of a run, and what it knows.
struct Heckler {
    seat: Seat,
    node: NodeId,
    /// The correct nodes.
    to: Vec<Seat>,
    rng: Rng,
    /// Which crafted lies it tells.
    craft: Rng,
    /// The messages of the run so far, by kind.
    heard: Vec<Vec<u32>>,
    /// How much more of each kind it wants to say.
    left: Vec<u64>,
    /// The last nonsense, with its kind.
    last: Option<(u32, u8)>,
}

impl<P: Protocol> Sim<P> {
    /// Runs to the end. After each event the first liar of the run has its say: it takes messages of this run, its own
    /// and those of others, and changes them. What others have signed it can only break.
    pub(crate) fn run_with_nonsense(&mut self, seed: u64, nonsense: &mut Nonsense) {
        let kinds = P::Msg::KINDS.len();
        nonsense.told.resize(kinds, 0);
        nonsense.crashes.resize(kinds, None);
        let replicas = self.byzantine.and(self.cluster.replicas());
        let Some(node) = replicas.iter().next() else { return };
        let mut heckler = Heckler {
            seat: self.io.seats.first(node).expect("every replica has a seat"),
            node,
            to: self.io.ledger.correct().iter().collect(),
            // The same run a second time hears something else.
            rng: Rng::stream(stable_hash(0x4EC, &(seed, &nonsense.told)), Purpose::Lies as u64),
            craft: Rng::stream(stable_hash(0xC4A, &(seed, &nonsense.told)), Purpose::Lies as u64),
            heard: vec![Vec::new(); kinds],
            left: nonsense.told.iter().map(|told| nonsense.wanted.saturating_sub(*told).min(MOST)).collect(),
            last: None,
        };
        let wanted = heckler.left.clone();
        while self.end.is_none() && self.violation_of_crash().is_none() {
            self.guarded(|sim| {
                while sim.step() {
                    // So that all is said within some thirty events, and hardly anything is said at once.
                    sim.heckle(&mut heckler, |left| left.min(1 + left / 32));
                }
            });
        }
        if self.violation_of_crash().is_none() {
            // A kind that is seldom or late gets the rest.
            self.guarded(|sim| sim.heckle(&mut heckler, |left| left));
        }
        for (told, (wanted, left)) in nonsense.told.iter_mut().zip(wanted.iter().zip(&heckler.left)) {
            *told += wanted - left;
        }
        if let (Some(crash), Some((payload, kind))) = (self.violation_of_crash(), heckler.last) {
            let mut last = Described(self.slab.get(payload)).to_string();
            if let Some((cut, _)) = last.char_indices().nth(SHOWN) {
                last.replace_range(cut.., " ...");
            }
            let text = format!("{crash} ({}), after `{last}`", quiet::place());
            nonsense.crashes[usize::from(kind)].get_or_insert(text);
        }
    }

    fn violation_of_crash(&self) -> Option<&str> {
        let crash = self.violations().iter().find(|violation| violation.property == Property::Crashed);
        crash.map(|violation| violation.detail.as_str())
    }

    /// Says so much nonsense of each kind, as far as the kind has been heard.
    fn heckle(&mut self, heckler: &mut Heckler, share: fn(u64) -> u64) {
        let known: usize = heckler.heard.iter().map(Vec::len).sum();
        for payload in known..self.slab.len() {
            let kind = self.slab.get(payload as u32).kind();
            heckler.heard[usize::from(kind)].push(payload as u32);
        }
        for kind in 0..heckler.left.len() {
            if heckler.heard[kind].is_empty() {
                continue;
            }
            for _ in 0..share(heckler.left[kind]) {
                if let Some(lie) = self.nonsense(kind as u8, heckler) {
                    heckler.left[kind] -= 1;
                    let payload = self.slab.insert(lie);
                    heckler.last = Some((payload, kind as u8));
                    self.hand_over_nonsense(payload, kind as u8, heckler);
                }
            }
        }
    }

    fn hand_over_nonsense(&mut self, payload: u32, kind: u8, heckler: &mut Heckler) {
        let (src, dst) = (heckler.seat, *heckler.rng.pick(&heckler.to));
        let (at, id) = (self.io.time, self.next_id);
        self.next_id += 1;
        let content = Content::Genuine;
        self.deliver(Header { at, id, payload, src, dst, kind, from_client: false, content });
    }

    /// A message of this kind that nobody's code wrote.
    fn nonsense(&self, kind: u8, heckler: &mut Heckler) -> Option<P::Msg> {
        let Heckler { seat, node, rng, craft, heard, .. } = heckler;
        // Its own messages carry its own signatures, which stay good.
        let own = self.firsts.get(&(*seat, kind)).copied().filter(|_| rng.chance(500));
        let payload = own.unwrap_or_else(|| *rng.pick(&heard[usize::from(kind)]));
        let truth = self.slab.get(payload);
        let rows = self.table.plain(kind).iter().take_while(|row| row.scope < Scope::Named).count();
        if rows == 0 || rng.chance(500) {
            return flipped(truth, rng);
        }
        let mut liar = Liar {
            keys: NodeSet::one(*node),
            rng: Rng::stream(rng.bits(), 0),
            requests: self.io.ledger.submitted(),
            n: self.cluster.n,
            seen: Seen::of(&self.slab),
        };
        let mut lie = truth.clone();
        for _ in 0..1 + rng.below(3) {
            let earlier =
                heard[usize::from(kind)].iter().rev().take(8).map(|&payload| self.slab.get(payload));
            lie = self.table.apply(kind, &lie, rng.index(rows) as u16, earlier, &mut liar).unwrap_or(lie);
        }
        let crafted = self.table.plain(kind).len()..self.table.rows(kind).len();
        if !crafted.is_empty() && craft.chance(CRAFTED) {
            let row = crafted.start + craft.index(crafted.len());
            let earlier = heard[usize::from(kind)].iter().rev().map(|&payload| self.slab.get(payload));
            lie = self.table.apply(kind, &lie, row as u16, earlier, &mut liar).unwrap_or(lie);
        }
        Some(lie)
    }
}

/// A message with some bits flipped, if it is still one of its kind.
fn flipped<M: Message>(msg: &M, rng: &mut Rng) -> Option<M> {
    let mut bytes = postcard::to_stdvec(msg).ok()?;
    for _ in 0..1 + rng.below(4) {
        let bit = rng.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    postcard::from_bytes(&bytes).ok().filter(|lie: &M| lie.kind() == msg.kind())
}

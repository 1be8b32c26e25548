//! The whole state of a run at a moment: everything that determines how it continues.
//!
//! Once the network is calm and nothing is random any more, the present state determines all that follows. If a state recurs
//! up to a renaming of blocks and a renumbering of views, heights and requests, the run repeats itself forever from there:
//! that is what a proof of non-termination rests on.

use super::Sim;
use crate::hash::Digest;
use crate::ids::{NodeId, Seat, Time, View};
use crate::net::Header;
use crate::node::{Protocol, leader};
use crate::outcome::Violation;
use crate::persona::Face;
use crate::tokens::{self, Token};

/// A run at a moment.
pub trait Moment {
    /// Events so far.
    fn steps(&self) -> u64;
    /// The time.
    fn time(&self) -> Time;
    /// The correct replicas, each with its view.
    fn views(&self) -> Vec<(NodeId, View)>;
    /// Who leads a view.
    fn leader(&self, view: View) -> NodeId;
    /// Decisions of correct replicas so far.
    fn commits(&self) -> u32;
    /// What is violated so far, in order.
    fn violations(&self) -> &[Violation];
    /// Whether what clients asked for has been done.
    fn done(&self) -> bool;
    /// The essence of every node, its timers by the time that is left, and what is in flight by the time that it has
    /// still to go. The clock, counters and what has happened are not in it.
    ///
    /// # Errors
    /// All else that decides too, if anything does.
    fn world(&self) -> Result<Vec<Token>, Vec<&'static str>>;
    /// After so many views the leaders are the same again.
    fn period(&self) -> u32;
    /// See [`Protocol::VIEW_DELAYS`].
    fn view_delays(&self) -> u64;
}

/// How far down from a block that somebody names a rule may look: a three-chain, and one more.
const DEPTH: usize = 4;

impl<P: Protocol> Moment for Sim<P> {
    fn steps(&self) -> u64 {
        self.io.step
    }

    fn time(&self) -> Time {
        self.io.time
    }

    fn views(&self) -> Vec<(NodeId, View)> {
        self.correct_replicas().map(|seat| (self.io.seats.node(seat), self.vitals(seat).view)).collect()
    }

    fn leader(&self, view: View) -> NodeId {
        leader::<P>(view, &self.cluster)
    }

    fn commits(&self) -> u32 {
        self.io.ledger.commits()
    }

    fn violations(&self) -> &[Violation] {
        self.io.ledger.violations()
    }

    fn done(&self) -> bool {
        self.goal_at.is_some()
    }

    fn world(&self) -> Result<Vec<Token>, Vec<&'static str>> {
        let mut open = self.open();
        let mut live = Vec::new();
        let mut world = self.tokens(&live);
        if world.is_none() {
            open.push("a node does not show its state");
        }
        // Blocks that somebody names are live, and so are those below them as far as a rule may look.
        for _ in 0..DEPTH {
            let Some(tokens) = world.as_ref().filter(|_| open.is_empty()) else { return Err(open) };
            let named = named(tokens);
            if named == live {
                break;
            }
            world = self.tokens(&named);
            live = named;
        }
        world.filter(|_| open.is_empty()).ok_or(open)
    }

    fn period(&self) -> u32 {
        self.cluster.n as u32
    }

    fn view_delays(&self) -> u64 {
        P::VIEW_DELAYS
    }
}

/// All digests, in the order in which they occur first.
fn named(tokens: &[Token]) -> Vec<Digest> {
    let mut named = Vec::new();
    for token in tokens {
        if let Token::Digest(digest) = *token
            && !named.contains(&Digest(digest))
        {
            named.push(Digest(digest));
        }
    }
    named
}

impl<P: Protocol> Sim<P> {
    /// The world, unless a node does not show its state.
    fn tokens(&self, live: &[Digest]) -> Option<Vec<Token>> {
        let mut out = Vec::new();
        let left = |at: Time| at.0.saturating_sub(self.io.time.0);
        for index in 0..self.nodes.len() {
            let seat = Seat(index as u8);
            out.extend([Token::Field("node"), Token::Text(self.io.seats.name(seat).to_string())]);
            if !self.is_alive(seat) {
                out.push(Token::Name("stopped"));
            } else if !self.nodes[index].essence(live, &mut out) {
                return None;
            }
            out.push(Token::Count(self.io.last_payload(seat).into()));
        }
        for face in &self.faces {
            face.essence(&mut out);
        }
        out.push(Token::Field("timers"));
        for (seat, timer, at) in self.io.timers.in_order() {
            tokens::write(&(seat.0, timer, left(at)), &mut out);
        }
        let mut flying: Vec<Header> = Vec::new();
        self.queue.visit(&mut |header| flying.push(*header));
        flying.sort_by_key(|header| header.id);
        out.push(Token::Field("messages in flight"));
        for header in flying {
            tokens::write(&(header.src.0, header.dst.0, left(header.at)), &mut out);
            tokens::write(self.slab.get(header.payload), &mut out);
        }
        out.push(Token::Field("links"));
        out.extend(self.links.iter().map(|&last| Token::Number(left(last))));
        Some(out)
    }

    /// What decides how the run goes on, apart from nodes, timers and messages.
    fn open(&self) -> Vec<&'static str> {
        let reasons = [
            (!self.calm, "the network is not calm yet"),
            (self.script.next < self.script.actions.script.len(), "the script is not over"),
            (self.latency.0 != self.latency.1, "messages take a random time"),
            (!self.split.is_empty(), "the network is split"),
            (self.network.turn.is_some(), "whose turn it is to send is drawn"),
            (!self.is_steady(), "the adversary keeps state, or lies"),
            (!self.deeds.is_empty() || !self.held.is_empty(), "a fault is in progress"),
            (self.faces.iter().any(|face| !face.awake), "a persona has not woken up yet"),
            (self.faces.iter().any(Face::is_unsettled), "a persona exchanges or reorders requests"),
            (self.io.clocks.iter().any(|&clock| clock != Default::default()), "a clock drifts"),
            (self.io.draws(), "a node draws random numbers"),
            (self.has_table(), "a table says who leads"),
        ];
        reasons.into_iter().filter(|(open, _)| *open).map(|(_, reason)| reason).collect()
    }

    /// Whether some correct replica is in a view whose leader the scenario prescribes.
    fn has_table(&self) -> bool {
        let prescribed = self.cluster.leaders.len();
        self.correct_replicas().any(|seat| P::nth_view(self.vitals(seat).view) as usize <= prescribed)
    }

    /// Whether the adversary judges by sender, receiver and kind alone, whoever sends.
    fn is_steady(&self) -> bool {
        let Some(plan) = &self.plan else { return true };
        let seats = self.io.seats.replicas().iter().filter(|&seat| self.is_alive(seat));
        let mut copies = seats.map(|seat| self.copy(seat, seat, 0, None, None, 0));
        copies.all(|copy| plan.is_steady(&copy, self.cluster.n as u64))
    }
}

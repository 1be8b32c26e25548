//! The whole world at a moment: all that decides how a run goes on.
//!
//! Two moments of a run with the same world, but for the names of blocks and the numbers of views, go on in the same way
//! under the same choices: that is what a proof of non-termination rests on.

use super::Sim;
use crate::ids::Seat;
use crate::net::Header;
use crate::node::Protocol;
use crate::scenario::SchedulerName;
use crate::tokens::{self, Token};

impl<P: Protocol> Sim<P> {
    /// The essence of every node, its timers by the time that is left, and what is in flight by the time that it has
    /// still to go. The clock, counters and what has happened are not in it.
    ///
    /// # Errors
    /// If something else decides too, and what.
    pub fn world(&self) -> Result<Vec<Token>, &'static str> {
        self.closed()?;
        let mut out = Vec::new();
        for index in 0..self.nodes.len() {
            let seat = Seat(index as u8);
            out.push(Token::Text(self.io.seats.name(seat).to_string()));
            if !self.is_alive(seat) {
                out.push(Token::Name("crashed"));
                continue;
            }
            if !self.nodes[index].essence(&[], &mut out) {
                return Err("a node does not show its state");
            }
            for (timer, at) in self.timers(seat) {
                out.push(Token::Text(timer));
                out.push(Token::Number(at.0.saturating_sub(self.io.time.0)));
            }
        }
        let mut flying: Vec<Header> = Vec::new();
        self.queue.visit(&mut |header| flying.push(*header));
        flying.sort_by_key(|header| header.id);
        for header in flying {
            let link = (header.src.0, header.dst.0, header.at.0.saturating_sub(self.io.time.0));
            tokens::write(&link, &mut out);
            tokens::write(self.slab.get(header.payload), &mut out);
        }
        Ok(out)
    }

    /// Whether nothing but nodes, timers and messages decides how the run goes on.
    fn closed(&self) -> Result<(), &'static str> {
        let ordered = [SchedulerName::Timed, SchedulerName::Fifo, SchedulerName::Script];
        let reasons = [
            (!ordered.contains(&self.scheduler_name), "the scheduler draws its choices"),
            (self.latency.0 != self.latency.1, "messages take a random time"),
            (self.adversary.is_some() && !self.calm, "the faults of the scenario are not over"),
            (!self.held.is_empty(), "a fault holds a message back"),
            (!self.faces.is_empty(), "a node has two faces"),
            (self.io.clocks.iter().any(|&clock| clock != Default::default()), "a clock drifts"),
            (self.io.draws(), "a node draws random numbers"),
        ];
        match reasons.into_iter().find(|(open, _)| *open) {
            Some((_, reason)) => Err(reason),
            None => Ok(()),
        }
    }
}

//! Stances: liars that depart from the protocol in everything they do (`stance` in a scenario).
//!
//! The code of such a node runs with bug flags that are off for all others, and it may take its own lies for what it said. A
//! Byzantine node may run any code and believe anything, so this gives it no power that it does not have: what it sends is
//! signed with its own key, and is judged by the code and the flags of the others.

use super::{Round, Sim};
use crate::fault::{RoundSource, Span};
use crate::ids::{NodeId, NodeSet, Seat, SeatSet};
use crate::net::Content;
use crate::node::Protocol;
use crate::part::Described;
use crate::record::{Deviation, How, What};
use crate::scenario::{ScenarioError, invalid};

/// A stance, names resolved.
#[derive(Clone, Debug)]
pub(crate) struct Stance {
    /// The number of its fault, from 1.
    pub(crate) fault: usize,
    /// The instances that have it.
    pub(crate) seats: SeatSet,
    /// Whether it is that of one instance of several.
    pub(crate) alone: bool,
    /// The rounds in which they do: all where there is none.
    pub(crate) round: Option<Span>,
    /// By their round counters, or by views.
    pub(crate) source: RoundSource,
    /// The flags that are on.
    pub(crate) flags: Vec<String>,
    /// Whose lies are believed.
    pub(crate) believes: Audience,
}

/// Those who have to hear a lie for its sender to believe it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Audience {
    /// It believes no lie.
    Nobody,
    /// All receivers.
    All,
    /// Those of the receivers who are among these.
    Among(NodeSet),
}

impl Stance {
    /// Whether a seat with such a round counter has it now.
    fn is_on<P: Protocol>(&self, seat: Seat, round: Round) -> bool {
        let now = match self.source {
            RoundSource::SenderView => P::nth_view(round.key.view),
            _ => round.number,
        };
        self.seats.contains(seat) && self.round.is_none_or(|span| span.contains(now.into()))
    }

    /// Whether its node has to change flags during a run.
    fn changes_flags(&self) -> bool {
        !self.flags.is_empty() && (self.round.is_some() || self.alone)
    }
}

impl Audience {
    /// The lie that all of them are told, if they are told one.
    fn agreed(self, told: &[Told], same: impl Fn(u32, u32) -> bool) -> Option<u32> {
        let counts = |told: &&Told| match self {
            Self::Nobody => false,
            Self::All => true,
            Self::Among(nodes) => nodes.contains(told.to),
        };
        let mut lies = told.iter().filter(counts).map(|told| told.lie);
        let first = lies.next()??;
        lies.all(|lie| lie.is_some_and(|lie| same(first, lie))).then_some(first)
    }
}

/// What a receiver is told: a lie, by its payload, or the truth.
struct Told {
    to: NodeId,
    lie: Option<u32>,
}

/// A configuration that is not the cluster's.
struct Own<C> {
    seat: Seat,
    flags: Vec<String>,
    config: C,
}

/// The stances of a run.
pub(super) struct Stances<C> {
    all: Vec<Stance>,
    own: Vec<Own<C>>,
    /// Whether the message that is being sent is one of a liar that may believe it.
    listening: bool,
    told: Vec<Told>,
}

impl<C> Default for Stances<C> {
    fn default() -> Self {
        Self { all: Vec::new(), own: Vec::new(), listening: false, told: Vec::new() }
    }
}

impl<C> Stances<C> {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.own.clear();
        self.told.clear();
        self.listening = false;
    }

    pub(super) fn set(&mut self, stances: Vec<Stance>) {
        self.all = stances;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn is_listening(&self) -> bool {
        self.listening
    }

    /// The configuration of a seat, if it is not the cluster's.
    pub(super) fn config(&self, seat: Seat) -> Option<&C> {
        self.own.iter().find(|own| own.seat == seat).map(|own| &own.config)
    }

    fn flags(&self, seat: Seat) -> &[String] {
        self.own.iter().find(|own| own.seat == seat).map_or(&[], |own| &own.flags)
    }
}

impl<P: Protocol> Sim<P> {
    /// Takes up the stances of a run in which nothing has happened and no node has been made.
    ///
    /// # Errors
    /// If a node cannot run with the flags that it is to have.
    pub(super) fn take_stances(&mut self) -> Result<(), ScenarioError> {
        for stance in self.stances.all.iter().filter(|stance| !stance.flags.is_empty()) {
            let faulty = |error: String| invalid(format!("fault {}: `stance`: {error}", stance.fault));
            let config = self.with_flags(&stance.flags).map_err(faulty)?;
            P::validate(&config).map_err(faulty)?;
            let mut nodes = stance.seats.iter().map(|seat| self.fresh_node(seat));
            if stance.changes_flags() && nodes.any(|mut node| !node.adopt(&config, &self.cluster)) {
                return Err(faulty(format!(
                    "a node of {} cannot change its flags during a run: leave out `round`, name the node and not an \
                     instance of it, or give the protocol `Node::adopt`",
                    P::NAME
                )));
            }
        }
        for seat in self.io.seats.all() {
            self.change_flags(seat);
        }
        Ok(())
    }

    /// The cluster's configuration with more flags.
    fn with_flags(&self, flags: &[String]) -> Result<P::Config, String> {
        let mut table = toml::Table::try_from(&self.config).map_err(|error| error.to_string())?;
        let on = table.entry("flags").or_insert_with(|| toml::Value::Array(Vec::new()));
        let on = on.as_array_mut().ok_or("the protocol's key `flags` is not a list")?;
        on.extend(flags.iter().cloned().map(toml::Value::String));
        toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }

    /// Gives a seat the configuration that it has by its stances now. Says whether that is another one than before.
    fn change_flags(&mut self, seat: Seat) -> bool {
        let round = self.rounds[seat.index()];
        let mut flags: Vec<String> = Vec::new();
        for stance in self.stances.all.iter().filter(|stance| stance.is_on::<P>(seat, round)) {
            let new = stance.flags.iter().filter(|flag| !flags.contains(flag)).cloned().collect::<Vec<_>>();
            flags.extend(new);
        }
        if self.stances.flags(seat) == flags {
            return false;
        }
        self.stances.own.retain(|own| own.seat != seat);
        if !flags.is_empty() {
            let config = self.with_flags(&flags).expect("each flag is known");
            self.stances.own.push(Own { seat, flags, config });
        }
        true
    }

    /// The configuration of the node in a seat.
    pub(super) fn config_of(&self, seat: Seat) -> &P::Config {
        self.stances.config(seat).unwrap_or(&self.config)
    }

    /// A seat is in another round: stances begin and end.
    #[cold]
    pub(super) fn review_stances(&mut self, seat: Seat) {
        let concerns = |stance: &Stance| stance.seats.contains(seat) && stance.changes_flags();
        if self.stances.all.iter().any(concerns) && self.change_flags(seat) {
            self.adopt_flags(seat);
            self.record_flags(seat);
        }
    }

    /// The node in a seat goes by the seat's configuration, whichever it had before.
    pub(super) fn adopt_flags(&mut self, seat: Seat) {
        self.hashes[seat.index()] = None;
        let config = self.stances.config(seat).unwrap_or(&self.config);
        self.nodes[seat.index()].adopt(config, &self.cluster);
    }

    /// Sends a message, and changes the sender's own copy if it believes what it told the others. False, and nothing is sent,
    /// if it never does.
    pub(super) fn send_believing(&mut self, src: Seat, me: NodeId, to: NodeSet, payload: u32) -> bool {
        let believes =
            |stance: &Stance| stance.seats.contains(src) && !matches!(stance.believes, Audience::Nobody);
        if !to.contains(me) || !self.stances.all.iter().any(believes) {
            return false;
        }
        self.stances.listening = true;
        self.send(src, me, to, payload);
        self.stances.listening = false;
        let told = std::mem::take(&mut self.stances.told);
        let round = self.rounds[src.index()];
        let same = |a, b| a == b || self.slab.get(a) == self.slab.get(b);
        let on = self.stances.all.iter().filter(|stance| stance.is_on::<P>(src, round));
        let lie = on.into_iter().find_map(|stance| stance.believes.agreed(&told, same));
        if let (Some(lie), Some(own)) = (lie, self.own.back_mut()) {
            self.slab.hold(lie);
            self.slab.release(std::mem::replace(own, lie));
            if self.io.recording.is_some() {
                let text = Described(self.slab.get(lie)).to_string();
                let note = format!("takes its own lie for what it said: {text}");
                self.record_deviation(src, How::Believed(text), note);
            }
        }
        told.iter().filter_map(|told| told.lie).for_each(|lie| self.slab.release(lie));
        true
    }

    /// Somebody is told this by a liar that may believe it.
    pub(super) fn listen(&mut self, dst: Seat, payload: u32, content: Content) {
        let lie = (content == Content::Lie).then_some(payload);
        lie.into_iter().for_each(|lie| self.slab.hold(lie));
        self.stances.told.push(Told { to: self.io.seats.node(dst), lie });
    }

    /// Writes down with which flags everybody starts.
    pub(super) fn record_first_flags(&mut self) {
        for seat in self.io.seats.all() {
            if !self.stances.flags(seat).is_empty() {
                self.record_flags(seat);
            }
        }
    }

    fn record_flags(&mut self, seat: Seat) {
        if self.io.recording.is_none() {
            return;
        }
        let flags = self.stances.flags(seat).to_vec();
        let note = match flags.is_empty() {
            true => "runs without bug flags of its own again".to_owned(),
            false => format!("runs with the bug flags {}", flags.join(", ")),
        };
        self.record_deviation(seat, How::Flags(flags), note);
    }

    fn record_deviation(&mut self, seat: Seat, how: How, note: String) {
        let (step, seat) = (self.io.step, self.io.seats.name(seat));
        self.io.record(What::Note { seat: Some(seat), text: note });
        if let Some(recording) = &mut self.io.recording {
            recording.stances.push(Deviation { step, seat, how });
        }
    }
}

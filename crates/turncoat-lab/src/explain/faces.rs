//! Liars with two faces: second instances of a node, and what they told whom.

use std::collections::BTreeMap;

use turncoat_core::fault::{Edit, Effect, Form, Persona};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::record::SentCopy;

use super::blame::receivers;
use super::claim::{Claim, Line, each};
use super::read::{Run, received};
use crate::words::{and, count};

impl Run {
    /// Second instances of a liar, and what they said.
    pub(super) fn faces(&self, node: NodeId) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        if self.scenario.adversary.twins.contains(node) {
            let text = format!(
                "{node} runs two instances with one key, {node}.a and {node}.b, each of which follows the protocol by itself."
            );
            lines.push(text.into());
        }
        // Without clients, replicas propose values of their own.
        let values = if self.scenario.cluster.clients == 0 { "value" } else { "request" };
        lines.extend(self.personas(node).map(|persona| Line::from(face(persona, values))));
        if !lines.is_empty() {
            let instances = self.heard_by(node);
            lines.push(format!("{}.", instances.join("; ")).into());
            lines.push(match self.contradiction(node) {
                Some(told) => told.map(|told| format!("They named different values in one round: {told}.")),
                None if instances.len() < 2 => "The second instance never started.".to_owned().into(),
                None => "They never named different values in the same round.".to_owned().into(),
            });
        }
        lines
    }

    /// The same in a few words.
    pub(super) fn faces_in_short(&self, node: NodeId) -> Option<Line> {
        let two = self.scenario.adversary.twins.contains(node) || self.personas(node).next().is_some();
        let instances = self.heard_by(node);
        let (faces, heard) = (count(instances.len(), "instance", "instances"), instances.join("; "));
        two.then(|| match self.contradiction(node) {
            Some(told) => told.map(|told| format!("ran {faces} with one key: {told}")),
            None if instances.len() < 2 => format!("never started a second instance ({heard})").into(),
            None => format!("ran {faces} that never contradicted each other within a round ({heard})").into(),
        })
    }

    /// Whether a message was put off by a face that takes requests in another order.
    pub(super) fn put_off(&self, copy: &SentCopy) -> bool {
        let second = self.recording.standings.iter().rfind(|standing| standing.seat.node == copy.dst.node);
        let swaps = self.personas(copy.dst.node).any(|persona| persona.edits.contains(&Edit::OwnOrder));
        swaps && copy.src.node.is_client() && second.is_some_and(|standing| standing.seat == copy.dst)
    }

    fn personas(&self, node: NodeId) -> impl Iterator<Item = &Persona> {
        self.scenario.adversary.faults.iter().filter_map(move |fault| match &fault.effect {
            Effect::Persona(persona) if persona.of == node => Some(persona),
            _ => None,
        })
    }

    /// Who heard which instance of a liar.
    fn heard_by(&self, node: NodeId) -> Vec<String> {
        let seats = self.recording.standings.iter().map(|standing| standing.seat);
        let words = seats.filter(|seat| seat.node == node).map(|seat| {
            let own = self.told_by(seat);
            format!("{seat} was heard by {}", receivers(&own))
        });
        words.collect()
    }

    /// What others heard of an instance in time.
    fn told_by(&self, seat: SeatName) -> Vec<&SentCopy> {
        let in_time = |copy: &&SentCopy| received(copy).is_some_and(|step| step <= self.last_step());
        let own = self.recording.copies.iter().filter(|copy| copy.src == seat && copy.dst.node != seat.node);
        own.filter(in_time).collect()
    }

    /// The first messages of one round in which two faces named different values, and to whom.
    pub(super) fn contradiction(&self, node: NodeId) -> Option<Line> {
        let seats = self.recording.standings.iter().map(|standing| standing.seat);
        let told: Vec<&SentCopy> =
            seats.filter(|seat| seat.node == node).flat_map(|seat| self.told_by(seat)).collect();
        // What each face said first in a round.
        let mut said: BTreeMap<_, Vec<&SentCopy>> = BTreeMap::new();
        for copy in told.iter().filter(|copy| copy.round.is_some()) {
            let same = said.entry((copy.round, copy.kind)).or_default();
            if !same.iter().any(|known| known.src == copy.src) {
                same.push(copy);
            }
        }
        let (one, two) = said.values().find_map(|same| match same.as_slice() {
            &[one, two, ..] if self.named(one) != self.named(two) => Some((one, two)),
            _ => None,
        })?;
        let words = |copy: &SentCopy| {
            let same: Vec<&SentCopy> = told
                .iter()
                .copied()
                .filter(|other| (other.src, &other.text) == (copy.src, &copy.text))
                .collect();
            format!("{} told {} {}", copy.src, receivers(&same), self.names.short(&copy.text))
        };
        Some(Line::new(format!("{}, and {}", words(one), words(two)), each([one, two], Claim::Sent)))
    }
}

/// A second face in words, where values are called so.
fn face(persona: &Persona, value: &str) -> String {
    let Persona { of, to, edits, form, .. } = persona;
    let edits = edits.iter().map(|edit| match edit {
        Edit::OwnOrder => format!("takes the first two {value}s that reach it in the opposite order"),
        Edit::Sub { slot, .. } => format!("believes that slot {slot} is for another {value}"),
        Edit::World { slot, .. } => {
            format!("believes that slot {slot} is for another {value}, and that all vote for that")
        }
        Edit::Forget(slot) => format!("has forgotten slot {slot}"),
        Edit::Stale(slot) => format!("has forgotten slot {slot} and later ones"),
        Edit::Mute => "says nothing".to_owned(),
    });
    let believes = match edits.collect::<Vec<_>>() {
        edits if edits.is_empty() => "goes by what it hears itself".to_owned(),
        edits => and(edits),
    };
    match form {
        Form::Instance => {
            format!(
                "{of} has a second face with the same key, which speaks to {} instead of the first: it {believes}.",
                and(to)
            )
        }
        Form::Outgoing => format!("To {} {of} speaks like a node that {believes}.", and(to)),
    }
}

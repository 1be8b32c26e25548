//! Reading a recorded run: who decided what on whose votes, who heard what, and where values came from.

use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, SeatName, Slot, View};
use turncoat_core::node::Cluster;
use turncoat_core::outcome::{Outcome, Property, Violation};
use turncoat_core::record::{Arrival, Recording, SentCopy, What};
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;

use super::values::{Names, stands_in};

/// A run, with what one needs to ask about it.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) entry: Entry,
    pub(super) scenario: Scenario,
    pub(super) outcome: Outcome,
    pub(super) recording: Recording,
    pub(super) names: Names,
    /// The violation that the story is about, if there is one.
    pub(super) violation: Option<Violation>,
}

/// A decision.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) seat: SeatName,
    pub(super) slot: Slot,
    pub(super) id: Digest,
    pub(super) voters: NodeSet,
    pub(super) step: u64,
    /// The name of the value.
    pub(super) value: String,
}

/// The votes behind a decision, as far as messages show them.
#[derive(Clone, Debug)]
pub(super) struct Ballot<'a> {
    pub(super) decision: &'a Decision,
    /// Their kind, if the decider heard them itself; others heard of them in a certificate.
    pub(super) kind: Option<&'static str>,
    pub(super) view: View,
    /// What the decider heard, by voter; of itself what it told others.
    pub(super) votes: Vec<(NodeId, Vec<&'a SentCopy>)>,
}

impl Run {
    pub(super) fn new(entry: &Entry, scenario: &Scenario, outcome: Outcome, recording: Recording) -> Self {
        let names = Names::of(&recording);
        let violation = chosen(scenario, &outcome).cloned();
        Self { entry: entry.clone(), scenario: scenario.clone(), outcome, recording, names, violation }
    }

    pub(super) fn cluster(&self) -> Cluster {
        let spec = &self.scenario.cluster;
        let leaders = spec.leaders.clone();
        Cluster { n: spec.n, f: spec.f, clients: spec.clients, leaders, ..Cluster::default() }
    }

    pub(super) fn quorum(&self) -> usize {
        (self.entry.quorum)(&self.cluster())
    }

    pub(super) fn leader(&self, view: View) -> NodeId {
        (self.entry.leader)(view, &self.cluster())
    }

    /// Whether anybody got into a later view than the first.
    pub(super) fn has_views(&self) -> bool {
        let views = self.recording.copies.iter().filter_map(|copy| Some(copy.round?.view));
        views.clone().min() != views.max()
    }

    pub(super) fn is_byzantine(&self, seat: SeatName) -> bool {
        self.scenario.adversary.byzantine.contains(seat.node)
    }

    /// Whether a node neither lies nor has lost its memory.
    pub(super) fn is_correct(&self, seat: SeatName) -> bool {
        self.recording.standings.iter().any(|standing| standing.seat == seat && standing.correct)
    }

    /// Where the story ends: at the violation, or at the end of the run.
    pub(super) fn last_step(&self) -> u64 {
        self.violation.as_ref().map_or(self.outcome.steps, |violation| violation.step)
    }

    /// All decisions, in order.
    pub(super) fn decisions(&self) -> Vec<Decision> {
        let decision = |event: &turncoat_core::record::Event| match event.what {
            What::Commit { seat, slot, id, voters, .. } => {
                Some(Decision { seat, slot, id, voters, step: event.step, value: self.names.value(id) })
            }
            _ => None,
        };
        self.recording.events.iter().filter_map(decision).collect()
    }

    /// The messages handed to somebody up to a step, in this order.
    pub(super) fn received(&self, seat: SeatName, until: u64) -> Vec<&SentCopy> {
        let mut copies: Vec<&SentCopy> = self
            .recording
            .copies
            .iter()
            .filter(|copy| copy.dst == seat && received(copy).is_some_and(|step| step <= until))
            .collect();
        copies.sort_by_key(|copy| received(copy));
        copies
    }

    /// Whether a message may be about a slot.
    pub(super) fn is_about(copy: &SentCopy, slot: Option<Slot>) -> bool {
        copy.slot.is_none() || slot.is_none() || copy.slot == slot
    }

    /// Whether a message may be a vote in a decision. Without a slot it must name the value.
    fn is_vote(&self, copy: &SentCopy, decision: &Decision) -> bool {
        let names = || {
            stands_in(&copy.text, &decision.id.to_string())
                || self.named(copy).contains(&decision.value.as_str())
        };
        let about = if copy.slot.is_some() { copy.slot == Some(decision.slot) } else { names() };
        copy.round.is_some() && !copy.view_change && decision.voters.contains(copy.src.node) && about
    }

    /// The votes behind a decision: messages of the last kind that its voters sent about the slot, in one view.
    pub(super) fn ballot<'a>(&'a self, decision: &'a Decision) -> Ballot<'a> {
        let Decision { seat, voters, step, .. } = *decision;
        let mut heard = self.received(seat, step);
        heard.retain(|copy| self.is_vote(copy, decision));
        let sent =
            self.recording.copies.iter().filter(|copy| copy.sent <= step && self.is_vote(copy, decision));
        let round = |copy: &SentCopy| copy.round.map(|key| (key.view, key.phase, copy.kind));
        let heard_in = |wanted: (View, u8, &str)| {
            let same = heard.iter().filter(move |copy| round(copy) == Some(wanted));
            same.map(|copy| copy.src.node).collect::<NodeSet>().len()
        };
        // The highest phase of the latest view that most of the voters have spoken in.
        let rounds = heard.iter().filter_map(|copy| round(copy));
        let best = rounds.max_by_key(|&(view, phase, kind)| (heard_in((view, phase, kind)), view, phase));
        let others = voters.iter().filter(|voter| *voter != seat.node).count();
        let Some(best) = best.filter(|&best| heard_in(best) >= others) else {
            return self.certified(decision);
        };
        let of_round = |copy: &&SentCopy| round(copy) == Some(best);
        let of = |voter: NodeId| match voter == seat.node {
            true => sent.clone().filter(of_round).rfind(|copy| copy.src == seat).into_iter().collect(),
            false => heard.iter().copied().filter(|copy| copy.src.node == voter).filter(of_round).collect(),
        };
        let votes = voters.iter().map(|voter| (voter, of(voter))).collect();
        Ballot { decision, kind: Some(best.2), view: best.0, votes }
    }

    /// Those who voted for a decision; of a liar with two faces the one that was heard.
    pub(super) fn voters(&self, decision: &Decision) -> Vec<SeatName> {
        let heard = |voter: NodeId| {
            let faces = self.recording.standings.iter().filter(|standing| standing.seat.node == voter);
            if faces.count() < 2 {
                return None;
            }
            let copies = self
                .recording
                .copies
                .iter()
                .filter(|copy| copy.src.node == voter && copy.dst == decision.seat);
            let mut votes = copies.filter(|copy| received(copy).is_some_and(|step| step <= decision.step));
            votes.rfind(|copy| self.is_vote(copy, decision)).map(|vote| vote.src)
        };
        let name = |voter: NodeId| match voter == decision.seat.node {
            true => decision.seat,
            false => heard(voter).unwrap_or_else(|| voter.into()),
        };
        decision.voters.iter().map(name).collect()
    }

    /// The votes behind a decision of somebody who saw their certificate only: messages of the kind that most voters sent.
    fn certified<'a>(&'a self, decision: &'a Decision) -> Ballot<'a> {
        let sent = self
            .recording
            .copies
            .iter()
            .filter(|copy| copy.sent <= decision.step && self.is_vote(copy, decision));
        let senders = |kind: &str| {
            let same = sent.clone().filter(|copy| copy.kind == kind);
            same.map(|copy| copy.src.node).collect::<NodeSet>().len()
        };
        let kind = sent.clone().map(|copy| copy.kind).max_by_key(|kind| senders(kind));
        let last =
            |voter: NodeId| sent.clone().rfind(|copy| copy.src.node == voter && Some(copy.kind) == kind);
        let votes: Vec<(NodeId, Vec<&SentCopy>)> =
            decision.voters.iter().map(|voter| (voter, last(voter).into_iter().collect())).collect();
        let views = votes.iter().flat_map(|(_, votes)| votes).filter_map(|copy| Some(copy.round?.view));
        Ballot { decision, kind: None, view: views.max().unwrap_or_default(), votes }
    }

    /// The values that a message names.
    pub(super) fn named(&self, copy: &SentCopy) -> Vec<&str> {
        self.names.named(&copy.text)
    }

    /// Views that correct replicas have talked about after a step: the first and the last.
    pub(super) fn views_after(&self, step: u64) -> Option<(View, View)> {
        let copies = self.recording.copies.iter();
        let views = copies.filter(|copy| copy.sent >= step && self.is_correct(copy.src));
        let views = views.filter_map(|copy| copy.round.map(|key| key.view));
        views.fold(None, |range: Option<(View, View)>, view| match range {
            None => Some((view, view)),
            Some((first, last)) => Some((first.min(view), last.max(view))),
        })
    }
}

/// When a message was handed over, if it was.
pub(super) const fn received(copy: &SentCopy) -> Option<u64> {
    match copy.arrival {
        Arrival::Delivered { step, .. } => Some(step),
        _ => None,
    }
}

/// The violation that matters: the one that the file is about, or the first.
fn chosen<'a>(scenario: &Scenario, outcome: &'a Outcome) -> Option<&'a Violation> {
    let bug = scenario.bug.as_ref();
    let key = |name: &str| bug.and_then(|bug| bug.get(name)).and_then(toml::Value::as_str);
    let expected = scenario.expect.as_ref().and_then(|expect| expect.property.as_deref());
    let property: Option<Property> = key("property").or(expected).and_then(|name| name.parse().ok());
    let of_property = |violation: &&Violation| Some(violation.property) == property;
    let of_rule = |violation: &&Violation| key("rule").is_none_or(|rule| violation.rule == rule);
    let violations = &outcome.violations;
    let exact = violations.iter().find(|violation| of_property(violation) && of_rule(violation));
    exact.or_else(|| violations.iter().find(of_property)).or_else(|| violations.first())
}

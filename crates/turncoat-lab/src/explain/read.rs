//! Reading a recorded run: who decided what on whose votes, who heard what, and where values came from.

use turncoat_core::client::Request;
use turncoat_core::grounds::{Ballot, Grounds, Subject};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, SeatName, Slot, View};
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
    /// The part that repeats forever, where that is proved.
    pub(super) lap: Option<Lap>,
}

/// A part of a run after which everything is as it was before it, but for names and numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lap {
    pub(super) from: u64,
    pub(super) to: u64,
    /// So many views later.
    pub(super) views: u32,
}

/// A decision.
#[derive(Clone, Debug)]
pub(super) struct Decision {
    pub(super) seat: SeatName,
    pub(super) slot: Slot,
    pub(super) id: Digest,
    pub(super) requests: Vec<Request>,
    pub(super) grounds: Grounds,
    pub(super) step: u64,
    /// The name of the value.
    pub(super) value: String,
}

/// The votes behind a decision: those that the protocol says it counted, as far as messages show them.
#[derive(Clone, Debug)]
pub(super) struct Poll<'a> {
    pub(super) decision: &'a Decision,
    pub(super) ballot: Ballot,
    /// The messages with the votes, by voter. If the decider collected votes itself, those that it got, and of itself what it
    /// told others; else what the voters sent to anybody.
    pub(super) votes: Vec<(NodeId, Vec<&'a SentCopy>)>,
}

impl Run {
    pub(super) fn new(entry: &Entry, scenario: &Scenario, outcome: Outcome, recording: Recording) -> Self {
        let names = Names::of(&recording);
        let violation = chosen(scenario, &outcome).cloned();
        let (entry, scenario) = (entry.clone(), scenario.clone());
        Self { entry, scenario, outcome, recording, names, violation, lap: None }
    }

    pub(super) fn cluster(&self) -> Cluster {
        let spec = &self.scenario.cluster;
        let leaders = spec.leaders.clone();
        let trust = spec.trust.sets(spec.n).unwrap_or_default();
        Cluster { n: spec.n, f: spec.f, clients: spec.clients, leaders, trust }
    }

    pub(super) fn quorum(&self) -> usize {
        (self.entry.quorum)(&self.cluster())
    }

    pub(super) fn leader(&self, view: View) -> NodeId {
        (self.entry.leader)(view, &self.cluster())
    }

    /// A view, as the protocol calls it.
    pub(super) fn view(&self, view: View) -> String {
        (self.entry.view_name)(view)
    }

    /// `in view 3`, `at height 1, round 0`.
    pub(super) fn during(&self, view: View) -> String {
        let name = self.view(view);
        format!("{} {name}", if name.starts_with("height") { "at" } else { "in" })
    }

    /// A slot, as the protocol calls it.
    pub(super) fn slot(&self, slot: Slot) -> String {
        format!("{} {slot}", self.entry.slot)
    }

    /// Where something was decided.
    pub(super) fn within(&self, slot: Slot) -> String {
        slot.within(self.entry.slot)
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
            What::Commit { seat, slot, id, grounds, ref requests } => {
                let (requests, value) = (requests.clone(), self.names.value(id));
                Some(Decision { seat, slot, id, requests, grounds, step: event.step, value })
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

    /// Whether a message carries one of these votes: by its kind, its view, and what it is about.
    fn is_vote(copy: &SentCopy, decision: &Decision, ballot: &Ballot) -> bool {
        let view = ballot.view.is_none_or(|view| copy.round.is_some_and(|key| key.view == view));
        if !view || !kind(copy).eq_ignore_ascii_case(ballot.kind) {
            return false;
        }
        let names = |id: Digest| stands_in(&copy.text, &id.to_string());
        match (ballot.subject, copy.slot) {
            (Subject::Value, Some(slot)) => slot == decision.slot,
            (Subject::Value, None) => {
                let text = |it: &Request| format!("{}#{}:{}", it.client, it.ts, it.op);
                let asked = |it: &Request| names(it.digest()) || stands_in(&copy.text, &text(it));
                names(decision.id) || decision.requests.iter().any(asked)
            }
            (Subject::Upto(upto), slot) => slot.is_none_or(|slot| slot == upto),
            (Subject::Block(block), _) => names(block),
        }
    }

    /// The votes behind a decision, if the protocol says in which messages they came.
    pub(super) fn poll<'a>(&'a self, decision: &'a Decision) -> Option<Poll<'a>> {
        let ballot = *decision.grounds.ballot()?;
        let Decision { seat, step, grounds, .. } = *decision;
        let certificate = matches!(grounds, Grounds::Certificate(_));
        let votes = self.recording.copies.iter();
        let votes: Vec<&SentCopy> =
            votes.filter(|copy| copy.sent <= step && Self::is_vote(copy, decision, &ballot)).collect();
        let heard = |copy: &SentCopy| copy.dst == seat && received(copy).is_some_and(|at| at <= step);
        let of = |voter: NodeId| {
            let sent = votes.iter().copied().filter(|copy| copy.src.node == voter);
            if voter == seat.node || certificate {
                let own = sent.rev().find(|copy| voter != seat.node || copy.src == seat);
                return own.into_iter().collect();
            }
            let direct: Vec<&SentCopy> = sent.clone().filter(|copy| heard(copy)).collect();
            // Others may have passed it on.
            let passed = |copy: &&SentCopy| votes.iter().any(|other| heard(other) && other.text == copy.text);
            if direct.is_empty() { sent.rev().find(passed).into_iter().collect() } else { direct }
        };
        let votes = ballot.voters.iter().map(|voter| (voter, of(voter))).collect();
        Some(Poll { decision, ballot, votes })
    }

    /// Those who voted for a decision; of a liar with two faces the one that was heard.
    pub(super) fn voters(&self, decision: &Decision) -> Vec<SeatName> {
        let faces = self.recording.standings.iter().any(|standing| standing.seat.instance.is_some());
        let poll = if faces { self.poll(decision) } else { None };
        let heard = |voter: NodeId| {
            let votes = &poll.as_ref()?.votes.iter().find(|(other, _)| *other == voter)?.1;
            votes.last().map(|vote| vote.src)
        };
        let name = |voter: NodeId| match voter == decision.seat.node {
            true => decision.seat,
            false => heard(voter).unwrap_or_else(|| voter.into()),
        };
        decision.grounds.voters().iter().map(name).collect()
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

/// The kind that its receiver reads: a liar may have changed it.
pub(super) fn kind(copy: &SentCopy) -> &str {
    copy.text.split(' ').next().unwrap_or_default()
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

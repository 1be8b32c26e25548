//! Where a deviation acts: the first event in which a node does something else than it would do without it, though it
//! has heard and seen the same.

use std::collections::BTreeMap;

use turncoat_core::ids::SeatName;
use turncoat_core::outcome::Property;
use turncoat_core::record::{Arrival, Recording, SentCopy, Standing, What};

use super::read::Run;
use crate::words::and;

/// As many deeds as are told.
const FEW: usize = 3;

/// Something that a deviation made a node do.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) seat: SeatName,
    pub(super) step: u64,
    /// What the node did, and what it would have done.
    pub(super) how: String,
    /// The same without names and values: acts of one kind are told once.
    pub(super) kind: String,
    /// Whether the node is a correct one.
    pub(super) correct: bool,
}

/// An event of a node, with all that came of it.
#[derive(Default)]
struct Moment<'a> {
    step: u64,
    cause: Option<&'a What>,
    follows: Vec<&'a What>,
    sent: Vec<&'a SentCopy>,
    ignored: bool,
}

impl Run {
    /// The first act of each node that another run shows: what differs there comes of what it lacks. Of a node that
    /// crashes it is the crash.
    pub(super) fn acts(&self, other: &Recording, until: u64) -> Vec<Act> {
        let mut acts: Vec<Act> = Vec::new();
        let mut silent: Option<(u64, Act)> = None;
        let crash = self.violation.as_ref().filter(|violation| violation.property == Property::Crashed);
        let crash = crash.and_then(|crash| Some((SeatName::from(*crash.nodes.first()?), crash.step)));
        for Standing { seat, .. } in self.recording.standings.iter() {
            let correct = !self.is_byzantine(*seat);
            let (here, there) = (moments(&self.recording, *seat), moments(other, *seat));
            // As soon as it hears something else, the others are to blame.
            let same = here.iter().zip(&there).take_while(|(here, there)| here.cause == there.cause);
            let same: Vec<_> = same.take_while(|(here, _)| here.step <= until).collect();
            let differ =
                |(here, there): &(&Moment<'_>, &Moment<'_>)| Some((here.step, self.differ(here, there)?));
            let fatal = same.iter().find(|(here, _)| Some((*seat, here.step)) == crash).and_then(differ);
            let first = fatal.or_else(|| same.iter().find_map(differ)).map(|(step, (how, kind))| {
                let so = self.so(*seat, step, &same).unwrap_or_default();
                Act { seat: *seat, step, how: how + &so, kind, correct }
            });
            acts.extend(first);
            let timer = silent_timer(&here, &there, *seat, correct);
            silent = silent.into_iter().chain(timer).min_by_key(|(step, _)| *step);
        }
        if !acts.iter().any(|act| act.correct) {
            acts.extend(self.other_answers(other, until));
        }
        // Only the first of all comes of nothing else.
        if acts.is_empty() {
            acts.extend(silent.map(|(_, act)| act));
        }
        let concerned =
            self.violation.as_ref().map(|violation| violation.nodes.as_slice()).unwrap_or_default();
        acts.sort_by_key(|Act { seat, step, correct, .. }| {
            (!correct, !concerned.contains(&seat.node), *step)
        });
        acts
    }

    /// The decision that the violation is about, where it comes of an earlier act.
    fn so(&self, seat: SeatName, after: u64, same: &[(&Moment<'_>, &Moment<'_>)]) -> Option<String> {
        let slot = self.violation.as_ref()?.slot?;
        let later = same.iter().filter(|(here, _)| here.step > after && here.step <= self.last_step());
        let decisions = later.flat_map(|(here, there)| {
            here.follows.iter().filter(|what| !there.follows.contains(what)).map(|what| (here.step, *what))
        });
        decisions.into_iter().find_map(|(step, what)| match what {
            What::Commit { slot: decided, id, .. } if *decided == slot => {
                let within = self.within(slot);
                Some(format!(". So at step {step} {seat} decides {} {within}", self.names.value(*id)))
            }
            _ => None,
        })
    }

    /// What the first correct node does at a message that a deviation of its sender changes, if it would do something else
    /// at the message as it would be.
    fn other_answers(&self, other: &Recording, until: u64) -> Option<Act> {
        let first = |standing: &Standing| {
            let seat = standing.seat;
            let (here, there) = (moments(&self.recording, seat), moments(other, seat));
            let alike = here.iter().zip(&there).take_while(|(here, there)| is_alike(here.cause, there.cause));
            let mut alike = alike.take_while(|(here, _)| here.step <= until);
            let (here, there) = alike.find(|(here, there)| here.ignored != there.ignored)?;
            let (Some(What::Deliver { src, text, .. }), Some(What::Deliver { text: truth, .. })) =
                (here.cause, there.cause)
            else {
                return None;
            };
            let none = Moment::default();
            let words = |moment: &Moment<'_>| match self.deeds(moment, &none).0 {
                _ if moment.ignored => "ignores it".to_owned(),
                deeds if deeds.is_empty() => "records it".to_owned(),
                deeds => and(deeds),
            };
            let how = format!(
                "{seat}, which receives {} from {src}, {}; without the bug it receives {} instead and {}",
                self.names.short(text),
                words(here),
                self.names.short(truth),
                words(there)
            );
            let kind = format!("{} {}", here.ignored, text.split(' ').next().unwrap_or_default());
            Some(Act { seat, step: here.step, how, kind, correct: true })
        };
        let correct = self.recording.standings.iter().filter(|standing| !self.is_byzantine(standing.seat));
        correct.filter_map(first).min_by_key(|act| act.step)
    }

    fn differ(&self, here: &Moment<'_>, there: &Moment<'_>) -> Option<(String, String)> {
        let ((did, did_kind), (would, would_kind)) = (self.deeds(here, there), self.deeds(there, here));
        if did.is_empty() && would.is_empty() && here.ignored == there.ignored {
            return None;
        }
        let words = |deeds: Vec<String>, ignored: bool| match (deeds.is_empty(), ignored) {
            (false, _) => and(deeds),
            (true, true) => "ignores it".to_owned(),
            (true, false) => "does not".to_owned(),
        };
        let did = if did.is_empty() && !here.ignored { vec!["records it".to_owned()] } else { did };
        let (did, would) = (words(did, here.ignored), words(would, there.ignored));
        let (cause, how) = match here.cause {
            Some(What::Deliver { src, dst, text, .. }) => {
                let message = self.names.short(text);
                let kind = text.split(' ').next().unwrap_or_default();
                (
                    kind,
                    format!("{dst}, which receives {message} from {src}, {did}; without the bug it {would}"),
                )
            }
            Some(What::Fire { seat, timer }) => (
                timer.as_str(),
                format!("{seat}, whose timer {timer} fires, {did}; without the bug it {would}"),
            ),
            _ => ("start", format!("when it starts, it {did}; without the bug it {would}")),
        };
        let ignored = (here.ignored, there.ignored);
        Some((how, format!("{cause} {did_kind:?} {would_kind:?} {ignored:?}")))
    }

    /// What came of an event, and not of another; and of what kinds that is.
    fn deeds<'a>(&self, moment: &Moment<'a>, other: &Moment<'_>) -> (Vec<String>, Vec<&'a str>) {
        let decides = |what: &&What| matches!(what, What::Commit { .. });
        let crashes = |what: &&What| matches!(what, What::Note { text, .. } if text.starts_with("crashed"));
        match (moment.follows.iter().any(crashes), other.follows.iter().any(crashes)) {
            (true, true) => return Default::default(),
            (true, false) => return (vec!["crashes".to_owned()], vec!["crashes"]),
            _ => {}
        }
        let mut deeds: Vec<String> = Vec::new();
        let mut kinds: Vec<&str> = Vec::new();
        for what in moment.follows.iter().filter(|what| !other.follows.contains(what)) {
            let (kind, deed) = match what {
                What::Commit { slot, id, .. } => {
                    ("decides", format!("decides {} {}", self.names.value(*id), self.within(*slot)))
                }
                What::Complete { ts, .. } => ("result", format!("gets the result of request {ts}")),
                What::Note { text, .. } => ("note", text.clone()),
                _ => continue,
            };
            kinds.push(kind);
            deeds.push(deed);
        }
        // Who decides replies to clients: that goes without saying.
        let replies = moment.follows.iter().any(decides);
        let told = |copy: &SentCopy| (copy.dst, copy.text.clone());
        let known: Vec<_> = other.sent.iter().copied().map(told).collect();
        let mut sent: Vec<(&str, Vec<SeatName>)> = Vec::new();
        for copy in moment.sent.iter().filter(|copy| !known.contains(&told(copy))) {
            match sent.iter_mut().find(|(text, _)| *text == copy.text) {
                _ if replies && copy.dst.node.is_client() => {}
                Some((_, to)) => to.push(copy.dst),
                None => {
                    kinds.push(copy.kind);
                    sent.push((&copy.text, vec![copy.dst]));
                }
            }
        }
        deeds
            .extend(sent.iter().map(|(text, to)| format!("sends {} to {}", self.names.short(text), and(to))));
        if deeds.len() > FEW {
            deeds.truncate(FEW - 1);
            deeds.push("more".to_owned());
        }
        (deeds, kinds)
    }
}

/// A timer that fires in the other run, with the step there, and in this one never, where a node has heard the same.
fn silent_timer(
    here: &[Moment<'_>],
    there: &[Moment<'_>],
    seat: SeatName,
    correct: bool,
) -> Option<(u64, Act)> {
    let same = here.iter().zip(there).take_while(|(here, there)| here.cause == there.cause).count();
    let (fires, cause) = there.get(same).and_then(|moment| Some((moment.step, moment.cause?)))?;
    let What::Fire { timer, .. } = cause else { return None };
    let step = here[same.checked_sub(1)?].step;
    let never = here.iter().all(|moment| moment.cause != Some(cause));
    let how = format!("the timer {timer} of {seat} never fires afterwards; without the bug it does");
    never.then_some((fires, Act { seat, step, how, kind: timer.clone(), correct }))
}

/// Whether two causes are the same but for what a message says.
fn is_alike(one: Option<&What>, two: Option<&What>) -> bool {
    let kind = |text: &str| text.split(' ').next().map(str::to_owned);
    match (one, two) {
        (
            Some(What::Deliver { src, dst, text, .. }),
            Some(What::Deliver { src: other_src, dst: other_dst, text: other, .. }),
        ) => (src, dst, kind(text)) == (other_src, other_dst, kind(other)),
        _ => one == two,
    }
}

/// The events of a node, its start first.
fn moments(recording: &Recording, seat: SeatName) -> Vec<Moment<'_>> {
    let mut moments = vec![Moment::default()];
    for event in &recording.events {
        match &event.what {
            cause @ (What::Deliver { dst: node, .. } | What::Fire { seat: node, .. }) if *node == seat => {
                moments.push(Moment { step: event.step, cause: Some(cause), ..Moment::default() });
            }
            follows @ (What::Commit { seat: node, .. }
            | What::Complete { seat: node, .. }
            | What::Note { seat: Some(node), .. })
                if *node == seat =>
            {
                moments.last_mut().expect("a start").follows.push(follows);
            }
            _ => {}
        }
    }
    let places: BTreeMap<u64, usize> =
        moments.iter().enumerate().map(|(i, moment)| (moment.step, i)).collect();
    for copy in &recording.copies {
        if copy.src == seat
            && let Some(&place) = places.get(&copy.sent)
        {
            moments[place].sent.push(copy);
        }
        if let (true, Arrival::Delivered { step, heeded: false }) = (copy.dst == seat, copy.arrival) {
            places.get(&step).into_iter().for_each(|&place| moments[place].ignored = true);
        }
    }
    moments
}

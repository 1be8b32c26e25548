//! Where a deviation acts: the first event in which a node does something else than it would do without it, though it
//! has heard and seen the same.

use std::collections::BTreeMap;

use turncoat_core::ids::SeatName;
use turncoat_core::record::{Arrival, Recording, SentCopy, What};

use super::read::Run;
use super::words::and;

/// As many deeds as are told.
const FEW: usize = 3;

/// Something that a deviation made a node do.
#[derive(Clone, Debug)]
pub(super) struct Act {
    pub(super) seat: SeatName,
    pub(super) step: u64,
    /// What the node did, and what it would have done.
    pub(super) how: String,
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
    /// The first act of each node that another run shows: what differs there comes of what it lacks.
    pub(super) fn acts(&self, other: &Recording, until: u64) -> Vec<Act> {
        let mut acts: Vec<Act> = Vec::new();
        let mut silent: Option<(u64, Act)> = None;
        for standing in &self.recording.standings {
            let seat = standing.seat;
            let (here, there) = (moments(&self.recording, seat), moments(other, seat));
            // As soon as it hears something else, the others are to blame.
            let same = here.iter().zip(&there).take_while(|(here, there)| here.cause == there.cause);
            let first = same.take_while(|(here, _)| here.step <= until).find_map(|(here, there)| {
                let how = self.differ(here, there)?;
                Some(Act { seat, step: here.step, how })
            });
            acts.extend(first);
            let timer = silent_timer(&here, &there, seat);
            silent = silent.into_iter().chain(timer).min_by_key(|(step, _)| *step);
        }
        // Only the first of all comes of nothing else.
        if acts.is_empty() {
            acts.extend(silent.map(|(_, act)| act));
        }
        let concerned =
            self.violation.as_ref().map(|violation| violation.nodes.as_slice()).unwrap_or_default();
        acts.sort_by_key(|Act { seat, step, .. }| {
            (!concerned.contains(&seat.node), !self.is_correct(*seat), *step)
        });
        acts
    }

    fn differ(&self, here: &Moment<'_>, there: &Moment<'_>) -> Option<String> {
        let (did, would) = (self.deeds(here, there), self.deeds(there, here));
        if did.is_empty() && would.is_empty() && here.ignored == there.ignored {
            return None;
        }
        let words = |deeds: Vec<String>, ignored: bool| match (deeds.is_empty(), ignored) {
            (false, _) => and(deeds),
            (true, true) => "ignores it".to_owned(),
            (true, false) => "does not".to_owned(),
        };
        let did = if did.is_empty() && !here.ignored { vec!["takes note of it".to_owned()] } else { did };
        let (did, would) = (words(did, here.ignored), words(would, there.ignored));
        Some(match here.cause {
            Some(What::Deliver { src, dst, text, .. }) => {
                let message = self.names.short(text);
                format!("{dst}, which receives {message} of {src}, {did}; without the deviation it {would}")
            }
            Some(What::Fire { seat, timer }) => {
                format!("{seat}, whose timer {timer} fires, {did}; without the deviation it {would}")
            }
            _ => format!("when it starts, it {did}; without the deviation it {would}"),
        })
    }

    /// What came of an event, and not of another.
    fn deeds(&self, moment: &Moment<'_>, other: &Moment<'_>) -> Vec<String> {
        let decides = |what: &&What| matches!(what, What::Commit { .. });
        let crashes = |what: &&What| matches!(what, What::Note { text, .. } if text.starts_with("crashed"));
        match (moment.follows.iter().any(crashes), other.follows.iter().any(crashes)) {
            (true, true) => return Vec::new(),
            (true, false) => return vec!["crashes".to_owned()],
            _ => {}
        }
        let mut deeds: Vec<String> = Vec::new();
        for what in moment.follows.iter().filter(|what| !other.follows.contains(what)) {
            deeds.push(match what {
                What::Commit { slot, id, .. } => format!("decides {} in slot {slot}", self.names.value(*id)),
                What::Complete { ts, .. } => format!("has the result of request {ts}"),
                What::Note { text, .. } => text.clone(),
                _ => continue,
            });
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
                None => sent.push((&copy.text, vec![copy.dst])),
            }
        }
        deeds
            .extend(sent.iter().map(|(text, to)| format!("sends {} to {}", self.names.short(text), and(to))));
        if deeds.len() > FEW {
            deeds.truncate(FEW - 1);
            deeds.push("more".to_owned());
        }
        deeds
    }
}

/// A timer that fires in the other run, with the step there, and in this one never, where a node has heard the same.
fn silent_timer(here: &[Moment<'_>], there: &[Moment<'_>], seat: SeatName) -> Option<(u64, Act)> {
    let same = here.iter().zip(there).take_while(|(here, there)| here.cause == there.cause).count();
    let (fires, cause) = there.get(same).and_then(|moment| Some((moment.step, moment.cause?)))?;
    let What::Fire { timer, .. } = cause else { return None };
    let step = here[same.checked_sub(1)?].step;
    let never = here.iter().all(|moment| moment.cause != Some(cause));
    let how = format!("the timer {timer} of {seat} never fires after it; without the deviation it does");
    never.then_some((fires, Act { seat, step, how }))
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
        if let (true, Some(&place)) = (copy.src == seat, places.get(&copy.sent)) {
            moments[place].sent.push(copy);
        }
        if let (true, Arrival::Delivered { step, heeded: false }) = (copy.dst == seat, copy.arrival) {
            places.get(&step).into_iter().for_each(|&place| moments[place].ignored = true);
        }
    }
    moments
}

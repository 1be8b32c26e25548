//! Who lied, to whom, and how.

use std::collections::BTreeMap;

use turncoat_core::fault::{Edit, Effect, Fault, Form, Persona};
use turncoat_core::ids::NodeId;
use turncoat_core::record::{Arrival, Falsehood, Loss, SentCopy};
use turncoat_core::schedule::Action;

use super::read::{Run, received};
use super::words::{and, count};

/// Lines about messages that fared alike, at the most.
pub(super) const LINES: usize = 8;

/// Characters of a lie that is told in short.
const BRIEF: usize = 80;

/// Messages that fared alike, in the order in which they were sent.
pub(super) type Group<'a> = Vec<&'a SentCopy>;

impl Run {
    /// What each Byzantine node did, a line each.
    pub(super) fn liars(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for node in self.scenario.adversary.byzantine.iter() {
            let mut deeds = self.faces(node);
            deeds.extend(self.lies(node));
            deeds.extend(self.repeats(node));
            let script = &self.scenario.scheduler.script;
            if script.iter().any(|action| matches!(action, Action::Suspect(seat) if seat.node == node)) {
                deeds.push(format!("{node} asked for a new view without cause."));
            }
            let faults = &self.scenario.adversary.faults;
            if faults.iter().any(|fault| matches!(fault.effect, Effect::Fire(seat) if seat.node == node)) {
                deeds.push(format!("{node} did not wait for its timers."));
            }
            match deeds.is_empty() {
                true => lines.push(format!("{node} is Byzantine, but kept to the protocol in this run.")),
                false => lines
                    .push(format!("{node} is Byzantine. Apart from what follows it kept to the protocol.")),
            }
            lines.extend(deeds);
        }
        lines
    }

    /// What each Byzantine node did, in a sentence each.
    pub(super) fn liars_in_short(&self) -> Vec<String> {
        let sentence = |node: NodeId| {
            let mut deeds: Vec<String> = Vec::new();
            let faces = self.heard_by(node);
            if !self.faces(node).is_empty() {
                deeds.push(format!("had {} faces ({})", faces.len(), faces.join("; ")));
            }
            let groups = self.lies_of(node);
            let mut lies: Vec<(String, Vec<String>)> = Vec::new();
            for group in groups.iter().take(LINES / 2) {
                let (copy, to) = (group[0], receivers(group));
                let (kind, short) = (copy.kind.to_uppercase(), self.names.short(&copy.text));
                let (deed, what) = match (&copy.lie, self.lie(copy)) {
                    _ if withheld(copy) => (format!("withheld messages from {to}"), kind),
                    (Some(Falsehood::MadeUp), _) => (format!("made up messages for {to}"), short),
                    (_, Some(lie)) if lie.len() <= BRIEF => {
                        (format!("lied to {to}"), format!("{kind}: {lie}"))
                    }
                    _ => (format!("lied to {to}"), short),
                };
                match lies.iter_mut().find(|(known, _)| *known == deed) {
                    Some((_, all)) => all.push(what),
                    None => lies.push((deed, vec![what])),
                }
            }
            deeds.extend(lies.iter().map(|(deed, all)| format!("{deed} ({})", all.join("; "))));
            deeds.extend((groups.len() > LINES / 2).then(|| "more of that kind".to_owned()));
            deeds.extend(self.repeats(node).map(|_| "sent the same more than once".to_owned()));
            match deeds.is_empty() {
                true => format!("{node} is Byzantine, but sent what its code wrote."),
                false => format!("{node}, which is Byzantine, {}.", and(deeds)),
            }
        };
        self.scenario.adversary.byzantine.iter().map(sentence).collect()
    }

    /// Second instances of a liar.
    fn faces(&self, node: NodeId) -> Vec<String> {
        let mut lines = Vec::new();
        if self.scenario.adversary.twins.contains(node) {
            lines.push(format!(
                "{node} runs twice with one key, as {node}.a and {node}.b; each by itself keeps to the protocol."
            ));
        }
        let faults = self.scenario.adversary.faults.iter();
        lines.extend(faults.filter_map(|fault| match &fault.effect {
            Effect::Persona(persona) if persona.of == node => Some(face(persona)),
            _ => None,
        }));
        if !lines.is_empty() {
            lines.push(format!("{}.", self.heard_by(node).join("; ")));
        }
        lines
    }

    /// Who heard which instance of a liar.
    fn heard_by(&self, node: NodeId) -> Vec<String> {
        let seats = self.recording.standings.iter().map(|standing| standing.seat);
        let words = seats.filter(|seat| seat.node == node).map(|seat| {
            let in_time = |copy: &&SentCopy| received(copy).is_some_and(|step| step <= self.last_step());
            let own = self.recording.copies.iter().filter(|copy| copy.src == seat && copy.dst.node != node);
            format!("{seat} was heard by {}", receivers(&own.filter(in_time).collect::<Vec<_>>()))
        });
        words.collect()
    }

    /// Messages sent more than once in an event.
    fn repeats(&self, node: NodeId) -> Option<String> {
        let by_fault = |fault: &Fault| matches!(fault.effect, Effect::Duplicate(_));
        let by_script = |action: &Action| matches!(action, Action::Duplicate(_));
        if !self.scenario.adversary.faults.iter().any(by_fault)
            && !self.scenario.scheduler.script.iter().any(by_script)
        {
            return None;
        }
        let mut sent: BTreeMap<_, Group<'_>> = BTreeMap::new();
        let wanted = |copy: &&SentCopy| copy.src.node == node && copy.sent <= self.last_step();
        let genuine = |copy: &&SentCopy| wanted(copy) && copy.lie.is_none() && !withheld(copy);
        for copy in self.recording.copies.iter().filter(genuine) {
            sent.entry((copy.sent, copy.src, copy.dst, copy.text.as_str())).or_default().push(copy);
        }
        let group = sent.values().find(|group| group.len() > 1)?;
        let (copy, times) = (group[0], group.len());
        let message = self.names.short(&copy.text);
        let all = sent.values().filter(|group| group.len() > 1).count();
        let more =
            if all > 1 { format!(" So it did {all} times, to one or another.") } else { String::new() };
        Some(format!("Step {}: {} sent {message} {times} times to {}.{more}", copy.sent, copy.src, copy.dst))
    }

    /// Messages changed, made up and withheld.
    fn lies(&self, node: NodeId) -> Vec<String> {
        let groups = self.lies_of(node);
        let mut lines: Vec<String> = groups.iter().take(LINES).map(|group| self.lied(group)).collect();
        lines.extend(more(&groups, "lies"));
        lines
    }

    fn lies_of(&self, node: NodeId) -> Vec<Group<'_>> {
        let garbage = |copy: &SentCopy| copy.lie == Some(Falsehood::Garbage);
        let lied = |copy: &SentCopy| (copy.lie.is_some() && !garbage(copy)) || withheld(copy);
        let wanted = |copy: &SentCopy| copy.src.node == node && lied(copy);
        self.groups(wanted)
    }

    fn lied(&self, group: &Group<'_>) -> String {
        let copy = group[0];
        let (when, to, message) = (when(group), receivers(group), self.names.short(&copy.text));
        let src = copy.src;
        match (&copy.lie, self.lie(copy)) {
            _ if withheld(copy) => format!("{when}: {src} withheld {message} from {to}."),
            (Some(Falsehood::Changed(_)), Some(lie)) if !lie.is_empty() => {
                let kind = copy.kind.to_uppercase();
                let truth = self.truth(copy);
                format!(
                    "{when}: {src} lied to {to}. Its {kind} said {lie}: {message}.{truth}{}",
                    self.heeded(group)
                )
            }
            (Some(Falsehood::MadeUp), _) => {
                format!(
                    "{when}: {src} sent {to} a message that its code did not write: {message}.{}",
                    self.heeded(group)
                )
            }
            _ => format!(
                "{when}: {src} sent {to} something else than its code wrote: {message}.{}",
                self.heeded(group)
            ),
        }
    }

    /// What others were told instead of a lie.
    fn truth(&self, lie: &SentCopy) -> String {
        let same = |copy: &&SentCopy| (copy.src, copy.sent, copy.kind) == (lie.src, lie.sent, lie.kind);
        let copies = self.recording.copies.iter().filter(same);
        let honest: Vec<&SentCopy> = copies.filter(|copy| copy.lie.is_none() && !withheld(copy)).collect();
        match honest.first() {
            Some(first) => {
                let to = receivers(&honest);
                format!(" To {to} it told the truth: {}.", self.names.short(&first.text))
            }
            None => String::new(),
        }
    }

    /// Who believed a lie.
    fn heeded(&self, group: &Group<'_>) -> String {
        let last = self.last_step();
        let arrived: Group<'_> =
            group.iter().copied().filter(|copy| received(copy).is_some_and(|step| step <= last)).collect();
        let heeded = |copy: &&SentCopy| matches!(copy.arrival, Arrival::Delivered { heeded: true, .. });
        let (took, ignored): (Vec<&SentCopy>, Vec<&SentCopy>) = arrived.iter().copied().partition(heeded);
        match (took.is_empty(), ignored.is_empty()) {
            (true, true) => " It did not arrive in time to matter.".to_owned(),
            (true, false) => format!(" Without effect: {} ignored it.", receivers(&ignored)),
            _ => String::new(),
        }
    }

    pub(super) fn fared(&self, group: &Group<'_>, how: &str) -> String {
        let message = self.names.short(&group[0].text);
        format!("{}: {message} of {} to {} {how}.", when(group), group[0].src, receivers(group))
    }

    /// Messages by sender and words. If there are many groups, by sender and kind: an endless run says little that is new.
    pub(super) fn groups(&self, wanted: impl Fn(&SentCopy) -> bool) -> Vec<Group<'_>> {
        let last = self.last_step();
        let copies = self.recording.copies.iter().filter(|copy| copy.sent <= last && wanted(copy));
        let copies: Group<'_> = copies.collect();
        let fine = grouped(&copies, |copy| (copy.src, copy.kind, copy.text.as_str(), copy.lie.is_some()));
        match fine.len() <= LINES {
            true => fine,
            false => grouped(&copies, |copy| (copy.src, copy.kind, "", copy.lie.is_some())),
        }
    }
}

fn grouped<'a, K: Ord>(copies: &[&'a SentCopy], key: impl Fn(&'a SentCopy) -> K) -> Vec<Group<'a>> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for &copy in copies {
        let new = groups.len();
        let place = *places.entry(key(copy)).or_insert(new);
        match groups.get_mut(place) {
            Some(group) => group.push(copy),
            None => groups.push(vec![copy]),
        }
    }
    groups
}

/// `Step 7`, `Steps 7 to 95, 12 times`.
fn when(group: &[&SentCopy]) -> String {
    let (first, last) = (group[0].sent, group[group.len() - 1].sent);
    let mut receivers: Vec<_> = group.iter().map(|copy| copy.dst).collect();
    receivers.sort();
    receivers.dedup();
    match (first == last, group.len() > receivers.len()) {
        (true, false) => format!("Step {first}"),
        (true, true) => format!("Step {first}, {}", count(group.len(), "copy", "copies")),
        (false, false) => format!("Steps {first} to {last}"),
        (false, true) => format!(
            "Steps {first} to {last}, {} in all, the first",
            count(group.len(), "message", "messages")
        ),
    }
}

fn receivers(group: &[&SentCopy]) -> String {
    let mut receivers: Vec<_> = group.iter().map(|copy| copy.dst).collect();
    receivers.sort();
    and(receivers)
}

pub(super) fn more(groups: &[Group<'_>], what: &str) -> Option<String> {
    let left: usize = groups.iter().skip(LINES).map(Vec::len).sum();
    (left > 0).then(|| format!("And {left} more {what}."))
}

fn withheld(copy: &SentCopy) -> bool {
    matches!(copy.arrival, Arrival::Lost { by: Loss::Withheld, .. })
}

/// A second face in words.
fn face(persona: &Persona) -> String {
    let Persona { of, to, edits, form, .. } = persona;
    let edits = edits.iter().map(|edit| match edit {
        Edit::OwnOrder => "the first two requests came in the other order".to_owned(),
        Edit::Sub { slot, .. } => format!("slot {slot} is for another request"),
        Edit::World { slot, .. } => format!("slot {slot} is for another request, and all vote for that"),
        Edit::Forget(slot) => format!("slot {slot} never was"),
        Edit::Stale(slot) => format!("slot {slot} and later ones never were"),
        Edit::Mute => "there is nothing to be said".to_owned(),
    });
    let believes = match edits.collect::<Vec<_>>() {
        edits if edits.is_empty() => "what it hears itself".to_owned(),
        edits => format!("that {}", edits.join(" and that ")),
    };
    match form {
        Form::Instance => {
            format!(
                "{of} has a second face with the same key, heard by {} instead of the first: it believes {believes}.",
                and(to)
            )
        }
        Form::Outgoing => format!("To {} {of} speaks as if it believed {believes}.", and(to)),
    }
}

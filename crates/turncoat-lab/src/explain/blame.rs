//! Who lied, to whom, and how.

use std::collections::BTreeMap;

use turncoat_core::fault::{Effect, Fault};
use turncoat_core::ids::{NodeId, SeatName};
use turncoat_core::record::{Arrival, Falsehood, Loss, SentCopy, What};
use turncoat_core::schedule::Action;

use super::claim::{Claim, Line, each};
use super::read::{Run, kind, received};
use crate::words::{and, count};

/// Lines about messages that fared alike, at the most.
pub(super) const LINES: usize = 8;

/// Characters of a lie that is told in short.
const BRIEF: usize = 120;

/// Messages that fared alike, in the order in which they were sent.
pub(super) type Group<'a> = Vec<&'a SentCopy>;

impl Run {
    /// What each Byzantine node did, a line each.
    pub(super) fn liars(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for node in self.scenario.adversary.byzantine.iter() {
            let mut deeds: Vec<Line> = self.faces(node);
            deeds.extend(self.stances(node));
            deeds.extend(self.without_cause(node));
            deeds.extend(self.lies(node));
            deeds.extend(self.repeats(node));
            let faults = &self.scenario.adversary.faults;
            if faults.iter().any(|fault| matches!(fault.effect, Effect::Fire(seat) if seat.node == node)) {
                deeds.push(format!("{node} did not wait for its timers.").into());
            }
            match deeds.is_empty() {
                true => lines.push(self.followed(node)),
                false => {
                    lines.push(format!("{node} is Byzantine. Otherwise it followed the protocol.").into());
                }
            }
            lines.extend(deeds);
        }
        lines
    }

    /// A Byzantine node that sent what its code wrote, and what became of that.
    fn followed(&self, node: NodeId) -> Line {
        let last = self.last_step();
        let sent = self.recording.copies.iter().filter(|copy| copy.src.node == node && copy.sent <= last);
        let lost: Group<'_> = sent
            .clone()
            .filter(|copy| matches!(copy.arrival, Arrival::Lost { by: Loss::Network, .. }))
            .collect();
        let held: Group<'_> = sent.filter(|copy| copy.held).collect();
        let fates = [(&lost, "lost"), (&held, "held back")];
        let fates: Vec<String> = fates
            .iter()
            .filter(|(group, _)| !group.is_empty())
            .map(|(group, how)| {
                let was = if group.len() == 1 { "was" } else { "were" };
                format!("{} to {} {was} {how}", times(group), receivers(group))
            })
            .collect();
        let mut claims = each(lost.iter().copied(), Claim::Lost);
        claims.extend(each(held.iter().copied(), Claim::Delayed));
        let text = match fates.is_empty() {
            true => format!("{node} is Byzantine but followed the protocol in this run."),
            false => {
                format!("{node} is Byzantine but sent only what its code produced; {}.", fates.join(", "))
            }
        };
        Line::new(text, claims)
    }

    /// Whether a liar did anything else than its code, or had faces that contradict each other.
    pub(super) fn lied_at_all(&self) -> bool {
        let byzantine = self.scenario.adversary.byzantine;
        let told = |node| {
            !self.lies_of(node).is_empty()
                || self.contradiction(node).is_some()
                || !self.stances(node).is_empty()
        };
        byzantine
            .iter()
            .any(|node| told(node) || self.repeats(node).is_some() || self.without_cause(node).is_some())
    }

    /// What each Byzantine node did, in a sentence each.
    pub(super) fn liars_in_short(&self) -> Vec<Line> {
        let sentence = |node: NodeId| {
            let mut deeds: Vec<String> = Vec::new();
            let mut claims: Vec<Claim> = Vec::new();
            if let Some(face) = self.faces_in_short(node) {
                deeds.push(face.text);
                claims.extend(face.claims);
            }
            for stance in self.stances_in_short(node) {
                deeds.push(stance.text);
                claims.extend(stance.claims);
            }
            if let Some(call) = self.without_cause(node) {
                deeds.push("asked for a new view without cause".to_owned());
                claims.extend(call.claims);
            }
            let groups = self.lies_of(node);
            let mut lies: Vec<(String, Vec<String>)> = Vec::new();
            for group in groups.iter().take(LINES / 2) {
                let (copy, to) = (group[0], receivers(group));
                claims.extend(deed_claims(group));
                let (kind, short) = (copy.kind.to_uppercase(), self.names.short(&copy.text));
                let (deed, what) = match (&copy.lie, self.lie(copy)) {
                    _ if withheld(copy) => (format!("withheld messages from {to}"), format!("{kind}s")),
                    (Some(Falsehood::MadeUp), _) => (format!("made up messages for {to}"), short),
                    (_, Some(lie)) if lie.len() <= BRIEF && is_retitled(copy) => {
                        (format!("lied to {to}"), lie)
                    }
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
            if let Some(again) = self.repeats(node) {
                deeds.push("sent the same message more than once".to_owned());
                claims.extend(again.claims);
            }
            match deeds.is_empty() {
                true => self.followed(node),
                false => Line::new(format!("{node}, which is Byzantine, {}.", and(deeds)), claims),
            }
        };
        self.scenario.adversary.byzantine.iter().map(sentence).collect()
    }

    /// With which message a liar called for a new view though no timer of its own fired.
    fn without_cause(&self, node: NodeId) -> Option<Line> {
        let script = &self.scenario.scheduler.script;
        if !script.iter().any(|action| matches!(action, Action::Suspect(seat) if seat.node == node)) {
            return None;
        }
        let copies = self.recording.copies.iter().filter(|copy| copy.src.node == node && copy.view_change);
        let calls = copies.filter(|copy| !self.has_event(copy) && copy.sent <= self.last_step());
        let calls: Group<'_> = calls.collect();
        let first = calls.first()?;
        let calls: Group<'_> = calls.iter().copied().filter(|copy| copy.sent == first.sent).collect();
        let (when, kind) = (self.when_it_acted(&calls), first.kind.to_uppercase());
        let text = format!(
            "{when}: {node} asked for a new view without cause; its {kind} went to {}.",
            receivers(&calls)
        );
        Some(Line::new(text, each(calls.iter().copied(), Claim::Sent)))
    }

    /// Whether a message is an answer to something that its sender received, or to its timer.
    fn has_event(&self, copy: &SentCopy) -> bool {
        let of_sender = |what: &What| match what {
            What::Deliver { dst: seat, .. } | What::Fire { seat, .. } => *seat == copy.src,
            _ => false,
        };
        let mut events = self.recording.events.iter().filter(|event| event.step == copy.sent);
        copy.sent == 0 || events.any(|event| of_sender(&event.what))
    }

    /// `Step 7`, `Steps 7 to 95`; `After step 7` where no event made the sender send.
    fn when(&self, group: &[&SentCopy]) -> String {
        let (first, last) = (group[0].sent, group[group.len() - 1].sent);
        match first == last {
            true if self.sent_by_itself(group) => format!("After step {first}"),
            true => format!("Step {first}"),
            false => format!("Steps {first} to {last}"),
        }
    }

    /// The same for a deed of the sender.
    fn when_it_acted(&self, group: &[&SentCopy]) -> String {
        self.when(group) + if self.sent_by_itself(group) { ", of its own accord" } else { "" }
    }

    /// Whether all was sent at once, and no event made the sender send it.
    fn sent_by_itself(&self, group: &[&SentCopy]) -> bool {
        group[0].sent == group[group.len() - 1].sent && !self.has_event(group[0])
    }

    /// Messages sent more than once in an event.
    fn repeats(&self, node: NodeId) -> Option<Line> {
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
        let more = if all > 1 { format!(" It did so {all} times in all.") } else { String::new() };
        let text =
            format!("Step {}: {} sent {message} {times} times to {}.{more}", copy.sent, copy.src, copy.dst);
        Some(Line::new(text, each(group.iter().copied(), Claim::Sent)))
    }

    /// Messages changed, made up and withheld.
    fn lies(&self, node: NodeId) -> Vec<Line> {
        let groups = self.lies_of(node);
        let lied = |group: &Group<'_>| Line::new(self.lied(group), deed_claims(group));
        let mut lines: Vec<Line> = groups.iter().take(LINES).map(lied).collect();
        lines.extend(more(&groups, "lie", "lies").map(Line::from));
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
        let (when, to, message) = (self.when_it_acted(group), receivers(group), self.names.short(&copy.text));
        let src = copy.src;
        let many = group.len() > receivers_of(group).len();
        match (&copy.lie, self.lie(copy)) {
            _ if withheld(copy) && many => {
                format!("{when}: {src} withheld {} from {to}, {message} first.", times(group))
            }
            _ if withheld(copy) => format!("{when}: {src} withheld {message} from {to}."),
            (Some(Falsehood::Changed(_)), Some(lie)) if is_retitled(copy) => {
                let truth = self.truth(copy);
                format!("{when}: {src} sent {to} a {lie}: {message}.{truth}{}", self.heeded(group))
            }
            (Some(Falsehood::Changed(_)), Some(lie)) if !lie.is_empty() => {
                let kind = kind(copy).to_uppercase();
                let truth = self.truth(copy);
                let often =
                    if many { format!(" ({} in all, this one first)", times(group)) } else { String::new() };
                format!(
                    "{when}: {src} lied to {to}. Its {kind} said {lie}: {message}{often}.{truth}{}",
                    self.heeded(group)
                )
            }
            (Some(Falsehood::MadeUp), _) => {
                let often = if many { format!(", {} in all", times(group)) } else { String::new() };
                format!(
                    "{when}: {src} sent {to} a message that it had made up: {message}{often}.{}",
                    self.heeded(group)
                )
            }
            _ => format!(
                "{when}: {src} sent {to} something other than its code produced: {message}.{}",
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

    pub(super) fn fared(&self, group: &Group<'_>, how: &str, claim: impl Fn(Box<SentCopy>) -> Claim) -> Line {
        let message = self.names.short(&group[0].text);
        let often = match group.len() > receivers_of(group).len() {
            true => format!(" ({} in all, this one first)", times(group)),
            false => String::new(),
        };
        let text = format!(
            "{}: {message} from {} to {} {how}{often}.",
            self.when(group),
            group[0].src,
            receivers(group)
        );
        Line::new(text, each(group.iter().copied(), claim))
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

/// Whether a message was sent as one of another kind.
fn is_retitled(copy: &SentCopy) -> bool {
    !kind(copy).eq_ignore_ascii_case(copy.kind)
}

/// What was done to each message of a group.
fn deed_claims(group: &[&SentCopy]) -> Vec<Claim> {
    let claim = |copy: &SentCopy| match withheld(copy) {
        true => Claim::Withheld(Box::new(copy.clone())),
        false => Claim::Lie(Box::new(copy.clone())),
    };
    group.iter().map(|copy| claim(copy)).collect()
}

/// `12 messages`.
fn times(group: &[&SentCopy]) -> String {
    count(group.len(), "message", "messages")
}

fn receivers_of(group: &[&SentCopy]) -> Vec<SeatName> {
    let mut receivers: Vec<SeatName> = group.iter().map(|copy| copy.dst).collect();
    receivers.sort();
    receivers.dedup();
    receivers
}

pub(super) fn receivers(group: &[&SentCopy]) -> String {
    and(receivers_of(group))
}

pub(super) fn more(groups: &[Group<'_>], one: &str, many: &str) -> Option<String> {
    let left: usize = groups.iter().skip(LINES).map(Vec::len).sum();
    (left > 0).then(|| format!("And {left} more {}.", if left == 1 { one } else { many }))
}

fn withheld(copy: &SentCopy) -> bool {
    matches!(copy.arrival, Arrival::Lost { by: Loss::Withheld, .. })
}

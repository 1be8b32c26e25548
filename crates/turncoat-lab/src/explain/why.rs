//! Why correct replicas disagree: the votes behind two decisions, and those who are in both.

use turncoat_core::ids::{NodeId, SeatName, Slot, View};
use turncoat_core::record::SentCopy;

use super::read::{Ballot, Decision, Run, received};
use super::words::and;

/// How a later view took another value than the one decided before.
struct Succession<'a> {
    old: String,
    new: String,
    view: View,
    slot: Slot,
    /// The first message of the view that names the new value.
    proposal: &'a SentCopy,
    /// What its sender had been told about earlier views when it started this one.
    told: Vec<&'a SentCopy>,
}

impl Run {
    /// The quorums of two decisions that differ, and how that can be.
    pub(super) fn disagreement(&self, one: &Decision, two: &Decision) -> Vec<String> {
        let mut lines = vec![self.decided(one), self.decided(two)];
        let (Some(first), Some(second)) = (self.ballot(one), self.ballot(two)) else { return lines };
        let (quorum, n) = (self.cluster().quorum(), self.cluster().n);
        for (decision, ballot) in [(one, &first), (two, &second)] {
            if decision.voters.len() < quorum {
                lines.push(self.too_few(decision, ballot));
            }
        }
        let both = one.voters.and(two.voters);
        let enough = one.voters.len().min(two.voters.len()) >= quorum;
        if enough {
            lines.push(format!(
                "Any two sets of {quorum} out of {n} replicas have a correct one in common, and a correct one should vote \
                 for one value only. These have {} in common:",
                and(both.iter())
            ));
        } else if both.is_empty() {
            lines.push("The two sets of voters have nobody in common.".to_owned());
        } else {
            lines.push(format!("The two sets of voters have {} in common:", and(both.iter())));
        }
        lines.extend(both.iter().map(|voter| self.voter(voter, (one, &first), (two, &second))));
        for (decision, ballot) in [(one, &first), (two, &second)] {
            lines.extend(self.miscounted(decision, ballot));
        }
        lines.extend(self.indistinct((one, &first), (two, &second)));
        let succession = self.succession((one, &first), (two, &second));
        lines.extend(succession.iter().flat_map(|succession| self.later_view(succession)));
        lines
    }

    /// The same in a sentence.
    pub(super) fn in_short(&self, one: &Decision, two: &Decision) -> Option<String> {
        let (first, second) = (self.ballot(one)?, self.ballot(two)?);
        let miscounted = [(one, &first), (two, &second)].into_iter().find_map(|(decision, ballot)| {
            let others = self.others(decision, ballot);
            let values = and(others.iter().map(|(_, value)| value));
            let Decision { seat, value, .. } = decision;
            (!others.is_empty()).then(|| format!("{seat} decided {value} on votes for {values}."))
        });
        let quorum = self.cluster().quorum();
        let few = [one, two].into_iter().find(|decision| decision.voters.len() < quorum).map(|decision| {
            let (seat, voters) = (decision.seat, and(decision.voters.iter()));
            format!("{seat} decided on the votes of {voters} alone, which is no quorum.")
        });
        let view = self.succession((one, &first), (two, &second)).map(|succession| {
            let Succession { old, new, view, slot, proposal, told } = succession;
            let tells = told.iter().filter(|copy| self.named(copy).contains(&old.as_str()));
            let tells: Vec<SeatName> = tells.map(|copy| copy.src).collect();
            let kind = told.first().map_or_else(String::new, |copy| copy.kind.to_uppercase());
            let why = match (told.is_empty(), tells.is_empty()) {
                (true, _) => String::new(),
                (_, true) => format!(": none of the {kind}s that it went by tells of {old}"),
                _ => format!(", though it had {kind}s of {} that tell of {old}", and(&tells)),
            };
            let leader = proposal.src;
            format!("{old} was decided in slot {slot}; in view {view} {leader} proposed {new} there{why}.")
        });
        miscounted.or(few).or(view).or_else(|| self.indistinct((one, &first), (two, &second)))
    }

    /// `At step 43 p2 decided B in slot 2, on the COMMITs of p1, p2 and p3 in view 0.`
    pub(super) fn decided(&self, decision: &Decision) -> String {
        let Decision { seat, slot, step, value, voters, .. } = decision;
        let votes = match self.ballot(decision) {
            Some(Ballot { kind, view, .. }) => {
                let view = view.filter(|_| self.has_views()).map(|view| format!(" in view {view}"));
                format!("{}s of {}{}", kind.to_uppercase(), and(voters.iter()), view.unwrap_or_default())
            }
            None => format!("votes of {}", and(voters.iter())),
        };
        format!("At step {step} {seat} decided {value} in slot {slot}, counting the {votes}.")
    }

    fn has_views(&self) -> bool {
        self.recording.copies.iter().any(|copy| copy.round.is_some_and(|key| key.view > View(0)))
    }

    /// Fewer voters than a quorum.
    fn too_few(&self, decision: &Decision, ballot: &Ballot<'_>) -> String {
        let Decision { seat, voters, .. } = decision;
        let (quorum, n) = (self.cluster().quorum(), self.cluster().n);
        let repeated = ballot.votes.iter().filter(|(voter, votes)| votes.len() > 1 && *voter != seat.node);
        let repeated = repeated.map(|(voter, votes)| {
            let steps = votes.iter().filter_map(|copy| received(copy));
            format!(" {voter}'s came {} times, at steps {}.", votes.len(), and(steps))
        });
        let repeated: String = repeated.collect();
        format!(
            "{seat} had the votes of {} {} only, {}; a quorum is {quorum} of {n}.{repeated}",
            voters.len(),
            if voters.len() == 1 { "replica" } else { "replicas" },
            and(voters.iter())
        )
    }

    /// How somebody voted in two decisions.
    fn voter(&self, voter: NodeId, one: (&Decision, &Ballot<'_>), two: (&Decision, &Ballot<'_>)) -> String {
        let who = match self.scenario.adversary.byzantine.contains(voter) {
            true => "is Byzantine",
            false => "is correct",
        };
        let told = |(decision, ballot): (&Decision, &Ballot<'_>)| {
            let votes = ballot.votes.iter().find(|(other, _)| *other == voter);
            let vote = votes.and_then(|(_, votes)| votes.last())?;
            let value = match self.named(vote).as_slice() {
                [] => String::new(),
                named => format!(" for {}", named.join("/")),
            };
            let to =
                if decision.seat.node == voter { "itself".to_owned() } else { decision.seat.to_string() };
            Some((value, to, ballot.view.unwrap_or_default()))
        };
        let said = match (told(one), told(two)) {
            (Some((a, _, view)), Some((b, _, other))) if (&a, view) == (&b, other) => {
                format!("it voted{a}, to both")
            }
            (Some((a, to, view)), Some((b, other_to, other))) if view != other => {
                format!("it voted{a} in view {view} (to {to}), and{b} in view {other} (to {other_to})")
            }
            (Some((a, to, _)), Some((b, other, _))) => format!("it voted{a} to {to}, and{b} to {other}"),
            (Some((a, to, _)), None) | (None, Some((a, to, _))) => format!("it voted{a} to {to}"),
            (None, None) => "its votes are not on record".to_owned(),
        };
        format!("- {voter} {who}: {said}.")
    }

    /// Votes for other values than the one decided.
    fn others(&self, decision: &Decision, ballot: &Ballot<'_>) -> Vec<(NodeId, String)> {
        let mut others: Vec<(NodeId, String)> = Vec::new();
        for (voter, votes) in &ballot.votes {
            let named = votes.last().map(|vote| self.named(vote)).unwrap_or_default();
            if !named.is_empty() && !named.contains(&decision.value.as_str()) {
                others.push((*voter, named.join("/")));
            }
        }
        others
    }

    /// Votes that were counted for a value and name another one.
    fn miscounted(&self, decision: &Decision, ballot: &Ballot<'_>) -> Option<String> {
        let others = self.others(decision, ballot);
        let values = and(others.iter().map(|(_, value)| value));
        let Decision { seat, value, .. } = decision;
        (!others.is_empty()).then(|| {
            format!(
                "So {seat} decided {value} although {} voted for {values}: it counted votes for {values} as votes for \
                 {value}.",
                and(others.iter().map(|(voter, _)| voter))
            )
        })
    }

    /// Votes that read the same though the values differ.
    fn indistinct(&self, one: (&Decision, &Ballot<'_>), two: (&Decision, &Ballot<'_>)) -> Option<String> {
        let text =
            |ballot: &Ballot<'_>| ballot.votes.iter().find_map(|(_, votes)| Some(votes.last()?.text.clone()));
        let (first, second) = (text(one.1)?, text(two.1)?);
        (first == second && self.names.within(&first).is_empty()).then(|| {
            format!(
                "The votes do not tell {} from {}: those for either read {}.",
                one.0.value,
                two.0.value,
                self.names.short(&first)
            )
        })
    }

    /// How a value came into a later view than the one in which another was decided.
    fn succession(
        &self,
        one: (&Decision, &Ballot<'_>),
        two: (&Decision, &Ballot<'_>),
    ) -> Option<Succession<'_>> {
        let (early, late) = if one.1.view <= two.1.view { (one, two) } else { (two, one) };
        let view = late.1.view.filter(|_| early.1.view < late.1.view)?;
        let (old, new) = (early.0.value.clone(), late.0.value.clone());
        let in_view = |copy: &&SentCopy| copy.round.is_some_and(|key| key.view == view);
        let copies = || self.recording.copies.iter().filter(in_view);
        // Votes for the view, not the message with which its leader starts it.
        let phases =
            copies().filter(|copy| copy.view_change).filter_map(|copy| copy.round.map(|key| key.phase));
        let lowest = phases.min();
        let votes = |copy: &&SentCopy| copy.view_change && copy.round.map(|key| key.phase) == lowest;
        let names_new = |copy: &&SentCopy| self.named(copy).contains(&new.as_str());
        let proposal = copies().find(|copy| !votes(copy) && names_new(copy))?;
        let leader = proposal.src;
        let start = copies().find(|copy| copy.src == leader && copy.view_change && !votes(copy));
        let start = start.map_or(proposal.sent, |start| start.sent.min(proposal.sent));
        let mut told: Vec<&SentCopy> = Vec::new();
        for copy in copies().filter(votes) {
            let heard = copy.dst == leader && received(copy).is_some_and(|step| step <= start);
            let own = copy.src == leader && copy.sent <= start;
            if (heard || own) && !told.iter().any(|known| known.src == copy.src) {
                told.push(copy);
            }
        }
        Some(Succession { old, new, view, slot: late.0.slot, proposal, told })
    }

    /// The same in sentences.
    fn later_view(&self, succession: &Succession<'_>) -> Vec<String> {
        let Succession { old, new, view, proposal, told, .. } = succession;
        let leader = proposal.src;
        let message = self.names.short(&proposal.text);
        let mut lines =
            vec![format!("{new} came into view {view} by {leader}: step {}, {message}.", proposal.sent)];
        if let Some(kind) = told.first().map(|copy| copy.kind.to_uppercase()) {
            let words = told.iter().map(|copy| {
                let named = match self.named(copy).as_slice() {
                    [] => "names no value".to_owned(),
                    named => format!("names {}", named.join(" and ")),
                };
                let lie = if copy.lie.is_some() { ", a lie," } else { "" };
                format!("that of {}{lie} {named}", copy.src)
            });
            let words: Vec<String> = words.collect();
            let known = told.iter().any(|copy| self.named(copy).contains(&old.as_str()));
            lines.push(format!(
                "From {kind}s a new leader learns what may have been decided before. {leader} went by these: {}.{}",
                words.join("; "),
                if known { String::new() } else { format!(" None of them tells of {old}.") }
            ));
        }
        lines
    }

    /// The first event in which correct replicas have sent votes for different values in a slot.
    pub(super) fn parting(&self, slot: Option<Slot>) -> Option<String> {
        let last = self.last_step();
        let votes = self.recording.copies.iter().filter(|copy| {
            copy.sent <= last && copy.round.is_some() && !copy.view_change && copy.lie.is_none()
        });
        let votes = votes.filter(|copy| {
            self.is_correct(copy.src) && !copy.src.node.is_client() && !copy.dst.node.is_client()
        });
        let mut seen: Vec<&SentCopy> = Vec::new();
        for copy in votes.filter(|copy| Self::is_about(copy, slot)) {
            let named = self.named(copy);
            let [value] = named.as_slice() else { continue };
            let differs = |other: &&&SentCopy| {
                other.kind == copy.kind && other.src != copy.src && self.named(other).as_slice() != [*value]
            };
            if let Some(other) = seen.iter().find(differs) {
                let words = |copy: &SentCopy| format!("{} sent {}", copy.src, self.names.short(&copy.text));
                return Some(format!(
                    "Correct replicas part at step {}: {}, where {} (step {}).",
                    copy.sent,
                    words(copy),
                    words(other),
                    other.sent
                ));
            }
            let known = |other: &&SentCopy| (other.src, &other.text) == (copy.src, &copy.text);
            if !seen.iter().any(known) {
                seen.push(copy);
            }
        }
        None
    }

    /// Those whose decisions the violation is about.
    pub(super) fn conflicting(&self) -> Option<(Decision, Decision)> {
        let violation = self.violation.as_ref()?;
        let decisions = self.decisions();
        let mut made =
            decisions.iter().filter(|d| d.step <= violation.step && Some(d.slot) == violation.slot);
        let correct = |d: &&Decision| self.is_correct(d.seat);
        let last = made.clone().rfind(correct)?;
        let first = made.find(|d| correct(d) && d.id != last.id && d.seat != last.seat)?;
        Some((first.clone(), last.clone()))
    }
}

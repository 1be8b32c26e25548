//! Why correct replicas disagree: the votes behind two decisions, and those who are in both.

use turncoat_core::ids::{NodeId, Slot, View};
use turncoat_core::record::SentCopy;

use super::read::{Ballot, Decision, Run, received};
use super::words::and;

impl Run {
    /// The quorums of two decisions that differ, and how that can be.
    pub(super) fn disagreement(&self, one: &Decision, two: &Decision) -> Vec<String> {
        let mut lines = vec![self.decided(one), self.decided(two)];
        let (Some(first), Some(second)) = (self.ballot(one), self.ballot(two)) else { return lines };
        let (quorum, n) = (self.cluster().quorum(), self.cluster().n);
        for ballot in [&first, &second] {
            if ballot.decision.voters.len() < quorum {
                lines.push(self.too_few(ballot));
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
        lines.extend(both.iter().map(|voter| self.voter(voter, &first, &second)));
        lines.extend([&first, &second].into_iter().filter_map(|ballot| self.miscounted(ballot)));
        lines.extend(self.indistinct(&first, &second));
        let succession = self.succession(&first, &second);
        lines.extend(succession.iter().flat_map(|succession| self.later_view(succession)));
        lines
    }

    /// The same in a sentence.
    pub(super) fn in_short(&self, one: &Decision, two: &Decision) -> Option<String> {
        let (first, second) = (self.ballot(one)?, self.ballot(two)?);
        let miscounted = [&first, &second].into_iter().find_map(|ballot| {
            let others = self.others(ballot);
            let values = and(others.iter().map(|(_, value)| value));
            let Decision { seat, value, .. } = ballot.decision;
            (!others.is_empty()).then(|| format!("{seat} decided {value} on votes for {values}."))
        });
        let quorum = self.cluster().quorum();
        let few = [one, two].into_iter().filter(|decision| decision.voters.len() < quorum).map(|decision| {
            let Decision { seat, value, voters, .. } = decision;
            format!("{seat} decided {value} on the votes of {} alone", and(voters.iter()))
        });
        let few: Vec<String> = few.collect();
        let few = (!few.is_empty()).then(|| format!("{}, which is no quorum.", and(few)));
        let view = self.succession(&first, &second).map(|succession| self.view_in_short(&succession));
        miscounted.or(few).or(view).or_else(|| self.indistinct(&first, &second))
    }

    /// `At step 43 p2 decided B in slot 2, on the COMMITs of p1, p2 and p3 in view 0.`
    pub(super) fn decided(&self, decision: &Decision) -> String {
        let Decision { seat, slot, step, value, voters, .. } = decision;
        let votes = match self.ballot(decision) {
            Some(Ballot { kind, view, .. }) => {
                let view = if self.has_views() { format!(" in view {view}") } else { String::new() };
                format!("{}s of {}{view}", kind.to_uppercase(), and(voters.iter()))
            }
            None => format!("votes of {}", and(voters.iter())),
        };
        format!("At step {step} {seat} decided {value} in slot {slot}, counting the {votes}.")
    }

    fn has_views(&self) -> bool {
        self.recording.copies.iter().any(|copy| copy.round.is_some_and(|key| key.view > View(0)))
    }

    /// Fewer voters than a quorum.
    fn too_few(&self, ballot: &Ballot<'_>) -> String {
        let Decision { seat, voters, .. } = ballot.decision;
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
    fn voter(&self, voter: NodeId, one: &Ballot<'_>, two: &Ballot<'_>) -> String {
        let who = match self.scenario.adversary.byzantine.contains(voter) {
            true => "is Byzantine",
            false => "is correct",
        };
        let told = |ballot: &Ballot<'_>| {
            let votes = ballot.votes.iter().find(|(other, _)| *other == voter);
            let vote = votes.and_then(|(_, votes)| votes.last())?;
            let value = match self.named(vote).as_slice() {
                [] => String::new(),
                named => format!(" for {}", named.join("/")),
            };
            let seat = ballot.decision.seat;
            let to = if seat.node == voter { "itself".to_owned() } else { seat.to_string() };
            Some((value, to, ballot.view))
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
    fn others(&self, ballot: &Ballot<'_>) -> Vec<(NodeId, String)> {
        let mut others: Vec<(NodeId, String)> = Vec::new();
        for (voter, votes) in &ballot.votes {
            let named = votes.last().map(|vote| self.named(vote)).unwrap_or_default();
            if !named.is_empty() && !named.contains(&ballot.decision.value.as_str()) {
                others.push((*voter, named.join("/")));
            }
        }
        others
    }

    /// Votes that were counted for a value and name another one.
    fn miscounted(&self, ballot: &Ballot<'_>) -> Option<String> {
        let others = self.others(ballot);
        let values = and(others.iter().map(|(_, value)| value));
        let Decision { seat, value, .. } = ballot.decision;
        (!others.is_empty()).then(|| {
            format!(
                "So {seat} decided {value} although {} voted for {values}: it counted votes for {values} as votes for \
                 {value}.",
                and(others.iter().map(|(voter, _)| voter))
            )
        })
    }

    /// Votes that read the same though the values differ.
    fn indistinct(&self, one: &Ballot<'_>, two: &Ballot<'_>) -> Option<String> {
        let text =
            |ballot: &Ballot<'_>| ballot.votes.iter().find_map(|(_, votes)| Some(votes.last()?.text.clone()));
        let (first, second) = (text(one)?, text(two)?);
        (first == second && self.names.within(&first).is_empty()).then(|| {
            format!(
                "The votes do not tell {} from {}: those for either read {}.",
                one.decision.value,
                two.decision.value,
                self.names.short(&first)
            )
        })
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

//! Why correct replicas disagree: the votes behind two decisions, and those who are in both.

use turncoat_core::ids::{NodeId, Slot, View};
use turncoat_core::record::SentCopy;

use super::read::{Ballot, Decision, Run, received};
use super::words::{and, count};

impl Run {
    /// The quorums of two decisions that differ, and how that can be.
    pub(super) fn disagreement(&self, one: &Decision, two: &Decision) -> Vec<String> {
        let mut lines = vec![self.decided(one), self.decided(two)];
        let (first, second, quorum) = (self.ballot(one), self.ballot(two), self.quorum());
        for ballot in [&first, &second] {
            if ballot.decision.voters.len() < quorum {
                lines.push(self.too_few(ballot));
            }
        }
        lines.extend(self.in_common(&first, &second));
        let miscounted = [&first, &second].into_iter().filter_map(|ballot| self.miscounted(ballot));
        let miscounted: Vec<String> = miscounted.collect();
        let parting = miscounted.is_empty().then(|| self.parting(Some(one.slot))).flatten();
        lines.extend(miscounted);
        lines.extend(self.indistinct(&first, &second));
        let succession = self.succession(&first, &second);
        lines.extend(succession.iter().flat_map(|succession| self.later_view(succession)));
        lines.extend(self.late_reasons());
        lines.extend(parting);
        lines
    }

    /// Those whose votes are behind two decisions.
    pub(super) fn in_common(&self, one: &Ballot<'_>, two: &Ballot<'_>) -> Vec<String> {
        let (quorum, n, f) = (self.quorum(), self.cluster().n, self.cluster().f);
        let (first, second) = (one.decision.voters, two.decision.voters);
        let both = first.and(second);
        let common = if both.is_empty() { "nobody".to_owned() } else { and(both.iter()) };
        let enough = first.len().min(second.len()) >= quorum && 2 * quorum > n + f;
        let miscounted = [one, two].into_iter().any(|ballot| !self.others(ballot).is_empty());
        let mut lines = vec![match enough && !miscounted {
            true => format!(
                "Any two sets of {quorum} out of {n} replicas have a correct one in common, so that two values should not \
                 both be decided. These two have {common} in common:"
            ),
            false => format!(
                "The two sets of voters have {common} in common{}",
                if both.is_empty() { "." } else { ":" }
            ),
        }];
        let mut voters: Vec<(String, Vec<NodeId>)> = Vec::new();
        for voter in both.iter() {
            let said = self.voted(voter, one, two);
            match voters.iter_mut().find(|(known, _)| *known == said) {
                Some((_, voters)) => voters.push(voter),
                None => voters.push((said, vec![voter])),
            }
        }
        lines.extend(voters.iter().map(|(said, voters)| format!("- {} {said}.", and(voters))));
        lines
    }

    /// The same in a sentence.
    pub(super) fn in_short(&self, one: &Decision, two: &Decision) -> Option<String> {
        let (first, second) = (self.ballot(one), self.ballot(two));
        let miscounted = [&first, &second].into_iter().find_map(|ballot| {
            let others = self.others(ballot);
            let values = and(others.iter().map(|(_, value)| value));
            let Decision { seat, value, .. } = ballot.decision;
            (!others.is_empty()).then(|| format!("{seat} decided {value} on votes for {values}."))
        });
        let quorum = self.quorum();
        let few = [one, two].into_iter().filter(|decision| decision.voters.len() < quorum).map(|decision| {
            let Decision { seat, value, .. } = decision;
            let again = [&first, &second].into_iter().find(|ballot| ballot.decision.seat == *seat);
            let again = again.map_or_else(String::new, |ballot| self.repeated(ballot));
            format!("{seat} decided {value} on the votes of {} alone{again}", and(self.voters(decision)))
        });
        let few: Vec<String> = few.collect();
        let few = (!few.is_empty()).then(|| format!("{}; a quorum is {quorum}.", and(few)));
        let view = self.succession(&first, &second).map(|succession| self.view_in_short(&succession));
        let mut words: Vec<String> =
            miscounted.or(few).or(view).or_else(|| self.indistinct(&first, &second)).into_iter().collect();
        words.extend(self.late_reasons());
        (!words.is_empty()).then(|| words.join(" "))
    }

    /// `At step 43 p2 decided B in slot 2, on the COMMITs of p1, p2 and p3 in view 0.`
    pub(super) fn decided(&self, decision: &Decision) -> String {
        let Decision { seat, slot, step, value, .. } = decision;
        let (ballot, voters) = (self.ballot(decision), and(self.voters(decision)));
        let votes = match ballot.kind {
            Some(kind) => {
                let view = if self.has_views() { format!(" in view {}", ballot.view) } else { String::new() };
                format!("counting the {}s of {voters}{view}", kind.to_uppercase())
            }
            None => {
                let heard =
                    self.received(*seat, *step).into_iter().rfind(|copy| received(copy) == Some(*step));
                let heard = heard
                    .map(|copy| format!("when it heard {} of {}, ", self.names.short(&copy.text), copy.src));
                format!("{}counting the votes of {voters}", heard.unwrap_or_default())
            }
        };
        format!("At step {step} {seat} decided {value} in slot {slot}, {votes}.")
    }

    /// Fewer voters than a quorum.
    fn too_few(&self, ballot: &Ballot<'_>) -> String {
        let Decision { seat, voters, .. } = ballot.decision;
        let (quorum, n) = (self.quorum(), self.cluster().n);
        let voters = count(voters.len(), "replica", "replicas");
        format!(
            "{seat} had the votes of {voters} only{}; a quorum is {quorum} of {n}.",
            self.repeated(ballot)
        )
    }

    /// Who voted more than once, and so may have been counted more than once.
    fn repeated(&self, ballot: &Ballot<'_>) -> String {
        let seat = ballot.decision.seat;
        let repeated = ballot.votes.iter().filter(|(voter, votes)| votes.len() > 1 && *voter != seat.node);
        let repeated = repeated.map(|(voter, votes)| {
            let steps = votes.iter().filter_map(|copy| received(copy));
            format!(" (that of {voter} came {} times, at steps {})", votes.len(), and(steps))
        });
        repeated.collect()
    }

    /// How somebody voted in two decisions.
    fn voted(&self, voter: NodeId, one: &Ballot<'_>, two: &Ballot<'_>) -> String {
        let byzantine = self.scenario.adversary.byzantine.contains(voter);
        let who = if byzantine { "(Byzantine)" } else { "(correct)" };
        let told = |ballot: &Ballot<'_>| {
            let votes = ballot.votes.iter().find(|(other, _)| *other == voter);
            let vote = votes.and_then(|(_, votes)| votes.last())?;
            let said = match self.named(vote).as_slice() {
                [] => self.names.short(&vote.text),
                named => format!("for {}", and(named)),
            };
            let to = ballot.kind.map_or_else(String::new, |_| format!(" to {}", ballot.decision.seat));
            Some((said, vote.round.map_or(ballot.view, |key| key.view), to))
        };
        let view = |view: View| if self.has_views() { format!(" in view {view}") } else { String::new() };
        let said = match (told(one), told(two)) {
            (Some((a, in_a, _)), Some((b, in_b, _))) if in_a != in_b => {
                format!("voted {a} in view {in_a} and {b} in view {in_b}")
            }
            (Some((a, _, to_a)), Some((b, _, to_b))) if a == b => {
                format!("voted {a},{to_a} and{to_b} alike")
            }
            (Some((a, in_a, to_a)), Some((b, _, to_b))) if to_a == to_b => {
                format!("voted for both{}, {a} and then {b}", view(in_a))
            }
            (Some((a, in_a, to_a)), Some((b, _, to_b))) => {
                format!("voted for both{}, {a}{to_a} and {b}{to_b}", view(in_a))
            }
            (Some((a, _, to)), None) | (None, Some((a, _, to))) => {
                format!("voted {a}{to}; no message has its other vote")
            }
            (None, None) => "voted in messages that are not on record".to_owned(),
        };
        format!("{who} {said}")
    }

    /// Votes for other values than the one decided.
    fn others(&self, ballot: &Ballot<'_>) -> Vec<(NodeId, String)> {
        let mut others: Vec<(NodeId, String)> = Vec::new();
        for (voter, votes) in ballot.votes.iter().filter(|_| ballot.kind.is_some()) {
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
        let heard = one.kind.is_some() && two.kind.is_some();
        (heard && first == second && self.names.within(&first).is_empty()).then(|| {
            format!(
                "The votes do not tell {} from {}: those for either read {}.",
                one.decision.value,
                two.decision.value,
                self.names.short(&first)
            )
        })
    }

    /// The first event in which correct replicas have sent votes for different values in a slot and a view.
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
                let same = (other.kind, other.round) == (copy.kind, copy.round) && other.src != copy.src;
                same && self.named(other).as_slice() != [*value]
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

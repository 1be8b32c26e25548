//! Why correct replicas disagree: the votes behind two decisions, and those who are in both.
//!
//! What was counted is what the protocol says ([`Grounds`]); where it does not say, nothing is said here.

use turncoat_core::grounds::{Ballot, Grounds, Subject};
use turncoat_core::hash::Digest;
use turncoat_core::ids::{NodeId, NodeSet, Slot};
use turncoat_core::record::SentCopy;

use super::claim::{Claim, Line, each};
use super::read::{Decision, Poll, Run, received};
use crate::words::{and, count, often};

impl Run {
    /// The quorums of two decisions that differ, and how that can be.
    pub(super) fn disagreement(&self, one: &Decision, two: &Decision) -> Vec<Line> {
        let mut lines = vec![self.decided(one), self.decided(two)];
        let polls = [self.poll(one), self.poll(two)];
        lines.extend(polls.iter().flatten().filter_map(|poll| self.too_few(poll)));
        lines.extend(self.trust(one, two));
        let miscounted: Vec<Line> = polls.iter().flatten().filter_map(|poll| self.miscounted(poll)).collect();
        let parting = miscounted.is_empty().then(|| self.parting(Some(one.slot))).flatten();
        if let [Some(first), Some(second)] = &polls {
            lines.extend(self.in_common(first, second));
            lines.extend(miscounted);
            lines.extend(self.indistinct(first, second));
            let succession = self.succession(first, second);
            lines.extend(succession.iter().flat_map(|succession| self.later_view(succession)));
        } else {
            lines.extend(miscounted);
        }
        lines.extend(self.late_reasons());
        lines.extend(parting);
        lines
    }

    /// Those whose votes are behind two decisions.
    pub(super) fn in_common(&self, one: &Poll<'_>, two: &Poll<'_>) -> Vec<Line> {
        let (quorum, n, f) = (self.quorum(), self.cluster().n, self.cluster().f);
        let (first, second) = (one.ballot.voters, two.ballot.voters);
        let both = first.and(second);
        let common = if both.is_empty() { "nobody".to_owned() } else { and(both.iter()) };
        let by_quorum = one.ballot.by_quorum && two.ballot.by_quorum && !self.has_lists();
        let enough = first.len().min(second.len()) >= quorum && 2 * quorum > n + f && by_quorum;
        let miscounted = [one, two].into_iter().any(|poll| !self.others(poll).is_empty());
        let mut lines = vec![Line::new(
            match enough && !miscounted {
                true => format!(
                    "Any two sets of {quorum} out of {n} replicas have a correct one in common, so two values should not \
                     both be decided. These two have {common} in common:"
                ),
                false => format!(
                    "The two sets of voters have {common} in common{}",
                    if both.is_empty() { "." } else { ":" }
                ),
            },
            vec![Claim::Common(first, second, both)],
        )];
        let mut voters: Vec<(Line, Vec<NodeId>)> = Vec::new();
        for voter in both.iter() {
            let Some(said) = self.voted(voter, one, two) else { continue };
            match voters.iter_mut().find(|(known, _)| known.text == said.text) {
                Some((known, voters)) => {
                    voters.push(voter);
                    known.claims.extend(said.claims);
                }
                None => voters.push((said, vec![voter])),
            }
        }
        lines.extend(
            voters.into_iter().map(|(said, voters)| said.map(|said| format!("- {} {said}.", and(voters)))),
        );
        lines
    }

    /// The same in a sentence.
    pub(super) fn in_short(&self, one: &Decision, two: &Decision) -> Line {
        let polls = [self.poll(one), self.poll(two)];
        let miscounted = polls.iter().flatten().find_map(|poll| {
            let line = self.miscounted(poll)?;
            let values = and(self.others(poll).iter().map(|(_, value, _)| value));
            let Decision { seat, value, .. } = poll.decision;
            Some(line.map(|_| format!("{seat} decided {value} after counting votes for {values}.")))
        });
        let few = || {
            let few = polls.iter().flatten().filter_map(|poll| {
                let Decision { seat, value, .. } = poll.decision;
                let line = self.too_few(poll)?;
                let again = self.repeated(poll);
                let voters = and(self.voters(poll.decision));
                Some(line.map(|_| format!("{seat} decided {value} on the votes of {voters} alone{again}")))
            });
            let few: Vec<Line> = few.collect();
            let quorum = self.quorum();
            let text = and(few.iter().map(|line| &line.text));
            (!few.is_empty())
                .then(|| Line::joined(few, " ").map(|_| format!("{text}; a quorum is {quorum}.")))
        };
        let both = match &polls {
            [Some(first), Some(second)] => Some((first, second)),
            _ => None,
        };
        let why = miscounted
            .or_else(few)
            .or_else(|| self.trust(one, two))
            .or_else(|| self.succession(both?.0, both?.1).map(|succession| self.view_in_short(&succession)))
            .or_else(|| self.indistinct(both?.0, both?.1));
        let mut lines: Vec<Line> = why.into_iter().collect();
        lines.extend(self.late_reasons());
        if lines.is_empty() {
            lines.extend([self.decided(one), self.decided(two)]);
        }
        Line::joined(lines, " ")
    }

    /// `At step 43 p2 decided B in slot 2, counting the COMMITs of p1, p2 and p3 in view 0.`
    pub(super) fn decided(&self, decision: &Decision) -> Line {
        let Decision { seat, slot, id, grounds, step, ref value, .. } = *decision;
        let mut claims = vec![Claim::Decided { seat, slot, id, step, grounds: Some(grounds) }];
        claims.extend(self.poll(decision).iter().flat_map(|poll| self.counted(poll)));
        let within = self.within(slot);
        let heard = self.received(seat, step).into_iter().rfind(|copy| received(copy) == Some(step));
        let certificate = matches!(grounds, Grounds::Certificate(_));
        let when = heard.filter(|_| certificate).map_or_else(String::new, |copy| {
            claims.push(Claim::Received(Box::new(copy.clone()), step));
            format!(", when it received {} from {}", self.names.short(&copy.text), copy.src)
        });
        let why = self.grounds(decision, &mut claims);
        Line::new(format!("At step {step} {seat} decided {value} {within}{when}{why}."), claims)
    }

    /// What a decision rests on, in words.
    fn grounds(&self, decision: &Decision, claims: &mut Vec<Claim>) -> String {
        let voters = || and(self.voters(decision));
        let votes = |ballot: &Ballot| {
            let view = ballot.view.filter(|_| self.has_views());
            let view = view.map_or_else(String::new, |view| format!(" {}", self.during(view)));
            let about = match ballot.subject {
                Subject::Value => String::new(),
                Subject::Upto(slot) => format!(" for all up to {}", self.slot(slot)),
                Subject::Block(id) => format!(" for {}, which extends it", self.names.value(id)),
            };
            format!("{}s from {}{view}{about}", ballot.kind.to_uppercase(), voters())
        };
        match decision.grounds {
            Grounds::Unknown => String::new(),
            Grounds::Voters(set) if set.is_empty() => String::new(),
            Grounds::Voters(_) => format!(", counting {}", voters()),
            Grounds::Votes(ballot) => format!(", counting {}", votes(&ballot)),
            Grounds::Certificate(ballot) => format!(", on a certificate of {}", votes(&ballot)),
            Grounds::Trusted { ballot, trusted, need } => {
                let node = decision.seat.node;
                claims.push(Claim::Trusts(node, trusted));
                let list = and(trusted.iter());
                format!(", counting {}: it trusts {list}, and needs {need} of them", votes(&ballot))
            }
            Grounds::Elapsed(ticks) => {
                format!(", since nothing had contradicted it for {ticks} ticks after its vote")
            }
            Grounds::Ancestor(of) => {
                let decisions = self.decisions();
                let same = |d: &&Decision| d.seat == decision.seat && d.id == of;
                let carrier = decisions.iter().find(|d| same(d) && d.step >= decision.step);
                let carrier = carrier.map_or_else(String::new, |carrier| {
                    let Decision { seat, slot, id, step, grounds, .. } = *carrier;
                    claims.push(Claim::Decided { seat, slot, id, step, grounds: Some(grounds) });
                    claims.extend(self.poll(carrier).iter().flat_map(|poll| self.counted(poll)));
                    let when = match step == decision.step {
                        true => "then".to_owned(),
                        false => format!("at step {step}"),
                    };
                    format!(", which it decided {when}{}", self.grounds(carrier, claims))
                });
                format!(" as an ancestor of {}{carrier}", self.names.value(of))
            }
        }
    }

    /// The votes that were counted.
    fn counted(&self, poll: &Poll<'_>) -> Vec<Claim> {
        let Decision { seat, slot, step, .. } = *poll.decision;
        let claim = |(voter, copies): &(NodeId, Vec<&SentCopy>)| {
            let vote = Box::new((*copies.last()?).clone());
            Some(Claim::Counted { decider: seat, slot, step, voter: *voter, vote })
        };
        poll.votes.iter().filter_map(claim).collect()
    }

    /// Fewer voters than a quorum.
    fn too_few(&self, poll: &Poll<'_>) -> Option<Line> {
        let Decision { seat, .. } = poll.decision;
        let (voters, quorum, n) = (poll.ballot.voters, self.quorum(), self.cluster().n);
        let counts = poll.ballot.by_quorum && !self.has_lists();
        (counts && voters.len() < quorum).then(|| {
            let claims = self.repeats_of(poll).into_iter().chain([Claim::Few(voters, quorum)]).collect();
            let voters = count(voters.len(), "replica", "replicas");
            let again = self.repeated(poll);
            Line::new(
                format!("{seat} had votes from only {voters}{again}; a quorum is {quorum} of {n}."),
                claims,
            )
        })
    }

    /// Whether replicas trust some of the others only.
    pub(super) fn has_lists(&self) -> bool {
        let cluster = self.cluster();
        cluster.trust.iter().any(|list| *list != cluster.replicas())
    }

    /// Two that trust different replicas, and whom they both trust.
    fn trust(&self, one: &Decision, two: &Decision) -> Option<Line> {
        let list = |decision: &Decision| match decision.grounds {
            Grounds::Trusted { trusted, .. } => Some((decision.seat, trusted)),
            Grounds::Ancestor(of) => {
                let decisions = self.decisions();
                let carrier = decisions.into_iter().find(|d| d.seat == decision.seat && d.id == of)?;
                match carrier.grounds {
                    Grounds::Trusted { trusted, .. } => Some((decision.seat, trusted)),
                    _ => None,
                }
            }
            _ => None,
        };
        let ((first, mine), (second, theirs)) = (list(one)?, list(two)?);
        let both = mine.and(theirs);
        let claims = vec![
            Claim::Trusts(first.node, mine),
            Claim::Trusts(second.node, theirs),
            Claim::Common(mine, theirs, both),
        ];
        let words = |set: NodeSet| if set.is_empty() { "nobody".to_owned() } else { and(set.iter()) };
        (mine != theirs).then(|| {
            Line::new(
                format!(
                    "{first} trusts {} and {second} trusts {}: the two lists share {}.",
                    words(mine),
                    words(theirs),
                    words(both)
                ),
                claims,
            )
        })
    }

    /// Whose votes came more than once.
    fn repeats_of(&self, poll: &Poll<'_>) -> Vec<Claim> {
        let seat = poll.decision.seat;
        let repeated = poll.votes.iter().filter(|(voter, votes)| votes.len() > 1 && *voter != seat.node);
        let claim = |copy: &&SentCopy| Some(Claim::Received(Box::new((*copy).clone()), received(copy)?));
        repeated.flat_map(|(_, votes)| votes).filter_map(claim).collect()
    }

    /// Who voted more than once, and so may have been counted more than once.
    fn repeated(&self, poll: &Poll<'_>) -> String {
        let seat = poll.decision.seat;
        let repeated = poll.votes.iter().filter(|(voter, votes)| votes.len() > 1 && *voter != seat.node);
        let repeated = repeated.map(|(voter, votes)| {
            let steps = votes.iter().filter_map(|copy| received(copy));
            format!(" ({voter}'s came {}, at steps {})", often(votes.len()), and(steps))
        });
        repeated.collect()
    }

    /// How somebody voted in two decisions, as far as messages show it.
    fn voted<'a>(&self, voter: NodeId, one: &Poll<'a>, two: &Poll<'a>) -> Option<Line> {
        let byzantine = self.scenario.adversary.byzantine.contains(voter);
        let who = if byzantine { "(Byzantine)" } else { "(correct)" };
        let told = |poll: &Poll<'a>| {
            let vote = self.vote(poll, voter)?;
            let said = match self.named(vote).as_slice() {
                [] => self.names.short(&vote.text),
                named => format!("for {}", and(named)),
            };
            let to = if vote.dst == poll.decision.seat { format!(" to {}", vote.dst) } else { String::new() };
            Some((said, vote.round.map(|key| key.view), to, vote))
        };
        let within = |view| format!(" {}", self.during(view));
        let (first, second) = (told(one), told(two));
        let votes = [&first, &second].into_iter().flatten().map(|(.., vote)| *vote);
        let claims = each(votes, Claim::Sent);
        let said = match (first, second) {
            (Some((a, Some(in_a), ..)), Some((b, Some(in_b), ..))) if in_a != in_b => {
                format!("voted {a}{} and {b}{}", within(in_a), within(in_b))
            }
            (Some((a, ..)), Some((b, ..))) if a == b => format!("voted {a} in both"),
            (Some((a, in_a, to_a, _)), Some((b, _, to_b, _))) => {
                let view = in_a.filter(|_| self.has_views()).map(within).unwrap_or_default();
                format!("voted for both{view}, {a}{to_a} and {b}{to_b}")
            }
            (Some((a, _, to, _)), None) | (None, Some((a, _, to, _))) => format!("voted {a}{to}"),
            (None, None) => return None,
        };
        Some(Line::new(format!("{who} {said}"), claims))
    }

    /// The vote of somebody that was counted, where messages leave no doubt: the one for the value, or the only one.
    fn vote<'a>(&self, poll: &Poll<'a>, voter: NodeId) -> Option<&'a SentCopy> {
        let (_, votes) = poll.votes.iter().find(|(other, _)| *other == voter)?;
        let value = poll.decision.value.as_str();
        let names = |copy: &&&SentCopy| self.named(copy).contains(&value);
        let first = votes.first()?;
        let alike = votes.iter().all(|vote| vote.text == first.text);
        votes.iter().find(names).or_else(|| votes.last().filter(|_| alike)).copied()
    }

    /// Votes for other values than the one decided.
    fn others<'a>(&self, poll: &Poll<'a>) -> Vec<(NodeId, String, &'a SentCopy)> {
        let mut others = Vec::new();
        let Poll { decision, ballot, votes } = poll;
        let own = matches!(decision.grounds, Grounds::Votes(_)) && ballot.subject == Subject::Value;
        // What was decided before counts as nothing when it is decided again.
        for (voter, _) in votes.iter().filter(|_| own && decision.id != Digest::NULL) {
            let Some(vote) = self.vote(poll, *voter) else { continue };
            let named = self.named(vote);
            // A vote may name a block by what is in it.
            let inside = |name: &str| decision.requests.iter().any(|it| self.names.request(it) == name);
            let names_it = |name: &&str| *name == decision.value || inside(name);
            if !named.is_empty() && !named.iter().any(names_it) {
                others.push((*voter, named.join("/"), vote));
            }
        }
        others
    }

    /// Votes that were counted for a value and name another one.
    fn miscounted(&self, poll: &Poll<'_>) -> Option<Line> {
        let others = self.others(poll);
        let values = and(others.iter().map(|(_, value, _)| value));
        let Decision { seat, value, id, .. } = poll.decision;
        let claims = each(others.iter().map(|(.., vote)| *vote), |vote| Claim::Miscounted(vote, *id));
        (!others.is_empty()).then(|| {
            let text = format!(
                "So {seat} decided {value} although {} voted for {values}: it counted votes for {values} as votes for \
                 {value}.",
                and(others.iter().map(|(voter, ..)| voter))
            );
            Line::new(text, claims)
        })
    }

    /// Votes that read the same though the values differ.
    fn indistinct(&self, one: &Poll<'_>, two: &Poll<'_>) -> Option<Line> {
        let vote = |poll: &Poll<'_>| poll.votes.iter().find_map(|(_, votes)| votes.last().copied().cloned());
        let (first, second) = (vote(one)?, vote(two)?);
        let heard = [one, two].iter().all(|poll| matches!(poll.decision.grounds, Grounds::Votes(_)));
        (heard && first.text == second.text && self.names.within(&first.text).is_empty()).then(|| {
            Line::new(
                format!(
                    "The votes do not distinguish {} from {}: votes for either read {}.",
                    one.decision.value,
                    two.decision.value,
                    self.names.short(&first.text)
                ),
                each([&first, &second], Claim::Sent),
            )
        })
    }

    /// The first event in which correct replicas have sent votes for different values in a slot and a view.
    pub(super) fn parting(&self, slot: Option<Slot>) -> Option<Line> {
        let last = self.last_step();
        let votes = self.recording.copies.iter().filter(|copy| {
            copy.sent <= last && copy.round.is_some() && !copy.view_change && copy.lie.is_none()
        });
        let votes = votes.filter(|copy| {
            self.is_correct(copy.src) && !copy.src.node.is_client() && !copy.dst.node.is_client()
        });
        let mut seen: Vec<&SentCopy> = Vec::new();
        // In a chain a view may have many proposals, which differ and agree.
        for copy in votes.filter(|copy| copy.slot.is_some() && Self::is_about(copy, slot)) {
            let named = self.named(copy);
            let [value] = named.as_slice() else { continue };
            let differs = |other: &&&SentCopy| {
                let same = (other.kind, other.round) == (copy.kind, copy.round) && other.src != copy.src;
                same && self.named(other).as_slice() != [*value]
            };
            if let Some(other) = seen.iter().find(differs) {
                let words = |copy: &SentCopy| format!("{} sent {}", copy.src, self.names.short(&copy.text));
                let text = format!(
                    "Correct replicas diverge at step {}: {}, while {} (step {}).",
                    copy.sent,
                    words(copy),
                    words(other),
                    other.sent
                );
                return Some(Line::new(text, each([copy, other], Claim::Sent)));
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

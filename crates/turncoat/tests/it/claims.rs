//! Explanations say only what happened: every claim of every story is looked up in the recording of its run.
//!
//! Nothing here is shared with the explainer but the recording, which is made anew.

use std::collections::BTreeSet;
use std::sync::Arc;

use turncoat::core::grounds::{Ballot, Grounds, Subject};
use turncoat::core::hash::Digest;
use turncoat::core::ids::{NodeId, NodeSet, SeatName, Slot, View};
use turncoat::core::node::Cluster;
use turncoat::core::outcome::Outcome;
use turncoat::core::record::{Arrival, Deviation, Falsehood, How, Loss, Recording, SentCopy, Standing, What};
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::runner::Entry;
use turncoat::core::scenario::ProtocolSpec;
use turncoat::lab::explain::{Claim, Explanation};
use turncoat::{Scenario, Seed, strategies};

use crate::explain::{EXPLAINED, entry};

/// Finds that are explained beside the suite.
const FINDS: usize = 24;

/// A run, made again to be asked.
struct Witness {
    entry: Entry,
    scenario: Scenario,
    recording: Recording,
    decisions: Vec<Decided>,
}

/// A decision as it is on record.
struct Decided {
    seat: SeatName,
    slot: Slot,
    id: Digest,
    grounds: Grounds,
    step: u64,
    texts: Vec<String>,
}

impl Witness {
    fn of(scenario: &Scenario) -> (Self, Outcome) {
        let entry = entry(&scenario.protocol.name);
        let (outcome, recording) = entry.runner().record(scenario).expect("it runs");
        assert!(recording.copies.is_sorted_by_key(|copy| copy.sent), "copies are in the order of sending");
        let decisions = decisions(&recording);
        (Self { entry, scenario: scenario.clone(), recording, decisions }, outcome)
    }

    fn is_byzantine(&self, seat: SeatName) -> bool {
        self.scenario.adversary.byzantine.contains(seat.node)
    }

    fn standing(&self, seat: SeatName) -> Result<&Standing, String> {
        let found = self.recording.standings.iter().find(|standing| standing.seat == seat);
        found.ok_or_else(|| format!("{seat} has no part in it"))
    }

    /// Whether a message is on record, word for word.
    fn sent(&self, copy: &SentCopy) -> Result<(), String> {
        let copies = &self.recording.copies;
        let from = copies.partition_point(|other| other.sent < copy.sent);
        let mut then = copies[from..].iter().take_while(|other| other.sent == copy.sent);
        is(then.any(|other| other == copy), "no such message was sent")
    }

    fn confirm(&self, claim: &Claim) -> Result<(), String> {
        match claim {
            Claim::Decided { seat, slot, id, step, grounds } => {
                let same = |d: &Decided| (d.seat, d.slot, d.id, d.step) == (*seat, *slot, *id, *step);
                let decisions = &self.decisions;
                let decision = decisions.iter().find(|d| same(d)).ok_or("nobody decided that")?;
                is(grounds.is_none_or(|grounds| grounds == decision.grounds), "on other grounds")
            }
            Claim::Undecided(seat, slot, until) => {
                let same =
                    |d: &Decided| d.seat == *seat && d.step <= *until && slot.is_none_or(|s| s == d.slot);
                is(!self.decisions.iter().any(same), "it was decided")
            }
            Claim::Counted { decider, slot, step, voter, vote } => {
                self.sent(vote)?;
                let decisions = &self.decisions;
                let mut same =
                    decisions.iter().filter(|d| (d.seat, d.slot, d.step) == (*decider, *slot, *step));
                is(same.any(|decision| self.counts(decision, *voter, vote)), "that decision did not count it")
            }
            Claim::Miscounted(vote, id) => {
                self.sent(vote)?;
                let decisions = &self.decisions;
                let decided = decisions.iter().filter(|d| d.id == *id);
                let mut named = decided.flat_map(|d| &d.texts).filter(|text| has_word(&vote.text, text));
                is(named.next().is_none(), "the vote names the value")
            }
            Claim::Common(one, two, both) => is(one.and(*two) == *both, "they share others"),
            Claim::Few(voters, quorum) => {
                let spec = &self.scenario.cluster;
                let cluster = Cluster { n: spec.n, f: spec.f, ..Cluster::default() };
                is((self.entry.quorum)(&cluster) == *quorum, "a quorum is something else")?;
                is(voters.len() < *quorum, "they are a quorum")
            }
            Claim::Trusts(node, list) => {
                let spec = &self.scenario.cluster;
                let lists = spec.trust.sets(spec.n).expect("lists");
                let own = NodeSet::one(*node);
                is(lists[node.index()].or(own) == list.or(own), "it trusts others")
            }
            Claim::Sent(copy) => self.sent(copy),
            Claim::Received(copy, step) => {
                self.sent(copy)?;
                is(arrived(copy) == Some(*step), "it did not arrive then")
            }
            Claim::Late(copy, step) => {
                self.sent(copy)?;
                let lost = matches!(copy.arrival, Arrival::Lost { by: Loss::Network | Loss::Withheld, .. });
                is(copy.sent < *step && !lost && arrived(copy).is_none_or(|at| at > *step), "it was not late")
            }
            Claim::Lie(copy) => {
                self.sent(copy)?;
                is(copy.lie.is_some() && self.is_byzantine(copy.src), "that is no lie")
            }
            Claim::Withheld(copy) => {
                self.sent(copy)?;
                let withheld = matches!(copy.arrival, Arrival::Lost { by: Loss::Withheld, .. });
                is(withheld && self.is_byzantine(copy.src), "it was not withheld")
            }
            Claim::Lost(copy) => {
                self.sent(copy)?;
                is(matches!(copy.arrival, Arrival::Lost { by: Loss::Network, .. }), "it was not lost")
            }
            Claim::Delayed(copy) => {
                self.sent(copy)?;
                is(copy.held || copy.lie == Some(Falsehood::Garbage), "nothing happened to it")
            }
            Claim::Fired(seat, timer, step) => {
                let fired = What::Fire { seat: *seat, timer: timer.clone() };
                let mut events = self.recording.events.iter();
                is(events.any(|event| event.step == *step && event.what == fired), "it did not fire")
            }
            Claim::Waits(seat, waiting) => {
                is(self.standing(*seat)?.vitals.waiting.contains(waiting), "it does not wait for that")
            }
            Claim::InView(seat, view) => is(self.standing(*seat)?.vitals.view == *view, "it is elsewhere"),
            Claim::Locked(seat, id) => {
                is(self.standing(*seat)?.vitals.locked == Some(*id), "it is not locked on that")
            }
            Claim::LastDecision(seat, step) => {
                let last = self.last_decision();
                is(last == Some((*seat, *step)), "another decision came last")
            }
            Claim::NoDecision => is(self.last_decision().is_none(), "somebody decided"),
            Claim::Ran(seat, flags, step) => self.deviated(*seat, *step, How::Flags(flags.clone())),
            Claim::Believed(seat, text, step) => self.deviated(*seat, *step, How::Believed(text.clone())),
            Claim::Loop(from, to) => self.repeats(*from, *to),
        }
    }

    fn deviated(&self, seat: SeatName, step: u64, how: How) -> Result<(), String> {
        let known = self.recording.stances.contains(&Deviation { step, seat, how });
        is(known && self.is_byzantine(seat), "it did not deviate in that way then")
    }

    fn last_decision(&self) -> Option<(SeatName, u64)> {
        let correct = |seat| self.standing(seat).is_ok_and(|standing| standing.correct);
        self.decisions.iter().rfind(|d| correct(d.seat)).map(|d| (d.seat, d.step))
    }

    /// Whether a decision counts this message as the vote of somebody: what it says of its kind, its view and its subject, and
    /// that it reached who counts, by whatever way.
    fn counts(&self, decision: &Decided, voter: NodeId, vote: &SentCopy) -> bool {
        let (ballot, collected) = match decision.grounds {
            Grounds::Votes(ballot) | Grounds::Trusted { ballot, .. } => (ballot, true),
            Grounds::Certificate(ballot) => (ballot, false),
            _ => return false,
        };
        let Ballot { kind, view, voters, subject, .. } = ballot;
        let about = match subject {
            Subject::Value => match vote.slot {
                Some(slot) => slot == decision.slot,
                None => decision.texts.iter().any(|text| has_word(&vote.text, text)),
            },
            Subject::Upto(slot) => vote.slot.is_none_or(|other| other == slot),
            Subject::Block(id) => has_word(&vote.text, &id.to_string()),
        };
        let in_view = |wanted: View| vote.round.is_some_and(|round| round.view == wanted);
        let says = vote.text.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(kind))
            && view.is_none_or(in_view)
            && about;
        let reached = |copy: &SentCopy| {
            copy.dst == decision.seat
                && copy.text == vote.text
                && arrived(copy).is_some_and(|at| at <= decision.step)
        };
        let own = voter == decision.seat.node;
        let heard = own || !collected || self.recording.copies.iter().any(reached);
        voters.contains(voter) && vote.src.node == voter && vote.sent <= decision.step && says && heard
    }

    /// Whether the same happens to the same nodes in a part of the run and in the one of the same length after it, as far as that
    /// is on record, and no correct replica decides.
    fn repeats(&self, from: u64, to: u64) -> Result<(), String> {
        let kind = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
        let part = |after: u64, upto: u64| -> Vec<(String, String)> {
            let events =
                self.recording.events.iter().filter(|event| (after + 1..=upto).contains(&event.step));
            let what = |what: &What| match what {
                What::Deliver { src, dst, text, .. } => Some((format!("{src}>{dst}"), kind(text))),
                What::Fire { seat, .. } => Some((seat.to_string(), "timer".to_owned())),
                _ => None,
            };
            events.filter_map(|event| what(&event.what)).collect()
        };
        let (first, second) = (part(from, to), part(to, to + (to - from)));
        is(to > from && !first.is_empty() && !second.is_empty(), "there is no such part")?;
        is(first[..second.len().min(first.len())] == second[..], "the parts differ")?;
        let decided = |d: &Decided| d.step > from && self.standing(d.seat).is_ok_and(|s| s.correct);
        is(!self.decisions.iter().any(decided), "somebody decides meanwhile")
    }
}

fn decisions(recording: &Recording) -> Vec<Decided> {
    let mut decisions = Vec::new();
    for event in &recording.events {
        let What::Commit { seat, slot, id, grounds, requests } = &event.what else { continue };
        let texts = requests.iter().flat_map(|request| {
            let text = format!("{}#{}:{}", request.client, request.ts, request.op);
            [request.digest().to_string(), text]
        });
        let texts = texts.chain([id.to_string()]).collect();
        let (seat, slot, id, grounds, step) = (*seat, *slot, *id, *grounds, event.step);
        decisions.push(Decided { seat, slot, id, grounds, step, texts });
    }
    decisions
}

fn is(so: bool, else_: &str) -> Result<(), String> {
    if so { Ok(()) } else { Err(else_.to_owned()) }
}

const fn arrived(copy: &SentCopy) -> Option<u64> {
    match copy.arrival {
        Arrival::Delivered { step, .. } => Some(step),
        _ => None,
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || ['#', '-', ':'].contains(&c));
    text.match_indices(word).any(|(at, _)| {
        !inside(text[..at].chars().next_back()) && !inside(text[at + word.len()..].chars().next())
    })
}

/// The steps that a claim tells of.
fn steps_of(claim: &Claim) -> Vec<u64> {
    let of = |copy: &SentCopy| {
        let end = match copy.arrival {
            Arrival::Delivered { step, .. } | Arrival::Lost { step, .. } => Some(step),
            Arrival::Underway => None,
        };
        [copy.sent].into_iter().chain(end).collect::<Vec<u64>>()
    };
    match claim {
        Claim::Decided { step, .. } | Claim::Undecided(.., step) | Claim::LastDecision(_, step) => {
            vec![*step]
        }
        Claim::Counted { step, vote, .. } => of(vote).into_iter().chain([*step]).collect(),
        Claim::Miscounted(copy, _) | Claim::Sent(copy) | Claim::Lie(copy) | Claim::Withheld(copy) => of(copy),
        Claim::Lost(copy) | Claim::Delayed(copy) => of(copy),
        Claim::Received(copy, step) | Claim::Late(copy, step) => {
            of(copy).into_iter().chain([*step]).collect()
        }
        Claim::Fired(.., step) | Claim::Ran(.., step) | Claim::Believed(.., step) => vec![*step],
        Claim::Loop(from, to) => vec![*from, *to],
        _ => Vec::new(),
    }
}

/// The steps that a paragraph names: `step 5`, `steps 5, 6 and 7`.
fn steps_in(text: &str) -> BTreeSet<u64> {
    let mut steps = BTreeSet::new();
    let (mut next, mut list) = (false, false);
    for word in text.split_whitespace() {
        let word = word.trim_start_matches('(').to_ascii_lowercase();
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let number = digits.parse::<u64>().ok().filter(|_| next);
        steps.extend(number);
        list = word == "steps" || (list && (number.is_some() || word == "and"));
        let goes_on = word == "and" || word.ends_with(',') || word == "steps";
        next = word == "step" || (list && goes_on);
    }
    steps
}

/// Asks the recording about everything that an explanation says. Returns how many claims there were.
pub(crate) fn confirm_all(name: &str, explanation: &Explanation, scenario: &Scenario) -> usize {
    let (witness, outcome) = Witness::of(scenario);
    assert_eq!(outcome.fingerprint, explanation.outcome().fingerprint, "{name}");
    let mut count = 0;
    for (text, claims) in explanation.claims() {
        for claim in &claims {
            let confirmed = witness.confirm(claim);
            assert!(confirmed.is_ok(), "{name}: {text}\n{claim:?}\n{confirmed:?}\n{}", scenario.to_toml());
        }
        count += claims.len();
        if !claims.is_empty() {
            let claimed: BTreeSet<u64> = claims.iter().flat_map(steps_of).collect();
            let said = steps_in(&text);
            assert!(said.is_subset(&claimed), "{name}: {text}\nsteps {said:?}, claims {claimed:?}");
        }
    }
    count
}

#[test]
fn every_claim_about_the_suite_is_in_the_recording() {
    let mut count = 0;
    for (bug, explanation, _) in &*EXPLAINED {
        count += confirm_all(&bug.id, explanation, &bug.witness);
    }
    assert!(count > 1000, "there are {count} claims only");
}

/// TURNCOAT_FINDS says how many; all protocols that have something to be found in have their share.
#[test]
#[expect(clippy::disallowed_methods, reason = "it says how many runs are looked at, not what happens in one")]
fn every_claim_about_random_finds_is_in_the_recording() {
    let finds = std::env::var("TURNCOAT_FINDS").ok().and_then(|finds| finds.parse().ok()).unwrap_or(FINDS);
    // With all that can be wrong with them, or as they are published.
    let hunts = [
        ("pbft", true, "byzzfuzz"),
        ("pbft", true, "random"),
        ("hbft", true, "random"),
        ("hbft-paper", false, "two-faced"),
        ("zyzzyva", true, "random"),
        ("tendermint", true, "byzzfuzz"),
        ("tendermint", true, "two-faced"),
        ("hotstuff", true, "random"),
        ("hotstuff-chained", true, "byzzfuzz"),
        ("fast-hotstuff", true, "two-faced"),
        ("sync-hotstuff-early", false, "two-faced"),
        ("sync-hotstuff", true, "byzzfuzz"),
        ("xrpl", true, "byzzfuzz"),
        ("fab", true, "random"),
    ];
    let (mut found, mut claims, mut protocols) = (0, 0, BTreeSet::new());
    for (place, (protocol, all_wrong, strategy)) in hunts.into_iter().enumerate() {
        let share = finds * (place + 1) / hunts.len();
        let entry = entry(protocol);
        let mut base = entry.scenario();
        let least = (entry.bound)(&entry.config, base.cluster.f).expect("a bound");
        let cluster = Arc::make_mut(&mut base.cluster);
        cluster.n = cluster.n.max(least);
        if all_wrong {
            let flags: Vec<String> = entry.flags.iter().map(|flag| flag.name()).collect();
            let mut config = toml::Table::clone(&base.protocol.config);
            config.insert("flags".to_owned(), flags.into());
            base.protocol = Arc::new(ProtocolSpec { name: base.protocol.name.clone(), config });
        }
        let mut strategy = strategies::make(strategy, &base, &[], &(entry.mutations)()).expect("a strategy");
        let mut runner = entry.runner();
        for index in 0..(3 * finds as u64).max(300) {
            if found >= share {
                break;
            }
            let seed = run_seed(25, index);
            let scenario = strategy.next(index, &mut Rng::new(seed, Purpose::Strategy));
            let scenario = Scenario { seed: Seed(seed), ..scenario };
            let outcome = runner.execute(&scenario).expect("it runs");
            // What takes very long to tell says little that is new.
            if outcome.violations.is_empty() || outcome.steps > 5000 {
                continue;
            }
            let explanation = Explanation::of(&entry, &scenario).expect("it runs");
            claims += confirm_all(protocol, &explanation, &scenario);
            protocols.insert(entry.protocol);
            found += 1;
        }
    }
    assert!(protocols.len() >= 8, "{protocols:?}");
    assert!(found * 10 >= finds * 9 && claims > 10 * found, "{found} finds, {claims} claims, {protocols:?}");
}

/// A claim that is not so is refused: votes of others, other steps, other kinds.
#[test]
fn what_did_not_happen_is_not_confirmed() {
    let (bug, explanation, _) =
        EXPLAINED.iter().find(|(bug, ..)| bug.id == "pbft-java/figure-2").expect("a row");
    let (witness, _) = Witness::of(&bug.witness);
    let mut refused = 0;
    for claim in explanation.claims().into_iter().flat_map(|(_, claims)| claims) {
        let wrong = match claim {
            Claim::Decided { seat, slot, id, step, .. } => {
                Claim::Decided { seat, slot, id, step: step + 1, grounds: None }
            }
            Claim::Counted { decider, slot, step, vote, .. } => {
                let voter = NodeId::replica((vote.src.node.index() + 1) % 4);
                Claim::Counted { decider, slot, step, voter, vote }
            }
            Claim::Received(copy, step) => Claim::Received(copy, step + 1),
            Claim::Lie(copy) => Claim::Withheld(copy),
            Claim::Sent(copy) => Claim::Sent(Box::new(SentCopy { sent: copy.sent + 1, ..*copy })),
            Claim::Miscounted(copy, _) => {
                let named = witness.decisions.iter().find(|d| d.slot == Slot(2)).map(|d| d.id);
                Claim::Miscounted(copy, named.expect("a decision"))
            }
            _ => continue,
        };
        assert!(witness.confirm(&wrong).is_err(), "{wrong:?}");
        refused += 1;
    }
    assert!(refused > 10, "{refused}");
}

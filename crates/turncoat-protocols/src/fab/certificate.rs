//! What certificates prove: commit proofs, learned certificates, elections, and which value a progress certificate
//! leaves to a new leader (3.5).

use turncoat_core::prelude::*;

use super::Config;
use super::messages::{Acceptance, Accepted, Election, Known, Prefix, Proof, Rep, Report, Value};
use super::messages::{is_genuine, values};
use super::roles::Roles;
use crate::slips::slip;

/// The values that a progress certificate vouches for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Vouched {
    /// Nothing can have been learned: any value.
    Any,
    /// This one may have been.
    Only(Value),
    /// None at all: the leader is stuck.
    Nothing,
}

impl Vouched {
    fn vouches_for(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Only(only) => only == *value,
            Self::Nothing => false,
        }
    }
}

/// Whether a certificate is of enough voters, all of them in office.
fn is_by<T>(cert: &Cert<T>, need: usize, office: NodeSet) -> bool {
    let voters = cert.voters();
    voters.len() >= need && voters.is_subset(office)
}

/// 3.6: LEARNEDs of enough learners.
pub(super) fn is_known(known: &Cert<Prefix>, roles: Roles) -> bool {
    is_by(known, roles.most(), roles.learners())
}

/// Whether a learned certificate is of all instances before this one.
pub(super) fn opens(known: Option<&Known>, seq: Slot, roles: Roles) -> bool {
    let good = known.is_none_or(|known| is_known(known, roles));
    seq > Slot(0) && good && values(known).len() + 1 == seq.0 as usize
}

/// 3.3: a quorum of equal ACCEPTEDs.
pub(super) fn is_commit_proof(proof: &Cert<Accepted>, roles: Roles) -> bool {
    is_by(proof, roles.proof(), roles.acceptors()) && is_genuine(&proof.value)
}

/// 3.4: SUSPECTs of enough proposers for the view before.
pub(super) fn is_election(m: &Election, roles: Roles) -> bool {
    m.proof.view.next() == m.view && is_by(&m.proof, roles.most(), roles.proposers())
}

impl Config {
    /// 3.5: a REP that may be counted: what it reports is of an earlier view, and proved where it needs a proof.
    pub(super) fn is_good_report(&self, rep: &Rep, roles: Roles) -> bool {
        let earlier = |accepted: &Acceptance| accepted.view < rep.view && is_genuine(&accepted.value);
        let proved = |proof: &Proof| {
            let Accepted { view, seq, .. } = ***proof;
            self.parameterized && (view < rep.view && seq == rep.seq) && is_commit_proof(proof, roles)
        };
        opens(rep.learned.as_ref(), rep.seq, roles)
            && rep.accepted.as_ref().is_none_or(earlier)
            && rep.proof.as_ref().is_none_or(proved)
    }

    /// 3.2: a progress certificate, a-f REPs of this view, that vouches for the value. If somebody in it is at a later
    /// instance, the leader knows better.
    pub(super) fn is_progress(
        &self,
        pc: &[Report],
        view: View,
        seq: Slot,
        value: &Value,
        roles: Roles,
    ) -> bool {
        let signers: NodeSet = pc.iter().map(|rep| rep.signer()).collect();
        let good = |rep: &Report| rep.valid() && rep.view == view && self.is_good_report(rep, roles);
        // No more of them: two values could then have enough reports.
        pc.len() == roles.reports()
            && signers.len() == pc.len()
            && signers.is_subset(roles.acceptors())
            && pc.iter().all(|rep| good(rep) && rep.seq <= seq)
            && self.vouched(pc, seq, roles).vouches_for(value)
    }

    /// What a progress certificate leaves for an instance. REPs of earlier instances count as empty.
    pub(super) fn vouched(&self, pc: &[Report], seq: Slot, roles: Roles) -> Vouched {
        let reports = || pc.iter().filter(|rep| rep.seq == seq);
        let proofs = reports().filter_map(|rep| rep.proof.as_ref());
        let proofs = proofs.map(|proof| (proof.view, true, proof.value));
        let accepted = || reports().filter_map(|rep| rep.accepted);
        // So many reports of one value, that it may have been learned, and in the view that so many have reached.
        let fast = accepted().filter_map(|Acceptance { value, .. }| {
            let mut views: Vec<View> =
                accepted().filter(|own| own.value == value).map(|own| own.view).collect();
            views.sort_unstable_by_key(|&view| std::cmp::Reverse(view));
            let need = roles.block() + usize::from(slip!("fab/one-report-too-many"));
            views.get(need - 1).map(|&view| (view, false, value))
        });
        let mut candidates = proofs.chain(fast);
        if self.flags.pfab_vouch_conflict {
            // As published: each of them forbids all other values.
            let Some((_, _, first)) = candidates.next() else { return Vouched::Any };
            let agree = candidates.all(|(_, _, other)| other == first);
            return if agree { Vouched::Only(first) } else { Vouched::Nothing };
        }
        // The repair: what was learned last counts, and in one view a proof shows that nothing else was learned there.
        let last = candidates.max_by_key(|&(view, proved, _)| (view, proved));
        last.map_or(Vouched::Any, |(_, _, value)| Vouched::Only(value))
    }
}

#[cfg(test)]
mod tests {
    use turncoat_core::rng::Rng;

    use super::super::Flags;
    use super::*;

    /// Whoever holds all keys can sign for everybody.
    fn everybody<'a>() -> Liar<'a> {
        let keys = NodeSet::replicas(6).or(NodeSet::one(NodeId::client(0)));
        Liar { keys, rng: Rng::stream(0, 0), requests: &[], n: 6, seen: Seen::NOTHING }
    }

    fn value(op: &str) -> Value {
        let (client, op) = (NodeId::client(0), Op::new(op));
        everybody()
            .sign(client, Request { client, ts: u32::from(op.as_str() == "b") + 1, op, read_only: false })
    }

    fn accepted(op: &str, view: u32) -> Accepted {
        Accepted { view: View(view), seq: Slot(1), value: value(op) }
    }

    fn proof(op: &str, view: u32, signers: &[usize]) -> Proof {
        let signers = signers.iter().map(|&signer| NodeId::replica(signer)).collect();
        Arc::new(everybody().certify(accepted(op, view), signers))
    }

    /// REP of a node in view 3: `a1` is a accepted in view 1, `a1+` with a proof of that, `-` is nothing.
    fn report(signer: usize, said: &str, signers: &[usize]) -> Report {
        let view = |text: &str| text.trim_end_matches('+').parse().expect("a view");
        let own = (said != "-").then(|| (&said[..1], view(&said[1..])));
        let acceptance = own.map(|(op, view)| Acceptance { value: value(op), view: View(view) });
        let proof = own.filter(|_| said.ends_with('+')).map(|(op, view)| proof(op, view, signers));
        let rep = Rep { view: View(3), seq: Slot(1), accepted: acceptance, proof, learned: None };
        Arc::new(everybody().sign(NodeId::replica(signer), rep))
    }

    const FOUR: Roles = Roles::new(4, 1);
    const SIX: Roles = Roles::new(6, 1);

    fn pfab(paper: bool) -> Config {
        let flags = Flags { pfab_vouch_conflict: paper, ..Flags::default() };
        Config { parameterized: true, flags, ..Config::default() }
    }

    /// The values that REPs of p0, p1, p2 leave, out of a, b and c.
    fn left(said: [&str; 3], paper: bool) -> String {
        let pc: Vec<Report> =
            (0..).zip(said).map(|(signer, said)| report(signer, said, &[0, 1, 2])).collect();
        let vouches = |op: &&str| pfab(paper).is_progress(&pc, View(3), Slot(1), &value(op), FOUR);
        ["a", "b", "c"].into_iter().filter(vouches).collect()
    }

    #[test]
    fn what_a_progress_certificate_vouches_for() {
        // 8.
        for paper in [false, true] {
            assert_eq!(left(["a1", "a1", "b1"], paper), "a");
            assert_eq!(left(["a1", "b1", "-"], paper), "abc");
            assert_eq!(left(["-", "-", "-"], paper), "abc");
            assert_eq!(left(["a1+", "b1", "-"], paper), "a");
        }
        assert_eq!(
            (left(["b1", "b1", "a1+"], true), left(["b1", "b1", "a1+"], false)),
            (String::new(), "a".into())
        );
        assert_eq!(left(["a1+", "b2", "b2"], false), "b");
        assert_eq!(left(["a2+", "b1", "b2"], false), "a", "only one says that b was accepted in view 2");
    }

    #[test]
    fn a_progress_certificate_has_a_minus_f_good_reports_of_its_view() {
        // 10.
        let good = |pc: &[Report], view| pfab(false).is_progress(pc, View(view), Slot(1), &value("a"), FOUR);
        let reports: Vec<Report> = (0..4).map(|signer| report(signer, "-", &[])).collect();
        assert!(good(&reports[..3], 3));
        assert!(!good(&[], 3) && !good(&reports[..2], 3) && !good(&reports, 3), "two, or four");
        assert!(!good(&reports[..3], 2) && !good(&reports[..3], 4), "of another view");
        let twice = [reports[0].clone(), reports[1].clone(), reports[1].clone()];
        assert!(!good(&twice, 3), "one of them twice");
        let future = [reports[0].clone(), reports[1].clone(), report(2, "a3", &[])];
        assert!(!good(&future, 3), "accepted in the view that has not begun");
    }

    #[test]
    fn a_commit_proof_needs_a_quorum_of_different_signers() {
        // 11. One body has one view: proofs cannot mix them.
        assert!(is_commit_proof(&proof("a", 1, &[0, 1, 2]), FOUR));
        assert!(!is_commit_proof(&proof("a", 1, &[0, 1]), FOUR));
        let mut twice = Cert::clone(&proof("a", 1, &[0, 1]));
        twice.add(&everybody().sign(NodeId::replica(1), accepted("a", 1)));
        assert!(twice.signers().len() == 3 && !is_commit_proof(&twice, FOUR));
        let rep = |said, signers: &[usize]| pfab(false).is_good_report(&report(0, said, signers), FOUR);
        assert!(rep("a1+", &[0, 1, 2]) && !rep("a1+", &[0, 1]) && !rep("a3+", &[0, 1, 2]));
        assert!(
            !Config::default().is_good_report(&report(0, "a1+", &[0, 1, 2, 3]), SIX),
            "FaB has no proofs"
        );
    }

    /// All ways to take so many of them.
    fn subsets<T: Clone>(all: &[T], size: usize) -> Vec<Vec<T>> {
        let masks = (0..1_u32 << all.len()).filter(|mask| mask.count_ones() as usize == size);
        let taken = |mask: u32| all.iter().enumerate().filter(move |(i, _)| mask >> i & 1 == 1);
        masks.map(|mask| taken(mask).map(|(_, one)| one.clone()).collect()).collect()
    }

    #[test]
    fn what_may_have_been_learned_is_the_only_value_left() {
        // 7. p0 lies, the others say what they have accepted when a was learned in view 2 and b was tried in view 1.
        let lies = ["-", "a1", "a2", "a2+", "b1", "b1+", "b2"];
        let fast_of_four = ["a2", "a2", "a2"];
        let slow_of_four =
            [["a2+", "a2+", "b1"], ["a2+", "a2+", "-"], ["a2+", "b1", "a2+"], ["a2+", "a2+", "a2"]];
        let fast_of_six = [["a2", "a2", "a2", "a2", "b1"], ["a2", "a2", "-", "a2", "a2"]];
        let four = slow_of_four.iter().chain([&fast_of_four]).map(|said| (FOUR, pfab(false), &said[..], 3));
        let six = fast_of_six.iter().map(|said| (SIX, Config::default(), &said[..], 4));
        let six_proved = fast_of_six.iter().map(|said| (SIX, pfab(false), &said[..], 4));
        for (roles, config, said, proof) in four.chain(six).chain(six_proved) {
            for lie in lies {
                // With FaB nobody has a proof.
                let lie = if config.parameterized { lie } else { lie.trim_end_matches('+') };
                let signers: Vec<usize> = (0..proof).collect();
                let said = [lie].into_iter().chain(said.iter().copied());
                let all: Vec<Report> = (0..).zip(said).map(|(i, said)| report(i, said, &signers)).collect();
                for pc in subsets(&all, roles.reports()) {
                    let vouched = config.vouched(&pc, Slot(1), roles);
                    assert_eq!(vouched, Vouched::Only(value("a")), "{pc:?}");
                }
            }
        }
    }
}

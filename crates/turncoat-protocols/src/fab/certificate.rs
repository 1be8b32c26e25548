//! What certificates prove: commit proofs, learned certificates, elections, and which value a progress certificate
//! leaves to a new leader (3.5).

use turncoat_core::prelude::*;

use super::Config;
use super::messages::{Acceptance, Accepted, CommitProof, Election, Known, Prefix, Rep, Report, Value};
use super::messages::{is_genuine, values};
use super::roles::Roles;

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
pub(super) fn is_commit_proof(proof: &CommitProof, roles: Roles) -> bool {
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
        let proved = |proof: &Arc<CommitProof>| {
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
            views.get(roles.block() - 1).map(|&view| (view, false, value))
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

//! Certificates, between the engine and the wire; and what they are worth.

use malachitebft_core_types::{
    CertificateError, CommitCertificate, CommitSignature, NilOrVal, PolkaCertificate, PolkaSignature, Round,
    RoundCertificate, RoundCertificateType, RoundSignature, ThresholdParam, ThresholdParams, ValidatorSet,
    VoteType,
};
use turncoat_core::prelude::*;

use super::context::{Address, Ctx, EngineVote, Height, Signature, Validators};
use super::messages::{Decided, EpochOver, Polka, Precommit, Prevote};

/// Says of a signature below a vote whether it is good.
pub(super) type Judge<'a> = &'a dyn Fn(&Signature, &EngineVote, Address) -> bool;

impl Polka {
    pub(super) fn of(it: &PolkaCertificate<Ctx>) -> Self {
        let votes = it.polka_signatures.iter().filter_map(|it| prevote(&it.signature)).collect();
        Self { height: Slot(it.height.0), epoch: epoch(it.round), id: it.value_id, votes }
    }

    pub(super) fn certificate(&self) -> PolkaCertificate<Ctx> {
        let signature =
            |vote: &Signed<Prevote>| PolkaSignature::new(Address(vote.signer()), Signature::Prevote(*vote));
        PolkaCertificate {
            height: Height(self.height.0),
            round: Round::new(self.epoch.0),
            value_id: self.id,
            polka_signatures: self.votes.iter().map(signature).collect(),
        }
    }
}

impl EpochOver {
    pub(super) fn of(it: &RoundCertificate<Ctx>) -> Self {
        Self {
            height: Slot(it.height.0),
            epoch: epoch(it.round),
            skip: it.cert_type == RoundCertificateType::Skip,
            prevotes: it.round_signatures.iter().filter_map(|it| prevote(&it.signature)).collect(),
            precommits: it.round_signatures.iter().filter_map(|it| precommit(&it.signature)).collect(),
        }
    }

    pub(super) fn certificate(&self) -> RoundCertificate<Ctx> {
        let value = |id: Option<Digest>| id.map_or(NilOrVal::Nil, NilOrVal::Val);
        let prevotes = self.prevotes.iter().map(|vote| {
            let signature = Signature::Prevote(*vote);
            RoundSignature::new(VoteType::Prevote, value(vote.id), Address(vote.signer()), signature)
        });
        let precommits = self.precommits.iter().map(|vote| {
            let signature = Signature::Precommit(*vote);
            RoundSignature::new(VoteType::Precommit, value(vote.id), Address(vote.signer()), signature)
        });
        RoundCertificate {
            height: Height(self.height.0),
            round: Round::new(self.epoch.0),
            cert_type: if self.skip { RoundCertificateType::Skip } else { RoundCertificateType::Precommit },
            round_signatures: prevotes.chain(precommits).collect(),
        }
    }
}

impl Decided {
    pub(super) fn of(it: &CommitCertificate<Ctx>, block: super::messages::Block) -> Self {
        let commit = it.commit_signatures.iter().filter_map(|it| precommit(&it.signature)).collect();
        Self { epoch: epoch(it.round), block, commit }
    }

    pub(super) fn certificate(&self) -> CommitCertificate<Ctx> {
        let signature = |vote: &Signed<Precommit>| {
            CommitSignature::new(Address(vote.signer()), Signature::Precommit(*vote))
        };
        CommitCertificate {
            height: Height(self.block.height.0),
            round: Round::new(self.epoch.0),
            value_id: self.block.id(),
            commit_signatures: self.commit.iter().map(signature).collect(),
        }
    }
}

fn prevote(signature: &Signature) -> Option<Signed<Prevote>> {
    if let Signature::Prevote(vote) = signature { Some(*vote) } else { None }
}

fn precommit(signature: &Signature) -> Option<Signed<Precommit>> {
    if let Signature::Precommit(vote) = signature { Some(*vote) } else { None }
}

/// The engine has a round that is none; it signs nothing in it.
pub(super) fn epoch(round: Round) -> View {
    View(round.as_u32().unwrap_or_default())
}

type Validity = Result<(), CertificateError<Ctx>>;

pub(super) fn verify_commit(
    it: &CommitCertificate<Ctx>,
    all: &Validators,
    quorum: ThresholdParams,
    good: Judge<'_>,
) -> Validity {
    let kind = VoteType::Precommit;
    let signed = it.commit_signatures.iter().map(|commit| {
        let vote = EngineVote {
            kind,
            height: it.height,
            epoch: epoch(it.round),
            id: NilOrVal::Val(it.value_id),
            address: commit.address,
        };
        (
            commit.address,
            good(&commit.signature, &vote, commit.address),
            CertificateError::InvalidCommitSignature(commit.clone()),
        )
    });
    verify(signed, all, quorum.quorum)
}

pub(super) fn verify_polka(
    it: &PolkaCertificate<Ctx>,
    all: &Validators,
    quorum: ThresholdParams,
    good: Judge<'_>,
) -> Validity {
    let kind = VoteType::Prevote;
    let signed = it.polka_signatures.iter().map(|polka| {
        let vote = EngineVote {
            kind,
            height: it.height,
            epoch: epoch(it.round),
            id: NilOrVal::Val(it.value_id),
            address: polka.address,
        };
        (
            polka.address,
            good(&polka.signature, &vote, polka.address),
            CertificateError::InvalidPolkaSignature(polka.clone()),
        )
    });
    verify(signed, all, quorum.quorum)
}

pub(super) fn verify_round(
    it: &RoundCertificate<Ctx>,
    all: &Validators,
    quorum: ThresholdParams,
    good: Judge<'_>,
) -> Validity {
    let skip = it.cert_type == RoundCertificateType::Skip;
    if let Some(wrong) = it.round_signatures.iter().find(|it| !skip && it.vote_type == VoteType::Prevote) {
        return Err(CertificateError::InvalidVoteType(wrong.address));
    }
    let signed = it.round_signatures.iter().map(|round| {
        let (kind, id) = (round.vote_type, round.value_id);
        let vote = EngineVote { kind, height: it.height, epoch: epoch(it.round), id, address: round.address };
        (
            round.address,
            good(&round.signature, &vote, round.address),
            CertificateError::InvalidRoundSignature(round.clone()),
        )
    });
    verify(signed, all, if skip { quorum.honest } else { quorum.quorum })
}

/// Whether enough validators have signed, each of them once and well.
fn verify(
    signed: impl Iterator<Item = (Address, bool, CertificateError<Ctx>)>,
    all: &Validators,
    threshold: ThresholdParam,
) -> Validity {
    let mut seen = NodeSet::EMPTY;
    for (address, good, bad) in signed {
        if all.get_by_address(&address).is_none() {
            return Err(CertificateError::UnknownValidator(address));
        }
        if !seen.insert(address.0) {
            return Err(CertificateError::DuplicateVote(address));
        }
        if !good {
            return Err(bad);
        }
    }
    let (signed, total) = (seen.len() as u64, all.total_voting_power());
    match threshold.is_met(signed, total) {
        true => Ok(()),
        false => Err(CertificateError::NotEnoughVotingPower {
            signed,
            total,
            expected: threshold.min_expected(total),
        }),
    }
}

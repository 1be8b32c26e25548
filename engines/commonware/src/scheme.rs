//! What a signature is to the engine: the tag that turncoat's own signatures have in bytes.
//!
//! Nobody forges: a tag is made by [`Context::sign`], which signs for its node alone, and a tag proves itself when the bytes are
//! decoded. So what the engine accepts as signed is what turncoat holds for signed.

use std::sync::OnceLock;

use commonware_consensus::simplex::types::{Proposal as EngineProposal, Subject};
use commonware_consensus::types::Round;
use commonware_cryptography::certificate::{
    AssemblyError, Attestation, Membership, Scheme, Verification, Verifier, verify_then_assemble,
};
use commonware_cryptography::ed25519::{PrivateKey, PublicKey};
use commonware_cryptography::{Digest as EngineDigest, Signer as _};
use commonware_parallel::Strategy;
use commonware_utils::iter::NonEmpty;
use commonware_utils::ordered::{Quorum, Set};
use commonware_utils::{N3f1, Participant};
use rand_core::CryptoRng;
use serde::de::DeserializeOwned;
use turncoat::core::prelude::*;

use crate::host::{Effect, Host};
use crate::messages::{Finalize, Notarize, Nullify, Proposal};
use crate::{Flags, wire};

/// What is signed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Statement {
    Notarize(Notarize),
    Nullify(Nullify),
    Finalize(Finalize),
}

impl Statement {
    fn of<D: EngineDigest>(subject: &Subject<'_, D>) -> Self {
        match subject {
            Subject::Notarize { proposal } => Self::Notarize(Proposal::of(proposal)),
            Subject::Nullify { round } => Self::Nullify(Nullify::of(*round)),
            Subject::Finalize { proposal } => Self::Finalize(Proposal::of(proposal)),
        }
    }

    /// Signs it as the node whose context it is.
    pub(crate) fn sign(self, cx: &crate::Cx<'_>) -> u64 {
        match self {
            Self::Notarize(it) => tag(&cx.sign(it)),
            Self::Nullify(it) => tag(&cx.sign(it)),
            Self::Finalize(it) => tag(&cx.sign(it)),
        }
    }

    const fn view(self) -> View {
        match self {
            Self::Notarize(it) => it.view,
            Self::Nullify(it) => it.view,
            Self::Finalize(it) => it.view,
        }
    }

    /// Whether this is the tag of a signature of `signer` below it.
    fn is_signed(self, signer: NodeId, tag: u64) -> bool {
        match self {
            Self::Notarize(it) => signed(signer, tag, it).valid(),
            Self::Nullify(it) => signed(signer, tag, it).valid(),
            Self::Finalize(it) => signed(signer, tag, it).valid(),
        }
    }
}

impl<const STEP: u8> Proposal<STEP> {
    pub(crate) fn of<D: EngineDigest>(it: &EngineProposal<D>) -> Self {
        Self {
            epoch: it.round.epoch().get(),
            view: wire::view(it.round.view()),
            parent: wire::view(it.parent),
            payload: wire::digest(&it.payload),
        }
    }
}

impl Nullify {
    pub(crate) fn of(round: Round) -> Self {
        Self { epoch: round.epoch().get(), view: wire::view(round.view()) }
    }
}

/// The tag of a signature: what stands between the signer and the body in bytes. That of a bad signature is a wrong one.
pub(crate) fn tag<T: Serialize + std::hash::Hash>(signed: &Signed<T>) -> u64 {
    let bytes = postcard::to_stdvec(signed).expect("a signed statement has bytes");
    let (_, rest) = postcard::take_from_bytes::<NodeId>(&bytes).expect("they begin with the signer");
    postcard::take_from_bytes(rest).expect("then comes the tag").0
}

/// A statement with the tag of a signature, good or bad.
pub(crate) fn signed<T>(signer: NodeId, tag: u64, body: T) -> Signed<T>
where
    T: Serialize + DeserializeOwned + std::hash::Hash,
{
    let bytes = postcard::to_stdvec(&(signer, tag, body)).expect("a statement has bytes");
    postcard::from_bytes(&bytes).expect("the bytes of a signed statement")
}

/// The keys by which validators know each other in the network; nothing is signed with them. They are in the order of replicas.
pub(crate) fn peers(n: usize) -> Set<PublicKey> {
    static KEYS: OnceLock<Vec<PublicKey>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        (0..NodeId::MAX as u64).map(|seed| PrivateKey::from_seed(seed).public_key()).collect()
    });
    Set::from_iter_dedup(keys.iter().take(n).cloned())
}

/// Up to which view the flags make a difference. The engine asks one by one for all views below a certificate that it believes: for
/// one that is forged at random it would never end.
const NEAR: View = View(1000);

/// The scheme of one validator.
#[derive(Clone, Debug)]
pub(crate) struct Keyed {
    pub(crate) me: Participant,
    pub(crate) peers: Set<PublicKey>,
    pub(crate) host: Host,
    pub(crate) flags: Flags,
}

impl Keyed {
    fn is_good(&self, statement: Statement, signer: u32, tag: u64) -> bool {
        let signer = signer as usize;
        let any = self.flags.accept_any_signature && statement.view() <= NEAR;
        signer < self.peers.len() && (any || statement.is_signed(NodeId::replica(signer), tag))
    }

    fn noted(&self, good: bool, otherwise: Effect) -> bool {
        if !good {
            self.host.tell(otherwise);
        }
        good
    }
}

impl Verifier for Keyed {
    type Subject<'a, D: EngineDigest> = Subject<'a, D>;
    type Faults = N3f1;
    type PublicKey = PublicKey;
    /// Signers and tags.
    type Certificate = Vec<(u32, u64)>;

    fn verify_certificate<R: CryptoRng, D: EngineDigest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        certificate: &Self::Certificate,
        _: &impl Strategy,
    ) -> bool {
        let statement = Statement::of(&subject);
        let distinct = certificate.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let good = certificate.iter().all(|&(signer, tag)| self.is_good(statement, signer, tag));
        let one = self.flags.no_quorum && statement.view() <= NEAR;
        let least = if one { 1 } else { self.peers.quorum::<N3f1>() as usize };
        self.noted(distinct && good && certificate.len() >= least, Effect::BadCertificate)
    }

    fn is_batchable() -> bool {
        false
    }

    fn max_certificate_size(participants: u32) -> usize {
        // A length, and for each signer its number and a tag.
        5 + participants as usize * 12
    }

    fn certificate_codec_config(&self) -> <Self::Certificate as commonware_codec::Read>::Cfg {
        wire::certificate_cfg(self.peers.len())
    }

    fn certificate_codec_config_unbounded() -> <Self::Certificate as commonware_codec::Read>::Cfg {
        wire::certificate_cfg(NodeId::MAX)
    }
}

impl Scheme for Keyed {
    type Signature = u64;

    fn me(&self) -> Option<Membership> {
        Some(Membership::Signer(self.me))
    }

    fn participants(&self) -> &Set<PublicKey> {
        &self.peers
    }

    /// Asks the host, which has the key.
    fn sign<D: EngineDigest>(&self, subject: Subject<'_, D>) -> Option<Attestation<Self>> {
        let tag = self.host.sign(Statement::of(&subject));
        Some(Attestation { signer: self.me, signature: tag.into() })
    }

    fn verify_attestation<R: CryptoRng, D: EngineDigest>(
        &self,
        _: &mut R,
        subject: Subject<'_, D>,
        attestation: &Attestation<Self>,
        _: &impl Strategy,
    ) -> bool {
        let (statement, signer) = (Statement::of(&subject), attestation.signer.get());
        let good = attestation.signature.get().is_some_and(|&tag| self.is_good(statement, signer, tag));
        self.noted(good, Effect::BadSignature)
    }

    fn optimistic_assemble<'a, R, D, I, J>(
        &self,
        rng: &mut R,
        subject: Subject<'_, D>,
        pending: I,
        verified: J,
        strategy: &impl Strategy,
    ) -> Result<Self::Certificate, Verification<Self>>
    where
        R: CryptoRng,
        D: EngineDigest,
        I: IntoIterator<Item = Attestation<Self>>,
        I::IntoIter: ExactSizeIterator + Send,
        J: IntoIterator<Item = &'a Attestation<Self>>,
        J::IntoIter: Send,
    {
        verify_then_assemble::<_, _, D, _, _>(self, rng, subject, pending, verified, strategy)
    }

    fn assemble<I>(
        &self,
        attestations: NonEmpty<I>,
        _: &impl Strategy,
    ) -> Result<Self::Certificate, AssemblyError>
    where
        I: Iterator<Item = Attestation<Self>> + Send,
    {
        let mut votes = Vec::new();
        for Attestation { signer, signature } in attestations {
            let &tag = signature.get().ok_or(AssemblyError::MalformedSignature(signer))?;
            self.peers.key(signer).ok_or(AssemblyError::UnknownSigner(signer))?;
            if votes.iter().any(|&(other, _)| other == signer.get()) {
                return Err(AssemblyError::DuplicateSigner(signer));
            }
            votes.push((signer.get(), tag));
        }
        votes.sort_unstable();
        let (least, found) = (self.peers.quorum::<N3f1>(), votes.len() as u32);
        if found < least {
            return Err(AssemblyError::InsufficientAttestations(least, found));
        }
        Ok(votes)
    }

    fn is_attributable() -> bool {
        true
    }
}

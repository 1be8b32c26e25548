//! The bytes that the engine sends and gets, and the messages that they are.

use bytes::{Buf as _, Bytes};
use commonware_codec::{DecodeExt, Encode, Read, Write};
use commonware_consensus::simplex::types::{self as engine, Certificate as EngineCertificate, Vote};
use commonware_consensus::types::{Epoch, Round, View as EngineView};
use commonware_cryptography::certificate::{Attestation, Verifier};
use commonware_cryptography::sha256;
use commonware_utils::Participant;
use turncoat::core::prelude::*;

use crate::messages::{Answer, Ask, Certificate, Msg, Nullification, Nullify, Proposal};
use crate::scheme::{Keyed, signed, tag};

/// The digests that the engine sees: those of turncoat, and zeros.
pub(crate) type D = sha256::Digest;

/// The channels between two validators.
pub(crate) const VOTES: usize = 0;
pub(crate) const CERTIFICATES: usize = 1;
pub(crate) const RESOLVER: usize = 2;

pub(crate) fn view(view: EngineView) -> View {
    View(u32::try_from(view.get()).unwrap_or(u32::MAX))
}

pub(crate) fn digest(digest: &impl AsRef<[u8]>) -> Digest {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
    Digest(u64::from_be_bytes(bytes))
}

pub(crate) fn payload(digest: Digest) -> D {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&digest.0.to_be_bytes());
    sha256::Digest(bytes)
}

type Cfg = <<Keyed as Verifier>::Certificate as Read>::Cfg;

pub(crate) fn certificate_cfg(signers: usize) -> Cfg {
    ((..=signers).into(), ((), ()))
}

/// A message of the engine, from its bytes.
pub(crate) fn decode(channel: usize, mut bytes: Bytes) -> Option<Msg> {
    match channel {
        VOTES => Some(match Vote::<Keyed, D>::decode(bytes).ok()? {
            Vote::Notarize(it) => Msg::Notarize(vote(&it.attestation, Proposal::of(&it.proposal))?),
            Vote::Nullify(it) => Msg::Nullify(vote(&it.attestation, Nullify::of(it.round))?),
            Vote::Finalize(it) => Msg::Finalize(vote(&it.attestation, Proposal::of(&it.proposal))?),
        }),
        CERTIFICATES => Some(match Parsed::of(bytes)? {
            Parsed::Notarization(it) => Msg::Notarization(Arc::new(it)),
            Parsed::Nullification(it) => Msg::Nullification(Arc::new(it)),
            Parsed::Finalization(it) => Msg::Finalization(Arc::new(it)),
        }),
        _ => resolver(&mut bytes),
    }
}

/// See `wire.rs` of commonware-resolver, which keeps its messages to itself: a number, what it is, and that.
fn resolver(bytes: &mut Bytes) -> Option<Msg> {
    let id = bytes.try_get_u64().ok()?;
    let mut answer = Answer { id, notarization: None, nullification: None, finalization: None };
    match bytes.try_get_u8().ok()? {
        0 => {
            let view = view(EngineView::new(bytes.try_get_u64().ok()?));
            return Some(Msg::Request(Ask { id, view }));
        }
        1 => {
            let data = Bytes::read_cfg(bytes, &(..).into()).ok()?;
            match Parsed::of(data)? {
                Parsed::Notarization(it) => answer.notarization = Some(it),
                Parsed::Nullification(it) => answer.nullification = Some(it),
                Parsed::Finalization(it) => answer.finalization = Some(it),
            }
        }
        _ => {}
    }
    Some(Msg::Response(Arc::new(answer)))
}

fn vote<T>(attestation: &Attestation<Keyed>, body: T) -> Option<Signed<T>>
where
    T: Serialize + serde::de::DeserializeOwned + std::hash::Hash,
{
    let signer = NodeId::replica(usize::from(attestation.signer));
    Some(signed(signer, *attestation.signature.get()?, body))
}

/// A certificate of some kind.
enum Parsed {
    Notarization(Certificate<1>),
    Nullification(Nullification),
    Finalization(Certificate<3>),
}

impl Parsed {
    fn of(mut bytes: Bytes) -> Option<Self> {
        let cfg = certificate_cfg(NodeId::MAX);
        let it = EngineCertificate::<Keyed, D>::read_cfg(&mut bytes, &cfg).ok()?;
        Some(match it {
            EngineCertificate::Notarization(it) => {
                let proposal = Proposal::of(&it.proposal);
                Self::Notarization(Certificate { proposal, votes: votes(&it.certificate, proposal) })
            }
            EngineCertificate::Nullification(it) => {
                let round = Nullify::of(it.round);
                Self::Nullification(Nullification { round, votes: votes(&it.certificate, round) })
            }
            EngineCertificate::Finalization(it) => {
                let proposal = Proposal::of(&it.proposal);
                Self::Finalization(Certificate { proposal, votes: votes(&it.certificate, proposal) })
            }
        })
    }
}

fn votes<T>(certificate: &[(u32, u64)], body: T) -> Vec<Signed<T>>
where
    T: Copy + Serialize + serde::de::DeserializeOwned + std::hash::Hash,
{
    certificate.iter().map(|&(signer, tag)| signed(NodeId::replica(signer as usize), tag, body)).collect()
}

/// The bytes of a message for the engine, and their channel; none for those of the host.
pub(crate) fn encode(msg: &Msg) -> Option<(usize, Bytes)> {
    let vote = |vote: Vote<Keyed, D>| (VOTES, vote.encode());
    let certificate = |it: EngineCertificate<Keyed, D>| (CERTIFICATES, it.encode());
    Some(match msg {
        Msg::Notarize(m) => {
            vote(Vote::Notarize(engine::Notarize { proposal: m.engine(), attestation: attestation(m) }))
        }
        Msg::Nullify(m) => {
            vote(Vote::Nullify(engine::Nullify { round: m.engine(), attestation: attestation(m) }))
        }
        Msg::Finalize(m) => {
            vote(Vote::Finalize(engine::Finalize { proposal: m.engine(), attestation: attestation(m) }))
        }
        Msg::Notarization(m) => certificate(notarization(m)),
        Msg::Nullification(m) => certificate(nullification(m)),
        Msg::Finalization(m) => certificate(finalization(m)),
        Msg::Request(m) => {
            let mut bytes = m.id.to_be_bytes().to_vec();
            bytes.push(0);
            bytes.extend(u64::from(m.view.0).to_be_bytes());
            (RESOLVER, bytes.into())
        }
        Msg::Response(m) => (RESOLVER, response(m).into()),
        Msg::Block(_) | Msg::BlockRequest(_) => return None,
    })
}

fn response(m: &Answer) -> Vec<u8> {
    let notarization = m.notarization.as_ref().map(notarization);
    let nullification = || m.nullification.as_ref().map(nullification);
    let finalization = || m.finalization.as_ref().map(finalization);
    let mut bytes = m.id.to_be_bytes().to_vec();
    match notarization.or_else(nullification).or_else(finalization) {
        Some(it) => {
            bytes.push(1);
            it.encode().write(&mut bytes);
        }
        None => bytes.push(2),
    }
    bytes
}

fn notarization(m: &Certificate<1>) -> EngineCertificate<Keyed, D> {
    let proposal = m.proposal.engine();
    EngineCertificate::Notarization(engine::Notarization { proposal, certificate: tags(&m.votes) })
}

fn nullification(m: &Nullification) -> EngineCertificate<Keyed, D> {
    let round = m.round.engine();
    EngineCertificate::Nullification(engine::Nullification { round, certificate: tags(&m.votes) })
}

fn finalization(m: &Certificate<3>) -> EngineCertificate<Keyed, D> {
    let proposal = m.proposal.engine();
    EngineCertificate::Finalization(engine::Finalization { proposal, certificate: tags(&m.votes) })
}

fn attestation<T: Serialize + std::hash::Hash>(vote: &Signed<T>) -> Attestation<Keyed> {
    let signer = Participant::from_usize(vote.signer().index());
    Attestation { signer, signature: tag(vote).into() }
}

fn tags<T: Serialize + std::hash::Hash>(votes: &[Signed<T>]) -> Vec<(u32, u64)> {
    votes.iter().map(|vote| (vote.signer().index() as u32, tag(vote))).collect()
}

impl<const STEP: u8> Proposal<STEP> {
    fn engine(&self) -> engine::Proposal<D> {
        let parent = EngineView::new(u64::from(self.parent.0));
        engine::Proposal::new(round(self.epoch, self.view), parent, payload(self.payload))
    }
}

impl Nullify {
    fn engine(&self) -> Round {
        round(self.epoch, self.view)
    }
}

fn round(epoch: u64, view: View) -> Round {
    Round::new(Epoch::new(epoch), EngineView::new(u64::from(view.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a signature that is bad, since nobody is here to make a good one: it is one that turncoat would take for bad.
    fn vote<T>(body: T) -> Signed<T>
    where
        T: Serialize + serde::de::DeserializeOwned + std::hash::Hash,
    {
        signed(NodeId::replica(2), 7, body)
    }

    #[test]
    fn messages_outlive_their_bytes() {
        let (view, parent) = (View(3), View(2));
        let round = Nullify { epoch: 1, view };
        let proposal = Proposal::<1> { epoch: 1, view, parent, payload: Digest(77) };
        let finalized = Proposal::<3> { epoch: 1, view, parent, payload: Digest(77) };
        let notarization = Certificate { proposal, votes: vec![vote(proposal)] };
        let nullification = Nullification { round, votes: vec![vote(round), vote(round)] };
        let finalization = Certificate { proposal: finalized, votes: Vec::new() };
        let nothing = Answer { id: 9, notarization: None, nullification: None, finalization: None };
        let messages = [
            Msg::Notarize(vote(proposal)),
            Msg::Nullify(vote(round)),
            Msg::Finalize(vote(finalized)),
            Msg::Notarization(Arc::new(notarization.clone())),
            Msg::Nullification(Arc::new(nullification.clone())),
            Msg::Finalization(Arc::new(finalization.clone())),
            Msg::Request(Ask { id: 9, view }),
            Msg::Response(Arc::new(nothing.clone())),
            Msg::Response(Arc::new(Answer { notarization: Some(notarization), ..nothing.clone() })),
            Msg::Response(Arc::new(Answer { nullification: Some(nullification), ..nothing.clone() })),
            Msg::Response(Arc::new(Answer { finalization: Some(finalization), ..nothing })),
        ];
        for msg in messages {
            let (channel, bytes) = encode(&msg).expect("the engine's");
            assert_eq!(decode(channel, bytes), Some(msg));
        }
    }
}

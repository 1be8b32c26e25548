//! Ed25519, of malachite's own crate, for those who want to see real signatures at work.
//!
//! What travels is the signed statement (`context`), and a liar signs what it has changed with its own key alone. Since Ed25519 is
//! deterministic, the bytes of the signature can be made when somebody looks at them: with the key of the one who signed, or, where
//! nobody did, with a key that belongs to no validator. Then they are verified, below the vote that the engine has at hand.

use std::sync::OnceLock;

use malachitebft_core_types::VoteType;
use malachitebft_signing_ed25519::{PrivateKey, PublicKey};
use turncoat_core::prelude::*;

use super::context::{Address, EngineProposal, EngineVote, Signature};
use super::messages::{Precommit, Prevote};

/// The keys of all validators that a cluster can have, and one of nobody.
struct Keys {
    validators: Vec<(PrivateKey, PublicKey)>,
    nobody: PrivateKey,
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(|| {
        let key = |index: usize| PrivateKey::from([index as u8 + 1; 32]);
        let validators = (0..NodeId::MAX).map(|index| (key(index), key(index).public_key())).collect();
        Keys { validators, nobody: key(NodeId::MAX) }
    })
}

/// Whether it is a good signature of a validator below a vote.
pub(super) fn is_below(signature: &Signature, vote: &EngineVote, signer: Address) -> bool {
    let signed = match vote.kind {
        VoteType::Prevote => encode::<Prevote>(2, &vote.body()),
        VoteType::Precommit => encode::<Precommit>(3, &vote.body()),
    };
    verify(signature, &signed, signer)
}

/// Whether it is one below a proposal.
pub(super) fn is_below_proposal(signature: &Signature, proposal: &EngineProposal, signer: Address) -> bool {
    verify(signature, &encode(1, &proposal.body), signer)
}

fn verify(signature: &Signature, bytes: &[u8], signer: Address) -> bool {
    let (by, signed) = match signature {
        Signature::Proposal(it) => (it.valid().then(|| it.signer()), encode(1, &***it)),
        Signature::Prevote(it) => (it.valid().then(|| it.signer()), encode(2, &**it)),
        Signature::Precommit(it) => (it.valid().then(|| it.signer()), encode(3, &**it)),
    };
    let Keys { validators, nobody } = keys();
    let private = by.and_then(|by| validators.get(by.index())).map_or(nobody, |(private, _)| private);
    let public = validators.get(signer.0.index()).map(|(_, public)| public);
    public.is_some_and(|public| public.verify(bytes, &private.sign(&signed)).is_ok())
}

/// The bytes that are signed; kinds of statements differ in the first.
fn encode<T: Serialize>(kind: u8, statement: &T) -> Vec<u8> {
    postcard::to_extend(statement, vec![kind]).expect("statements are plain data")
}

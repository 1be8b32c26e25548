//! Signatures without cryptography, and without cheating.
//!
//! A [`Signed`] value is minted by its signer's own [`Signer`] and by nobody else: the fields are private,
//! there is no `DerefMut`, and bytes decode to a valid signature only if they are those that were signed. When
//! a Byzantine node changes something inside a signature, it stays valid if the liar is the signer (it can
//! sign anything) and turns invalid otherwise. So a protocol that verifies rejects the lie, and one that
//! forgot to is caught.

use std::fmt;
use std::hash::Hash;
use std::ops::Deref;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use crate::hash::stable_hash;
use crate::ids::{NodeId, NodeSet};

/// The power to sign as one identity. A node reaches its own through its `Context`.
#[derive(Clone, Copy, Debug)]
pub struct Signer(NodeId);

impl Signer {
    pub(crate) const fn of(node: NodeId) -> Self {
        Self(node)
    }

    /// Whose key this is.
    pub const fn node(self) -> NodeId {
        self.0
    }

    /// Signs `body`.
    pub const fn sign<T>(self, body: T) -> Signed<T> {
        Signed { signer: self.0, valid: true, body }
    }
}

/// A body with a signature. The body must be `Hash`: its bytes carry a hash in the place of a signature.
///
/// ```compile_fail
/// # use turncoat_core::prelude::*;
/// #[derive(Clone, PartialEq, Serialize, Deserialize, Part)] // `Hash` is missing.
/// struct Vote {
///     view: View,
/// }
/// #[derive(Clone, PartialEq, Serialize, Deserialize, Message)]
/// enum Msg {
///     Vote(Signed<Vote>),
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signed<T> {
    signer: NodeId,
    valid: bool,
    body: T,
}

impl<T> Signed<T> {
    /// Who the signature claims to be from.
    pub const fn signer(&self) -> NodeId {
        self.signer
    }

    /// Whether the signature is good.
    pub const fn valid(&self) -> bool {
        self.valid
    }

    /// Whether the signature is good and from `node`.
    pub fn is_by(&self, node: NodeId) -> bool {
        self.valid && self.signer == node
    }

    /// Lets a liar that holds `keys` edit the body: the signature survives only if it is the liar's own.
    pub(crate) fn edit(&mut self, keys: NodeSet, edit: impl FnOnce(&mut T) -> bool) -> bool {
        let changed = edit(&mut self.body);
        if changed {
            self.valid = keys.contains(self.signer);
        }
        changed
    }
}

impl<T> Deref for Signed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T: fmt::Debug> fmt::Debug for Signed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}@{}{}", self.body, self.signer, if self.valid { "" } else { "!" })
    }
}

/// The tag that stands for a signature in bytes. The type is signed too: bytes of one kind of message never pass as
/// another that happens to have the same fields.
fn tag<T: Hash>(signer: impl Hash, body: &T) -> u64 {
    stable_hash(0x7A6, &(signer, std::any::type_name::<T>(), body))
}

#[derive(Serialize, Deserialize)]
struct Wire<S, T> {
    signer: S,
    tag: u64,
    body: T,
}

/// Readable formats show the verdict; compact ones carry a tag that proves itself when decoded.
impl<T: Serialize + Hash> Serialize for Signed<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() {
            let mut out = s.serialize_struct("Signed", 3)?;
            out.serialize_field("signer", &self.signer)?;
            out.serialize_field("valid", &self.valid)?;
            out.serialize_field("body", &self.body)?;
            return out.end();
        }
        let tag = tag(self.signer, &self.body);
        Wire { signer: self.signer, tag: if self.valid { tag } else { !tag }, body: &self.body }.serialize(s)
    }
}

impl<'de, T: Deserialize<'de> + Hash> Deserialize<'de> for Signed<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let wire = Wire::<NodeId, T>::deserialize(d)?;
        Ok(Self { signer: wire.signer, valid: wire.tag == tag(wire.signer, &wire.body), body: wire.body })
    }
}

/// A certificate: one body and the list of those who signed it.
///
/// The list may hold repeats: protocols count [`Cert::voters`], which are distinct; one that counts
/// [`Cert::signers`] has a bug that a liar can use.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cert<T> {
    body: T,
    signers: SmallVec<[NodeId; 8]>,
    valid: bool,
}

impl<T> Cert<T> {
    pub(crate) fn new(body: T, voters: NodeSet) -> Self {
        Self { body, signers: voters.iter().collect(), valid: true }
    }

    /// The list of signers, as it stands: possibly with repeats.
    pub fn signers(&self) -> &[NodeId] {
        &self.signers
    }

    /// The distinct signers; none if any signature is bad.
    pub fn voters(&self) -> NodeSet {
        if self.valid { self.signers.iter().copied().collect() } else { NodeSet::EMPTY }
    }

    /// Whether every signature is good.
    pub const fn valid(&self) -> bool {
        self.valid
    }

    /// Adds the signature of a vote for the same body, also if its signer is in the list already: for protocols that
    /// count votes, not voters.
    pub fn add(&mut self, vote: &Signed<T>)
    where
        T: PartialEq,
    {
        if vote.valid && vote.body == self.body {
            self.signers.push(vote.signer);
        }
    }

    /// Lets a liar edit the certified body, which breaks it unless all signers are the liar's.
    pub(crate) fn edit(&mut self, keys: NodeSet, edit: impl FnOnce(&mut T) -> bool) -> bool {
        let changed = edit(&mut self.body);
        if changed {
            self.valid = self.signers.iter().all(|&s| keys.contains(s));
        }
        changed
    }

    /// Dropping or repeating a signer breaks nothing.
    pub(crate) fn signers_mut(&mut self) -> &mut SmallVec<[NodeId; 8]> {
        &mut self.signers
    }

    /// Writes the name of one who did not sign.
    pub(crate) fn claim(&mut self, node: NodeId, keys: NodeSet) {
        self.signers.push(node);
        self.valid &= keys.contains(node);
    }
}

impl<T> Deref for Cert<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.body
    }
}

impl<T: fmt::Debug> fmt::Debug for Cert<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}@{:?}{}", self.body, self.signers, if self.valid { "" } else { "!" })
    }
}

impl<T: Serialize + Hash> Serialize for Cert<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() {
            let mut out = s.serialize_struct("Cert", 3)?;
            out.serialize_field("signers", &self.signers)?;
            out.serialize_field("valid", &self.valid)?;
            out.serialize_field("body", &self.body)?;
            return out.end();
        }
        let tag = tag(&self.signers, &self.body);
        Wire { signer: &self.signers, tag: if self.valid { tag } else { !tag }, body: &self.body }
            .serialize(s)
    }
}

impl<'de, T: Deserialize<'de> + Hash> Deserialize<'de> for Cert<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let wire = Wire::<SmallVec<[NodeId; 8]>, T>::deserialize(d)?;
        let valid = wire.tag == tag(&wire.signer, &wire.body);
        Ok(Self { body: wire.body, signers: wire.signer, valid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P0: NodeId = NodeId::replica(0);
    const P1: NodeId = NodeId::replica(1);

    #[test]
    fn a_lie_survives_only_inside_ones_own_signature() {
        let mut own = Signer::of(P0).sign(1_u32);
        let mut other = Signer::of(P1).sign(1_u32);
        let keys = NodeSet::one(P0);
        let lie = |x: &mut u32| {
            *x += 1;
            true
        };
        own.edit(keys, lie);
        other.edit(keys, lie);
        assert!(own.is_by(P0) && *own == 2);
        assert!(!other.valid() && *other == 2);
    }

    #[test]
    fn one_kind_of_message_is_not_signed_by_another() {
        #[derive(Serialize, Deserialize, Hash, Debug)]
        struct Prepare(u32);
        #[derive(Serialize, Deserialize, Hash, Debug)]
        struct Commit(u32);
        let bytes = postcard::to_stdvec(&Signer::of(P0).sign(Prepare(1))).unwrap();
        assert!(postcard::from_bytes::<Signed<Prepare>>(&bytes).unwrap().valid());
        assert!(!postcard::from_bytes::<Signed<Commit>>(&bytes).unwrap().valid());
    }

    #[test]
    fn bytes_prove_themselves() {
        let signed = Signer::of(P0).sign(77_u32);
        let bytes = postcard::to_stdvec(&signed).unwrap();
        assert_eq!(postcard::from_bytes::<Signed<u32>>(&bytes).unwrap(), signed);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(got) = postcard::from_bytes::<Signed<u32>>(&flipped) {
                assert!(!got.valid() || got == signed, "bit {bit} forged {got:?}");
            }
        }
    }
}

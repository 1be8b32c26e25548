//! The liar: what it knows, and what it can sign.

use std::any::Any;
use std::fmt;

use super::Part;
use crate::client::Request;
use crate::ids::{NodeId, NodeSet};
use crate::rng::Rng;
use crate::sign::{Cert, Signed, Signer};

/// The liar: its keys, and what it may draw on.
pub struct Liar<'a> {
    /// The identities in whose name it can sign.
    pub keys: NodeSet,
    /// The same lie for the same fault: seeded by (kind, fault).
    pub rng: Rng,
    /// The requests submitted in this run so far.
    pub requests: &'a [Signed<Request>],
    /// The number of replicas.
    pub n: usize,
    /// What was said in this run so far.
    pub seen: Seen<'a>,
}

/// What was said in a run: every message, and every part of it.
#[derive(Clone, Copy, Default)]
pub struct Seen<'a>(Option<&'a dyn Past>);

impl fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

/// The messages of a run.
pub(crate) trait Past {
    /// Shows their parts, oldest or newest message first, until somebody says that it is enough.
    fn look(&self, oldest_first: bool, enough: &mut dyn FnMut(&dyn Any) -> bool);
}

impl<'a> Seen<'a> {
    /// Nothing was said.
    pub const NOTHING: Self = Self(None);

    pub(crate) const fn of(past: &'a dyn Past) -> Self {
        Self(Some(past))
    }

    /// The latest part of this type that is wanted.
    pub fn last<T: Clone + 'static>(self, wanted: impl FnMut(&T) -> bool) -> Option<T> {
        self.find(false, wanted)
    }

    /// The first part of this type that is wanted.
    pub fn first<T: Clone + 'static>(self, wanted: impl FnMut(&T) -> bool) -> Option<T> {
        self.find(true, wanted)
    }

    fn find<T: Clone + 'static>(self, oldest_first: bool, mut wanted: impl FnMut(&T) -> bool) -> Option<T> {
        let mut found = None;
        self.0?.look(oldest_first, &mut |part| {
            found = part.downcast_ref::<T>().filter(|part| wanted(part)).cloned();
            found.is_some()
        });
        found
    }

    /// All parts of this type that are wanted, the latest first.
    pub fn all<T: Clone + 'static>(self, mut wanted: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut found = Vec::new();
        self.each(|part| found.extend(part.downcast_ref::<T>().filter(|part| wanted(part)).cloned()));
        found
    }

    fn each(self, mut see: impl FnMut(&dyn Any)) {
        if let Some(past) = self.0 {
            past.look(false, &mut |part| {
                see(part);
                false
            });
        }
    }
}

impl Liar<'_> {
    /// Changes what is under a signature, which stays good only if it is the liar's own.
    pub fn edit<T>(&self, signed: &mut Signed<T>, edit: impl FnOnce(&mut T)) -> bool {
        signed.edit(self.keys, |body| {
            edit(body);
            true
        })
    }

    /// Writes the name of a signer under a body: a good signature only if it is the liar's own.
    pub fn sign<T>(&self, signer: NodeId, body: T) -> Signed<T> {
        let mut signed = Signer::of(signer).sign(body);
        self.edit(&mut signed, |_| {});
        signed
    }

    /// Writes the names of signers under a body: a good certificate only if they are all the liar's own.
    pub fn certify<T>(&self, body: T, signers: NodeSet) -> Cert<T> {
        let mut cert = Cert::new(body, signers);
        cert.edit(self.keys, |_| true);
        cert
    }

    /// A request that somebody has asked for, other than `present`.
    pub fn another_request(&mut self, present: Option<&Signed<Request>>) -> Option<Signed<Request>> {
        let others: Vec<_> = self.requests.iter().filter(|&request| Some(request) != present).collect();
        (!others.is_empty()).then(|| **self.rng.pick(&others))
    }

    /// The certificate that the votes seen for a body make, however few they are; none if nobody has voted for it.
    pub fn gathered<T: Part + PartialEq>(&self, body: &T) -> Option<Cert<T>> {
        let mut voters = NodeSet::EMPTY;
        self.seen.each(|part| {
            let vote = part.downcast_ref::<Signed<T>>().filter(|vote| vote.valid() && ***vote == *body);
            let cert = part.downcast_ref::<Cert<T>>().filter(|cert| cert.valid() && ***cert == *body);
            vote.into_iter().for_each(|vote| voters = voters.or(NodeSet::one(vote.signer())));
            cert.into_iter().for_each(|cert| voters = voters.or(cert.voters()));
        });
        (!voters.is_empty()).then(|| Cert::new(body.clone(), voters))
    }

    /// The votes seen for a body that has no certificate, of those bodies the one with the most, the latest if several have.
    pub(super) fn uncertified<T: Part + PartialEq>(&self, but: &T) -> Option<Cert<T>> {
        let mut voted: Vec<(T, NodeSet)> = Vec::new();
        let mut certified: Vec<T> = Vec::new();
        self.seen.each(|part| {
            if let Some(vote) = part.downcast_ref::<Signed<T>>().filter(|vote| vote.valid()) {
                match voted.iter_mut().find(|(body, _)| *body == **vote) {
                    Some((_, voters)) => *voters = voters.or(NodeSet::one(vote.signer())),
                    None => voted.push((T::clone(vote), NodeSet::one(vote.signer()))),
                }
            } else if let Some(cert) = part.downcast_ref::<Cert<T>>()
                && !certified.contains(cert)
            {
                certified.push(T::clone(cert));
            }
        });
        let open = voted.into_iter().filter(|(body, _)| body != but && !certified.contains(body));
        let (body, voters) = open.rev().max_by_key(|(_, voters)| voters.len())?;
        Some(Cert::new(body, voters))
    }
}

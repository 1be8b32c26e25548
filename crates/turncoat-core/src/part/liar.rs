//! The liar: what it knows, and what it can sign.

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
}

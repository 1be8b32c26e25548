//! Lies that change several fields of a message at once, so that they fit together.

use turncoat_core::prelude::*;

use super::messages::{Certificate, Msg, PrePrepare};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    Special::small("pre-prepare", ".request=other+digest", |msg, liar| {
        let Msg::PrePrepare(m) = msg else { return false };
        let other = liar.another_request(m.request.as_ref());
        other.is_some_and(|request| propose(m, request, liar))
    }),
    Special::small("pre-prepare", ".request=invented+digest", |msg, liar| {
        let Msg::PrePrepare(m) = msg else { return false };
        let Some(request) = m.request else { return false };
        let invented = Request { op: request.op.nudged(), ..*request };
        propose(m, liar.sign(request.client, invented), liar)
    }),
    // A certificate that beats all others, for a number that has one, or for the first.
    Special::small("view-change", ".prepared=invented", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        let last = m.prepared.last().map(|cert| &cert.pre_prepare);
        let (seq, present) = last.map_or((m.h.next(), None), |pp| (pp.seq, pp.request));
        let Some(request) = liar.another_request(present.as_ref()) else { return false };
        let pp = PrePrepare { view: m.view, seq, digest: request.digest(), request: Some(request) };
        let votes = liar.certify(pp.vote(), NodeSet::replicas(liar.n));
        let leader = NodeId::replica(m.view.0 as usize % liar.n);
        let cert = Certificate { pre_prepare: liar.sign(leader, pp), votes };
        liar.edit(Arc::make_mut(m), |m| {
            m.prepared.retain(|known| known.pre_prepare.seq != seq);
            m.prepared.push(cert);
        })
    }),
    Special::small("new-view", ".pre-prepares.first=other+digest", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let Some(first) = m.pre_prepares.first() else { return false };
        let Some(request) = liar.another_request(first.request.as_ref()) else { return false };
        liar.edit(Arc::make_mut(m), |m| _ = propose(&mut m.pre_prepares[0], request, liar))
    }),
];

/// Proposes `request` in the place of what `m` proposes.
fn propose(m: &mut Signed<PrePrepare>, request: Signed<Request>, liar: &Liar<'_>) -> bool {
    liar.edit(m, |m| (m.digest, m.request) = (request.digest(), Some(request)))
}

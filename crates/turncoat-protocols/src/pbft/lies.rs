//! Lies that change several fields of a message at once, so that they fit together.

use turncoat_core::prelude::*;

use super::messages::{Certificate, Msg, PrePrepare, Voted};

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
    // ByzzFuzz's Table 1 has a number n in NEW-VIEW. The message has those of its proposals alone: all move by as much.
    Special::small("new-view", ".pre-prepares.seq+1", |msg, liar| renumber(msg, liar, |n| n.checked_add(1)))
        .by_name_only(),
    Special::small("new-view", ".pre-prepares.seq-1", |msg, liar| renumber(msg, liar, |n| n.checked_sub(1)))
        .by_name_only(),
    Special::small("new-view", ".pre-prepares.seq=any", |msg, liar| {
        let by = liar.rng.below(u32::MAX);
        renumber(msg, liar, |n| Some(n.wrapping_add(by)))
    })
    .of_any_scope()
    .by_name_only(),
];

/// The proposals that votes for a view call for: above the latest checkpoint among them the request whose certificate has
/// the highest view, or null. The liar signs them: a NEW-VIEW of another it could not change.
pub(super) fn proposals(view: View, votes: &[Voted], liar: &Liar<'_>) -> Option<Vec<Signed<PrePrepare>>> {
    let leader = liar.keys.iter().next()?;
    let low = votes.iter().map(|vote| vote.h).max().unwrap_or(Slot(0));
    let certificates = || votes.iter().flat_map(|vote| &vote.prepared).map(|cert| &cert.pre_prepare);
    let high = certificates().map(|m| m.seq).max().unwrap_or(low);
    let propose = |seq: Slot| {
        let best = certificates().filter(|m| m.seq == seq).max_by_key(|m| m.view);
        let (digest, request) = best.map_or((Digest::NULL, None), |m| (m.digest, m.request));
        liar.sign(leader, PrePrepare { view, seq, digest, request })
    };
    // A lie about numbers may call for as many as there are numbers.
    let near = high.0.saturating_sub(low.0) <= 1000;
    near.then(|| (low.0..high.0).map(|before| propose(Slot(before + 1))).collect())
}

/// Gives the proposals of a NEW-VIEW other numbers.
fn renumber(msg: &mut Msg, liar: &Liar<'_>, number: impl Fn(u32) -> Option<u32>) -> bool {
    let Msg::NewView(m) = msg else { return false };
    let seqs: Option<Vec<u32>> = m.pre_prepares.iter().map(|pre_prepare| number(pre_prepare.seq.0)).collect();
    let Some(seqs) = seqs.filter(|seqs| !seqs.is_empty()) else { return false };
    liar.edit(Arc::make_mut(m), |m| {
        for (pre_prepare, seq) in m.pre_prepares.iter_mut().zip(seqs) {
            liar.edit(pre_prepare, |m| m.seq = Slot(seq));
        }
    })
}

/// Proposes `request` in the place of what `m` proposes.
fn propose(m: &mut Signed<PrePrepare>, request: Signed<Request>, liar: &Liar<'_>) -> bool {
    liar.edit(m, |m| (m.digest, m.request) = (request.digest(), Some(request)))
}

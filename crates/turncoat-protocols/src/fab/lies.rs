//! Lies that no single field gives.

use turncoat_core::prelude::*;

use super::messages::{Acceptance, Accepted, Msg, Report, Value};

/// What a progress certificate reports of the latest view.
pub(super) fn latest(pc: &[Report], seq: Slot) -> Option<Value> {
    let accepted = pc.iter().filter(|rep| rep.seq == seq).filter_map(|rep| rep.accepted);
    accepted.max_by_key(|accepted| accepted.view).map(|accepted| accepted.value)
}

pub(super) const SPECIALS: &[Special<Msg>] = &[
    // One REP in the place of another.
    Special::small("propose", ".pc=duplicate", |msg, liar| {
        let Msg::Propose(m) = msg else { return false };
        let Some(first) = m.pc.first().filter(|_| m.pc.len() > 1).cloned() else { return false };
        liar.edit(Arc::make_mut(m), |m| {
            let pc = Arc::make_mut(&mut m.pc);
            pc.pop();
            pc.push(first);
        })
    }),
    // Another value, and nothing that forbids it.
    Special::small("propose", ".value=other+pc=none", |msg, liar| {
        let Msg::Propose(m) = msg else { return false };
        let Some(value) = liar.another_request(Some(&m.value)) else { return false };
        !m.pc.is_empty() && liar.edit(Arc::make_mut(m), |m| (m.value, m.pc) = (value, Arc::default()))
    }),
    // Another value, in the view that a liar likes best, and nothing that speaks against it.
    Special::small("rep", ".accepted=other+proof=none", |msg, liar| {
        let Msg::Rep(m) = msg else { return false };
        let (view, present) = (View(m.view.0.saturating_sub(1)), m.accepted.map(|own| own.value));
        let Some(value) = liar.another_request(present.as_ref()) else { return false };
        let accepted = Some(Acceptance { value, view });
        liar.edit(Arc::make_mut(m), |m| (m.accepted, m.proof) = (accepted, None))
    }),
    // A proof that nobody has signed.
    Special::small("rep", ".proof=made-up", |msg, liar| {
        let Msg::Rep(m) = msg else { return false };
        let Some(value) = liar.another_request(None) else { return false };
        let made_up = Accepted { view: View(m.view.0.saturating_sub(1)), seq: m.seq, value };
        let proof = Arc::new(liar.certify(made_up, NodeSet::replicas(liar.n)));
        liar.edit(Arc::make_mut(m), |m| m.proof = Some(proof))
    }),
];

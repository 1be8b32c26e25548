//! G(V): what follows from 2f+1 VIEW-CHANGEs for the log of the new view.

use turncoat_core::prelude::*;

use super::messages::{Checkpoint, OrderReq, ViewChange, Voted};
use super::replica::Replica;
use crate::slips::slip;

/// The log of a new view above the latest checkpoint among the votes.
pub(super) struct Start {
    /// The proof of that checkpoint (min-s); none at the beginning.
    pub(super) proof: Option<Cert<Checkpoint>>,
    /// G: the slots after it.
    pub(super) orders: Vec<OrderReq>,
}

impl Start {
    /// Where G starts: the slot before it, and the history up to there.
    pub(super) fn base(&self) -> (Slot, Digest) {
        self.proof.as_ref().map_or((Slot(0), Digest::NULL), |proof| (proof.seq, proof.history))
    }

    /// Where the log ends: its last slot, and its history.
    pub(super) fn end(&self) -> (Slot, Digest) {
        self.orders.last().map_or(self.base(), |order| (order.seq, order.history))
    }
}

impl Replica {
    /// G for the view `w`: slot by slot from min-s on, to the last slot that anybody reports (max-s).
    pub(super) fn carry_over(&self, w: View, votes: &[Voted], weak: usize) -> Start {
        let (flags, xor) = (self.config.flags, self.config.flags.xor_history);
        let proof = votes.iter().max_by_key(|vote| vote.s).and_then(|vote| vote.proof.clone());
        let max_s = votes.iter().map(|vote| vote.s.0 + vote.orders.len() as u32).max().unwrap_or(0);
        let mut start = Start { proof, orders: Vec::new() };
        let followed = if flags.cc_ignores_view { highest_number(votes) } else { None };
        loop {
            let (last, history) = start.end();
            let seq = last.next();
            if seq.0 > max_s {
                return start;
            }
            let chosen = match followed {
                // As published: up to max-cc the log of who holds that certificate, then f+1 reports.
                Some((leading, max_cc)) if seq <= max_cc => leading.at(seq),
                _ if flags.cc_ignores_view => reported(votes, seq, history, weak).map(|(_, order)| order),
                // Corrected: the certificate or the f+1 reports of the highest view; if equal, the certificate.
                _ => {
                    let certified = certified(votes, seq, history);
                    let reported = reported(votes, seq, history, weak);
                    let view = |found: Option<(View, _)>| found.map(|(view, _): (View, &OrderReq)| view);
                    let best = if view(certified) >= view(reported) { certified } else { reported };
                    best.map(|(_, order)| order)
                }
            };
            // None: null.
            let request = chosen.and_then(|order| order.request);
            start.orders.push(OrderReq::new(w, seq, history, request, xor));
        }
    }
}

/// What the certificate of the highest view says about a slot, if it reaches there and extends the history so far.
fn certified(votes: &[Voted], seq: Slot, history: Digest) -> Option<(View, &OrderReq)> {
    let covering = votes.iter().filter_map(|vote| {
        let cert = vote.cert.as_ref().filter(|cert| cert.seq >= seq)?;
        let order = vote.at(seq).filter(|order| order.parent == history)?;
        Some((cert.view, order))
    });
    covering.max_by_key(|(view, _)| *view)
}

/// The request that at least f+1 votes have in a slot on top of the history so far, and the (f+1)-th highest view in which
/// they have taken it over. There is one at the most.
fn reported(votes: &[Voted], seq: Slot, history: Digest, weak: usize) -> Option<(View, &OrderReq)> {
    let reports = || votes.iter().filter_map(|vote| vote.at(seq)).filter(|order| order.parent == history);
    reports().find_map(|order| {
        let same = reports().filter(|other| other.digest == order.digest);
        let mut views: Vec<View> = same.map(|other| other.view).collect();
        views.sort_unstable_by_key(|&view| std::cmp::Reverse(view));
        let need = if slip!("zyzzyva/reports-of-a-quorum") { 2 * weak - 1 } else { weak };
        views.get(need - 1).map(|&view| (view, order))
    })
}

/// Who has the certificate for the highest number (max-cc), and that number. If several are equal, the one of the lowest
/// view: that is the one that does harm.
fn highest_number(votes: &[Voted]) -> Option<(&ViewChange, Slot)> {
    let rank = |vote: &&Voted| vote.cert.as_ref().map(|cert| (cert.seq, std::cmp::Reverse(cert.view)));
    let best = votes.iter().filter(|vote| vote.cert.is_some()).max_by_key(rank)?;
    Some((&***best, best.cert.as_ref()?.seq))
}

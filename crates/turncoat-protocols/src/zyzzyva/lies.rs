//! Lies that change several fields of a message at once, so that they fit together.

use turncoat_core::prelude::*;

use super::messages::{Claim, Msg, Order, OrderReq, Voted, chain};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    Special::small("order-req", ".request=other+history", |msg, liar| {
        let Msg::OrderReq(m) = msg else { return false };
        let other = liar.another_request(m.request.as_ref());
        other.is_some_and(|request| rewrite(m, liar, |m| m.request = Some(request)))
    }),
    Special::small("order-req", ".history=previous", |msg, liar| {
        let Msg::OrderReq(m) = msg else { return false };
        liar.edit(Arc::make_mut(m), |m| m.history = m.parent)
    }),
    // The number before, and what the history would be if nothing were before it.
    Special::small("order-req", ".seq-1+history=first", |msg, liar| {
        let Msg::OrderReq(m) = msg else { return false };
        let before = m.seq.0.saturating_sub(1);
        before > 0 && rewrite(m, liar, |m| (m.seq, m.parent) = (Slot(before), Digest::NULL))
    }),
    Special::small("spec-response", ".order.history=previous", |msg, liar| {
        let Msg::SpecResponse(m) = msg else { return false };
        let Some(order) = &mut m.order else { return false };
        liar.edit(Arc::make_mut(order), |order| order.history = order.parent)
    }),
    Special::small("view-change", ".orders.swap", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        let Some(last) = m.orders.len().checked_sub(1).filter(|&last| last > 0) else { return false };
        let (first, second) = (m.orders[0].request, m.orders[last].request);
        revise(m, liar, |orders| {
            rewrite(&mut orders[0], liar, |order| order.request = second);
            rewrite(&mut orders[last], liar, |order| order.request = first);
        })
    }),
    Special::small("view-change", ".orders.first=other+history", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        let Some(request) = m.orders.first().map(|order| order.request) else { return false };
        let Some(other) = liar.another_request(request.as_ref()) else { return false };
        revise(m, liar, |orders| _ = rewrite(&mut orders[0], liar, |order| order.request = Some(other)))
    }),
    Special::small("view-change", ".cert+orders=none", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        m.cert.is_some() && revise(m, liar, Vec::clear)
    }),
    // As if its sender had never entered its view: an old certificate, and the log behind it.
    Special::recalled("view-change", ".cert+orders=older", |msg, earlier, liar| {
        let (Msg::ViewChange(m), Msg::ViewChange(old)) = (msg, earlier) else { return false };
        let older = old.view < m.view && old.cert.is_some();
        older
            && liar.edit(Arc::make_mut(m), |m| {
                (m.s, m.proof, m.cert) = (old.s, old.proof.clone(), old.cert.clone());
                m.orders.clone_from(&old.orders);
            })
    }),
    Special::small("new-view", ".orders.last=other+history", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let Some(request) = m.orders.last().map(|order| order.request) else { return false };
        let Some(other) = liar.another_request(request.as_ref()) else { return false };
        liar.edit(Arc::make_mut(m), |m| rewrite_last(&mut m.orders, Some(other), liar))
    }),
    Special::small("new-view", ".orders.last=null", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let any = m.orders.last().is_some_and(|order| order.request.is_some());
        any && liar.edit(Arc::make_mut(m), |m| rewrite_last(&mut m.orders, None, liar))
    }),
];

/// Changes an order, and signs it again as far as the liar can; digest and history are made to fit, in the way in which they
/// did before.
fn rewrite(order: &mut Order, liar: &Liar<'_>, edit: impl FnOnce(&mut OrderReq)) -> bool {
    liar.edit(Arc::make_mut(order), |order| {
        let xor = order.history == chain(order.parent, order.digest, true);
        edit(order);
        *order = OrderReq::new(order.view, order.seq, order.parent, order.request, xor);
    })
}

fn rewrite_last(orders: &mut [Order], request: Option<Signed<Request>>, liar: &Liar<'_>) {
    if let Some(last) = orders.last_mut() {
        rewrite(last, liar, |order| order.request = request);
    }
}

/// Changes the log of a vote. Histories are made to fit, and a certificate that does not fit any longer is left out: who
/// shows it with another log is not believed.
fn revise(m: &mut Voted, liar: &Liar<'_>, edit: impl FnOnce(&mut Vec<Order>)) -> bool {
    liar.edit(Arc::make_mut(m), |m| {
        edit(&mut m.orders);
        rechain(&mut m.orders, liar);
        let fits = |cert: &Cert<Claim>| m.at(cert.seq).is_some_and(|order| order.history == cert.history);
        if !m.cert.as_ref().is_some_and(fits) {
            m.cert = None;
        }
    })
}

/// Makes the histories of a log fit again.
fn rechain(orders: &mut [Order], liar: &Liar<'_>) {
    for i in 1..orders.len() {
        let history = orders[i - 1].history;
        if orders[i].parent != history {
            rewrite(&mut orders[i], liar, |order| order.parent = history);
        }
    }
}

//! Lies that change several fields of a message at once, so that they fit together.

use turncoat_core::prelude::*;

use super::messages::{Msg, Placed, digest};

pub(super) const SPECIALS: &[Special<Msg>] = &[
    Special::small("prepare", ".request=other+digest", |msg, liar| {
        let Msg::Prepare(m) = msg else { return false };
        let Some(request) = liar.another_request(Some(&m.request)) else { return false };
        liar.edit(Arc::make_mut(m), |m| (m.digest, m.request) = (request.digest(), request))
    }),
    Special::small("commit", ".request=other+digest", |msg, liar| {
        let Msg::Commit(m) = msg else { return false };
        let Some(request) = liar.another_request(m.request.as_ref()) else { return false };
        liar.edit(m, |m| (m.digest, m.request) = (request.digest(), Some(request)))
    }),
    Special::small("commit", ".request=null+digest", |msg, liar| {
        let Msg::Commit(m) = msg else { return false };
        m.request.is_some() && liar.edit(m, |m| (m.digest, m.request) = (digest(&None), None))
    }),
    // One vote in the place of another.
    Special::small("new-view", ".votes=duplicate", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let Some(first) = m.votes.first().filter(|_| m.votes.len() > 1).cloned() else { return false };
        liar.edit(Arc::make_mut(m), |m| {
            m.votes.pop();
            m.votes.push(first);
        })
    }),
    Special::small("new-view", ".history.append-null", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let seq = m.history.last().map_or(Slot(1), |placed| placed.seq.next());
        liar.edit(Arc::make_mut(m), |m| Arc::make_mut(&mut m.history).push(Placed { seq, request: None }))
    }),
    // The votes of a view change for something else, in the view that a liar likes best.
    Special::small("view-change", ".accepted.last=other+view", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        let Some(last) = m.accepted.last() else { return false };
        let (view, present) = (View(m.view.0.saturating_sub(1)), last.request);
        let Some(request) = liar.another_request(present.as_ref()) else { return false };
        liar.edit(Arc::make_mut(m), |m| {
            if let Some(last) = m.accepted.last_mut() {
                (last.request, last.view) = (Some(request), view);
            }
        })
    }),
];

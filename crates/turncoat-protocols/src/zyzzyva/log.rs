//! What a replica has executed: speculatively, and up to a stable checkpoint for good.

use turncoat_core::prelude::*;

use super::messages::{Order, chain};

/// What stands in a slot.
#[derive(Clone, Debug, Hash, Serialize)]
pub(super) struct Entry {
    /// The request; none is null.
    pub(super) request: Option<Signed<Request>>,
    /// h_n.
    pub(super) history: Digest,
    /// The state of the service afterwards, which is the result.
    pub(super) result: u64,
    /// Who has put it there, and in which view it was taken over last. Forgotten below a stable checkpoint.
    pub(super) order: Option<Order>,
}

/// The slots from 1 on, without gaps.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Log {
    entries: Vec<Entry>,
    /// Up to here it is final.
    committed: Slot,
}

impl Log {
    /// maxN.
    pub(super) fn last(&self) -> Slot {
        Slot(self.entries.len() as u32)
    }

    /// The last slot that is final.
    pub(super) const fn committed(&self) -> Slot {
        self.committed
    }

    pub(super) fn get(&self, seq: Slot) -> Option<&Entry> {
        self.entries.get((seq.0 as usize).wrapping_sub(1))
    }

    /// h_n, if the log reaches there.
    pub(super) fn history(&self, seq: Slot) -> Option<Digest> {
        if seq == Slot(0) { Some(Digest::NULL) } else { self.get(seq).map(|entry| entry.history) }
    }

    /// The history of the whole log.
    pub(super) fn head(&self) -> Digest {
        self.entries.last().map_or(Digest::NULL, |entry| entry.history)
    }

    /// The slots after one.
    pub(super) fn above(&self, seq: Slot) -> &[Entry] {
        self.entries.get(seq.0 as usize..).unwrap_or_default()
    }

    /// The requests up to a slot, if the log reaches there.
    pub(super) fn requests(&self, upto: Slot) -> Option<Vec<Option<Signed<Request>>>> {
        Some(self.entries.get(..upto.0 as usize)?.iter().map(|entry| entry.request).collect())
    }

    /// Executes a request, or null, in the next slot.
    pub(super) fn push(
        &mut self,
        request: Option<Signed<Request>>,
        order: Option<Order>,
        xor: bool,
        cx: &mut super::Cx<'_>,
    ) {
        let digest = request.as_ref().map_or(Digest::NULL, |request| request.digest());
        let (parent, seq) = (self.head(), self.last().next());
        let history = chain(parent, digest, xor);
        let mut service = Register(self.entries.last().map_or(0, |entry| entry.result));
        if let Some(request) = &request {
            service.operate(request.op.as_str());
        }
        cx.block(history, parent);
        cx.note(|| match &request {
            Some(request) => {
                format!("executes {} in slot {seq}, speculatively: history {history}", request.op)
            }
            None => format!("puts null into slot {seq}, speculatively: history {history}"),
        });
        self.entries.push(Entry { request, history, result: service.0, order });
    }

    /// The same entry was ordered again in a new view.
    pub(super) fn adopt(&mut self, order: &Order) {
        if let Some(entry) = self.entries.get_mut(order.seq.0 as usize - 1) {
            entry.order = Some(order.clone());
        }
    }

    /// Takes back everything after a slot; says whether there was anything. What was final by mistake is so no longer.
    pub(super) fn roll_back(&mut self, to: Slot, cx: &mut super::Cx<'_>) -> bool {
        let any = self.last() > to;
        if any {
            cx.mark("rollback");
            cx.note(|| format!("takes back slots {} to {}", to.next(), self.last()));
            self.entries.truncate(to.0 as usize);
            self.committed = self.committed.min(to);
        }
        any
    }

    /// Everything up to a slot is final. Its value is h_n, and so everything before it.
    pub(super) fn commit(&mut self, upto: Slot, grounds: Grounds, cx: &mut super::Cx<'_>) {
        while self.committed < upto.min(self.last()) {
            self.committed = self.committed.next();
            let entry = &self.entries[self.committed.0 as usize - 1];
            let request = entry.request.as_deref().copied();
            cx.commit(self.committed, entry.history, request.as_slice(), grounds.upto(upto));
        }
    }

    /// Forgets who has ordered what, up to a slot.
    pub(super) fn forget_orders(&mut self, upto: Slot) {
        let passed = self.entries.iter_mut().take(upto.0 as usize).rev();
        passed.take_while(|entry| entry.order.is_some()).for_each(|entry| entry.order = None);
    }
}

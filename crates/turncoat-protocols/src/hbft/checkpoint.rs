//! Checkpoints in three phases (R3, R4).

use turncoat_core::prelude::*;

use super::messages::{Accepted, Cer2, Checkpoint, Msg, Placed, Placement, is_genuine};
use super::replica::Replica;
use super::{Cx, Timer};

/// What was said about the checkpoint of one slot in one view.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Round {
    first: Option<Checkpoint<'1'>>,
    second: Ballots<Checkpoint<'2'>>,
    third: Ballots<Checkpoint<'3'>>,
    /// Whether this replica has sent CHECKPOINT-II, and -III.
    sent: [bool; 2],
}

/// The history that a quorum agrees on, with those who do. `last` has come last: what `v2_skip_digest` takes.
fn agreed<const PHASE: char>(
    votes: &Ballots<Checkpoint<PHASE>>,
    quorum: usize,
    last: &Checkpoint<PHASE>,
    skip_digest: bool,
) -> Option<(Checkpoint<PHASE>, NodeSet)> {
    if skip_digest {
        let genuine = last.history.iter().all(|placed| is_genuine(&placed.request));
        return (genuine && votes.seen().len() >= quorum).then(|| (last.clone(), votes.seen()));
    }
    votes.winner(quorum).map(|(checkpoint, voters)| (checkpoint.clone(), voters))
}

impl Replica {
    /// The view that checkpoints are of.
    const fn checkpoint_view(&self) -> View {
        if self.config.flags.checkpoint_without_view { View(0) } else { self.view }
    }

    /// Whether it votes for checkpoints. Who wants a new view has said what it has: nothing may be added to that.
    const fn votes_for_checkpoints(&self) -> bool {
        !self.changing || self.config.flags.changing_votes_checkpoint
    }

    /// What it has in the slots from 1 on.
    pub(super) fn slots(&self) -> impl Iterator<Item = Placed> {
        let stable = self.stable.iter().flat_map(|stable| stable.history.iter().copied());
        stable.chain(self.spec.values().map(|own| Placed { seq: own.seq, request: own.request }))
    }

    /// What it has committed, without NULLs (`commit_log`).
    fn committed_slots(&self) -> impl Iterator<Item = Placed> {
        let entries = self.log.iter().filter(|(_, request)| request.is_some());
        entries.map(|(&seq, &request)| Placed { seq, request })
    }

    // --- CHECKPOINT-I (R3) ------------------------------------------------------------------------------------

    /// The primary starts the checkpoint of a slot, the others wait for it.
    pub(super) fn checkpoint_is_due(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        if cx.leads(self.view) {
            self.start_checkpoint(seq, cx);
        } else {
            self.await_checkpoint(seq, cx);
        }
    }

    /// The primary sends its history up to a slot, once.
    pub(super) fn start_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let m = match self.config.flags.commit_log {
            true => self.of_commit_log(),
            false => {
                let history = self.slots().take_while(|placed| placed.seq <= seq).collect();
                Checkpoint { view: self.view, seq, history: Arc::new(history) }
            }
        };
        if self.checkpoint.as_ref().is_none_or(|last| last.seq < m.seq) {
            cx.to_others(Msg::CheckpointI(cx.sign(m.clone())));
            self.agree(m, cx);
        }
    }

    fn of_commit_log(&self) -> Checkpoint<'1'> {
        let history: Vec<Placed> = self.committed_slots().collect();
        let seq = history.last().map_or(Slot(0), |placed| placed.seq);
        Checkpoint { view: self.view, seq, history: Arc::new(history) }
    }

    pub(super) fn on_checkpoint_i(&mut self, m: &Signed<Checkpoint<'1'>>, cx: &mut Cx<'_>) {
        let now = m.view == self.view && self.votes_for_checkpoints();
        let wanted = m.view >= self.view && m.is_by(cx.leader(m.view)) && !m.is_by(cx.me());
        if wanted && (now || !self.config.flags.early_dropped) {
            let round = self.rounds.entry(m.view).or_default().entry(m.seq).or_default();
            round.first.get_or_insert_with(|| Checkpoint::clone(m));
            if m.view == self.view {
                self.take_checkpoint(m.seq, cx);
            }
        }
    }

    /// A backup takes the slots that it lacks as proposals of the primary, and compares the rest: the same, and it sends
    /// CHECKPOINT-II; another, and the primary lies. It may be further than the checkpoint itself.
    fn take_checkpoint(&mut self, seq: Slot, cx: &mut Cx<'_>) {
        let Some(round) = self.rounds.get(&self.view).and_then(|rounds| rounds.get(&seq)) else { return };
        let Some(m) = round.first.clone().filter(|_| !round.sent[0]) else { return };
        // A correct primary's are no older than its NEW-VIEW; so a later CER1 covers all that an earlier one does.
        if seq < self.low().max(self.adopted) || !self.votes_for_checkpoints() {
            return;
        }
        if !self.config.flags.commit_log {
            self.take_missing(&m, cx);
        }
        if self.votes_for_checkpoints() {
            match self.has_history(&m) {
                true => self.agree(m, cx),
                false => self.start_view_change(self.view.next(), cx),
            }
        }
    }

    fn take_missing(&mut self, m: &Checkpoint<'1'>, cx: &mut Cx<'_>) {
        let high = Slot(self.low().0.saturating_add(self.config.window));
        let missing =
            m.history.iter().filter(|placed| placed.seq > self.seq && placed.seq <= m.seq.min(high));
        for placed in missing.filter(|placed| is_genuine(&placed.request)) {
            let facts = self.facts.entry(self.view).or_default().entry(placed.seq).or_default();
            facts.proposal.get_or_insert(placed.request);
        }
        self.advance(cx);
    }

    /// Whether it has this history up to this slot.
    fn has_history(&self, m: &Checkpoint<'1'>) -> bool {
        let flags = self.config.flags;
        match flags.commit_log {
            true => {
                let own = self.of_commit_log();
                own.seq == m.seq && (own.history == m.history || flags.v2_skip_digest)
            }
            false => {
                let own = self.slots().take_while(|placed| placed.seq <= m.seq);
                m.seq <= self.seq && (own.eq(m.history.iter().copied()) || flags.v2_skip_digest)
            }
        }
    }

    /// Accepts the CHECKPOINT-I of this view; the primary's own too, and a NEW-VIEW.
    fn agree(&mut self, m: Checkpoint<'1'>, cx: &mut Cx<'_>) {
        cx.cancel_timer(Timer::Panic);
        self.panics = NodeSet::EMPTY;
        if self.config.flags.checkpoint_timer_ends_early {
            self.await_no_checkpoint(cx);
        } else if !self.changing {
            self.await_checkpoint(m.seq, cx);
        }
        self.rounds.entry(self.view).or_default().entry(m.seq).or_default().sent[0] = true;
        let vote = Checkpoint { view: self.checkpoint_view(), ..m.next() };
        cx.broadcast(Msg::CheckpointIi(cx.sign(vote)));
        self.checkpoint = Some(m);
    }

    /// A NEW-VIEW is a CHECKPOINT-I. What has come for this view before is looked at again.
    pub(super) fn begin_with_checkpoint(&mut self, m: Checkpoint<'1'>, cx: &mut Cx<'_>) {
        match self.has_history(&m) {
            true => self.agree(m, cx),
            false => self.start_view_change(self.view.next(), cx),
        }
        let rounds = self.rounds.get(&self.view).into_iter().flatten();
        let early: Vec<_> =
            rounds.map(|(&seq, round)| (seq, round.second.iter().next().map(|(m, _)| m.clone()))).collect();
        for (seq, vote) in early {
            self.take_checkpoint(seq, cx);
            if let Some(vote) = vote {
                self.certify(&vote, cx);
            }
        }
    }

    /// Of earlier views only CHECKPOINT-III still count.
    pub(super) fn forget_checkpoints(&mut self) {
        let view = self.checkpoint_view();
        for rounds in self.rounds.range_mut(..view).map(|(_, rounds)| rounds) {
            rounds.retain(|_, round| !round.third.seen().is_empty());
            for round in rounds.values_mut() {
                *round = Round { third: std::mem::take(&mut round.third), ..Round::default() };
            }
        }
        self.rounds.retain(|_, rounds| !rounds.is_empty());
    }

    // --- CHECKPOINT-II: CER1; CHECKPOINT-III: CER2 (R4) -------------------------------------------------------

    pub(super) fn on_checkpoint_ii(&mut self, m: &Signed<Checkpoint<'2'>>, cx: &mut Cx<'_>) {
        let wanted = m.view >= self.view || m.view == self.checkpoint_view();
        if wanted && m.seq >= self.low() {
            self.rounds.entry(m.view).or_default().entry(m.seq).or_default().second.add(m);
            self.certify(m, cx);
        }
    }

    /// CER1, a quorum of equal CHECKPOINT-II of this view: it is P from now on. It fills slots and commits nothing.
    fn certify(&mut self, last: &Checkpoint<'2'>, cx: &mut Cx<'_>) {
        let flags = self.config.flags;
        let (view, seq) = (last.view, last.seq);
        let old = seq < self.low().max(self.adopted);
        if view != self.checkpoint_view() || old || !self.votes_for_checkpoints() {
            return;
        }
        let Some(round) = self.rounds.get_mut(&view).and_then(|rounds| rounds.get_mut(&seq)) else { return };
        let quorum = self.config.quorum(cx.cluster());
        let Some((cer1, voters)) = agreed(&round.second, quorum, last, flags.v2_skip_digest) else { return };
        if std::mem::replace(&mut round.sent[1], true) {
            return;
        }
        if self.certified.as_ref().is_none_or(|known| (known.view, known.seq) <= (view, seq)) {
            self.certified = Some(round.second.cert(&cer1, cx.cluster().replicas()));
            self.certified_in = self.view;
        }
        cx.broadcast(Msg::CheckpointIii(cx.sign(cer1.next())));
        self.fill(&cer1.history, cx);
        if flags.cer1_commits {
            let grounds = Grounds::votes("checkpoint-ii", view, voters).upto(seq).by_own_rule();
            cer1.history.iter().for_each(|placed| self.commit(placed.seq, placed.request, grounds, cx));
        }
    }

    /// Accepts the slots that it lacks, in order.
    fn fill(&mut self, history: &Placement, cx: &mut Cx<'_>) {
        if self.config.flags.checkpoint_over_hole {
            self.fill_over_holes(history);
        }
        for placed in history.iter() {
            if placed.seq == self.seq.next() {
                self.accept(placed.seq, placed.request, cx);
            }
        }
        self.advance(cx);
    }

    /// What `checkpoint_over_hole` does first: whatever it lacks is accepted where it stands, without a COMMIT.
    fn fill_over_holes(&mut self, history: &Placement) {
        let (low, view) = (self.low(), self.view);
        for &Placed { seq, request } in history.iter().filter(|placed| placed.seq > low) {
            self.spec.entry(seq).or_insert(Accepted { seq, request, view });
        }
        self.raise_seq();
    }

    pub(super) fn on_checkpoint_iii(&mut self, m: &Signed<Checkpoint<'3'>>, cx: &mut Cx<'_>) {
        if m.seq <= self.low() {
            return;
        }
        let flags = self.config.flags;
        let round = self.rounds.entry(m.view).or_default().entry(m.seq).or_default();
        round.third.add(m);
        // CER2, a quorum of equal CHECKPOINT-III of any view.
        let quorum = self.config.quorum(cx.cluster());
        let Some((cer2, voters)) = agreed(&round.third, quorum, m, flags.v2_skip_digest) else { return };
        let proof = round.third.cert(&cer2, cx.cluster().replicas());
        self.panicked = false;
        self.changing &= !flags.leave_disgruntled_on_checkpoint;
        let grounds = Grounds::votes("checkpoint-iii", proof.view, voters);
        self.stabilise(proof, grounds, cx);
    }

    /// A later checkpoint is decided: its history is committed, and what stood in its slots is forgotten.
    pub(super) fn stabilise(&mut self, cer2: Cer2, grounds: Grounds, cx: &mut Cx<'_>) {
        let low = cer2.seq;
        if low <= self.low() {
            return;
        }
        cx.mark("stable-checkpoint");
        let own = |placed: &Placed| self.spec.get(&placed.seq).map(|own| own.request);
        let differs = cer2.history.iter().any(|placed| own(placed).is_some_and(|own| own != placed.request));
        if low > self.seq {
            cx.mark("catch-up");
        }
        let grounds = grounds.upto(low).by_own_rule();
        cer2.history.iter().for_each(|placed| self.commit(placed.seq, placed.request, grounds, cx));
        let view = cer2.view;
        self.stable = Some(cer2);
        let mut spec = std::mem::take(&mut self.spec);
        let decided = |request: &Request| self.committed(request).is_some_and(|seq| seq <= low);
        spec.retain(|&seq, own| seq > low && !own.request.is_some_and(|request| decided(&request)));
        self.spec = spec;
        self.raise_seq();
        self.facts.values_mut().for_each(|facts| facts.retain(|&seq, _| seq > low));
        self.rounds.values_mut().for_each(|rounds| rounds.retain(|&seq, _| seq >= low));
        self.due.retain(|&seq| {
            if seq <= low {
                cx.cancel_timer(Timer::Checkpoint(seq));
            }
            seq > low
        });
        if differs && view == self.view {
            self.start_view_change(self.view.next(), cx);
        }
        self.advance(cx);
    }
}

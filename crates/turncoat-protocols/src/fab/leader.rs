//! The leader (3.1, 3.5): proposes until enough proposers are satisfied; a new one asks the acceptors first.

use turncoat_core::prelude::*;

use super::certificate::Vouched;
use super::messages::{Msg, Propose, Report, Satisfied, Value, values};
use super::replica::Replica;
use super::roles::Roles;
use super::{Cx, Timer};

/// What the leader of a view has done in it.
#[derive(Clone, Default, Debug, Hash, Serialize)]
pub(super) struct Leader {
    /// The REPs that have come, in the order in which they came.
    reports: Vec<Report>,
    /// PC: the first a-f of them.
    pc: Option<Arc<Vec<Report>>>,
    /// What it has proposed last. It never changes its mind.
    proposal: Option<Arc<Signed<Propose>>>,
    /// The proposers that are satisfied with that.
    satisfied: NodeSet,
    /// Whether its progress certificate leaves no value.
    stuck: bool,
}

impl Leader {
    /// What a new leader waits for, if it is one.
    pub(super) fn waits(&self, view: View, roles: Roles) -> Option<Waiting> {
        let have = self.reporters();
        let waits = !have.is_empty() && self.pc.is_none();
        waits.then_some(Waiting { kind: "rep", about: About::View(view), have, need: roles.reports() })
    }

    fn reporters(&self) -> NodeSet {
        self.reports.iter().map(|rep| rep.signer()).collect()
    }
}

impl Replica {
    /// If this leader is stuck: what the REPs say that leave it no value.
    pub(super) fn stuck(&self) -> Option<String> {
        let said = |rep: &Report| match (&rep.proof, &rep.accepted) {
            (Some(proof), _) => format!("{} proves {}", rep.signer(), proof.value.digest()),
            (None, Some(accepted)) => format!("{} reports {}", rep.signer(), accepted.value.digest()),
            (None, None) => format!("{} reports nothing", rep.signer()),
        };
        let pc = self.leader.pc.iter().flat_map(|pc| pc.iter());
        self.leader.stuck.then(|| pc.map(said).collect::<Vec<_>>().join(", "))
    }

    /// REP of an acceptor. The first a-f good ones are the progress certificate.
    pub(super) fn on_rep(&mut self, m: &Report, cx: &mut Cx<'_>) {
        let roles = Roles::of(cx.cluster());
        let Leader { reports, pc, .. } = &mut self.leader;
        let late = pc.is_some() && !self.config.flags.leader_retries;
        let known = reports.iter().any(|rep| rep.signer() == m.signer());
        if m.view != self.view || !cx.leads(self.view) || late || known {
            return;
        }
        if !roles.acceptors().contains(m.signer()) || !self.config.is_good_report(m, roles) {
            return;
        }
        reports.push(m.clone());
        if reports.len() >= roles.reports() && pc.is_none() {
            *pc = Some(Arc::new(reports.clone()));
            cx.mark("recovery");
        }
        // The longest prefix in the certificate.
        let longest =
            self.leader.reports.iter().filter_map(|rep| rep.learned.clone()).max_by_key(|l| l.0.len());
        if let Some(known) = longest.filter(|_| self.leader.pc.is_some()) {
            self.adopt(&known, cx);
        }
        self.lead(cx);
    }

    /// Proposes a value for the open instance, unless it has done so: in the first view a request that waits, later what
    /// the progress certificate vouches for.
    pub(super) fn lead(&mut self, cx: &mut Cx<'_>) {
        let seq = self.open();
        let asks = self.view > View(1) && self.leader.pc.is_none();
        let proposed = self.leader.proposal.as_ref().is_some_and(|proposal| proposal.seq >= seq);
        if !cx.leads(self.view) || asks || proposed {
            return;
        }
        let roles = Roles::of(cx.cluster());
        if self.config.flags.leader_retries {
            self.choose_reports(seq, roles);
        }
        let pc = self.leader.pc.clone().unwrap_or_default();
        let value = match self.config.vouched(&pc, seq, roles) {
            Vouched::Only(value) => Some(value),
            Vouched::Any => self.choice(&pc, seq),
            Vouched::Nothing => return self.give_up(cx),
        };
        let Some(value) = value else { return };
        let proposal = Propose { view: self.view, seq, value, pc, learned: self.known.clone() };
        self.leader.proposal = Some(Arc::new(cx.sign(proposal)));
        self.leader.satisfied = NodeSet::EMPTY;
        self.insist(cx);
    }

    /// Any value will do: the one that it has accepted itself, a request that waits, or what anybody has accepted.
    fn choice(&self, pc: &[Report], seq: Slot) -> Option<Value> {
        let known = values(self.known.as_ref());
        let fresh = |value: &Value| !known.iter().any(|other| other.id() == value.id());
        let own = self.acceptor.accepted().map(|own| own.value);
        let reported = pc.iter().filter(|rep| rep.seq == seq).filter_map(|rep| rep.accepted);
        let waiting = self.clients.pending().first().copied();
        own.or(waiting).or_else(|| reported.map(|accepted| accepted.value).find(fresh))
    }

    /// No value is left, and none ever will be in this view.
    fn give_up(&mut self, cx: &mut Cx<'_>) {
        cx.mark("stuck-leader");
        cx.note(|| "is stuck: no value is vouched for".to_owned());
        self.leader.stuck = !self.config.flags.leader_retries;
        cx.examine();
    }

    /// `leader_retries`: another REP in the place of one of the first, if that leaves a value.
    fn choose_reports(&mut self, seq: Slot, roles: Roles) {
        let Some(first) = self.leader.pc.clone() else { return };
        let stuck = |pc: &[Report]| self.config.vouched(pc, seq, roles) == Vouched::Nothing;
        let swapped = self.leader.reports[first.len()..].iter().flat_map(|late| {
            (0..first.len()).map(|i| {
                let mut pc = first.to_vec();
                pc[i] = late.clone();
                pc
            })
        });
        let better = swapped.filter(|_| stuck(&first)).find(|pc| !stuck(pc));
        if let Some(pc) = better {
            self.leader.pc = Some(Arc::new(pc));
        }
    }

    /// SATISFIED of a proposer, with this proposal or a later one.
    pub(super) fn on_satisfied(&mut self, from: NodeId, m: &Satisfied, cx: &mut Cx<'_>) {
        let Some(proposal) = &self.leader.proposal else { return };
        let same = m.seq == proposal.seq && m.digest == proposal.value.digest();
        if (same || m.seq > proposal.seq) && Roles::of(cx.cluster()).proposers().contains(from) {
            self.leader.satisfied.insert(from);
            self.rest_if_done(cx);
        }
    }

    /// Whether the leader has done what it can.
    fn is_done(&self, roles: Roles) -> bool {
        let Leader { proposal, satisfied, pc, .. } = &self.leader;
        match proposal {
            Some(proposal) => proposal.seq < self.open() && satisfied.len() >= roles.most(),
            None => self.view == View(1) || pc.is_some(),
        }
    }

    pub(super) fn rest_if_done(&self, cx: &mut Cx<'_>) {
        if self.leader.proposal.is_some() && self.is_done(Roles::of(cx.cluster())) {
            cx.cancel_timer(Timer::Leader);
        }
    }

    /// Asks, or proposes, as long as it has to.
    pub(super) fn insist(&self, cx: &mut Cx<'_>) {
        if self.is_done(Roles::of(cx.cluster())) {
            return;
        }
        match &self.leader.proposal {
            Some(proposal) => cx.broadcast(Msg::Propose(proposal.clone())),
            None => self.query(cx),
        }
        cx.set_timer(Timer::Leader, self.config.retransmit);
    }
}

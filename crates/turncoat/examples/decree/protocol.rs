//! Single-decree agreement with views and timers: n = 3f+1 replicas agree on one value, in the manner of PBFT.
//!
//! Each view has a leader, which proposes; two rounds of votes follow. If a view takes too long, replicas move to the next one
//! and report what they have prepared, and the new leader has to propose that again.

use std::collections::BTreeMap;

use turncoat::prelude::*;

/// What replicas say. PREPAREs and REPORTs are signed, because others pass them on as proof.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
pub enum Msg {
    /// I have entered this view, and this is what I prepared before.
    #[message(view = m.view, phase = 1, view_change)]
    Report(Signed<Report>),
    /// The leader: let us decide this value. The reports show that we may.
    #[message(view = *view, phase = 2)]
    Propose { view: View, value: Request, reports: Vec<Signed<Report>> },
    /// I have accepted the leader's proposal.
    #[message(view = m.view, phase = 3)]
    Prepare(Signed<Prepare>),
    /// I have seen a quorum of PREPAREs.
    #[message(view = *view, phase = 4)]
    Commit { view: View, value: Request },
}

/// What a replica has prepared, told to the leader of a new view.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Part)]
pub struct Report {
    view: View,
    prepared: Option<Cert<Prepare>>,
}

/// A vote for the proposal of a view.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, Part)]
pub struct Prepare {
    view: View,
    value: Request,
}

flags! {
    /// A bug that can be switched on: `--with forget-prepared`, or `flags` in a scenario's `[protocol]` table.
    pub struct Flags {
        forget_prepared: "a new leader proposes a value of its own, whatever replicas have prepared",
    }
}

config! {
    /// Parameters, with their defaults.
    pub struct Config {
        /// How many ticks view 0 may take; view v gets v+1 times as many.
        pub timeout: Time = Time(100),
        /// The bugs that are switched on.
        pub flags: Flags = Flags::default(),
    }
}

/// The timers. There is only one: it fires when the current view takes too long.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
pub enum Timer {
    View,
}

/// What a replica has heard about one view, and whether it has spoken in it.
#[derive(Clone, Debug, Default, Hash, Serialize)]
struct Heard {
    proposal: Option<Request>,
    prepares: Ballots<Prepare>,
    commits: Votes<Request>,
    proposed: bool,
    voted: bool,
    committed: bool,
}

/// A replica: everything that it remembers.
#[derive(Clone, Debug, Hash, Serialize)]
pub struct Replica {
    config: Config,
    view: View,
    views: BTreeMap<View, Heard>,
    reports: ViewVotes<Signed<Report>>,
    prepared: Option<Cert<Prepare>>,
    decided: bool,
}

impl Node<Decree> for Replica {
    fn on_start(&mut self, cx: &mut Context<'_, Decree>) {
        self.start_view_timer(cx);
        self.advance(cx);
    }

    /// Records what was said, then applies the rules. `from` and signatures cannot be forged; everything else may be a lie.
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Decree>) {
        match msg {
            Msg::Report(report) if report.is_by(from) && sound(report, cx.cluster()) => {
                self.reports.add(from, report.view, report.clone());
            }
            Msg::Propose { view, value, reports } if from == cx.leader(*view) => {
                let elected = *view == View(0) || cx.cluster().elected(reports.iter().map(Signed::signer));
                let sound = reports.iter().all(|report| sound(report, cx.cluster()));
                if elected && sound && self.accepts(from, *view, value, reports) {
                    self.views.entry(*view).or_default().proposal.get_or_insert(*value);
                }
            }
            Msg::Prepare(vote) if vote.is_by(from) => {
                self.views.entry(vote.view).or_default().prepares.add(vote);
            }
            Msg::Commit { view, value } => {
                self.views.entry(*view).or_default().commits.add(from, *value);
            }
            _ => {}
        }
        self.advance(cx);
    }

    /// The view has taken too long.
    fn on_timer(&mut self, Timer::View: Timer, cx: &mut Context<'_, Decree>) {
        self.enter(self.view.next(), cx);
        self.advance(cx);
    }

    /// What it knows and what it is waiting for: `explain` prints this when a run gets stuck.
    fn vitals(&self, cluster: &Cluster) -> Vitals {
        let heard = self.views.get(&self.view).cloned().unwrap_or_default();
        let (kind, have) = match () {
            () if heard.committed => ("commit", heard.commits.seen()),
            () => ("prepare", heard.prepares.seen()),
        };
        let waiting = Waiting { kind, about: About::View(self.view), have, need: cluster.quorum() };
        Vitals {
            view: self.view,
            prepared: self.prepared.as_ref().map(|cert| cert.value.digest()),
            decided: Slot(u32::from(self.decided)),
            waiting: if self.decided { Vec::new() } else { vec![waiting] },
            ..Vitals::default()
        }
    }
    open_state!(); // The state may be copied, shown and hashed.
}

impl Replica {
    /// The rules of the protocol. Each asks whether it applies now, no matter which message came last, and acts once.
    fn advance(&mut self, cx: &mut Context<'_, Decree>) {
        let (quorum, weak) = (cx.cluster().quorum(), cx.cluster().weak());
        // If f+1 replicas have moved on, at least one correct replica has.
        while self.reports.wanting(self.view.next()) >= weak {
            self.enter(self.view.next(), cx);
        }
        let view = self.view;
        let reports = match view {
            View(0) => Some(Vec::new()),
            _ => self.reports.elect(view, cx.me(), quorum),
        };
        let elected = reports.map(|reports| (self.choose(&reports), reports));
        let heard = self.views.entry(view).or_default();
        if let (Some((chosen, reports)), false, true) = (elected, heard.proposed, cx.leads(view)) {
            heard.proposed = true;
            let value = chosen.map_or_else(|| *cx.payload(), |prepared| prepared.value);
            cx.broadcast(Msg::Propose { view, value, reports });
        }
        if let (Some(value), false) = (heard.proposal, heard.voted) {
            heard.voted = true;
            cx.broadcast(Msg::Prepare(cx.sign(Prepare { view, value })));
        }
        if let (Some((&vote, _)), false) = (heard.prepares.winner(quorum), heard.committed) {
            heard.committed = true;
            self.prepared = Some(heard.prepares.cert(&vote, cx.cluster().replicas()));
            cx.broadcast(Msg::Commit { view, value: vote.value });
        }
        // A quorum of COMMITs decides in any view, even in one that this replica has left. Having decided, it keeps taking
        // part, so that slower replicas decide too.
        let mut views = self.views.iter();
        let decision = views.find_map(|(&view, heard)| Some((view, heard.commits.winner(quorum)?)));
        if let (Some((view, (value, voters))), false) = (decision, self.decided) {
            self.decided = true;
            cx.commit(Slot(1), value.digest(), &[*value], Grounds::votes("commit", view, voters));
        }
    }

    /// Enters a view, and reports what was prepared before.
    fn enter(&mut self, view: View, cx: &mut Context<'_, Decree>) {
        self.view = view;
        self.start_view_timer(cx);
        cx.broadcast(Msg::Report(cx.sign(Report { view, prepared: self.prepared.clone() })));
    }

    /// Each view gets more time than the one before it, so that some view is long enough.
    fn start_view_timer(&self, cx: &mut Context<'_, Decree>) {
        cx.set_timer(Timer::View, self.config.timeout.times(u64::from(self.view.0) + 1));
    }

    /// What a new leader has to propose: the value of the latest certificate in the reports, if there is one. If a value
    /// was decided, a quorum has prepared it, and every other quorum contains a correct replica that reports it.
    fn choose(&self, reports: &[Signed<Report>]) -> Option<Prepare> {
        let prepared = reports.iter().filter_map(|report| report.prepared.as_ref());
        let latest = prepared.map(|cert| **cert).max_by_key(|prepare| prepare.view);
        latest.filter(|_| !self.config.flags.forget_prepared)
    }

    /// Whether a proposal is what the reports require; if they require nothing, it must be the leader's own value.
    fn accepts(&self, leader: NodeId, view: View, value: &Request, reports: &[Signed<Report>]) -> bool {
        let right = |prepared: Prepare| prepared.value == *value;
        reports.iter().all(|report| report.valid() && report.view == view)
            && self.choose(reports).map_or(value.client == leader, right)
    }
}

/// Whether a report shows nothing, or a valid certificate from an earlier view.
fn sound(report: &Report, cluster: &Cluster) -> bool {
    let is_earlier = |cert: &Cert<Prepare>| cert.view < report.view && cluster.has_quorum(cert.voters());
    report.prepared.as_ref().is_none_or(is_earlier)
}

/// The protocol.
pub struct Decree;

impl Protocol for Decree {
    const NAME: &'static str = "decree";
    const ABOUT: &'static str = "single-decree agreement with views, in the manner of PBFT";
    const FLAGS: &'static [Flag] = Flags::ALL;
    const STREAM: bool = true; // Replicas propose values of their own: there are no clients.
    const ONE_SHOT: bool = true; // One slot is decided, and then no more.
    type Msg = Msg;
    type Timer = Timer;
    type Replica = Replica;
    type Client = NoClient;
    type Config = Config;

    fn replica(_: NodeId, _: &Cluster, config: &Config) -> Replica {
        Replica {
            config: *config,
            view: View(0),
            views: BTreeMap::new(),
            reports: ViewVotes::default(),
            prepared: None,
            decided: false,
        }
    }
    fn client(_: NodeId, _: &Cluster, _: &Config, _: &ClientWork) -> NoClient {
        NoClient
    }
    /// Four rounds per view: REPORT, PROPOSE, PREPARE, COMMIT. View 0 has no REPORTs, so its PROPOSE is round 1.
    fn number(key: RoundKey) -> u32 {
        key.view.0.saturating_mul(4).saturating_add(u32::from(key.phase)).saturating_sub(1)
    }
}

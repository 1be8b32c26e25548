//! The engine in its runtime, in a thread of its own that runs only while the host waits for it.
//!
//! The thread and the host take turns: the host hands something over and says go, the thread runs until nothing is left to do
//! in it and says that it is quiet. So a run is the same each time, though two threads are at work.

use std::any::Any;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use commonware_consensus::simplex::elector::Terms;
use commonware_consensus::simplex::{
    self, Config as EngineConfig, Floor, ForwardPolicy, SkipBudget, SkipPolicy,
};
use commonware_consensus::types::{Epoch, TermLength, ViewDelta};
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::Message;
use commonware_parallel::Sequential;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::deterministic::{self, Checkpoint, Runner};
use commonware_runtime::{Clock as _, Supervisor as _};
use commonware_utils::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use commonware_utils::ordered::{Quorum as _, Set};
use commonware_utils::{NZU16, NZUsize, Participant};
use futures::FutureExt as _;
use turncoat::core::prelude::*;

use crate::app::{App, Leaders};
use crate::clock::{Alarms, Ctx};
use crate::host::{Effect, Host, RESTLESS, Word};
use crate::network::{Gate, In, Out};
use crate::scheme::{Keyed, Statement, peers};
use crate::wire::{self, D};
use crate::{Config, EPOCH};

/// What a round of the runtime takes by its own clock.
const CYCLE: Duration = Duration::from_micros(1);
/// Longer by that clock than anything takes: nobody but the root task has an alarm there, so that the runtime jumps to it when
/// all else is idle. Who comes there round by round, a million of them, comes half a round late.
const QUIET: Duration = Duration::from_nanos(1_000_000_500);

/// A running engine.
pub(crate) struct Engine {
    pub(crate) alarms: Alarms,
    pub(crate) peers: Set<PublicKey>,
    channels: [UnboundedSender<Message<PublicKey>>; 3],
    go: mpsc::Sender<()>,
    tags: mpsc::Sender<u64>,
    words: mpsc::Receiver<Word>,
    host: Host,
    thread: JoinHandle<Option<Checkpoint>>,
}

impl Engine {
    /// Starts an engine in a runtime.
    pub(crate) fn start(
        me: NodeId,
        cluster: &Arc<Cluster>,
        config: Config,
        now: u64,
        runner: Runner,
    ) -> Self {
        let (go, gone) = mpsc::channel();
        let (speaker, words) = mpsc::channel();
        let (tags, answers) = mpsc::channel();
        let host = Host::new(speaker, answers);
        let (peers, alarms) = (peers(cluster.n), Alarms::default());
        alarms.advance(now);
        let [votes, certificates, resolver] = [(); 3].map(|()| unbounded_channel());
        let scheme = Keyed {
            me: Participant::from_usize(me.index()),
            peers: peers.clone(),
            host: host.clone(),
            flags: config.flags,
        };
        let life = Life {
            config,
            cluster: cluster.clone(),
            scheme,
            alarms: alarms.clone(),
            queues: [votes.1, certificates.1, resolver.1],
            gone,
            host: host.clone(),
        };
        let thread = std::thread::Builder::new().name(THREAD.to_owned());
        let thread = thread.spawn(move || life.run(runner)).expect("the system has a thread left");
        Self { alarms, peers, channels: [votes.0, certificates.0, resolver.0], go, tags, words, host, thread }
    }

    /// Puts a message where the engine finds it when it runs.
    pub(crate) fn hand(&self, from: NodeId, channel: usize, bytes: Bytes) {
        if let Some(key) = self.peers.key(Participant::from_usize(from.index())) {
            // It is closed if the engine has ended, which shows when it runs.
            let _ = self.channels[channel].send((key.clone(), bytes.into()));
        }
    }

    /// Lets it run until it is quiet.
    ///
    /// # Panics
    /// If the engine does, or ends.
    pub(crate) fn go(&self, mut sign: impl FnMut(Statement) -> u64) -> Vec<Effect> {
        // It may have ended: then it has said so.
        let _ = self.go.send(());
        loop {
            match self.words.recv() {
                Ok(Word::Sign(statement)) => {
                    let _ = self.tags.send(sign(statement));
                }
                Ok(Word::Quiet) => return self.host.take(),
                Ok(Word::Ended(why)) => panic!("{why}"),
                Err(_) => panic!("the engine has ended"),
            }
        }
    }

    /// Ends it; what comes of it is a runtime with its disk, unless it has failed.
    pub(crate) fn stop(self) -> Option<Runner> {
        let Self { go, tags, thread, .. } = self;
        drop((go, tags));
        thread.join().unwrap_or_default().map(Runner::from)
    }
}

/// A runtime with an empty disk, and the seed of its choices.
pub(crate) fn blank(seed: u64) -> Runner {
    Runner::new(deterministic::Config::new().with_seed(seed).with_cycle(CYCLE))
}

/// What the thread has.
struct Life {
    config: Config,
    cluster: Arc<Cluster>,
    scheme: Keyed,
    alarms: Alarms,
    queues: [UnboundedReceiver<Message<PublicKey>>; 3],
    gone: mpsc::Receiver<()>,
    host: Host,
}

impl Life {
    fn run(self, runner: Runner) -> Option<Checkpoint> {
        keep_panics();
        let host = self.host.clone();
        let life = AssertUnwindSafe(|| runner.start_and_recover(|context| self.live(context)));
        match catch_unwind(life) {
            Ok(((), checkpoint)) => Some(checkpoint),
            Err(panic) => {
                let place = PLACE.with_borrow(Clone::clone);
                host.say(Word::Ended(format!("{} at {place}", words(&*panic))));
                None
            }
        }
    }

    /// The root task.
    async fn live(self, context: deterministic::Context) {
        let Self { config, cluster, scheme, alarms, queues, gone, host } = self;
        let ctx = Ctx { inner: context.child("engine"), alarms };
        let others = cluster.replicas().iter().filter_map(|node| {
            let peer = Participant::from_usize(node.index());
            (peer != scheme.me).then(|| scheme.peers.key(peer).cloned()).flatten()
        });
        let others: Vec<_> = others.collect();
        let gate = Gate { host: host.clone(), shuts: config.block, state: Arc::default() };
        let engine = simplex::Engine::new(ctx, settings(config, &cluster, scheme, gate, App(host.clone())));
        let mut channels = queues
            .into_iter()
            .enumerate()
            .map(|(channel, queue)| (Out { channel, others: others.clone(), host: host.clone() }, In(queue)));
        let mut next = || channels.next().expect("there are three");
        let (votes, certificates, resolver) = (next(), next(), next());
        let mut engine = engine.start(votes, certificates, resolver);
        while gone.recv().is_ok() {
            let quiet = context.current() + QUIET;
            context.sleep_until(quiet).await;
            let end = match (&mut engine).now_or_never() {
                Some(end) => Word::Ended(format!("the engine has ended: {end:?}")),
                None if context.current() > quiet => Word::Ended(RESTLESS.to_owned()),
                None => Word::Quiet,
            };
            host.say(end);
        }
    }
}

fn terms(config: Config) -> Terms {
    match NonZeroU32::new(config.term_length) {
        None | Some(NonZeroU32::MIN) => Terms::rotating(),
        Some(length) => Terms::stable(
            TermLength::new(length),
            Duration::from_millis(config.stall_timeout.0),
            ViewDelta::new(u64::from(config.optimistic_views)),
        ),
    }
}

type Settings = EngineConfig<Keyed, Leaders, Gate, D, App, App, App, Sequential>;

fn settings(config: Config, cluster: &Arc<Cluster>, scheme: Keyed, blocker: Gate, app: App) -> Settings {
    let ticks = |time: Time| Duration::from_millis(time.0);
    let budget = SkipBudget::Participants;
    EngineConfig {
        scheme,
        elector: Leaders { cluster: cluster.clone(), terms: terms(config) },
        blocker,
        automaton: app.clone(),
        relay: app.clone(),
        reporter: app,
        track_historical_votes: config.track_votes,
        strategy: Sequential,
        partition: "simplex".to_owned(),
        mailbox_size: NZUsize!(1024),
        epoch: Epoch::new(EPOCH),
        floor: Floor::Genesis(wire::payload(Digest::NULL)),
        replay_buffer: NZUsize!(1024),
        write_buffer: NZUsize!(1024),
        page_cache: CacheRef::new(NZU16!(1024), NZUsize!(4)),
        leader_timeout: ticks(config.leader_timeout),
        certification_timeout: ticks(config.certification_timeout),
        timeout_retry: ticks(config.timeout_retry),
        view_retention: ViewDelta::new(u64::from(config.view_retention)),
        skip: match config.skip_timeout {
            Time(0) => SkipPolicy::Disabled,
            timeout => SkipPolicy::Enabled { timeout: ticks(timeout), budget },
        },
        fetch_timeout: commonware_utils::NZDuration!(ticks(config.fetch_timeout)),
        fetch_retry_delay: ticks(config.fetch_retry_delay),
        forward: if config.forward { ForwardPolicy::SilentVoters } else { ForwardPolicy::Disabled },
    }
}

/// The name of such threads.
const THREAD: &str = "engine";

thread_local! {
    /// Where the last panic of this thread came from.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the panics of engines from being printed: they are findings, and the host says what they say.
fn keep_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() == Some(THREAD) {
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                PLACE.with_borrow_mut(|kept| *kept = place);
            } else {
                before(info);
            }
        }));
    });
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panic").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "certification timeout must be greater than leader timeout")]
    fn a_panic_of_the_engine_is_a_panic_of_its_host() {
        let cluster = Arc::new(Cluster { n: 4, f: 1, ..Cluster::default() });
        let config = Config { certification_timeout: Time(1), ..Config::default() };
        Engine::start(NodeId::replica(0), &cluster, config, 0, blank(1)).go(|_| 0);
    }
}

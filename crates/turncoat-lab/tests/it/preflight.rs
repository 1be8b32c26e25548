//! Before fuzzing: each thing that can be wrong with a protocol is found, and named.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use turncoat_core::prelude::*;
use turncoat_core::rng::Rng;
use turncoat_core::scenario::{Scenario, Seed};
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::{BoxError, Campaign, Until};
use turncoat_lab::preflight::{Answer, answers};

/// What outlives a run, and should not.
static REQUESTS_SEEN: AtomicU32 = AtomicU32::new(0);

/// p0 gives each request a slot, and everybody believes it.
struct Toy;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, Message)]
enum Msg {
    Request(Signed<Request>),
    #[message(view = View(0), slot = m.slot, phase = 1)]
    Order(Order),
    Reply(Reply),
}

#[derive(Clone, PartialEq, Debug, Hash, Serialize, Deserialize, Part)]
struct Order {
    slot: Slot,
    /// How many came before it.
    before: Option<u32>,
    #[serde(skip)]
    #[part(skip)]
    note: u32,
    request: Signed<Request>,
}

flags! {
    struct Flags {
        keeps_a_static: "a static decides what is sent",
        sends_a_note: "a field that is not written has a value",
        keys_are_pairs: "the state has a map that JSON has not",
        copies_badly: "a copy starts from zero",
        leaves_out: "an optional field is never there",
        stalls: "the second request is forgotten",
        trusts_numbers: "a slot is an index",
        does_nothing: "nobody looks at this flag",
    }
}

#[derive(Clone, Debug, Default, Hash, Serialize)]
struct Replica {
    flags: Flags,
    slots: u32,
    taken: [bool; 32],
    pairs: BTreeMap<(u32, u32), u32>,
}

impl Node<Toy> for Replica {
    fn on_message(&mut self, from: NodeId, msg: &Msg, cx: &mut Context<'_, Toy>) {
        let flags = self.flags;
        match msg {
            Msg::Request(request) if cx.me() == NodeId::replica(0) && request.is_by(request.client) => {
                let again = request.ts <= self.slots;
                if again || (flags.stalls && request.ts == 2) {
                    return;
                }
                self.slots += 1;
                let skipped = match flags.keeps_a_static {
                    true => REQUESTS_SEEN.fetch_add(1, Ordering::Relaxed) % 3,
                    false => 0,
                };
                let order = Order {
                    slot: Slot(self.slots + skipped),
                    before: (!flags.leaves_out).then_some(self.slots - 1),
                    note: u32::from(flags.sends_a_note),
                    request: *request,
                };
                cx.broadcast(Msg::Order(order));
            }
            Msg::Order(order) if from == NodeId::replica(0) => {
                let slot = order.slot.0 as usize;
                if flags.trusts_numbers {
                    self.taken[slot % 64] = true;
                } else if let Some(taken) = self.taken.get_mut(slot) {
                    *taken = true;
                }
                if flags.keys_are_pairs {
                    self.pairs.insert((1, 2), 3);
                }
                let request = &order.request;
                cx.commit(order.slot, request.digest(), &[**request], NodeSet::one(from));
                cx.send(request.client, Msg::Reply(request.reply(View(0), order.slot, 0)));
            }
            _ => {}
        }
    }
    fn state(&self) -> Option<&dyn State> {
        Some(self)
    }
    fn fork(&self) -> Option<Self> {
        let slots = if self.flags.copies_badly { 0 } else { self.slots };
        Some(Self { slots, ..self.clone() })
    }
}

impl Protocol for Toy {
    const NAME: &'static str = "toy";
    const ABOUT: &'static str = "everybody believes p0";
    const FLAGS: &'static [Flag] = Flags::ALL;
    type Msg = Msg;
    type Timer = ClientTimer;
    type Replica = Replica;
    type Client = QuorumClient;
    type Config = OnlyFlags<Flags>;

    fn replica(_: NodeId, _: &Cluster, config: &Self::Config) -> Replica {
        Replica { flags: config.flags, ..Replica::default() }
    }
    fn client(_: NodeId, cluster: &Cluster, _: &Self::Config, work: &ClientWork) -> QuorumClient {
        QuorumClient::new(work, ReplyQuorum { ordered: cluster.weak(), read: cluster.quorum() })
    }
    fn gap_free(_: &Self::Config) -> bool {
        false
    }
}

impl Service for Toy {
    fn request(request: Signed<Request>) -> Msg {
        Msg::Request(request)
    }
    fn reply(msg: &Msg) -> Option<Reply> {
        if let Msg::Reply(reply) = msg { Some(*reply) } else { None }
    }
}

/// No faults at all.
struct Calm(Scenario);

impl Strategy for Calm {
    fn next(&mut self, _: u64, _: &mut Rng) -> Scenario {
        self.0.clone()
    }
}

fn ask(base: &Scenario) -> Vec<Answer> {
    let campaign = Campaign {
        entry: &Entry::of::<Toy>(),
        base,
        make: &|base| Ok::<_, BoxError>(Box::new(Calm(base.clone()))),
        seed: Seed(7),
        runs: Some(60),
        jobs: 1,
        until: Until::Never,
        stop: &AtomicBool::new(false),
        suspects: None,
    };
    answers(&campaign).expect("all can run")
}

fn with(flags: &[&str]) -> Scenario {
    let scenario = Scenario::new("toy").with("workload.requests", 20.into()).expect("a number");
    scenario.with("protocol.flags", flags.to_vec().into()).expect("flags")
}

/// The checks that fail, each with the first thing that is wrong.
fn failed(flag: &str) -> Vec<(&'static str, String)> {
    let wrong = |answer: &Answer| Some((answer.name, answer.wrong.first()?.clone()));
    ask(&with(&[flag])).iter().filter_map(wrong).collect()
}

#[test]
fn nothing_is_wrong_with_the_toy() {
    let answers = ask(&with(&[]));
    let names: Vec<_> = answers.iter().map(|answer| answer.name).collect();
    assert_eq!(names, ["determinism", "messages", "states", "mutations", "progress", "nonsense", "flags"]);
    for answer in &answers {
        assert!(answer.wrong.is_empty(), "{answer:?}");
    }
    assert_eq!(answers[5].done, "6000 random or damaged messages of each of 3 kinds");
    assert!(answers[5].notes.is_empty(), "{:?}", answers[5]);
    assert_eq!(answers[6].notes.len(), 1);
    assert!(answers[6].notes[0].contains("`does-nothing`"), "{:?}", answers[6]);
}

#[test]
fn each_thing_that_is_wrong_fails_one_check_which_names_it() {
    for (flag, check, words) in [
        ("sends-a-note", "messages", "`order slot="),
        (
            "keys-are-pairs",
            "states",
            "the state of a replica cannot be written as JSON: key must be a string",
        ),
        ("copies-badly", "states", "a copy of a replica has another state"),
        ("leaves-out", "mutations", "no mutation changed `order.before` in"),
        ("stalls", "progress", "--scheduler fifo --index 0 --requests 20: termination violated"),
        ("trusts-numbers", "nonsense", "index out of bounds: the len is 32"),
    ] {
        let failed = failed(flag);
        let names: Vec<_> = failed.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, [check], "{flag}: {failed:?}");
        assert!(failed[0].1.contains(words), "{flag}: {}", failed[0].1);
    }
}

/// The crash of a node says where it came from and what was sent last.
#[test]
fn a_crash_is_told_with_its_place_and_the_message() {
    let crash = failed("trusts-numbers")[0].1.clone();
    assert!(crash.contains("tests/it/preflight.rs:") && crash.contains("after `order slot="), "{crash}");
}

/// Nothing else counts where this fails, so nothing is said about the other checks.
#[test]
fn a_static_shows_at_the_first_step_that_differs() {
    let failed = failed("keeps-a-static");
    assert_eq!(failed[0].0, "determinism");
    let words = ["run 0, executed twice, differs from step 1: `", "commit p0 slot="];
    assert!(words.iter().all(|words| failed[0].1.contains(words)), "{}", failed[0].1);
}

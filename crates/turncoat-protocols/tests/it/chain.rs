//! What the stories of the HotStuff family look at: blocks by the requests in them, locks, views.

use serde_json::Value;
use turncoat_core::hash::Digest;
use turncoat_core::ids::Seat;
use turncoat_core::node::Protocol;
use turncoat_core::record::What;
use turncoat_core::scenario::Scenario;
use turncoat_core::sim::Sim;
use turncoat_core::story::Story;

use crate::stage::{entry, scenario_of};

/// A scenario of a protocol or variant.
pub(crate) fn scenario(protocol: &str, settings: &str) -> Scenario {
    scenario_of(toml::Table::from_iter([("name".to_owned(), protocol.into())]), settings)
}

/// A story of a protocol or variant.
pub(crate) fn story<P: Protocol>(protocol: &str, settings: &str) -> Story<P> {
    Story::with_preset(entry(protocol).preset, scenario(protocol, settings))
}

/// The view timers of these nodes fire, so many times each.
pub(crate) fn time_out<P: Protocol>(s: &mut Story<P>, who: &[&str], times: usize) {
    for who in who {
        for _ in 0..times {
            s.timeout(who, "view");
        }
    }
}

/// The run of a scenario, not yet begun, with all that happens kept.
pub(crate) fn recorded<P: Protocol>(scenario: &Scenario) -> Sim<P> {
    let mut sim = Sim::with_preset(entry(&scenario.protocol.name).preset);
    sim.reset_recording(scenario).unwrap_or_else(|error| panic!("{error}"));
    sim
}

fn seat<P: Protocol>(sim: &Sim<P>, who: &str) -> Seat {
    let seats = sim.seats().named(who.parse().expect("a name")).unwrap_or_else(|error| panic!("{error}"));
    seats.iter().next().expect("a name means a seat")
}

/// A node's state, field by field. What the protocols share is under `base` in some of them.
pub(crate) fn state<P: Protocol>(sim: &Sim<P>, who: &str) -> Value {
    let mut state = sim.state(seat(sim, who)).expect("a node that shows its state").json();
    assert!(state.is_object(), "{state}");
    for field in ["tree", "pacemaker", "shelf"] {
        if let Some(part) = state["base"].get(field).cloned() {
            state[field] = part;
        }
    }
    state
}

/// The name of a block that a node has: the request in it.
fn block(state: &Value, id: u64) -> String {
    let op = state["tree"]["blocks"][id.to_string()]["payload"]["body"]["op"].as_str();
    op.unwrap_or(if id == 0 { "genesis" } else { "unknown" }).to_owned()
}

/// What a node has decided, in that order: the requests of the blocks.
pub(crate) fn log<P: Protocol>(sim: &Sim<P>, who: &str) -> Vec<String> {
    let (state, seat) = (state(sim, who), seat(sim, who));
    let commits = sim.ledger().log().iter().filter(|commit| commit.seat == seat);
    commits.map(|commit| block(&state, commit.id.0)).collect()
}

/// Asserts what several nodes have decided.
pub(crate) fn expect_logs<P: Protocol>(sim: &Sim<P>, who: &[&str], blocks: &[&str]) {
    for who in who {
        assert_eq!(log(sim, who), blocks, "the log of {who}");
    }
}

/// The certificate in a field of a node's state: the block and its view.
pub(crate) fn qc<P: Protocol>(sim: &Sim<P>, who: &str, field: &str) -> (String, u64) {
    let state = state(sim, who);
    let vote = &state[field]["body"];
    (block(&state, vote["block"].as_u64().expect("a block")), vote["view"].as_u64().expect("a view"))
}

/// The block that a node is locked on, and the view of the lock.
pub(crate) fn lock<P: Protocol>(sim: &Sim<P>, who: &str) -> (String, u64) {
    let field = if state(sim, who)["locked_qc"].is_null() { "lock" } else { "locked_qc" };
    qc(sim, who, field)
}

/// Asserts the locks of several nodes: `p1#1@2`.
pub(crate) fn expect_locks<P: Protocol>(sim: &Sim<P>, locks: &[(&str, &str)]) {
    for (who, expected) in locks {
        let (block, view) = lock(sim, who);
        assert_eq!(format!("{block}@{view}"), *expected, "the lock of {who}");
    }
}

/// The view that a node is in.
pub(crate) fn view<P: Protocol>(sim: &Sim<P>, who: &str) -> u32 {
    sim.vitals(seat(sim, who)).view.0
}

/// Asserts the views of several nodes.
pub(crate) fn expect_views<P: Protocol>(sim: &Sim<P>, who: &[&str], expected: u32) {
    for who in who {
        assert_eq!(view(sim, who), expected, "the view of {who}");
    }
}

/// Whether a state is hot: correct replicas are locked on blocks that conflict, and no block of theirs can get a quorum
/// of them any more.
pub(crate) fn is_hot<P: Protocol>(sim: &Sim<P>, correct: &[&str], quorum: usize) -> bool {
    let locks: Vec<Option<Digest>> = correct.iter().map(|who| sim.vitals(seat(sim, who)).locked).collect();
    let conflict = |a: Digest, b: Digest| sim.ledger().conflicts(a, b);
    let distinct: Vec<Digest> = locks.iter().copied().flatten().collect();
    let split = distinct.iter().any(|&a| distinct.iter().any(|&b| conflict(a, b)));
    let support = |block| locks.iter().filter(|lock| lock.is_none_or(|lock| !conflict(lock, block))).count();
    split && distinct.iter().all(|&block| support(block) < quorum)
}

/// When a node decided each height first, in order.
pub(crate) fn times<P: Protocol>(sim: &Sim<P>, who: &str) -> Vec<u64> {
    let name = sim.seats().name(seat(sim, who));
    let commits =
        sim.events().iter().filter(|event| matches!(&event.what, What::Commit { seat, .. } if *seat == name));
    commits.map(|event| event.time.0).collect()
}

/// What nodes noted, with the time: `41 p2 quits view 1`.
pub(crate) fn notes<P: Protocol>(sim: &Sim<P>, words: &[&str]) -> Vec<String> {
    let line = |event: &turncoat_core::record::Event| match &event.what {
        What::Note { seat: Some(seat), text } => Some(format!("{} {seat} {text}", event.time)),
        What::Commit { seat, slot, .. } => Some(format!("{} {seat} decides height {slot}", event.time)),
        What::Fire { seat, timer } => Some(format!("{} {seat} fires {timer}", event.time)),
        _ => None,
    };
    let wanted = |line: &String| words.iter().any(|word| line.contains(word));
    sim.events().iter().filter_map(line).filter(wanted).collect()
}

/// The digests of some blocks, each with a name: those with these requests.
pub(crate) fn named<P: Protocol>(sim: &Sim<P>, names: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut digests = Vec::new();
    for index in 0..sim.cluster().n {
        let state = state(sim, &format!("p{index}"));
        for (id, _) in state["tree"]["blocks"].as_object().into_iter().flatten() {
            let id: u64 = id.parse().expect("a digest");
            let op = block(&state, id);
            let name = names.iter().find(|(known, _)| *known == op);
            digests.extend(name.map(|(_, name)| (Digest(id).to_string(), (*name).to_owned())));
        }
    }
    digests
}

/// A line in which blocks stand by their digests, with the names of some of them; see [`named`].
pub(crate) fn with_names(line: &str, names: &[(String, String)]) -> String {
    let mut line = line.replace("block null", "genesis").replace("on null", "on genesis");
    for (digest, name) in names {
        line = line
            .replace(&format!("block {digest}"), name)
            .replace(&format!("on {digest}"), &format!("on {name}"));
    }
    // What a block contains is said by its name.
    line.split(": p").next().unwrap_or_default().to_owned()
}

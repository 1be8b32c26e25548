//! What the stories of Tendermint look at. At height h p(h mod 4) proposes in epoch 0, the next one in epoch 1.

use toml::Table;
use turncoat_core::outcome::{Outcome, Property};
use turncoat_core::record::{Event, What};
use turncoat_core::scenario::Scenario;
use turncoat_core::sim::Sim;
use turncoat_core::story::Story;
use turncoat_protocols::tendermint::Tendermint;

use crate::stage::{entry, marked_by, scenario_of};

/// A story of Tendermint.
pub(crate) type Told = Story<Tendermint>;

/// Validators that do not pass messages on: less is in flight. They still say things again, and ask.
pub(crate) const PLAIN: &str = "protocol.relay = false";
/// Validators that say everything once, to everybody, and that is that.
pub(crate) const ONCE: &str = "protocol = { relay = false, retransmit = 0, sync = 0 }";

/// A scenario of Tendermint, or of its variant; `settings` are more keys of it, as TOML.
pub(crate) fn scenario(protocol: &str, settings: &str) -> Scenario {
    scenario_of(Table::from_iter([("name".to_owned(), protocol.into())]), settings)
}

/// A story of Tendermint with these settings.
pub(crate) fn story(settings: &str) -> Told {
    Story::with_preset(entry("tendermint").preset, scenario("tendermint", settings))
}

/// A story with a deviation, of validators that do not pass messages on.
pub(crate) fn attack(flag: &str, settings: &str) -> Told {
    let short = "limits.steps = 5000";
    story(&format!("{PLAIN}\nprotocol.flags = ['{flag}']\n{short}\n{settings}"))
}

/// Where a validator is: `h1 e0 Prevote`.
pub(crate) fn at(s: &Told, who: &str) -> String {
    let state = s.json(who);
    format!("h{} e{} {}", state["height"], state["epoch"], state["step"].as_str().expect("a step"))
}

/// Asserts where several validators are.
pub(crate) fn expect_at(s: &Told, who: &[&str], place: &str) {
    for who in who {
        assert_eq!(at(s, who), place, "{who}");
    }
}

/// The epoch of a validator's lock.
pub(crate) fn lock(s: &Told, who: &str) -> Option<u64> {
    s.json(who)["locked"][0].as_u64()
}

/// Asserts the epochs of the locks of all four validators.
pub(crate) fn expect_locks(s: &Told, locks: [Option<u64>; 4]) {
    assert_eq!(["p0", "p1", "p2", "p3"].map(|who| lock(s, who)), locks, "locks");
}

/// What a validator has decided: the requests in the blocks, in order.
pub(crate) fn log(events: &[Event], who: &str) -> Vec<String> {
    let op = |event: &Event| match &event.what {
        What::Commit { seat, requests, .. } if seat.to_string() == who => Some(requests[0].op.to_string()),
        _ => None,
    };
    events.iter().filter_map(op).collect()
}

/// Asserts what several validators have decided.
pub(crate) fn expect_logs(s: &Told, who: &[&str], ops: &[&str]) {
    for who in who {
        assert_eq!(log(s.sim().events(), who), ops, "the log of {who}");
    }
}

/// Who is accused by a validator.
pub(crate) fn accused(s: &Told, who: &str) -> Vec<String> {
    let names = s.json(who)["accused"].as_array().cloned().unwrap_or_default();
    names.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// The timers of some validators fire: `propose-1-0` is that for the proposal of height 1, epoch 0.
pub(crate) fn time_out(s: &mut Told, who: &[&str], timer: &str) {
    for who in who {
        s.timeout(who, timer);
    }
}

/// Whether the run did this.
pub(crate) fn did(outcome: &Outcome, mark: &str) -> bool {
    marked_by::<Tendermint>(outcome, mark)
}

/// The run of a scenario, not yet begun, with all that happens kept.
pub(crate) fn recorded(scenario: &Scenario) -> Sim<Tendermint> {
    let mut sim = Sim::with_preset(entry(&scenario.protocol.name).preset);
    sim.reset_recording(scenario).unwrap_or_else(|error| panic!("{error}"));
    sim
}

/// Whether a run violates nothing but this.
pub(crate) fn only(outcome: &Outcome, property: Property) -> bool {
    !outcome.violations.is_empty() && outcome.violations.iter().all(|found| found.property == property)
}

/// All proposals, then all prevotes, then all precommits arrive that are not held.
pub(crate) fn epoch(s: &mut Told) {
    for kind in ["proposal", "prevote", "precommit"] {
        s.deliver_only(&format!("*>* {kind}"));
    }
}

/// p0, p1 and p2 prevote for the first proposal, p3 for nil, since it has not got it. p3 hears from p0 and p1, and
/// precommits nil; those that `see` the polka precommit the block.
pub(crate) fn one_is_late(s: &mut Told, see: &[&str]) {
    s.deliver("p1>p0,p2 proposal");
    s.timeout("p3", "propose-1-0");
    s.deliver("p0,p1>p3 prevote").timeout("p3", "prevote-1-0");
    for who in ["p0", "p1", "p2"] {
        let nil = if see.contains(&who) { "" } else { ",p3" };
        let first = if see.contains(&who) {
            "p0,p1,p2"
        } else if who == "p0" {
            "p1"
        } else {
            "p0"
        };
        s.deliver(&format!("{first}{nil}>{who} prevote"));
        if !see.contains(&who) {
            s.timeout(who, "prevote-1-0");
        }
    }
}

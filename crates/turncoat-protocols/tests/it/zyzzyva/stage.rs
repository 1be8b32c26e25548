//! The stage of Zyzzyva's stories.

use crate::stage::scenario_of;
use turncoat_core::outcome::Outcome;
use turncoat_core::story::Story;
use turncoat_protocols::zyzzyva::Zyzzyva;

/// Zyzzyva with four replicas and checkpoints every four slots; `settings` are more keys of the scenario, as TOML.
pub(super) fn story(settings: &str) -> Story<Zyzzyva> {
    Story::new(scenario_of(toml::toml! { name = "zyzzyva" checkpoint = 4 }, settings))
}

/// A story with some of the deviations.
pub(super) fn attack(flags: &[&str], settings: &str) -> Story<Zyzzyva> {
    story(&format!("protocol.flags = {flags:?}\n{settings}"))
}

/// Whether the run did this: a name from the protocol's marks.
pub(super) fn marked(outcome: &Outcome, mark: &str) -> bool {
    crate::stage::marked_by::<Zyzzyva>(outcome, mark)
}

/// What a replica has executed, final or not.
pub(super) fn spec(s: &Story<Zyzzyva>, who: &str) -> Vec<String> {
    let state = s.json(who);
    let entries = state["log"]["entries"].as_array().expect("a log");
    let op = |entry: &serde_json::Value| entry["request"]["body"]["op"].as_str().unwrap_or("null").to_owned();
    entries.iter().map(op).collect()
}

/// Asserts what several replicas have executed, final or not, and that their histories are the same.
pub(super) fn expect_spec(s: &Story<Zyzzyva>, who: &[&str], ops: &[&str]) {
    let histories = |who: &str| -> Vec<serde_json::Value> {
        let state = s.json(who);
        let entries = state["log"]["entries"].as_array().expect("a log");
        entries.iter().map(|entry| entry["history"].clone()).collect()
    };
    for one in who {
        assert_eq!(spec(s, one), ops, "the log of {one}");
        assert_eq!(histories(one), histories(who[0]), "the history of {one}");
    }
}

/// Asserts in which view replicas are.
pub(super) fn expect_view(s: &Story<Zyzzyva>, who: &[&str], view: u32) {
    for who in who {
        let state = s.json(who);
        assert_eq!((&state["view"], &state["normal"]), (&view.into(), &true.into()), "the view of {who}");
    }
}

/// Asserts which view replicas wait for.
pub(super) fn expect_changing(s: &Story<Zyzzyva>, who: &[&str], view: u32) {
    for who in who {
        let state = s.json(who);
        assert_eq!((&state["view"], &state["normal"]), (&view.into(), &false.into()), "the view of {who}");
    }
}

/// View and number of a replica's highest certificate.
pub(super) fn max_cc(s: &Story<Zyzzyva>, who: &str) -> Option<(u64, u64)> {
    let cert = &s.json(who)["max_cc"]["body"];
    Some((cert["view"].as_u64()?, cert["seq"].as_u64()?))
}

/// The last slot of a replica that is final.
pub(super) fn committed(s: &Story<Zyzzyva>, who: &str) -> u64 {
    s.json(who)["log"]["committed"].as_u64().expect("a slot")
}

/// Whether a client has no request under way.
pub(super) fn idle(s: &Story<Zyzzyva>, client: &str) -> bool {
    s.json(client)["outstanding"].as_array().is_some_and(Vec::is_empty)
}

/// G of the NEW-VIEW that a replica has accepted for its view: `a@1`, `null@2`.
pub(super) fn g(s: &Story<Zyzzyva>, who: &str) -> Vec<String> {
    let state = s.json(who);
    let orders = state["new_views"][0]["body"]["orders"].as_array().expect("a NEW-VIEW");
    let name = |order: &serde_json::Value| {
        let op = order["body"]["request"]["body"]["op"].as_str().unwrap_or("null");
        format!("{op}@{}", order["body"]["seq"])
    };
    orders.iter().map(name).collect()
}

/// All replicas that got it take part in the view change that is under way.
pub(super) fn change_view(s: &mut Story<Zyzzyva>) {
    s.deliver_only("*>* ihtp,view-change,new-view,view-confirm");
}

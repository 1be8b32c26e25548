//! What the stories of FaB look at. p0 leads view 1, p1 view 2, p2 view 3, p3 view 4. With n = 4 all nodes have all roles;
//! with n = 6 p0 to p3 are proposers, p2 to p5 learners.

use toml::Table;
use turncoat_core::story::Story;
use turncoat_protocols::fab::Fab;

use crate::stage::{entry, scenario_of};

/// A story of FaB, or of one of its variants, with as few nodes as it needs; `settings` are more keys of the scenario, as
/// TOML.
pub(crate) fn story(protocol: &str, settings: &str) -> Story<Fab> {
    let named = Table::from_iter([("name".to_owned(), protocol.into())]);
    let n = if protocol == "fab" { "cluster.n = 6" } else { "cluster.n = 4" };
    let n = if settings.contains("cluster = ") || settings.contains("cluster.n = ") { "" } else { n };
    let scenario = scenario_of(named, &format!("{n}\n{settings}"));
    Story::with_preset(entry(protocol).preset, scenario)
}

/// A story with some deviations.
pub(crate) fn attack(protocol: &str, flags: &[&str], settings: &str) -> Story<Fab> {
    story(protocol, &format!("protocol.flags = {flags:?}\n{settings}"))
}

/// What an acceptor has accepted in its open instance, and in which view: `r1@1 v1`, with a `+` if it has a proof.
pub(crate) fn accepted(s: &Story<Fab>, who: &str) -> String {
    let state = s.json(who);
    let own = &state["acceptor"]["accepted"];
    let Some(op) = own["value"]["body"]["op"].as_str() else { return "nothing".to_owned() };
    let open = 1 + state["known"]["body"].as_array().map_or(0, Vec::len);
    let proof = if state["acceptor"]["proof"].is_object() { "+" } else { "" };
    format!("{op}@{open} v{}{proof}", own["view"])
}

/// Asserts in which view several nodes are.
pub(crate) fn expect_view(s: &Story<Fab>, who: &[&str], view: u64) {
    for who in who {
        assert_eq!(s.json(who)["view"], view, "the view of {who}");
    }
}

/// The value that a leader has proposed last, and where: `r1@1`.
pub(crate) fn proposal(s: &Story<Fab>, who: &str) -> String {
    let state = s.json(who);
    let body = &state["leader"]["proposal"]["body"];
    match body["value"]["body"]["op"].as_str() {
        Some(op) => format!("{op}@{}", body["seq"]),
        None => "nothing".to_owned(),
    }
}

/// How many values are in a node's learned certificate.
pub(crate) fn known(s: &Story<Fab>, who: &str) -> usize {
    s.json(who)["known"]["body"].as_array().map_or(0, Vec::len)
}

/// The timers of a node.
pub(crate) fn timers(s: &Story<Fab>, who: &str) -> Vec<String> {
    let seats = s.sim().seats().named(who.parse().expect("a name")).expect("a node");
    let timers = s.sim().timers(seats.iter().next().expect("a seat"));
    timers.into_iter().map(|(name, _)| name).collect()
}

/// The timers PROPOSER of some nodes fire.
pub(crate) fn suspect(s: &mut Story<Fab>, who: &[&str]) {
    for who in who {
        s.timeout(who, "proposer");
    }
}

pub(crate) const SIX: [&str; 6] = ["p0", "p1", "p2", "p3", "p4", "p5"];
/// The learners among six nodes.
pub(crate) const LEARNERS: [&str; 4] = ["p2", "p3", "p4", "p5"];

//! Scenarios that cannot run: each error says what would be right.

use turncoat_core::runner::{Entry, execute};
use turncoat_core::scenario::{Limits, Scenario};

use crate::play::scenario;
use crate::toys::ballot::Ballot;

/// The error of a scenario, at reading it or at running it.
fn error(text: &str) -> String {
    let text = format!("schema = 1\nprotocol.name = 'ballot'\n{text}");
    match Scenario::parse(&text) {
        Err(error) => error.to_string(),
        Ok(scenario) => execute::<Ballot>(&scenario).expect_err(&text).to_string(),
    }
}

/// A fault of p0, who may lie.
fn fault(text: &str) -> String {
    format!("adversary.byzantine = ['p0']\n[[adversary.faults]]\n{text}")
}

/// A protocol's setting is part of its code: a mistake names it, before anything runs.
#[test]
fn a_mistake_in_a_setting_names_the_protocol() {
    let with = |setting| {
        let mut entry = Entry::of::<Ballot>();
        entry.setting = setting;
        entry
    };
    for (setting, words) in
        [("cluster.m = 4", "`m`"), ("network.loss = 'never'", "never"), ("cluster = { clients = ", "line 1")]
    {
        let error = with(setting).check_setting().expect_err(setting).to_string();
        assert!(error.contains("SETTING of the protocol `ballot`: ") && error.contains(words), "{error}");
    }
    let fine = with("network.loss = 'hold'\nworkload.requests = 2");
    fine.check_setting().expect("dotted keys are keys");
    assert_eq!(fine.scenario().workload.requests, 2);
    assert_eq!(with("cluster.clients = 0").scenario().cluster.clients, 0);
}

#[test]
fn each_error_says_what_would_be_right() {
    let cases: &[(String, &[&str])] = &[
        ("clutser = {}".to_owned(), &["clutser", "cluster"]),
        ("cluster = { m = 4 }".to_owned(), &["`m`", "`n`"]),
        (fault("frm = ['p0']\ndrop = true"), &["frm", "`from`"]),
        ("protocol.flags = ['weak-quorums']".to_owned(), &["weak-quorums", "weak-quorum, unsigned-requests"]),
        ("protocol.flag = []".to_owned(), &["`flag`", "`flags`"]),
        ("cluster = { n = 3 }".to_owned(), &["ballot", "n >= 4", "n = 3"]),
        ("adversary = { byzantine = ['p1', 'p3'] }".to_owned(), &["{p1,p3}", "f = 1", "over-budget"]),
        ("adversary = { byzantine = ['p4'] }".to_owned(), &["p4", "p0..p3"]),
        (fault("to = ['p7']\ndrop = true"), &["fault 1", "p7", "p0..p3", "c0"]),
        (fault("crash = 'p0.b'"), &["p0.b", "p0..p3"]),
        (fault("kind = 'proposal'\ndrop = true"), &["proposal", "request, propose, vote"]),
        (
            fault("kind = 'vote'\nfield = { ts = 1 }\ndrop = true"),
            &["fault 1", "no number `ts` in vote", "numbers there: slot"],
        ),
        (fault("field = { slot = [3, 2] }\ndrop = true"), &["[3, 2] ends before it starts"]),
        (
            fault("vitals = [{ of = 'leader' }]\ndrop = true"),
            &["`leader` is neither `sender`, `receiver` nor a node"],
        ),
        (fault("vitals = [{ of = 'p7' }]\ndrop = true"), &["p7", "p0..p3"]),
        (fault("vitals = [{ waiting = 'votes' }]\ndrop = true"), &["votes", "request, propose, vote"]),
        (fault("mutate = 'vote.sloth+1'"), &["vote.sloth+1", "vote.slot+1", "vote.digest=earlier"]),
        (fault("mutate = 'vote.slot'"), &["vote.slot+1", "vote.slot-1"]),
        (fault("drop = true\nhold = true"), &["exactly one effect", "drop, hold, delay"]),
        (fault("to = ['p1']"), &["exactly one effect", "drop, hold, delay"]),
        (fault("partition = [['p0', 'p1'], ['p9']]"), &["p9"]),
        (fault("round = [5, 2]\ndrop = true"), &["[5, 2]"]),
        (fault("permille = 1001\ndrop = true"), &["permille", "1000"]),
        (fault("originate = { to = ['p1'] }"), &["replay", "mint"]),
        (
            fault("stance = { of = 'p0', flags = ['week-quorum'] }"),
            &["fault 1", "`stance`: no flag `week-quorum`", "ballot", "weak-quorum, unsigned-requests"],
        ),
        (
            fault("stance = { of = 'p1', flags = ['weak-quorum'] }"),
            &["fault 1", "p1 is honest", "adversary.byzantine"],
        ),
        (fault("stance = { of = 'p0' }"), &["`flags`, `believes` or `keeps`"]),
        (fault("stance = { of = 'p0.b', believes = 'all' }"), &["p0.b", "p0..p3"]),
        (fault("stance = { of = 'p0', believes = 'some' }"), &["expected \"all\" or a list of nodes"]),
        (fault("stance = { of = 'p0', believes = [] }"), &["\"all\" or names at least one node"]),
        (fault("stance = { of = 'p0', believes = ['p7'] }"), &["p7", "p0..p3"]),
        (
            fault("stance = { of = 'p0', keeps = { kind = 'votes', views = 1 } }"),
            &["votes", "request, propose, vote"],
        ),
        (fault("stance = { of = 'p0', keeps = { kind = 'vote', views = 0 } }"), &["at least 1 view"]),
        (
            fault("kind = 'vote'\nstance = { of = 'p0', believes = 'all' }"),
            &["how a node behaves", "only `round`", "sender-view"],
        ),
        (
            fault("round = 1\nsource = 'named'\nstance = { of = 'p0', believes = 'all' }"),
            &["only `round`", "sender-view"],
        ),
        (
            format!("network.turn = 5\n{}", fault("stance = { of = 'p0', believes = 'all' }")),
            &["`believes` does not work with `network.turn`"],
        ),
        ("cluster = { drift = { p1 = -1000000 } }".to_owned(), &["p1", "clock"]),
        ("scheduler = { name = 'lifo' }".to_owned(), &["lifo", "fifo", "timed"]),
        ("scheduler = { script = ['delivr p0>p1 vote #1'] }".to_owned(), &["delivr", "deliver"]),
        ("cluster = { trust = 'some' }".to_owned(), &["some", "all"]),
        ("adversary = { byzantine = ['q1'] }".to_owned(), &["q1", "p0", "c0"]),
        ("workload = { requests = 10001 }".to_owned(), &["workload.requests", "at most 10000"]),
        ("limits = { in-flight = 1000001 }".to_owned(), &["limits.in-flight", "at most 1000000"]),
    ];
    let mut silent = Vec::new();
    for (text, wanted) in cases {
        let error = error(text);
        let missing = wanted.iter().filter(|words| !error.contains(**words));
        silent.extend(missing.map(|words| format!("{text}\nsays `{error}`\nand not `{words}`")));
    }
    assert!(silent.is_empty(), "{}", silent.join("\n\n"));
}

#[test]
fn a_scenario_of_a_newer_version_says_so_before_anything_else() {
    let error = Scenario::parse("schema = 99\nnew-key = 1\n").unwrap_err().to_string();
    assert!(error.contains("99") && error.contains("(1)") && error.contains("upgrade"), "{error}");
    let error = Scenario::parse("protocol.name = 'ballot'").unwrap_err().to_string();
    assert!(error.contains("schema = 1"), "{error}");
}

/// Tables that name nodes are checked as faults are: a leader that is not there would lead nobody.
#[test]
fn a_leader_or_target_that_does_not_exist_is_an_error() {
    assert!(error("cluster = { leaders = ['p0', 'p9'] }").contains("p9"));
    assert!(error("workload = { target = 'p9' }").contains("p9"));
    assert!(error("cluster = { trust = [['p0'], ['p1']] }").contains("4"));
}

/// "No limit" is the largest number, and TOML's numbers are smaller.
#[test]
fn the_largest_numbers_can_be_written() {
    let mut scenario = scenario::<Ballot>("");
    scenario.limits = std::sync::Arc::new(Limits { steps: Some(u64::MAX), ..Limits::default() });
    let read = Scenario::parse(&scenario.to_toml());
    assert!(read.is_ok_and(|read| read.limits.steps >= Some(i64::MAX as u64)));
}

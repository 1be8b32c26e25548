//! Strategies are made by name, and mistakes are answered with what would be right.

use std::sync::Arc;

use turncoat_core::ids::Time;
use turncoat_core::message::MutationTable;
use turncoat_core::scenario::{ClusterSpec, Gst, Network, Scenario};

fn error(base: &Scenario, name: &str, params: &[(&str, &str)]) -> String {
    let params: Vec<_> = params.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    match turncoat_strategies::make(name, base, &params, &MutationTable::default()) {
        Ok(_) => panic!("{name} {params:?} is accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_strategy_can_be_made_with_its_defaults_spelt_out() {
    for info in turncoat_strategies::all() {
        let params: Vec<_> = info.params.iter().map(|p| (p.name.to_owned(), p.default.to_owned())).collect();
        assert!(
            turncoat_strategies::make(info.name, &Scenario::new("toy"), &params, &MutationTable::default())
                .is_ok(),
            "{}",
            info.name
        );
    }
}

#[test]
fn an_error_says_what_would_be_right() {
    let base = Scenario::new("toy");
    let expected = [
        (
            error(&base, "byzfuzz", &[]),
            "no strategy `byzfuzz`; there are: none, naive, random, byzzfuzz, restarts, drift, twins, two-faced, lasting, swarm, stalls, divergence, enumerate, portfolio, evolve",
        ),
        (error(&base, "none", &[("c", "1")]), "none has no parameter `c`; it takes no parameters"),
        (
            error(&base, "byzzfuzz", &[("c", "2"), ("rounds", "3")]),
            "byzzfuzz has no parameter `rounds`; it takes c=1, d=1, r=8, first=1, source=sender-max, liar=any, liars=f, sender=all, receivers=unl, lie=same, scope=small, order=network-first, sampler=algorithm-1, only=, gst=5000",
        ),
        (
            error(&base, "byzzfuzz", &[("r", "0")]),
            "byzzfuzz: `r=0`: not a whole number from 1 to 1000 (number of rounds in which faults happen; default 8)",
        ),
        (
            error(&base, "byzzfuzz", &[("c", "-1")]),
            "byzzfuzz: `c=-1`: not a whole number from 0 to 1000 (number of process faults: lies of the Byzantine \
             replicas; default 1)",
        ),
        (
            error(&base, "byzzfuzz", &[("liar", "p9")]),
            "byzzfuzz: `liar=p9`: no replica: there are 4, from p0 on (a Byzantine replica, such as p3, or any \
             (drawn for each run); default any)",
        ),
        (
            error(&base, "random", &[("scope", "large")]),
            "random: `scope=large`: unknown variant `large`, expected one of `small`, `any`, `crafted` (how far a change may \
             go: small or any; default any)",
        ),
    ];
    for (found, expected) in expected {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_cluster_that_bears_no_fault_gets_no_liar() {
    let cluster = ClusterSpec { f: 0, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    for name in ["byzzfuzz", "random", "portfolio"] {
        let expected = format!(
            "{name} needs a Byzantine replica, and f = 0: raise f, or allow more than f (--over-budget)"
        );
        assert_eq!(error(&base, name, &[]), expected);
    }
    assert!(error(&base, "restarts", &[]).contains("1 faulty replicas exceed cluster.f = 0"));
    super::strategy("byzzfuzz c=0", &base);
    super::strategy("random mutate=0", &base);
}

#[test]
fn there_are_no_more_liars_than_faulty_replicas_unless_that_is_allowed() {
    let base = |over_budget| {
        let cluster = ClusterSpec { n: 7, f: 2, over_budget, ..ClusterSpec::default() };
        Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") }
    };
    for name in ["byzzfuzz", "random", "two-faced", "portfolio"] {
        let many = error(&base(false), name, &[("liars", "3")]);
        assert!(many.starts_with(&format!("{name}: `liars=3`: more than f = 2")), "{many}");
        super::strategy(&format!("{name} liars=3"), &base(true));
    }
    assert!(error(&base(true), "random", &[("liars", "8")]).contains("not a number from 1 to 7"));
}

#[test]
fn senders_drawn_from_all_replicas_may_be_more_than_f() {
    let base = |over_budget| {
        let cluster = ClusterSpec { over_budget, ..ClusterSpec::default() };
        Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") }
    };
    let two = [("sender", "any"), ("c", "2")];
    assert_eq!(
        error(&base(false), "byzzfuzz", &two),
        "byzzfuzz: with `sender=any`, 2 process faults may have 2 senders, more than f = 1: use `sender=one`, or --over-budget"
    );
    super::strategy("byzzfuzz sender=any c=2", &base(true));
    super::strategy("byzzfuzz sender=any c=1", &base(false));
    assert!(
        error(&base(true), "byzzfuzz", &[("sender", "any"), ("liar", "p0")])
            .contains("leave one of them out")
    );
}

#[test]
fn a_cluster_has_replicas_and_not_too_many() {
    for n in [0, 65] {
        let cluster = ClusterSpec { n, ..ClusterSpec::default() };
        let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
        assert_eq!(
            error(&base, "byzzfuzz", &[]),
            format!("byzzfuzz: a cluster has 1 to 64 replicas and at most 64 clients, not {n} and 1")
        );
    }
    let cluster = ClusterSpec { clients: 65, ..ClusterSpec::default() };
    let base = Scenario { cluster: Arc::new(cluster), ..Scenario::new("toy") };
    for info in turncoat_strategies::all() {
        assert!(error(&base, info.name, &[]).contains("at most 64 clients, not 4 and 65"), "{}", info.name);
    }
}

#[test]
fn clocks_drift_only_where_the_network_is_not_calm_from_the_start() {
    let network = Network { gst: Some(Gst::Time(Time(0))), ..Network::default() };
    let base = Scenario { network: Arc::new(network), ..Scenario::new("toy") };
    let calm = error(&base, "drift", &[]);
    assert!(calm.contains("clocks are on time") && calm.contains("--beyond synchrony"), "{calm}");
}

#[test]
fn the_last_value_of_a_parameter_counts() {
    let last = super::runs("byzzfuzz d=3 d=0 c=0", 1).next().unwrap();
    assert!(last.adversary.faults.is_empty());
}

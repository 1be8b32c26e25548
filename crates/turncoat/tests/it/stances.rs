//! Liars with stances, drawn at random: correct protocols survive them, and explanations of what they do to others hold.

use std::sync::Arc;

use turncoat::core::fault::Effect;
use turncoat::core::rng::{Purpose, Rng, run_seed};
use turncoat::core::runner::Entry;
use turncoat::core::scenario::ProtocolSpec;
use turncoat::lab::explain::Explanation;
use turncoat::{Property, Scenario, Seed, strategies};

use crate::claims::confirm_all;
use crate::explain::entry;

/// Runs in which each liar has a stance, and lies as `lasting` or `swarm` has it.
fn drawn(entry: &Entry, flags: &[&str], strategy: &str, runs: u64) -> Vec<Scenario> {
    let mut base = entry.scenario();
    let cluster = Arc::make_mut(&mut base.cluster);
    cluster.n = cluster.n.max((entry.bound)(&entry.config, cluster.f).expect("a bound"));
    // Safety shows early.
    Arc::make_mut(&mut base.limits).short = Some(1500);
    if !flags.is_empty() {
        let mut config = toml::Table::clone(&base.protocol.config);
        config.insert("flags".to_owned(), flags.to_vec().into());
        base.protocol = Arc::new(ProtocolSpec { name: base.protocol.name.clone(), config });
    }
    let params =
        [("stances", "100"), ("singles", "never")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let params = if strategy == "lasting" { &params[..] } else { &params[..1] };
    let mut strategy = strategies::make(strategy, &base, params, &(entry.mutations)()).expect("a strategy");
    let run = |index| {
        let seed = run_seed(31, index);
        Scenario { seed: Seed(seed), ..strategy.next(index, &mut Rng::new(seed, Purpose::Strategy)) }
    };
    (0..runs).map(run).collect()
}

/// TURNCOAT_STANCES says how many runs there are of each protocol and strategy.
#[test]
#[expect(clippy::disallowed_methods, reason = "it says how many runs there are, not what happens in one")]
fn correct_protocols_survive_liars_with_stances() {
    let runs = std::env::var("TURNCOAT_STANCES").ok().and_then(|runs| runs.parse().ok()).unwrap_or(60);
    for name in [
        "pbft",
        "hotstuff",
        "hotstuff-chained",
        "fast-hotstuff",
        "tendermint",
        "zyzzyva",
        "fab",
        "hbft",
        "xrpl",
    ] {
        let entry = entry(name);
        let (mut runner, mut flagged) = (entry.runner(), 0);
        for strategy in ["lasting", "swarm", "stalls"] {
            for scenario in drawn(&entry, &[], strategy, runs) {
                let outcome = runner.execute(&scenario).unwrap_or_else(|error| panic!("{name}: {error}"));
                let found =
                    outcome.violations.iter().find(|it| it.property != Property::Termination && it.inside());
                assert_eq!(found, None, "{}", scenario.to_toml());
                let has = |it: &turncoat::core::fault::Fault| matches!(&it.effect, Effect::Stance(it) if !it.flags.is_empty());
                flagged += u64::from(scenario.adversary.faults.iter().any(has));
            }
        }
        assert!(flagged > runs / 2, "{name}: {flagged}");
    }
}

#[test]
fn explanations_of_stances_are_in_the_recording() {
    let (mut found, mut told) = (0, 0);
    for (name, flags) in
        [("hotstuff", &["quorum-2f", "no-safe-node"][..]), ("pbft", &["commit-ignores-digest"])]
    {
        let entry = entry(name);
        let mut runner = entry.runner();
        for scenario in drawn(&entry, flags, "lasting", 150) {
            if runner.execute(&scenario).expect("it runs").violations.is_empty() {
                continue;
            }
            let explanation = Explanation::of(&entry, &scenario).expect("it runs");
            confirm_all(name, &explanation, &scenario);
            let story = explanation.story();
            told +=
                usize::from(story.contains("deviates from the protocol") || story.contains("its own lie"));
            found += 1;
        }
    }
    assert!(found > 1 && told > 0, "{found} finds, {told} with a stance in the story");
}

//! What holds for stances in every protocol: a liar may run with any bug flag, and the correct protocol survives it.

use std::sync::Arc;

use turncoat_core::fault::{All, Believes, Effect, Every, Fault, RoundSource, Span, Stance, When};
use turncoat_core::ids::NodeId;
use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;

/// p1 has a stance with this flag, from some view on.
fn with_flag(entry: &Entry, flag: &str, from: Option<u64>) -> Scenario {
    let mut scenario = entry.scenario();
    let cluster = Arc::make_mut(&mut scenario.cluster);
    cluster.n = cluster.n.max((entry.bound)(&entry.config, cluster.f).expect("a bound"));
    let liar = NodeId::replica(1);
    scenario.adversary.byzantine.insert(liar);
    let mut when = When::default();
    if let Some(from) = from {
        let every = Every { from, step: std::num::NonZeroU64::MIN };
        (when.round, when.source) = (Some(Span::Every(every)), RoundSource::SenderView);
    }
    let believes = scenario.network.turn.is_none().then_some(Believes::All(All::All));
    let stance = Stance { of: liar.into(), flags: vec![flag.to_owned()], believes, keeps: None };
    scenario.adversary.faults.push(Fault { when, effect: Effect::Stance(stance) });
    scenario
}

/// Each flag of each correct protocol, from the start and from view 2 on: no correct replica decides what it should not, and the
/// same comes out again.
#[test]
fn correct_protocols_survive_a_liar_with_any_flag() {
    let mut flags = 0;
    for entry in turncoat_protocols::all().iter().filter(|entry| entry.preset_flags().is_empty()) {
        let mut runner = entry.runner();
        for flag in entry.flags.iter().map(|flag| flag.name()) {
            for from in [None, Some(2)] {
                let scenario = with_flag(entry, &flag, from);
                let outcome =
                    runner.execute(&scenario).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
                let unsafe_ = outcome.violations.iter().find(|it| it.property != Property::Termination);
                assert_eq!(unsafe_, None, "{}", scenario.to_toml());
                assert_eq!(
                    entry.runner().execute(&scenario).as_ref(),
                    Ok(&outcome),
                    "{}",
                    scenario.to_toml()
                );
                flags += 1;
            }
        }
    }
    assert!(flags > 200, "{flags}");
}

//! FaB in thousands of random orders.

use std::sync::Arc;

use crate::stage::{ALL, entry, scenario_of};
use turncoat_core::outcome::Outcome;
use turncoat_core::rng::run_seed;
use turncoat_core::scenario::{Scenario, SchedulerName, Seed};

/// The variants that are correct, with how many nodes they need.
const CORRECT: [(&str, &str); 3] =
    [("fab", "cluster.n = 6"), ("pfab", "cluster.n = 4"), ("pfab", "cluster.n = 6\nprotocol.t = 1")];

fn scenario(protocol: &str, settings: &str) -> Scenario {
    let settings = format!("cluster.clients = 2\nworkload.requests = 6\n{settings}");
    scenario_of(toml::Table::from_iter([("name".to_owned(), protocol.into())]), &settings)
}

/// Runs a scenario under many seeds; nothing is violated.
fn run(scenario: &Scenario, runs: u64, mut look: impl FnMut(&Outcome)) {
    let mut runner = entry(&scenario.protocol.name).runner();
    let mut scenario = scenario.clone();
    for i in 0..runs {
        scenario.seed = Seed(run_seed(23, i));
        let outcome = runner.execute(&scenario).expect("a scenario that can run");
        assert!(outcome.violations.is_empty(), "{} {:?}", scenario.seed, outcome.violations);
        look(&outcome);
    }
}

#[test]
fn runs_without_faults_violate_nothing_under_any_scheduler() {
    // The second time timers are impatient: views change all the time.
    for (protocol, more) in CORRECT {
        let mut calm = scenario(protocol, more);
        for name in SchedulerName::ALL {
            Arc::make_mut(&mut calm.scheduler).name = name;
            run(&calm, 150, |_| {});
        }
        Arc::make_mut(&mut calm.scheduler).timeout = 30;
        run(&calm, 150, |_| {});
    }
}

#[test]
fn one_liar_and_losses_violate_nothing() {
    for (protocol, more) in CORRECT {
        for (liar, scope) in ALL.into_iter().flat_map(|liar| [(liar, "small"), (liar, "any")]) {
            let settings = format!(
                "{more}\nadversary.byzantine = ['{liar}']\n\
                 scheduler = {{ name = 'async', mutate = 40, drop = 3, timeout = 10, scope = '{scope}' }}"
            );
            let mut accepted = 0;
            run(&scenario(protocol, &settings), 60, |outcome| accepted += outcome.injected.accepted);
            assert!(accepted > 60, "{protocol} {liar} {scope}: the lies are not worth the name");
        }
    }
}

#[test]
fn an_equivocating_leader_delays_nothing_for_long() {
    // 13. p0 proposes the two requests to different acceptors, in each of its instances, and lies to new leaders. Three
    // views after the network is calm all is learned.
    for i in 0..20_u32 {
        let (one, two) = (ALL[1 + i as usize % 3], ALL[1 + (i as usize / 3) % 3]);
        let settings = format!(
            "network.gst = {{ time = 400 }}\nadversary.byzantine = ['p0']\n\
             scheduler = {{ name = 'async', timeout = {} }}\n\
             adversary.faults = [{{ from = ['p0'], to = ['{one}', '{two}'], mutate = 'propose.value=earlier' }},\
             {{ from = ['p0'], to = ['{two}'], mutate = 'rep.accepted=other+proof=none' }}]",
            1 + i % 4
        );
        let scenario = Scenario { seed: Seed(run_seed(7, i.into())), ..scenario("pfab", &settings) };
        let (outcome, recording) = entry("pfab").runner().record(&scenario).expect("a scenario that can run");
        assert!(outcome.violations.is_empty(), "{i}: {:?}", outcome.violations);
        let mut calm = false;
        let mut views = [1, 1];
        for event in recording.events.iter().map(ToString::to_string) {
            calm |= event.contains("the network is calm");
            let entered = event.split("enters view ").nth(1).and_then(|view| view.trim().parse().ok());
            views[usize::from(calm)] = entered.unwrap_or(0).max(views[usize::from(calm)]);
        }
        assert!(views[1] <= views[0] + 3, "{i}: {views:?}");
    }
}

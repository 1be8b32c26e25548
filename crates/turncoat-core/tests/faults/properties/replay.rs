//! The same scenario, the same run; and its script shows it again.

use proptest::prelude::*;
use turncoat_core::runner::{Runner, execute};
use turncoat_core::scenario::SchedulerName;
use turncoat_core::sim::Sim;

use super::{cases, draw};
use crate::toys::ballot::Ballot;

proptest! {
    #![proptest_config(cases(400))]

    /// A simulation that has been used, a fresh one, and one that records see the same.
    #[test]
    fn the_same_scenario_gives_the_same_outcome(
        draw::Case(first) in draw::runnable(),
        draw::Case(second) in draw::runnable(),
    ) {
        let mut used = Sim::<Ballot>::new();
        let (outcome, _) = used.record(&first).unwrap();
        used.execute(&second).unwrap();
        prop_assert_eq!(&used.execute(&first).unwrap(), &outcome);
        prop_assert_eq!(&execute::<Ballot>(&first).unwrap(), &outcome);
    }

    /// Lost, held, changed, crashed, two-faced: what was recorded replays under the same adversary.
    #[test]
    fn a_recorded_run_replays(draw::Case(scenario) in draw::runnable()) {
        let (outcome, recording) = Sim::<Ballot>::new().record(&scenario).unwrap();
        let replay = recording.scripted(&scenario);
        let again = execute::<Ballot>(&replay).unwrap();
        prop_assert_eq!(again.diverged, None);
        prop_assert_eq!(again.fingerprint, outcome.fingerprint);
        prop_assert_eq!((again.violations, again.end), (outcome.violations, outcome.end));
    }

    /// The same without crashes and other deeds: losses and lies of the scheduler and of faults.
    #[test]
    fn a_recorded_run_of_losses_and_lies_replays(draw::Case(mut scenario) in draw::runnable()) {
        use turncoat_core::fault::Effect;
        scenario.adversary.faults.retain(|fault| matches!(
            fault.effect,
            Effect::Drop | Effect::Hold | Effect::Delay(_) | Effect::Duplicate(_) | Effect::Mutate(_)
                | Effect::Partition(_) | Effect::Isolate(_) | Effect::Deaf(_)
        ));
        let (outcome, recording) = Sim::<Ballot>::new().record(&scenario).unwrap();
        let again = execute::<Ballot>(&recording.scripted(&scenario)).unwrap();
        prop_assert_eq!(again.fingerprint, outcome.fingerprint);
    }
}

/// The cases above come under every scheduler.
#[test]
fn every_scheduler_is_drawn() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(cases(1));
    let names: std::collections::BTreeSet<SchedulerName> = (0..100)
        .map(|_| draw::runnable().new_tree(&mut runner).unwrap().current().0.scheduler.name)
        .collect();
    assert_eq!(names.len(), SchedulerName::ALL.len());
}

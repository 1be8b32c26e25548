//! Scenarios and their text.

use proptest::prelude::*;
use turncoat_core::scenario::Scenario;

use super::{cases, draw};

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_scenario_reads_back_from_its_text(draw::Case(scenario) in draw::anything()) {
        let text = scenario.to_toml();
        prop_assert_eq!(Scenario::parse(&text).map_err(|error| format!("{error}\n{text}")), Ok(scenario));
    }

    /// Writing the whole table, defaults included, says the same.
    #[test]
    fn a_full_table_says_what_the_short_text_says(draw::Case(scenario) in draw::anything()) {
        let text = toml::to_string(&scenario.to_table()).unwrap();
        prop_assert_eq!(Scenario::parse(&text), Ok(scenario));
    }

    /// To set a value to what it is changes nothing.
    #[test]
    fn setting_a_value_to_itself_changes_nothing(draw::Case(scenario) in draw::anything()) {
        for path in ["limits.steps", "cluster.n", "network.loss", "workload.goal", "adversary.faults"] {
            let (table, key) = path.split_once('.').unwrap();
            let value = scenario.to_table()[table][key].clone();
            prop_assert_eq!(scenario.with(path, value), Ok(scenario.clone()));
        }
    }
}

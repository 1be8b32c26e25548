//! `--expect`: for campaigns and files that are there to show a violation. Found is then success, and nothing failure.

use std::collections::BTreeMap;

use turncoat_core::outcome::Property;

use crate::cases::{Case, Verdict};
use crate::registry;

/// What is expected: a violation, of any property where none is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wanted(pub(crate) Option<Property>);

/// Reads `violation` or `violation=PROPERTY`.
pub(crate) fn parse(text: &str) -> Result<Wanted, String> {
    match text.split_once('=') {
        None if text == "violation" => Ok(Wanted(None)),
        Some(("violation", name)) => {
            registry::property(name).map(|property| Wanted(Some(property))).map_err(|error| error.to_string())
        }
        _ => Err("give `violation`, or a property too, as in `violation=agreement`".to_owned()),
    }
}

/// The violations found, each with what to say about it, as a case for each property. Without an expectation a
/// violation is a failure. With one it is none, and one more case fails if the expected one is missing.
pub(crate) fn cases(expect: Option<Wanted>, class: &str, found: &BTreeMap<Property, String>) -> Vec<Case> {
    let case = |name: &str, failure: Option<String>| Case {
        class: class.to_owned(),
        name: name.to_owned(),
        verdict: failure.map_or(Verdict::Passed, Verdict::Failed),
    };
    let failure = |property| found.get(&property).filter(|_| expect.is_none()).cloned();
    let properties = Property::ALL.into_iter().map(|property| case(property.name(), failure(property)));
    properties.chain(expect.map(|expect| case("expected violation", unmet(expect, found)))).collect()
}

/// What to say if what is expected was not found.
pub(crate) fn unmet(Wanted(expect): Wanted, found: &BTreeMap<Property, String>) -> Option<String> {
    let all = found.keys().map(|property| property.name()).collect::<Vec<_>>().join(", ");
    match expect {
        None if found.is_empty() => Some("expected a violation, and found none".to_owned()),
        Some(property) if found.is_empty() => {
            Some(format!("expected a violation of {property}, and found none"))
        }
        Some(property) if !found.contains_key(&property) => {
            Some(format!("expected a violation of {property}, and found {all} alone"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(expect: Option<Wanted>, found: &[Property]) -> Vec<String> {
        let found = found.iter().map(|&property| (property, "words".to_owned())).collect();
        let failed = cases(expect, "none", &found).into_iter().filter(|case| case.verdict != Verdict::Passed);
        failed.map(|case| case.name).collect()
    }

    #[test]
    fn an_expectation_turns_success_and_failure_round() {
        let agreement = Wanted(Some(Property::Agreement));
        let found = [Property::Agreement, Property::Integrity];
        assert_eq!(failures(None, &found), ["agreement", "integrity"]);
        assert_eq!(failures(None, &[]), [""; 0]);
        for expect in [Wanted(None), agreement] {
            assert_eq!(failures(Some(expect), &found), [""; 0]);
            assert_eq!(failures(Some(expect), &[]), ["expected violation"]);
        }
        assert_eq!(failures(Some(agreement), &found[1..]), ["expected violation"]);
    }

    #[test]
    fn it_is_read_with_or_without_a_property() {
        assert_eq!(parse("violation"), Ok(Wanted(None)));
        assert_eq!(parse("violation=agreement"), Ok(Wanted(Some(Property::Agreement))));
        assert!(parse("violation=agrement").is_err_and(|why| why.contains("did you mean `agreement`?")));
        for bad in ["", "violations", "agreement", "clean=agreement"] {
            assert!(parse(bad).is_err_and(|why| why.contains("`violation=agreement`")), "{bad}");
        }
    }
}

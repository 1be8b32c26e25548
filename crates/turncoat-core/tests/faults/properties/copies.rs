//! What a recording says about messages fits what happened.

use proptest::prelude::*;
use turncoat_core::record::{Arrival, Falsehood, Recording, SentCopy, What};
use turncoat_core::runner::Runner;
use turncoat_core::sim::Sim;

use super::{cases, draw};
use crate::toys::ballot::Ballot;

/// The ways of messages as events tell them: step, sender, receiver, content.
fn told(
    recording: &Recording,
    wanted: impl Fn(&What) -> Option<(String, String)>,
) -> Vec<(u64, String, String)> {
    let events = recording.events.iter();
    let mut told: Vec<_> =
        events.filter_map(|event| wanted(&event.what).map(|(ends, text)| (event.step, ends, text))).collect();
    told.sort();
    told
}

/// The same as the copies have it.
fn kept(recording: &Recording, wanted: impl Fn(&SentCopy) -> Option<u64>) -> Vec<(u64, String, String)> {
    let copies = recording.copies.iter();
    let mut kept: Vec<_> = copies
        .filter_map(|copy| Some((wanted(copy)?, format!("{}>{}", copy.src, copy.dst), copy.text.clone())))
        .collect();
    kept.sort();
    kept
}

proptest! {
    #![proptest_config(cases(400))]

    /// Nothing comes from nowhere, nothing gets lost unseen, and all is sent before it is received.
    #[test]
    fn copies_and_events_tell_the_same(draw::Case(scenario) in draw::runnable()) {
        let (_, recording) = Sim::<Ballot>::new().record(&scenario).unwrap();
        let delivered = told(&recording, |what| match what {
            What::Deliver { src, dst, text, .. } => Some((format!("{src}>{dst}"), text.clone())),
            _ => None,
        });
        let lost = told(&recording, |what| match what {
            What::Drop { src, dst, text } => Some((format!("{src}>{dst}"), text.clone())),
            _ => None,
        });
        prop_assert_eq!(delivered, kept(&recording, |copy| match copy.arrival {
            Arrival::Delivered { step, .. } => Some(step),
            _ => None,
        }));
        prop_assert_eq!(lost, kept(&recording, |copy| match copy.arrival {
            Arrival::Lost { step, .. } => Some(step),
            _ => None,
        }));
        for copy in &recording.copies {
            let end = match copy.arrival {
                Arrival::Delivered { step, .. } => step,
                // What is lost at once is lost in the event that sends it.
                Arrival::Lost { step, .. } => step + 1,
                Arrival::Underway => u64::MAX,
            };
            prop_assert!(copy.sent < end, "{:?}", copy);
        }
    }

    /// A changed copy names what was changed, and only a liar's copy is changed.
    #[test]
    fn a_lie_names_its_fields(draw::Case(scenario) in draw::runnable()) {
        let (_, recording) = Sim::<Ballot>::new().record(&scenario).unwrap();
        for copy in &recording.copies {
            let Some(lie) = &copy.lie else { continue };
            if let Falsehood::Changed(changes) = lie {
                prop_assert!(scenario.adversary.byzantine.contains(copy.src.node));
                prop_assert!(changes.iter().all(|change| change.was != change.is), "{:?}", copy);
            }
        }
    }
}

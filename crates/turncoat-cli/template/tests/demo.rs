//! Each test runs the protocol 10,000 times. In each run one replica lies, and the network splits.

use turncoat::{Property, Scenario, fuzz};

fn found(flags: &[&str]) -> Vec<Property> {
    let base = Scenario::new("demo").with("protocol.flags", flags.to_vec().into()).expect("flags");
    let summary = fuzz::<demo::Board>(&base, "byzzfuzz", &[], 10_000).expect("a campaign");
    summary.first.into_keys().collect()
}

#[test]
fn the_protocol_keeps_its_promises() {
    assert_eq!(found(&[]), []);
}

#[test]
fn who_passes_a_request_on_can_change_it_if_nobody_looks_at_signatures() {
    assert!(found(&["unsigned"]).contains(&Property::Validity));
}

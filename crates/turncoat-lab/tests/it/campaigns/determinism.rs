//! A protocol that does not repeat itself is found out.

use std::sync::Arc;

use turncoat_core::scenario::Scenario;
use turncoat_lab::campaign::{Campaign, CampaignError};

use crate::campaigns::bench::{Bench, rare_liar};

#[test]
fn a_protocol_with_a_static_is_told_where_it_differs() {
    let bench = Bench::new();
    let mut base = Scenario::new("toy");
    Arc::make_mut(&mut base.protocol).config.insert("forgetful".to_owned(), true.into());
    let campaign = Campaign { base: &base, ..bench.campaign(&rare_liar) };
    let error = campaign.run(&mut |_| {}).unwrap_err();
    assert!(matches!(error, CampaignError::Differs { index: 0, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("differs from step") && text.contains("commit p0 slot="), "{text}");
}

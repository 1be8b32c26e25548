//! Where a campaign stopped, and whether it can go on there.

use std::collections::BTreeMap;

use turncoat_core::outcome::{Property, Violation};

use super::{Place, Store, StoreError};
use crate::campaign::{Campaign, CampaignError, Record};
use crate::summary::{Finding, Summary};

/// A campaign that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The file cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is stored is not what would run now.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
}

/// What the stored runs of a campaign came to, each of which `see` is shown, and whether the last of them ended it.
///
/// The first run of each violated property is executed again, for what is not stored of it, and so is the last run: if
/// one of them is not what it was, the campaign must not go on.
pub fn resume(
    store: &Store,
    place: Place,
    campaign: &Campaign<'_>,
    see: &mut dyn FnMut(&Record),
) -> Result<(Summary, bool), ResumeError> {
    let mut summary = Summary::default();
    let mut firsts: BTreeMap<(Property, bool), (u64, u64)> = BTreeMap::new();
    let mut last = None;
    store.runs(place, &mut |record| {
        let this = (record.index, record.outcome.fingerprint);
        for violation in &record.outcome.violations {
            firsts.entry((violation.property, violation.inside())).or_insert(this);
        }
        summary.count(record.index, &record.outcome);
        summary.blame(&record.bugs);
        last = Some(this);
        see(&record);
    })?;
    for ((property, inside), (index, fingerprint)) in firsts {
        let (scenario, outcome) = campaign.repeat_stored(index, fingerprint)?;
        let same = |found: &&Violation| found.property == property && found.inside() == inside;
        let violation = outcome.violations.iter().find(same).cloned();
        let violation = violation.ok_or(CampaignError::Changed { index })?;
        let firsts = if inside { &mut summary.first } else { &mut summary.first_outside };
        firsts.insert(property, Finding { index, violation, scenario, fingerprint, parent: None });
    }
    let Some((index, fingerprint)) = last else { return Ok((summary, false)) };
    let (scenario, outcome) = campaign.repeat_stored(index, fingerprint)?;
    Ok((summary, campaign.ends_with(index, &scenario, &outcome)))
}

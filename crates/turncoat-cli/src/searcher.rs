//! A strategy with parameters in one word: `byzzfuzz:c=2:d=2`.

use anyhow::{Result, anyhow, bail};
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::{BoxError, Campaign};
use turncoat_lab::store::Description;

use crate::registry;
use crate::shelf::Label;

/// Who searches.
#[derive(Clone, Debug)]
pub(crate) struct Searcher {
    pub(crate) strategy: &'static str,
    pub(crate) params: Vec<(String, String)>,
}

impl Searcher {
    /// Reads one. That the parameters have good values shows when the strategy is made.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut words = text.split(':');
        let info = registry::strategy(words.next().unwrap_or_default())?;
        let mut params = Vec::new();
        for word in words {
            let Some((name, value)) = word.split_once('=') else {
                bail!("`{text}`: expected NAME:PARAMETER=VALUE, as in `byzzfuzz:c=2:d=2`");
            };
            params.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { strategy: info.name, params })
    }

    /// What to call it in a table.
    pub(crate) fn label(&self) -> String {
        let set = self.params.iter().map(|(name, value)| format!(" {name}={value}"));
        set.fold(self.strategy.to_owned(), |label, set| label + &set)
    }

    /// The strategy itself.
    pub(crate) fn make(&self, base: &Scenario) -> Result<Box<dyn Strategy + Send>, BoxError> {
        turncoat_strategies::make(self.strategy, base, &self.params).map_err(BoxError::from)
    }

    /// What a store says about a campaign of this searcher.
    pub(crate) fn describe(&self, label: Label, campaign: &Campaign<'_>) -> Result<Description> {
        let &Campaign { entry, base, seed, runs, .. } = campaign;
        Ok(Description {
            experiment: label.experiment,
            variant: label.variant,
            row: label.row,
            target: label.target,
            protocol: entry.name.to_owned(),
            strategy: self.strategy.to_owned(),
            // The last value of a parameter counts.
            params: self.params.iter().cloned().collect(),
            base: base.to_toml(),
            seed,
            learns: self.make(base).map_err(|error| anyhow!(error))?.learns(),
            wanted: runs,
            marks: entry.marks.iter().map(|&mark| mark.to_owned()).collect(),
        })
    }
}

//! A strategy with parameters in one word: `byzzfuzz:c=2:d=2`.

use anyhow::{Result, bail};
use turncoat_core::scenario::Scenario;
use turncoat_core::strategy::Strategy;
use turncoat_lab::campaign::BoxError;

use crate::registry;

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
        let entry = registry::protocol(&base.protocol.name)?;
        Ok(turncoat_strategies::make(self.strategy, base, &self.params, &(entry.mutations)())?)
    }
}

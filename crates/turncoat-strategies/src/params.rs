//! Parameters: text from a command line or a file, typed by the strategy that takes it.

use std::ops::RangeInclusive;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{Deserialize, IntoDeserializer};
use turncoat_core::message::MutationTable;

use crate::{Info, StrategyError};

/// Something that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
}

/// Parameters with their defaults, for messages.
pub(crate) fn list(params: &[Param]) -> String {
    if params.is_empty() {
        return "no parameters".to_owned();
    }
    params.iter().map(|param| format!("{}={}", param.name, param.default)).collect::<Vec<_>>().join(", ")
}

/// The parameters given to one strategy; their names are known to be right.
pub(crate) struct Params<'a> {
    pub(crate) strategy: &'static str,
    known: &'static [Param],
    given: &'a [(String, String)],
    /// All lies about the protocol's messages, by name, and the bug flags that a liar's code may have.
    pub(crate) lies: &'a MutationTable,
}

impl<'a> Params<'a> {
    pub(crate) fn new(
        info: &Info,
        given: &'a [(String, String)],
        lies: &'a MutationTable,
    ) -> Result<Self, StrategyError> {
        let Info { name: strategy, params: known, .. } = *info;
        match given.iter().find(|(name, _)| known.iter().all(|param| param.name != name)) {
            None => Ok(Self { strategy, known, given, lies }),
            Some((param, _)) => Err(StrategyError::UnknownParam { strategy, param: param.clone(), known }),
        }
    }

    /// The parameters of a strategy that this one is made of. A mistake in them is this one's: nobody has asked for its parts.
    pub(crate) fn part(&self, info: &Info, given: &'a [(String, String)]) -> Result<Self, StrategyError> {
        Ok(Self { strategy: self.strategy, ..Self::new(info, given, self.lies)? })
    }

    /// The values of some parameters, to be passed on.
    pub(crate) fn passed(&self, names: &[&str]) -> Result<Vec<(String, String)>, StrategyError> {
        let value = |name: &&str| self.typed(name, |text| Ok(((*name).to_owned(), text.to_owned())));
        names.iter().map(value).collect()
    }

    /// The values of the parameters that another strategy has too, to be passed on.
    pub(crate) fn shared(&self, info: &Info) -> Result<Vec<(String, String)>, StrategyError> {
        let own = self.known.iter().map(|param| param.name);
        let shared: Vec<&str> =
            own.filter(|own| info.params.iter().any(|param| param.name == *own)).collect();
        self.passed(&shared)
    }

    /// A whole number.
    pub(crate) fn number(&self, name: &str, range: RangeInclusive<u32>) -> Result<u32, StrategyError> {
        self.typed(name, |text| {
            text.parse()
                .ok()
                .filter(|number| range.contains(number))
                .ok_or_else(|| format!("not a whole number from {} to {}", range.start(), range.end()))
        })
    }

    /// Words with commas between them.
    pub(crate) fn list(&self, name: &str) -> Result<Vec<String>, StrategyError> {
        let words = |text: &str| {
            text.split(',').map(str::trim).filter(|w| !w.is_empty()).map(str::to_owned).collect()
        };
        self.typed(name, |text| Ok(words(text)))
    }

    /// One of the words of an enum.
    pub(crate) fn word<T: Deserialize<'a>>(&self, name: &str) -> Result<T, StrategyError> {
        self.typed(name, |text| {
            let text: StrDeserializer<'_, Error> = text.into_deserializer();
            T::deserialize(text).map_err(|error| error.to_string())
        })
    }

    /// Whatever the text means.
    pub(crate) fn typed<T>(
        &self,
        name: &str,
        parse: impl Fn(&'a str) -> Result<T, String>,
    ) -> Result<T, StrategyError> {
        let param =
            self.known.iter().find(|param| param.name == name).expect("strategies know their parameters");
        let text =
            self.given.iter().rfind(|(given, _)| given == name).map_or(param.default, |(_, text)| text);
        parse(text).map_err(|why| StrategyError::BadValue {
            strategy: self.strategy,
            param,
            value: text.to_owned(),
            why,
        })
    }
}
